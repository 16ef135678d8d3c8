//! Items of a Response's output, as OpenAI shapes them.

use ambit_runtime::ServerFailure;
use serde::Serialize;
use utoipa::ToSchema;

/// One item of an output.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseItem {
    /// Text of the answer.
    Message(MessageItem),
    /// What the model thought.
    Reasoning(ReasoningItem),
    /// A call of a function that the client runs.
    FunctionCall(FunctionCallItem),
    /// A call of a tool of the client that takes free text.
    CustomToolCall(CustomCallItem),
    /// A call that the server runs.
    McpCall(McpCallItem),
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// It grows.
    InProgress,
    /// It is whole.
    Completed,
    /// It was cut off.
    Incomplete,
    /// The call failed.
    Failed,
}

/// Text of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MessageItem {
    /// `msg_R_M1`.
    pub id: String,
    /// `assistant`.
    pub role: &'static str,
    pub status: ItemStatus,
    /// The one part, once it has begun.
    pub content: Vec<OutputText>,
}

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OutputText {
    /// `output_text`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub text: String,
    /// None.
    #[schema(value_type = Vec<Object>)]
    pub annotations: [u8; 0],
    /// None.
    #[schema(value_type = Vec<Object>)]
    pub logprobs: [u8; 0],
}

/// What the model thought.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReasoningItem {
    /// `rs_R_M2`.
    pub id: String,
    pub status: ItemStatus,
    /// The one part, once it has begun.
    pub summary: Vec<SummaryText>,
    /// What the provider wants back, where the request asks for it.
    pub encrypted_content: Option<String>,
}

/// A part of what the model thought.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SummaryText {
    /// `summary_text`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub text: String,
}

/// A call of a function that the client runs.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FunctionCallItem {
    /// `fc_R_M8`.
    pub id: String,
    /// `call_R_M8`: what its result names.
    pub call_id: String,
    /// The function.
    pub name: String,
    /// The namespace that the function stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// JSON, as the model wrote it.
    pub arguments: String,
    pub status: ItemStatus,
}

/// A call of a tool of the client that takes free text.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CustomCallItem {
    /// `ctc_R_M8`.
    pub id: String,
    /// `call_R_M8`: what its result names.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The text.
    pub input: String,
}

/// A call that the server runs.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct McpCallItem {
    /// `mcp_R_M8`.
    pub id: String,
    /// The tool server.
    pub server_label: String,
    /// The tool.
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
    /// What came of it.
    pub output: Option<String>,
    /// Why nothing came of it.
    pub error: Option<McpCallError>,
    pub status: ItemStatus,
}

/// Why nothing came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpCallError {
    /// The tool has failed.
    McpToolExecutionError {
        /// What is said of it.
        #[schema(value_type = Vec<ErrorText>)]
        content: [ErrorText; 1],
    },
    /// Its server was not reached over HTTP, or has answered with a failure.
    HttpError {
        /// The status; 0 where nothing was answered.
        code: u16,
        /// What is said of it.
        message: String,
    },
    /// Its server has refused the request, has said what is no answer, or the connection to it has ended.
    McpProtocolError {
        /// The code of JSON-RPC.
        code: i32,
        /// What is said of it.
        message: String,
    },
}

/// What a tool says of its failure.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ErrorText {
    /// `text`.
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

impl OutputText {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            kind: "output_text",
            text: text.into(),
            annotations: [],
            logprobs: [],
        }
    }
}

impl SummaryText {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            kind: "summary_text",
            text: text.into(),
        }
    }
}

impl ReasoningItem {
    /// A thought that shows nothing, but holds what the provider wants back.
    pub fn hidden(id: String) -> Self {
        Self {
            id,
            status: ItemStatus::Completed,
            summary: Vec::new(),
            encrypted_content: None,
        }
    }
}

/// What stands for the message in the id of a thought that shows nothing. They count from 1 in each turn.
pub(super) fn hidden_thought(number: usize) -> String {
    format!("P{number}")
}

impl McpCallError {
    /// Of a call that has failed with this text, and of its server if that is what has failed.
    pub fn new(text: String, failure: Option<ServerFailure>) -> Self {
        match failure {
            None => Self::McpToolExecutionError {
                content: [ErrorText { kind: "text", text }],
            },
            Some(ServerFailure::HttpError { code }) => Self::HttpError {
                code,
                message: text,
            },
            Some(ServerFailure::McpProtocolError { code }) => Self::McpProtocolError {
                code,
                message: text,
            },
        }
    }
}

impl ResponseItem {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Message(item) => &item.id,
            Self::Reasoning(item) => &item.id,
            Self::FunctionCall(item) => &item.id,
            Self::CustomToolCall(item) => &item.id,
            Self::McpCall(item) => &item.id,
        }
    }
}

impl ResponseItem {
    /// Its text, where it is one.
    pub fn text(&self) -> Option<&String> {
        match self {
            Self::Message(item) => item.content.first().map(|part| &part.text),
            Self::Reasoning(item) => item.summary.first().map(|part| &part.text),
            Self::FunctionCall(_) | Self::CustomToolCall(_) | Self::McpCall(_) => None,
        }
    }

    pub(super) fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Message(item) => item.content.first_mut().map(|part| &mut part.text),
            Self::Reasoning(item) => item.summary.first_mut().map(|part| &mut part.text),
            Self::FunctionCall(_) | Self::CustomToolCall(_) | Self::McpCall(_) => None,
        }
    }

    pub(super) fn set_status(&mut self, to: ItemStatus) {
        match self {
            Self::Message(item) => item.status = to,
            Self::Reasoning(item) => item.status = to,
            Self::FunctionCall(item) => item.status = to,
            Self::McpCall(item) => item.status = to,
            // It has none.
            Self::CustomToolCall(_) => {}
        }
    }
}
