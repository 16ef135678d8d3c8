//! What a request says of its Response, as far as the Response says it again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What is kept of a request, so that every replay of its stream is the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResponseRecord {
    /// What the Response says again.
    pub settings: ResponseSettings,
    /// The tools that the client runs, by the names that the model knows.
    pub client_tools: BTreeMap<String, ClientTool>,
    /// Reasoning items hold what the provider wants back.
    pub has_encrypted_reasoning: bool,
}

/// A tool that the client runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientTool {
    /// A function with arguments.
    Function,
    /// A function that stands in a namespace.
    Namespaced {
        /// The namespace.
        namespace: String,
        /// Its name there.
        name: String,
    },
    /// A tool that takes free text.
    Custom,
}

/// The fields of a Response that are those of its request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ResponseSettings {
    /// Whether the request did not wait for the answer.
    pub background: bool,
    /// The conversation that it belongs to, where the request named it.
    pub conversation: Option<ConversationName>,
    /// Instructions for this turn alone.
    pub instructions: Option<String>,
    /// At most so many tokens.
    pub max_output_tokens: Option<u64>,
    /// Texts of the client.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: bool,
    /// The Response that this one goes on from.
    pub previous_response_id: Option<String>,
    /// How much the model thinks.
    #[schema(value_type = Object)]
    pub reasoning: Map<String, Value>,
    /// Whether the turn is stored.
    pub store: bool,
    /// How much chance there is in the answer, as the request says; the protocol's own 1 where it says nothing.
    #[schema(value_type = Option<f64>)]
    pub temperature: Option<Number>,
    /// The form of the answer.
    #[schema(value_type = Object)]
    pub text: Map<String, Value>,
    /// Whether a tool is called, and which.
    pub tool_choice: Value,
    /// The tools of the request.
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Value>,
    /// How much of what is probable is considered, likewise.
    #[schema(value_type = Option<f64>)]
    pub top_p: Option<Number>,
    /// Fields that change nothing.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationName {
    /// `conv_…`.
    pub id: String,
}

/// What a Response says of a field that the request does not have.
enum UnsaidField {
    Absent,
    Null,
    Zero,
    Text(&'static str),
}

/// The fields that change nothing. The public schema of Responses wants most of them in each.
const FURTHER: [(&str, UnsaidField); 12] = [
    ("frequency_penalty", UnsaidField::Zero),
    ("max_tool_calls", UnsaidField::Null),
    ("presence_penalty", UnsaidField::Zero),
    ("prompt_cache_key", UnsaidField::Null),
    ("prompt_cache_retention", UnsaidField::Absent),
    ("safety_identifier", UnsaidField::Null),
    ("service_tier", UnsaidField::Text("default")),
    ("stream_options", UnsaidField::Absent),
    ("top_logprobs", UnsaidField::Zero),
    ("truncation", UnsaidField::Text("disabled")),
    ("user", UnsaidField::Null),
    ("verbosity", UnsaidField::Absent),
];

/// What a Response says again of the fields that change nothing.
pub fn echoed_fields(given: &Map<String, Value>) -> Map<String, Value> {
    let said = FURTHER.into_iter().filter_map(|(name, unsaid)| {
        let given = given.get(name).filter(|value| !value.is_null());
        let value = match (given, unsaid) {
            (Some(given), _) => given.clone(),
            (None, UnsaidField::Absent) => return None,
            (None, UnsaidField::Null) => Value::Null,
            (None, UnsaidField::Zero) => Value::from(0),
            (None, UnsaidField::Text(text)) => Value::from(text),
        };
        Some((name.to_owned(), value))
    });
    said.collect()
}

/// A tool as a Response says it again: a function has all fields of its schema.
pub fn echoed_tool(mut tool: Map<String, Value>) -> Value {
    if tool.get("type").is_some_and(|kind| kind == "function") {
        for name in ["description", "parameters", "strict"] {
            tool.entry(name).or_insert(Value::Null);
        }
    }
    Value::Object(tool)
}

impl Default for ResponseSettings {
    fn default() -> Self {
        let form = Map::from_iter([("type".to_owned(), Value::from("text"))]);
        let reasoning = ["effort", "summary"].map(|name| (name.to_owned(), Value::Null));
        Self {
            background: false,
            conversation: None,
            instructions: None,
            max_output_tokens: None,
            metadata: Map::new(),
            parallel_tool_calls: true,
            previous_response_id: None,
            reasoning: reasoning.into_iter().collect(),
            store: true,
            temperature: Some(Number::from(1)),
            text: Map::from_iter([("format".to_owned(), Value::Object(form))]),
            tool_choice: Value::from("auto"),
            tools: Vec::new(),
            top_p: Some(Number::from(1)),
            further: echoed_fields(&Map::new()),
        }
    }
}
