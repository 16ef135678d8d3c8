//! What a model is asked.

use super::{ChatMessage, GenerationOptions, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// What was said, with the reasoning of earlier answers.
    pub messages: Vec<ChatMessage>,
    /// What the model may call.
    pub tools: Vec<ToolDefinition>,
    /// How the answer is to be generated.
    pub options: GenerationOptions,
}

impl ModelCall {
    /// Tokens that the answer may have, if the call or the connector's settings say so.
    pub fn limit(&self, settings: &Map<String, Value>) -> Option<u64> {
        let configured = || settings.get("max_tokens")?.as_u64();
        self.options.limit().or_else(configured)
    }

    /// Texts at which the answer is to end.
    pub fn stops(&self) -> Option<Value> {
        let stop = self.options.stop.as_ref();
        stop.map(|stop| stop.texts().into())
    }
}
