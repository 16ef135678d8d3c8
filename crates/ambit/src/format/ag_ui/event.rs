//! The events of AG-UI 1.0, as far as turns give reason for them. A field that is absent is left out and never `null`.

use ambit_runtime::json_patch::PatchOperation;
use ambit_runtime::llm::ModelUsage;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The protocol's version.
pub const PROTOCOL_VERSION: &str = "1.0";

/// An event.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct AgUiEvent {
    /// What it says.
    #[serde(flatten)]
    pub content: AgUiEventContent,
    /// The agent whose work it belongs to, if that is not the run's own.
    #[serde(rename = "subagentRunId", skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}

/// What an event says.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgUiEventContent {
    #[serde(rename_all = "camelCase")]
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: &'static str,
        metadata: RunMetadata,
    },
    #[serde(rename_all = "camelCase")]
    RunFinished {
        thread_id: String,
        run_id: String,
        /// What the agent's `Next` hook gave.
        #[serde(skip_serializing_if = "Value::is_null")]
        result: Value,
        outcome: RunOutcome,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<RunUsage>,
    },
    RunError {
        message: String,
        code: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<RunUsage>,
    },
    #[serde(rename_all = "camelCase")]
    StepStarted {
        step_name: String,
    },
    #[serde(rename_all = "camelCase")]
    StepFinished {
        step_name: String,
    },
    #[serde(rename_all = "camelCase")]
    SubagentStarted {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    SubagentFinished {},
    SubagentError {
        message: &'static str,
        code: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    TextMessageStart {
        message_id: String,
        role: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    #[serde(rename_all = "camelCase")]
    TextMessageEnd {
        message_id: String,
    },
    #[serde(rename_all = "camelCase")]
    ReasoningStart {
        message_id: String,
    },
    #[serde(rename_all = "camelCase")]
    ReasoningMessageStart {
        message_id: String,
        role: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    #[serde(rename_all = "camelCase")]
    ReasoningMessageEnd {
        message_id: String,
    },
    #[serde(rename_all = "camelCase")]
    ReasoningEnd {
        message_id: String,
    },
    #[serde(rename_all = "camelCase")]
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        parent_message_id: String,
    },
    #[serde(rename_all = "camelCase")]
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    #[serde(rename_all = "camelCase")]
    ToolCallEnd {
        tool_call_id: String,
    },
    #[serde(rename_all = "camelCase")]
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<ResultMetadata>,
    },
    #[serde(rename_all = "camelCase")]
    ActivitySnapshot {
        message_id: String,
        activity_type: String,
        content: Map<String, Value>,
        /// Only where it takes the place of an earlier one.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replace: bool,
    },
    #[serde(rename_all = "camelCase")]
    ActivityDelta {
        message_id: String,
        activity_type: String,
        patch: Vec<PatchOperation>,
    },
    StateSnapshot {
        snapshot: Value,
    },
    StateDelta {
        #[schema(value_type = Vec<PatchOperation>)]
        delta: Value,
    },
    Custom {
        name: &'static str,
        value: Value,
    },
}

/// What a run is called elsewhere.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RunMetadata {
    pub request_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    pub assistant_id: String,
}

/// How a run ended that has not failed.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum RunOutcome {
    #[serde(rename_all = "camelCase")]
    Success {
        /// The calls that the client has to answer.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    Cancelled,
}

/// Marks the result of a call that went wrong.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct ResultMetadata {
    pub is_error: bool,
}

/// What was spent with one model.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunUsage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    /// Part of `outputTokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Part of `inputTokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Part of `inputTokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
}

impl From<ModelUsage> for RunUsage {
    fn from(used: ModelUsage) -> Self {
        let usage = &used.usage;
        let count = |tokens: i64| u64::try_from(tokens).unwrap_or_default();
        let detail = |tokens: Option<i64>| u64::try_from(tokens?).ok();
        let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
        Self {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input + output,
            reasoning_tokens: detail(usage.reasoning_tokens()),
            cached_input_tokens: detail(usage.cached_tokens()),
            cache_write_input_tokens: detail(usage.cache_creation_tokens()),
            provider: used.provider,
            model: used.model,
        }
    }
}
