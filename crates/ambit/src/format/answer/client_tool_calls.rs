//! Calls of tools that the client declared. Tools that the server runs are not shown.

use ambit_runtime::frame::OutputMessage;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
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

/// What is new of a call: an item of `delta.tool_calls`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolCallDelta {
    /// The message that shows it.
    #[serde(skip)]
    message: String,
    /// Which of the answer's calls it is.
    index: usize,
    /// Its id, where it is told first.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// `function`, where it is told first.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionDelta,
}

/// What is new of the function that is called.
#[derive(Debug, Serialize, ToSchema)]
struct FunctionDelta {
    /// Its name, where the call is told first.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// More of the JSON.
    arguments: String,
}

/// The calls of a turn, in order.
#[derive(Default)]
pub struct ClientToolCalls {
    /// The tools that the request names; who only follows the turn knows none.
    declared: Vec<String>,
    /// The messages that say by themselves that they show a call for the client.
    messages: HashSet<String>,
    list: Vec<CompletionToolCall>,
}

impl CompletionToolCall {
    /// All of it, as if it were new.
    fn whole(&self, index: usize) -> ToolCallDelta {
        ToolCallDelta {
            message: self.message.clone(),
            index,
            id: Some(self.id.clone()),
            kind: Some(self.kind),
            function: FunctionDelta {
                name: Some(self.function.name.clone()),
                arguments: self.function.arguments.clone(),
            },
        }
    }
}

impl ToolCallDelta {
    /// The message that shows the call.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The tool, where the call is told first.
    pub fn name(&self) -> Option<&str> {
        self.function.name.as_deref()
    }

    /// More of the JSON that the tool is called with.
    pub fn arguments(&self) -> &str {
        &self.function.arguments
    }
}

impl ClientToolCalls {
    pub fn new(declared: &[String]) -> Self {
        Self {
            declared: declared.to_vec(),
            ..Self::default()
        }
    }

    /// A message begins that says by itself that it shows a call for the client.
    pub fn begin(&mut self, message: &str) {
        self.messages.insert(message.to_owned());
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What is new in this message. Forks have no tools of the client.
    pub fn take(&mut self, message: &OutputMessage) -> Option<ToolCallDelta> {
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
            let function = FunctionDelta {
                name: None,
                arguments: more.to_owned(),
            };
            arguments.clone_into(known);
            return Some(ToolCallDelta {
                message: message.message_id.clone(),
                index,
                id: None,
                kind: None,
                function,
            });
        }
        let (id, name) = (text("id")?, text("name")?);
        let is_declared = self.declared.iter().any(|declared| declared == name);
        if !is_declared && !self.messages.contains(&message.message_id) {
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
        self.list.last().map(|call| call.whole(self.list.len() - 1))
    }

    /// All of the call that this message shows.
    pub fn of_message(&self, message: &str) -> Option<ToolCallDelta> {
        let at = self.list.iter().position(|call| call.message == message)?;
        Some(self.list[at].whole(at))
    }

    /// All of them, as `message.tool_calls`.
    pub fn all(&self) -> &[CompletionToolCall] {
        &self.list
    }
}
