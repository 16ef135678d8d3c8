//! The body of a request of the AI SDK: UI messages, and what is to become of them. Its other fields are those of any chat request.

use crate::format::ai_sdk::UiRole;
use crate::http::input::{BodyFields, Id};
use ambit_runtime::{Error, Result};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What the AI SDK sends.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UiChatBody {
    /// The chat's name.
    pub id: Option<Id>,
    /// The messages that the client holds; the last one is what it is about.
    pub messages: Option<Vec<SentMessage>>,
    /// The last one alone.
    pub message: Option<SentMessage>,
    /// What the client wants.
    #[serde(default)]
    pub trigger: UiTrigger,
    /// The message that is edited, continued or answered again.
    pub message_id: Option<Id>,
}

impl BodyFields for UiChatBody {
    const IGNORES_UNKNOWN: bool = true;

    fn check(&self) -> Result<()> {
        let messages = self.messages.iter().flatten().chain(&self.message);
        for (at, message) in messages.enumerate() {
            if message.parts.iter().any(|part| !part.is_object()) {
                let place = format!("messages[{at}].parts");
                let message = format!("{place} must be a list of objects");
                return Err(Error::invalid(place, message));
            }
        }
        Ok(())
    }
}

/// What a client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UiTrigger {
    /// Its last message is answered, or continued.
    #[default]
    SubmitMessage,
    /// An answer is given again.
    RegenerateMessage,
}

/// A UI message as a client sends it.
#[derive(Clone, Deserialize, ToSchema)]
pub struct SentMessage {
    /// Its id.
    pub id: Option<Id>,
    /// Who says it.
    pub role: UiRole,
    /// What it holds.
    #[schema(value_type = Vec<Object>)]
    pub parts: Vec<Value>,
    /// Free data.
    pub metadata: Option<Value>,
}

impl SentMessage {
    /// Its id; empty where it has none.
    pub fn id(&self) -> &str {
        self.id.as_ref().map_or("", |id| &id.0)
    }
}
