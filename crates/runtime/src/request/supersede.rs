//! What of a conversation a request takes the place of.

use serde::{Deserialize, Serialize};

/// The message from which on a turn takes the place of what was said. An id inside an answer means the whole answer, with all turns
/// that have continued it. Ids are those of lists of messages, `<request_id>.<message_id>`, the id of a request for its answer,
/// and `call_<request_id>_<message_id>` for a call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Supersede {
    /// From this message on.
    From(String),
    /// From this answer on, or from behind this message of a person.
    Behind(String),
    /// The last answer; nothing where the conversation ends with a message of a person.
    LastAnswer,
}

/// How a turn came about, as `Create` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnTrigger {
    /// Something new was said.
    Submit,
    /// Something was said in the place of an earlier message.
    Edit,
    /// The same is to be answered again.
    Regenerate,
    /// Results came of calls that the client makes.
    Continue,
}

impl TurnTrigger {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Edit => "edit",
            Self::Regenerate => "regenerate",
            Self::Continue => "continue",
        }
    }
}
