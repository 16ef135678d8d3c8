//! What clients are told of the messages that come in while a turn runs.

use super::message_view::user_input_props;
use ambit_storage::storage::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message of an interrupt, as the event `interrupt` of the turn's stream tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterruptMessage {
    /// Its id, which is that of the stored message.
    pub message_id: String,
    /// What a message of the type `user_input` says: `content`, `role` and, where it has one, `name`.
    #[serde(flatten)]
    pub props: Map<String, Value>,
}

impl InterruptMessage {
    /// Of the message that is stored.
    pub(crate) fn of(stored: &Message) -> Self {
        Self {
            message_id: stored.id.clone(),
            props: user_input_props(stored),
        }
    }
}
