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
    /// How much chance there is in the answer.
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
    /// How much of what is probable is considered.
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

/// The fields that change nothing, and what a Response says of them where the request says nothing.
const FURTHER: [(&str, Option<&str>); 10] = [
    ("max_tool_calls", None),
    ("prompt_cache_key", None),
    ("prompt_cache_retention", None),
    ("safety_identifier", None),
    ("service_tier", Some("default")),
    ("stream_options", None),
    ("top_logprobs", None),
    ("truncation", Some("disabled")),
    ("user", None),
    ("verbosity", None),
];

/// What a Response says again of the fields that change nothing.
pub fn echoed_fields(given: &Map<String, Value>) -> Map<String, Value> {
    let said = FURTHER.into_iter().filter_map(|(name, usual)| {
        let given = given.get(name).filter(|value| !value.is_null()).cloned();
        Some((name.to_owned(), given.or_else(|| usual.map(Value::from))?))
    });
    said.collect()
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
            temperature: None,
            text: Map::from_iter([("format".to_owned(), Value::Object(form))]),
            tool_choice: Value::from("auto"),
            tools: Vec::new(),
            top_p: None,
            further: echoed_fields(&Map::new()),
        }
    }
}
