//! The Response itself.

use super::item::ResponseItem;
use super::settings::ResponseSettings;
use ambit_runtime::llm::TokenUsage;
use ambit_runtime::{Error, ErrorCode};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Where the metadata of a failed Response has Ambit's own code.
const CODE: &str = "ambit_code";

/// An answer, as far as it is there.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ResponseObject {
    /// `resp_R`.
    pub id: String,
    /// `response`.
    pub object: &'static str,
    /// Seconds since 1970.
    pub created_at: i64,
    /// Seconds since 1970; nothing of what has not ended as it should.
    pub completed_at: Option<i64>,
    /// How far it is.
    pub status: ResponseStatus,
    /// Why it failed.
    pub error: Option<ResponseFailure>,
    /// Why it is not whole.
    pub incomplete_details: Option<IncompleteDetails>,
    /// The agent.
    pub model: String,
    /// The items, in order.
    pub output: Vec<ResponseItem>,
    /// What was spent, once it has ended.
    pub usage: Option<ResponseUsage>,
    /// What the request has said.
    #[serde(flatten)]
    pub settings: ResponseSettings,
}

/// How far a Response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// It grows.
    InProgress,
    /// It is whole.
    Completed,
    /// A limit has cut it off.
    Incomplete,
    /// It was stopped.
    Cancelled,
    /// It failed.
    Failed,
}

/// Why a Response is not whole.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`.
    pub reason: &'static str,
}

/// Why a Response failed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ResponseFailure {
    /// The failure as OpenAI's clients know it: what they send again, and what they do not.
    pub code: &'static str,
    /// What failed, for which input, and what would help.
    pub message: String,
}

/// Tokens.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ResponseUsage {
    pub input_tokens: i64,
    pub input_tokens_details: InputTokensDetails,
    pub output_tokens: i64,
    pub output_tokens_details: OutputTokensDetails,
    pub total_tokens: i64,
}

/// Tokens of the request.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct InputTokensDetails {
    /// Read from the provider's cache.
    pub cached_tokens: i64,
    /// Written to it.
    pub cache_write_tokens: i64,
}

/// Tokens of the answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OutputTokensDetails {
    /// Spent on thinking.
    pub reasoning_tokens: i64,
}

impl ResponseObject {
    /// Tells why it failed.
    pub fn fail(&mut self, error: &Error) {
        self.status = ResponseStatus::Failed;
        self.error = Some(ResponseFailure {
            code: code(error),
            message: error.message.clone(),
        });
        let code = Value::from(error.code.as_str());
        self.settings.metadata.insert(CODE.to_owned(), code);
    }
}

/// What a failure is called here.
fn code(error: &Error) -> &'static str {
    match &error.code {
        ErrorCode::LlmRateLimited => "rate_limit_exceeded",
        ErrorCode::LimitExceeded => "context_length_exceeded",
        ErrorCode::InvalidArgument
        | ErrorCode::Unsupported
        | ErrorCode::ConfigError
        | ErrorCode::HookError
        | ErrorCode::Vetoed
        | ErrorCode::PermissionDenied
        | ErrorCode::LlmContentFilter => "invalid_prompt",
        ErrorCode::ConnectorNotAllowed
        | ErrorCode::Unauthenticated
        | ErrorCode::NotFound
        | ErrorCode::Conflict
        | ErrorCode::ChatBusy
        | ErrorCode::TooLate
        | ErrorCode::StreamExpired
        | ErrorCode::Fenced
        | ErrorCode::Partial
        | ErrorCode::Unavailable
        | ErrorCode::Corrupt
        | ErrorCode::ScriptCpuLimit
        | ErrorCode::ScriptTimeout
        | ErrorCode::ScriptOutOfMemory
        | ErrorCode::OutputLimit
        | ErrorCode::DelegateDepth
        | ErrorCode::LlmError
        | ErrorCode::McpError
        | ErrorCode::ToolError
        | ErrorCode::SearchError
        | ErrorCode::Cancelled
        | ErrorCode::Timeout
        | ErrorCode::Internal
        | ErrorCode::Own(_) => "server_error",
    }
}

impl From<&TokenUsage> for ResponseUsage {
    fn from(usage: &TokenUsage) -> Self {
        Self {
            input_tokens: usage.prompt_tokens,
            input_tokens_details: InputTokensDetails {
                cached_tokens: usage.cached_tokens().unwrap_or(0),
                cache_write_tokens: usage.cache_creation_tokens().unwrap_or(0),
            },
            output_tokens: usage.completion_tokens,
            output_tokens_details: OutputTokensDetails {
                reasoning_tokens: usage.reasoning_tokens().unwrap_or(0),
            },
            total_tokens: usage.total_tokens,
        }
    }
}
