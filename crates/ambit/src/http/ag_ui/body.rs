//! The body of a run: `RunAgentInput` of AG-UI.

use super::message::RunMessage;
use crate::http::chat::BusyChoice;
use crate::http::input::BodyFields;
use ambit_runtime::chat::ToolDefinition;
use ambit_runtime::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A run that a client asks for.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentBody {
    /// The chat.
    pub thread_id: String,
    /// The run. A second request with the same one is the first one again.
    pub run_id: String,
    /// The version of the protocol that the client speaks: `1.0` or another of `1.x`.
    pub protocol_version: Option<String>,
    /// All messages that the client has of the chat; those behind the last one that is stored are new.
    pub messages: Vec<RunMessage>,
    /// Tools that the client runs itself.
    pub tools: Option<Vec<RunTool>>,
    /// What hooks find as `ctx.metadata.context`.
    pub context: Option<Vec<Value>>,
    /// What hooks find as `ctx.metadata.forwardedProps`.
    pub forwarded_props: Option<Value>,
    /// The shared state as the client has it; where the agent has none, what hooks find as `ctx.metadata.state`.
    pub state: Option<Value>,
    /// Answers to interrupts, which no run of this server ends with.
    #[schema(value_type = Option<Vec<Object>>)]
    pub resume: Option<Vec<Value>>,
    /// What becomes of a run that is under way in this chat; by default it is stopped.
    #[serde(rename = "on_busy")]
    pub on_busy: Option<BusyChoice>,
    /// The run ends when nobody reads its stream any more.
    #[serde(rename = "cancel_on_disconnect")]
    pub cancel_on_disconnect: Option<bool>,
    /// The message whose place this run takes, with all behind it.
    pub supersede: Option<String>,
}

impl BodyFields for RunAgentBody {
    const IGNORES_UNKNOWN: bool = true;

    fn check(&self) -> Result<()> {
        let version = self.protocol_version.as_deref();
        if let Some(version) = version.filter(|version| !is_spoken(version)) {
            let message = format!("protocolVersion is {version}; this server speaks 1.0");
            return Err(Error::unsupported("protocolVersion", message));
        }
        if self
            .resume
            .as_ref()
            .is_some_and(|resume| !resume.is_empty())
        {
            let message =
                "resume answers interrupts, and no run of this server waits for one; leave it out";
            return Err(Error::unsupported("resume", message));
        }
        for (name, id) in [("threadId", &self.thread_id), ("runId", &self.run_id)] {
            if id.is_empty() {
                return Err(Error::invalid(name, format!("{name} must not be empty")));
            }
        }
        let mut tools = self.tools.iter().flatten();
        if let Some(at) = tools.position(|tool| tool.name.is_empty()) {
            let place = format!("tools[{at}].name");
            return Err(Error::invalid(&place, format!("{place} must not be empty")));
        }
        Ok(())
    }
}

/// Whether clients of this version of the protocol are understood.
fn is_spoken(version: &str) -> bool {
    let minor = version.strip_prefix("1.").unwrap_or_default();
    !minor.is_empty() && minor.bytes().all(|digit| digit.is_ascii_digit())
}

/// A tool that the client runs itself.
#[derive(Deserialize, ToSchema)]
pub struct RunTool {
    /// What it is called.
    pub name: String,
    /// What it does, for the model.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
}

impl From<RunTool> for ToolDefinition {
    fn from(tool: RunTool) -> Self {
        let parameters = tool.parameters.filter(Value::is_object);
        let parameters = parameters.unwrap_or_else(|| json!({"type": "object"}));
        let description = tool.description.unwrap_or_default();
        Self::function(&tool.name, &description, parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::is_spoken;

    #[test]
    fn every_minor_version_of_the_first_is_spoken() {
        assert!(["1.0", "1.1", "1.12"].into_iter().all(is_spoken));
        let others = ["", "1", "1.", "1.x", "1.0.0", "2.0", "0.9", "11.0"];
        assert!(!others.into_iter().any(is_spoken));
    }
}
