//! What an app says of recall: `ambit.search.recall`.

use crate::app::RecallOptions;
use crate::chats::ChatMessageView;
use crate::error::{Error, ErrorCode, Result};
use crate::index_vectors::IndexEmbedding;
use serde_json::Value;

/// Whether and what conversations are searched for.
#[derive(Clone)]
pub struct RecallSettings {
    /// Whether they are searched at all.
    pub is_enabled: bool,
    /// Whose messages are found, `user` or `assistant`.
    pub roles: Vec<String>,
    /// Who makes vectors of them; without it words alone find.
    pub embedding: Option<IndexEmbedding>,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self {
            is_enabled: true,
            roles: ["user", "assistant"].map(str::to_owned).to_vec(),
            embedding: None,
        }
    }
}

impl RecallSettings {
    /// What the app says.
    pub(crate) fn of(options: &RecallOptions, embedding: Option<IndexEmbedding>) -> Self {
        Self {
            is_enabled: options.enabled,
            roles: options.roles.clone(),
            embedding,
        }
    }

    /// Refuses where conversations are not searched.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_enabled {
            return Ok(());
        }
        let message = "q: conversations are not searched here; the app allows it with ambit.search.recall.enabled";
        Err(Error {
            param: Some("q".to_owned()),
            ..Error::new(ErrorCode::Unsupported, message)
        })
    }

    /// The roles as an index notes them: one made for others is of no use.
    pub(super) fn names(&self) -> String {
        let mut roles = self.roles.clone();
        roles.sort_unstable();
        roles.dedup();
        roles.join(" ")
    }

    /// The text that a message is found by: what a person or an agent said, never what tools answered or a model thought.
    pub(super) fn text_of(&self, shown: &ChatMessageView) -> Option<String> {
        let is_said = matches!(shown.kind.as_str(), "user_input" | "text");
        if !is_said || !self.roles.iter().any(|role| role == shown.role) {
            return None;
        }
        let text = match shown.props.get("content")? {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text");
                let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
                texts.join("\n")
            }
            _ => return None,
        };
        (!text.trim().is_empty()).then_some(text)
    }
}
