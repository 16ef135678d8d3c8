//! Calls of tools that the client declared. Tools that the server runs are not shown.

use ambit_runtime::frame::OutputMessage;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A call of a tool that the client runs itself, in OpenAI's shape.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CompletionToolCall {
    /// The message that shows it.
    #[serde(skip)]
    message: String,
    id: String,
    /// `function`.
    #[serde(rename = "type")]
    kind: &'static str,
    function: CompletionFunction,
}

/// Which function, and with what.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct CompletionFunction {
    name: String,
    /// JSON, as the model wrote it.
    arguments: String,
}

/// The calls of a turn, in order.
#[derive(Default)]
pub struct ClientToolCalls {
    declared: Vec<String>,
    list: Vec<CompletionToolCall>,
}

impl ClientToolCalls {
    pub fn new(declared: &[String]) -> Self {
        Self {
            declared: declared.to_vec(),
            list: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What is new in this message: an item of `delta.tool_calls`. Forks have no tools of the client.
    pub fn take(&mut self, message: &OutputMessage) -> Option<Value> {
        if message.kind != "tool_call" || message.thread_id.is_some() {
            return None;
        }
        let text = |name: &str| message.props.get(name).and_then(Value::as_str);
        let arguments = text("arguments").unwrap_or_default();
        let known = self
            .list
            .iter_mut()
            .enumerate()
            .find(|(_, call)| call.message == message.message_id);
        if let Some((index, call)) = known {
            let known = &mut call.function.arguments;
            let more = arguments.strip_prefix(known.as_str())?;
            if more.is_empty() {
                return None;
            }
            let delta = json!({"index": index, "function": {"arguments": more}});
            arguments.clone_into(known);
            return Some(delta);
        }
        let (id, name) = (text("id")?, text("name")?);
        if !self.declared.iter().any(|declared| declared == name) {
            return None;
        }
        self.list.push(CompletionToolCall {
            message: message.message_id.clone(),
            id: id.to_owned(),
            kind: "function",
            function: CompletionFunction {
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            },
        });
        Some(json!({
            "index": self.list.len() - 1,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }))
    }

    /// All of them, as `message.tool_calls`.
    pub fn all(&self) -> &[CompletionToolCall] {
        &self.list
    }
}
