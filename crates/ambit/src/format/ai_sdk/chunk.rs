//! The chunks of a UI message stream, version 1. Early versions of `ai` 6 refuse keys, and all versions types, that they do
//! not know: only these are sent.

use super::ui_message::{UiData, UiDocumentSource, UiMetadata, UiUrlSource};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What one event of a UI message stream holds.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum UiMessageChunk {
    /// What the AI SDK has a type for.
    Typed(TypedChunk),
    /// Anything else that is shown.
    Data(UiData),
}

/// A chunk of a type that the AI SDK defines.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum TypedChunk {
    /// The message begins.
    #[serde(rename_all = "camelCase")]
    Start {
        /// The message.
        message_id: String,
        /// The turn.
        #[schema(value_type = Object)]
        message_metadata: UiMetadata,
    },
    /// A model is called.
    StartStep,
    /// It has answered.
    FinishStep,
    /// Another one is asked in its place, for clients that know this: what the step has shown is gone.
    ResetStep,
    /// What a person said meanwhile, for clients that know this.
    SteeringMessage {
        /// The message.
        id: String,
        /// Its texts and files.
        parts: Vec<Value>,
    },
    /// A text begins.
    TextStart {
        /// The part.
        id: String,
    },
    /// More of a text.
    TextDelta {
        /// The part.
        id: String,
        /// What is new.
        delta: String,
    },
    /// A text ends.
    TextEnd {
        /// The part.
        id: String,
    },
    /// Thinking begins.
    ReasoningStart {
        /// The part.
        id: String,
    },
    /// More thinking.
    ReasoningDelta {
        /// The part.
        id: String,
        /// What is new.
        delta: String,
    },
    /// Thinking ends.
    ReasoningEnd {
        /// The part.
        id: String,
    },
    /// A call of a tool begins.
    #[serde(rename_all = "camelCase")]
    ToolInputStart {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Who runs it.
        #[serde(flatten)]
        runner: ToolRunner,
    },
    /// More of its arguments.
    #[serde(rename_all = "camelCase")]
    ToolInputDelta {
        /// The call.
        tool_call_id: String,
        /// What is new.
        input_text_delta: String,
    },
    /// Its arguments are whole.
    #[serde(rename_all = "camelCase")]
    ToolInputAvailable {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The arguments.
        input: Value,
        /// Who runs it.
        #[serde(flatten)]
        runner: ToolRunner,
    },
    /// Its arguments are no JSON.
    #[serde(rename_all = "camelCase")]
    ToolInputError {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// What the model wrote.
        input: Value,
        /// What is wrong with it.
        error_text: String,
        /// Who runs it.
        #[serde(flatten)]
        runner: ToolRunner,
    },
    /// What the tool gave.
    #[serde(rename_all = "camelCase")]
    ToolOutputAvailable {
        /// The call.
        tool_call_id: String,
        /// The result.
        output: Value,
        /// The tool still works: this is how far it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        preliminary: Option<bool>,
        /// Who runs it.
        #[serde(flatten)]
        runner: ToolRunner,
    },
    /// The tool failed.
    #[serde(rename_all = "camelCase")]
    ToolOutputError {
        /// The call.
        tool_call_id: String,
        /// Why.
        error_text: String,
        /// Who runs it.
        #[serde(flatten)]
        runner: ToolRunner,
    },
    /// A picture, a sound or a film.
    #[serde(rename_all = "camelCase")]
    File {
        /// Where it is.
        url: String,
        /// What it is.
        media_type: String,
    },
    /// A page that the answer may cite.
    SourceUrl(UiUrlSource),
    /// A document that the answer may cite.
    SourceDocument(UiDocumentSource),
    /// The turn failed.
    #[serde(rename_all = "camelCase")]
    Error {
        /// Why.
        error_text: String,
    },
    /// The message is whole, or the turn failed.
    #[serde(rename_all = "camelCase")]
    Finish {
        /// Why it ended.
        finish_reason: FinishReason,
        /// What was spent.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        message_metadata: Option<UiMetadata>,
    },
    /// The turn was stopped.
    Abort {
        /// Why, for clients that know this key.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A chunk, and the part that it is of where the chunk does not say it.
#[derive(Clone, Debug, PartialEq)]
pub struct PartChunk {
    /// The part.
    pub part: Option<String>,
    /// The chunk.
    pub chunk: UiMessageChunk,
}

impl From<UiMessageChunk> for PartChunk {
    fn from(chunk: UiMessageChunk) -> Self {
        Self { part: None, chunk }
    }
}

impl From<TypedChunk> for UiMessageChunk {
    fn from(chunk: TypedChunk) -> Self {
        Self::Typed(chunk)
    }
}

impl From<TypedChunk> for PartChunk {
    fn from(chunk: TypedChunk) -> Self {
        UiMessageChunk::from(chunk).into()
    }
}

/// Who runs a tool: the client, or the server, whose tools clients do not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRunner {
    /// The tool is none that the client declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic: Option<bool>,
    /// The server runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_executed: Option<bool>,
}

impl ToolRunner {
    /// The client.
    pub const CLIENT: Self = Self {
        dynamic: None,
        provider_executed: None,
    };
    /// The server.
    pub const SERVER: Self = Self {
        dynamic: Some(true),
        provider_executed: Some(true),
    };

    /// Whether the server runs the tool.
    pub fn is_server(self) -> bool {
        self == Self::SERVER
    }
}

/// Why a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The model had said all.
    Stop,
    /// Its tokens were used up.
    Length,
    /// Its provider took offence.
    ContentFilter,
    /// The client is to run tools.
    ToolCalls,
    /// The turn failed.
    Error,
    /// Anything else.
    Other,
}

impl FinishReason {
    /// By the name that models have for it.
    pub fn of_model(reason: &str) -> Self {
        match reason {
            "" | "stop" => Self::Stop,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "tool_calls" => Self::ToolCalls,
            "error" => Self::Error,
            _ => Self::Other,
        }
    }
}
