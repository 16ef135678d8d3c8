//! What is known of a step beside what it was given and gave: names, numbers and codes. No field holds what a person, a model
//! or a script has said, so that all of it may leave in telemetry.

use crate::llm::TokenUsage;
use ambit_storage::clock::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number};
use utoipa::ToSchema;

/// What is known of a step of the runtime. Those that scripts make have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum StepFacts {
    /// An agent at work.
    Agent(AgentFacts),
    /// A call of a model.
    Model(ModelFacts),
    /// A call of a tool.
    Tool(ToolFacts),
    /// A search.
    Search(SearchFacts),
    /// A hook.
    Hook(HookFacts),
}

/// Of an agent at work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AgentFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What the models of the whole turn have used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

/// Of a call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ModelFacts {
    /// The kind of connector.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// Options of the call that are numbers.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub options: Map<String, serde_json::Value>,
    /// The provider's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// Why the answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// From the call to the first piece of its answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub first_chunk_ms: Option<Number>,
    /// What it has used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

/// Of a call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ToolFacts {
    /// What its server calls it; empty where there is no such tool.
    pub tool: String,
    /// The id of the call.
    pub call_id: String,
    /// The server, if there is such a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the server is outside and speaks MCP.
    pub is_external: bool,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

/// Of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SearchFacts {
    /// What is searched: collections, tables, or who searches the web.
    pub sources: Vec<String>,
    /// The most results that are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Of a hook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HookFacts {
    /// The agent whose it is.
    pub agent: String,
    /// Its name.
    pub hook: String,
    /// Its processor time, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub cpu_ms: Option<Number>,
    /// When it read memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_read: Option<MemoryUse>,
    /// When it wrote memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_written: Option<MemoryUse>,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

impl HookFacts {
    /// Of a hook that has not run yet.
    pub fn of(agent: &str, hook: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            hook: hook.to_owned(),
            ..Self::default()
        }
    }
}

/// From when until when memory was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryUse {
    /// When the first call began, in milliseconds since 1970.
    pub start_at: Millis,
    /// When the last one ended, in milliseconds since 1970.
    pub end_at: Millis,
    /// How many there were.
    pub calls: u64,
}

impl MemoryUse {
    /// One more call.
    pub fn add(&mut self, start_at: Millis, end_at: Millis) {
        if self.calls == 0 || start_at < self.start_at {
            self.start_at = start_at;
        }
        self.end_at = self.end_at.max(end_at);
        self.calls += 1;
    }
}
