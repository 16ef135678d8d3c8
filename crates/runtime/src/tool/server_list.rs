//! What tool servers list: read from the protocol, and written as scripts see it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The lists of a server. One that was not asked for is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpLists {
    /// Its tools.
    pub tools: Vec<McpTool>,
    /// Its resources.
    pub resources: Vec<McpResource>,
    /// Its prompts.
    pub prompts: Vec<McpPrompt>,
}

/// A tool of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// What the server calls it.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its results.
    pub output_schema: Option<Value>,
}

/// A resource of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpResource {
    /// Its address, or a template of addresses.
    pub uri: String,
    /// What people call it.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// What its content is, such as `text/plain`.
    pub mime_type: Option<String>,
    /// `_meta` of the protocol.
    #[serde(rename(deserialize = "_meta"))]
    pub meta: Option<Map<String, Value>>,
}

/// A prompt of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpPrompt {
    /// What the server calls it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its variables.
    pub arguments: Option<Vec<McpPromptArgument>>,
}

/// A variable of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: Option<bool>,
}
