//! What tools of the client have given: as parts of an answer in a client's copy, and as it is stored.

use super::body::SentMessage;
use crate::format::ai_sdk::{ClientToolOutput, ToolState};
use ambit_runtime::chat::{ChatMessage, ClientMessageFields};
use ambit_runtime::{Error, Result};
use ambit_storage::storage::Message;
use serde::Deserialize;
use serde_json::Value;

/// What is read of a call in a client's copy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentCall {
    /// The call.
    pub tool_call_id: String,
    /// How far it is, in the client's eyes.
    state: ToolState,
    output: Option<Value>,
    error_text: Option<String>,
    #[serde(default)]
    provider_executed: Option<bool>,
}

/// The calls of a message that the client has run.
pub fn of(message: &SentMessage) -> Vec<SentCall> {
    let calls = message.parts.iter().filter(|part| is_call(part));
    let calls = calls.filter_map(|part| SentCall::deserialize(part).ok());
    calls.filter(SentCall::is_run_by_client).collect()
}

fn is_call(part: &Value) -> bool {
    let kind = part["type"].as_str().unwrap_or_default();
    kind == "dynamic-tool" || kind.starts_with("tool-")
}

/// Refuses an answer in which the client says whether a tool may run; `place` names it in errors.
pub fn refuse_approvals(answer: &SentMessage, place: &str) -> Result<()> {
    let is_approval = |part: &Value| match part["state"].as_str() {
        Some("approval-responded") => is_call(part),
        Some("output-denied") => is_call(part) && part["approval"].is_object(),
        _ => false,
    };
    let Some(at) = answer.parts.iter().position(is_approval) else {
        return Ok(());
    };
    let place = format!("{place}.parts[{at}].state");
    let message = format!(
        "{place} answers whether a tool may run, and no turn of this server waits for that; leave the part out"
    );
    Err(Error::unsupported(place, message))
}

impl SentCall {
    fn is_run_by_client(&self) -> bool {
        let has_ended = matches!(
            self.state,
            ToolState::OutputAvailable | ToolState::OutputError
        );
        has_ended && self.provider_executed != Some(true)
    }

    /// The result for the model, and what is stored of it for clients.
    pub fn into_message(self) -> ChatMessage {
        let is_error = self.state == ToolState::OutputError;
        let output = self.output.unwrap_or_default();
        let text = match (is_error, &output) {
            (true, _) => self.error_text.unwrap_or_default(),
            (false, Value::String(text)) => text.clone(),
            (false, output) => output.to_string(),
        };
        let is_kept = !is_error && !output.is_string();
        ChatMessage {
            client: Some(Box::new(ClientMessageFields {
                output: is_kept.then_some(output),
                is_error,
                ..ClientMessageFields::default()
            })),
            ..ChatMessage::result(self.tool_call_id, text)
        }
    }
}

/// What a stored result is for clients.
pub fn output(stored: &Message) -> Option<ClientToolOutput> {
    let result = stored.tool_result.as_ref()?;
    let text = || match &result.content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if result.is_error {
        return Some(ClientToolOutput::Failure(text()));
    }
    let client = stored.extras.get("client");
    let sent = client.and_then(|client| client.get("output"));
    let output = sent.unwrap_or(&result.content).clone();
    Some(ClientToolOutput::Result(output))
}
