//! Messages as they are stored: what Ambit reads of them has a name, all else survives as it came.

mod model_view;

pub use model_view::{for_model, view_for_model};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The field that only the mark of an erased message has.
pub(crate) const ERASED: &str = "erased";

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions under another name.
    Developer,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Our own id, unique in the conversation; empty until it is added.
    #[serde(default)]
    pub id: String,
    /// Who says it.
    pub role: Role,
    /// The content: text parts `{"type":"text","text":…}` and any others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Value>,
    /// What the model wants done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What came of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<ToolResult>,
    /// Tokens, as the provider reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// Free data of the application; stored only where the storage says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// When it was added, in milliseconds since 1970.
    #[serde(default)]
    pub created_at: i64,
    /// The turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// All other fields: extras, provider ids, reasoning.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call; may come again in a later message.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them.
    #[serde(default)]
    pub arguments: Value,
    /// All other fields.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it gave.
    #[serde(default)]
    pub content: Value,
    /// True where the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// All other fields.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

impl Message {
    /// A message with this text.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        let part = serde_json::json!({"type": "text", "text": text.into()});
        Self {
            parts: vec![part],
            ..Self::empty(role)
        }
    }

    /// What a person says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// What the model says.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// The model asking for calls.
    pub fn calling(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self {
            tool_calls: calls.into_iter().collect(),
            ..Self::empty(Role::Assistant)
        }
    }

    /// The result of a call.
    pub fn result(call_id: impl Into<String>, content: impl Into<Value>) -> Self {
        let result = ToolResult {
            call_id: call_id.into(),
            name: None,
            content: content.into(),
            is_error: false,
            extras: Map::new(),
        };
        Self {
            tool_result: Some(result),
            ..Self::empty(Role::Tool)
        }
    }

    /// True for instructions.
    pub fn is_instruction(&self) -> bool {
        matches!(self.role, Role::System | Role::Developer)
    }

    /// True for the mark that an erased message leaves in its place. It says nothing, and is nothing for a model.
    pub fn is_erased(&self) -> bool {
        self.extras.get(ERASED) == Some(&Value::Bool(true))
    }

    /// The text of all text parts.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect()
    }

    fn empty(role: Role) -> Self {
        Self {
            id: String::new(),
            role,
            parts: Vec::new(),
            tool_calls: Vec::new(),
            tool_result: None,
            usage: None,
            metadata: None,
            created_at: 0,
            turn_id: None,
            extras: Map::new(),
        }
    }
}

impl ToolCall {
    /// A call with these arguments.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            extras: Map::new(),
        }
    }
}
