//! What is told of turns, and what can be told to one that runs.

use crate::access::ActingCaller;
use crate::chat::ChatMessage;
use crate::error::{Error, PublicError};
use crate::frame::Frame;
use crate::llm::TokenUsage;
use crate::stream::StreamReader;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A request that was taken on.
pub struct StartedTurn {
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The trace.
    pub trace_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// The turn's stream from its beginning.
    pub stream: StreamReader,
}

/// What is known of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnInfo {
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The id of the index row of its conversation's history, if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The agent that was asked.
    pub assistant_id: String,
    /// How far it is.
    pub status: TurnStatus,
    /// The number of the stream's last entry.
    pub last_event: u64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// The failure, if it failed: `{message, code}`.
    pub error: Option<PublicError>,
    /// The response, once it is there.
    pub response: Option<Value>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// Who acted as that person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted_by: Option<ActingCaller>,
    /// What it has taken, once it has ended.
    #[serde(flatten)]
    pub totals: TurnTotals,
}

impl TurnInfo {
    /// The end of its stream, as far as it is known for longer than the stream is kept; nothing of a turn that runs.
    pub fn stream_end(&self) -> Option<Frame> {
        if self.status == TurnStatus::Running {
            return None;
        }
        let error = self.error.clone().map(Error::from);
        let response = self.response.as_ref();
        let data = json!({
            "timestamp": self.ended_at,
            "status": self.status,
            "usage": self.totals.usage,
            "finish_reason": self.totals.finish_reason,
            "next": response.and_then(|response| response.get("next")),
            "error": error.as_ref().map(|error| &error.message),
            "code": error.as_ref().map(|error| error.code.as_str()),
        });
        Some(Frame::event("stream_end", "", data))
    }
}

/// What a turn has taken, and why its model ended. Nothing is said while it runs, nor of turns that earlier versions have noted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TurnTotals {
    /// From its beginning to the first piece of a model's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<i64>,
    /// Calls of models, those from inside the turn included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Calls of tools that have a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<u64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Millionths, by currency.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cost: BTreeMap<String, i64>,
    /// Why the last answer of a model ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub finish_reason: String,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    /// Under way, on some node.
    Running,
    /// It ended as it should.
    Completed,
    /// It failed.
    Error,
    /// It was stopped.
    Cancelled,
}

impl TurnStatus {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a person adds to a turn that is running.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnInterrupt {
    /// At once instead of at the next safe point.
    pub is_forced: bool,
    /// New messages.
    pub messages: Vec<ChatMessage>,
    /// More metadata.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// What becomes of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptEffect {
    /// After the current model call or tool round.
    NextStep,
    /// The model is called again at once.
    Restart,
    /// The turn ends.
    Cancel,
}

/// Why a turn's work is broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnStopReason {
    /// Somebody asked for it.
    Cancelled,
    /// New messages count at once.
    Restart,
    /// Another node has the conversation now: nothing may be written any more.
    LeaseLost,
    /// This node is being closed; another one goes on.
    NodeClosing,
}

impl TurnInterrupt {
    /// How it breaks the work off, if it does.
    pub(crate) fn stops(&self) -> Option<TurnStopReason> {
        match (self.is_forced, self.messages.is_empty()) {
            (false, _) => None,
            (true, false) => Some(TurnStopReason::Restart),
            (true, true) => Some(TurnStopReason::Cancelled),
        }
    }
}
