//! What is recorded of a trace, in the shape in which it is stored and sent.

use super::StepFacts;
use crate::manifest::ModelCallEnd;
use crate::trace_context::TraceContext;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a trace is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceSubject {
    /// The trace.
    pub trace_id: String,
    /// The turn.
    pub request_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
}

/// Where a trace comes from, as far as telemetry needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TraceOrigin {
    /// Who asked, where traces are sent to a collector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The trace of the caller that this one is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<TraceContext>,
}

/// How far a node or a trace is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceStatus {
    /// Not begun.
    Pending,
    /// Under way.
    #[default]
    Running,
    /// It ended as it should.
    Completed,
    /// It failed.
    Failed,
    /// It was not needed.
    Skipped,
    /// It was stopped.
    Cancelled,
}

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For whoever looks for a defect.
    Debug,
    /// What happens.
    Info,
    /// Something is not as it should be, and things go on.
    Warn,
    /// Something failed.
    Error,
}

/// A step of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Unique in its trace.
    pub id: String,
    /// What it follows; the root has none.
    pub parent_ids: Vec<String>,
    /// What people read.
    pub label: String,
    /// What kind of step.
    #[serde(rename = "type")]
    pub kind: String,
    /// What people see beside the label.
    pub icon: String,
    /// What the step is for.
    pub description: String,
    /// More of it.
    pub metadata: Map<String, Value>,
    /// How far it is.
    pub status: TraceStatus,
    /// What went in.
    pub input: Value,
    /// What came out.
    pub output: Value,
    /// Why it failed.
    pub error: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub start_at: i64,
    /// When it ended, in milliseconds since 1970.
    pub end_at: Option<i64>,
    /// What is known of it beside what went in and came out; a step of a script has nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<StepFacts>,
}

/// One line of a node's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TraceLogEntry {
    /// The node.
    pub node_id: String,
    /// How important it is.
    pub level: LogLevel,
    /// What it says.
    pub message: String,
    /// What belongs to it.
    pub data: Value,
    /// When it was written, in milliseconds since 1970.
    pub at: i64,
}

/// A labelled board shown with a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SpaceView {
    /// Unique in its trace.
    pub id: String,
    /// What people read.
    pub label: String,
    /// What kind of board.
    #[serde(rename = "type")]
    pub kind: String,
    /// What people see beside the label.
    pub icon: String,
    /// What it is for.
    pub description: String,
    /// More of it.
    pub metadata: Map<String, Value>,
    /// What stands on it, in order of keys.
    #[serde(default)]
    pub values: Map<String, Value>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
}

/// One entry of a trace's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TraceEvent {
    /// The trace begins.
    Init {
        /// What it is about.
        #[serde(flatten)]
        about: TraceSubject,
        /// Where it comes from, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Box<TraceOrigin>>,
        /// When.
        at: i64,
    },
    /// A node begins.
    NodeStart {
        /// The node.
        node: Box<NodeView>,
    },
    /// A node ended as it should, or was left out or stopped.
    NodeComplete {
        /// The node.
        id: String,
        /// How it ended.
        status: TraceStatus,
        /// What came out, if that is said here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// When.
        at: i64,
    },
    /// A node failed.
    NodeFailed {
        /// The node.
        id: String,
        /// Why.
        error: String,
        /// When.
        at: i64,
    },
    /// More is known of a node.
    NodeUpdated {
        /// The node.
        id: String,
        /// What came out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// Metadata that is new or has changed.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
        /// What is known of it by now, if that is said here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        facts: Option<Box<StepFacts>>,
        /// When.
        at: i64,
    },
    /// A line was written.
    LogAdded(TraceLogEntry),
    /// The request of a call of a model was encoded. A route of its own shows of what it was made.
    Call {
        /// The call.
        call_id: String,
        /// The node that traces it.
        node_id: String,
        /// When.
        at: i64,
    },
    /// A call of a model has ended.
    CallEnd {
        /// The call.
        call_id: String,
        /// What came of it.
        end: Box<ModelCallEnd>,
        /// When.
        at: i64,
    },
    /// A board was made.
    SpaceCreated {
        /// The board.
        space: Box<SpaceView>,
    },
    /// A board was taken away.
    SpaceDeleted {
        /// The board.
        id: String,
        /// When.
        at: i64,
    },
    /// A key is new on a board.
    MemoryAdd(SpaceValue),
    /// A key of a board has another value.
    MemoryUpdate(SpaceValue),
    /// A key is gone from a board.
    MemoryDelete {
        /// The board.
        space_id: String,
        /// The key.
        key: String,
        /// When.
        at: i64,
    },
    /// The trace ends.
    Complete {
        /// How the turn ended.
        status: TraceStatus,
        /// When.
        at: i64,
    },
}

/// A key of a board and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SpaceValue {
    /// The board.
    pub space_id: String,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// When.
    pub at: i64,
}

impl TraceEvent {
    /// What is kept of it where there is little room: how things ended, and what they used.
    pub(super) fn brief(self) -> Option<Self> {
        match self {
            Self::NodeComplete { id, status, at, .. } => Some(Self::NodeComplete {
                id,
                status,
                output: None,
                at,
            }),
            Self::NodeUpdated {
                id,
                facts: facts @ Some(_),
                at,
                ..
            } => Some(Self::NodeUpdated {
                id,
                output: None,
                metadata: Map::new(),
                facts,
                at,
            }),
            ended @ (Self::NodeFailed { .. } | Self::CallEnd { .. } | Self::Complete { .. }) => {
                Some(ended)
            }
            _ => None,
        }
    }
}
