//! The body of a request for a Response.

use crate::http::chat::{Between, BusyChoice};
use crate::http::input::{BodyFields, TextOrObject, TextOrObjects};
use crate::http::response_items::InputItems;
use ambit_runtime::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a client asks.
#[derive(Default, Deserialize, ToSchema)]
pub struct ResponseBody {
    /// An agent's id.
    pub model: Option<String>,
    /// A text, or items.
    #[schema(value_type = Option<TextOrObjects>)]
    pub input: Option<InputItems>,
    /// Instructions for this turn alone.
    pub instructions: Option<String>,
    /// The conversation that it goes on with.
    #[schema(value_type = Option<TextOrObject>)]
    pub conversation: Option<ConversationChoice>,
    /// The Response that it goes on from.
    pub previous_response_id: Option<String>,
    /// What becomes of a turn that runs in the conversation; where nobody says, it goes on and this request is refused.
    pub on_busy: Option<BusyChoice>,
    /// The item whose place this turn takes, with all behind it. One inside an answer means the whole answer, and so does the
    /// id of its Response.
    pub supersede: Option<String>,
    /// `false` stores nothing of the turn.
    pub store: Option<bool>,
    /// Whether the answer is a stream.
    pub stream: Option<bool>,
    /// Whether the request does not wait for the answer.
    pub background: Option<bool>,
    /// What the answer holds besides: `reasoning.encrypted_content`.
    pub include: Option<Vec<String>>,
    /// Client-supplied data, at most 16 KiB.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// The tools.
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Vec<Map<String, Value>>>,
    /// Whether a tool is called, and which.
    #[schema(value_type = Option<TextOrObject>)]
    pub tool_choice: Option<Value>,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: Option<bool>,
    /// How much chance there is in the answer.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 2)]
    pub temperature: Option<Between<0, 2>>,
    /// How much of what is probable is considered.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1)]
    pub top_p: Option<Between<0, 1>>,
    /// At most so many tokens, those of reasoning too.
    #[schema(minimum = 1)]
    pub max_output_tokens: Option<u64>,
    /// How much the model thinks.
    #[schema(value_type = Option<Object>)]
    pub reasoning: Option<Map<String, Value>>,
    /// The form of the answer.
    #[schema(value_type = Option<Object>)]
    pub text: Option<Map<String, Value>>,
    /// Not supported.
    #[schema(value_type = Option<Object>)]
    pub prompt: Option<Value>,
    /// Other fields: those that a Response has too are said again.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub further: Map<String, Value>,
}

/// A conversation: its id, by itself or in an object.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum ConversationChoice {
    /// The id.
    Id(String),
    /// An object with the id.
    Object {
        /// The id.
        id: String,
    },
}

impl ConversationChoice {
    /// The id.
    pub fn id(self) -> String {
        match self {
            Self::Id(id) | Self::Object { id } => id,
        }
    }
}

impl BodyFields for ResponseBody {
    const IGNORES_UNKNOWN: bool = true;

    fn check(&self) -> Result<()> {
        if self.prompt.as_ref().is_some_and(|prompt| !prompt.is_null()) {
            let message = "prompt is not supported: prompts are files of the agent";
            return Err(Error::unsupported("prompt", message));
        }
        if self.max_output_tokens == Some(0) {
            let message = "max_output_tokens must be at least 1";
            return Err(Error::invalid("max_output_tokens", message));
        }
        let named = [
            ("conversation", self.conversation.is_some()),
            ("previous_response_id", self.previous_response_id.is_some()),
            ("background", self.background == Some(true)),
            ("supersede", self.supersede.is_some()),
        ];
        if named[0].1 && named[1].1 {
            let message = "conversation and previous_response_id cannot both be given: each says which history counts";
            return Err(Error::invalid("previous_response_id", message));
        }
        match named.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) if self.store == Some(false) => {
                let message = format!(
                    "{name} cannot be given with store: false, which neither reads nor keeps a history"
                );
                Err(Error::invalid(*name, message))
            }
            _ => Ok(()),
        }
    }
}
