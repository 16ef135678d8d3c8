//! A named endpoint of a model, or of a store.

use serde_json::{Map, Value};
use std::fmt;

/// A named model.
#[derive(Clone, Default)]
pub struct Connector {
    /// Dotted id.
    pub id: String,
    /// `openai`, `anthropic`, `gemini`, `ollama`, `scripted` …
    pub kind: String,
    /// What people call it.
    pub label: String,
    /// `options.fallback`: the connectors that are asked when this one fails.
    pub fallback: Vec<String>,
    /// `options`, variables replaced. Holds secrets: never shown or logged.
    pub options: Map<String, Value>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = (&self.id, &self.kind);
        out.debug_tuple("Connector").field(&id).finish()
    }
}
