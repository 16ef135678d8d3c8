//! How far a call of a tool is shown.

use super::chunk::{PartChunk, ToolRunner, TypedChunk};
use super::props::text;
use ambit_runtime::chat::read_arguments;
use ambit_runtime::frame::OutputMessage;
use serde_json::Value;

/// How far a call is shown.
#[derive(Default)]
pub struct ShownCall {
    pub call_id: String,
    pub name: String,
    pub is_client: bool,
    stage: CallStage,
    /// Bytes of its arguments that clients have.
    length: usize,
    progress: Value,
}

/// What clients know of a call.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum CallStage {
    /// Nothing.
    #[default]
    Unknown,
    /// Its tool, and as much of its arguments as there is.
    Begun,
    /// All of its arguments.
    Whole,
    /// What has come of it.
    Settled,
}

impl ShownCall {
    /// A call of which nothing is shown yet.
    pub fn new(call_id: &str) -> Self {
        Self {
            call_id: call_id.to_owned(),
            ..Self::default()
        }
    }

    fn runner(&self) -> ToolRunner {
        match self.is_client {
            true => ToolRunner::CLIENT,
            false => ToolRunner::SERVER,
        }
    }

    pub fn start(&mut self, out: &mut Vec<PartChunk>) {
        self.stage = CallStage::Begun;
        let chunk = TypedChunk::ToolInputStart {
            tool_call_id: self.call_id.clone(),
            tool_name: self.name.clone(),
            runner: self.runner(),
        };
        out.push(chunk.into());
    }

    pub fn changed(&mut self, message: &OutputMessage, out: &mut Vec<PartChunk>) {
        if self.stage == CallStage::Unknown {
            text(message, "name").clone_into(&mut self.name);
            if self.name.is_empty() {
                return;
            }
            self.start(out);
        }
        let arguments = text(message, "arguments");
        if self.stage == CallStage::Begun && arguments.len() > self.length {
            // What was sent cannot be taken back; the whole input comes at the end.
            let new = arguments.get(self.length..).unwrap_or_default();
            self.length = arguments.len();
            let chunk = TypedChunk::ToolInputDelta {
                tool_call_id: self.call_id.clone(),
                input_text_delta: new.to_owned(),
            };
            out.extend((!new.is_empty()).then(|| PartChunk::from(chunk)));
        }
        self.settle(message, out);
    }

    pub fn ended(&mut self, message: &OutputMessage, out: &mut Vec<PartChunk>) {
        if self.stage == CallStage::Unknown {
            self.start(out);
        }
        if self.stage == CallStage::Begun {
            self.stage = CallStage::Whole;
            let arguments = text(message, "arguments");
            let (tool_call_id, tool_name) = (self.call_id.clone(), self.name.clone());
            let runner = self.runner();
            let chunk = match read_arguments(arguments) {
                Ok(input) => TypedChunk::ToolInputAvailable {
                    tool_call_id,
                    tool_name,
                    input,
                    runner,
                },
                Err(error) => TypedChunk::ToolInputError {
                    tool_call_id,
                    tool_name,
                    input: arguments.into(),
                    error_text: format!("the arguments are no JSON: {error}"),
                    runner,
                },
            };
            out.push(chunk.into());
        }
        self.settle(message, out);
    }

    /// Tells what has come of the call so far.
    fn settle(&mut self, message: &OutputMessage, out: &mut Vec<PartChunk>) {
        if self.stage != CallStage::Whole {
            return;
        }
        let (tool_call_id, runner) = (self.call_id.clone(), self.runner());
        let prop = |name: &str| message.props.get(name).cloned().unwrap_or_default();
        let chunk = match text(message, "status") {
            "completed" => TypedChunk::ToolOutputAvailable {
                tool_call_id,
                output: prop("result"),
                preliminary: None,
                runner,
            },
            "error" => TypedChunk::ToolOutputError {
                tool_call_id,
                error_text: text(message, "error").to_owned(),
                runner,
            },
            _ if prop("progress") != self.progress => {
                self.progress = prop("progress");
                let chunk = TypedChunk::ToolOutputAvailable {
                    tool_call_id,
                    output: self.progress.clone(),
                    preliminary: Some(true),
                    runner,
                };
                return out.push(chunk.into());
            }
            _ => return,
        };
        self.stage = CallStage::Settled;
        out.push(chunk.into());
    }
}
