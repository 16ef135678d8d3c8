//! What a model is asked.

use super::{ChatMessage, GenerationOptions, ToolDefinition};
use crate::net::OutgoingTrace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// What was said, with the reasoning of earlier answers.
    pub messages: Vec<ChatMessage>,
    /// What the model may call.
    pub tools: Vec<ToolDefinition>,
    /// How the answer is to be generated.
    pub options: GenerationOptions,
    /// What the request says of the trace that it is part of, where its host may know.
    #[serde(skip)]
    pub trace: Option<OutgoingTrace>,
}

impl ModelCall {
    /// Tokens that the answer may have, if the call says so, or else the connector.
    pub fn limit(&self, configured: Option<u64>) -> Option<u64> {
        self.options.limit().or(configured)
    }

    /// Texts at which the answer is to end.
    pub fn stops(&self) -> Option<Value> {
        let stop = self.options.stop.as_ref();
        stop.map(|stop| stop.texts().into())
    }
}
