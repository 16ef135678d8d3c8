//! A UI message, as clients of the AI SDK hold it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// What a message says of itself.
pub type UiMetadata = Map<String, Value>;

/// A UI message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct UiMessage {
    /// The message: the id that its client gave to it, or the first turn of an answer.
    pub id: String,
    /// Who says it.
    pub role: UiRole,
    /// Free data of a person's message; the turn of an answer, and what it spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// What it holds, in order.
    pub parts: Vec<UiPart>,
}

/// Who says a UI message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UiRole {
    /// Who runs the client.
    System,
    /// A person.
    User,
    /// An agent.
    #[default]
    Assistant,
}

/// A part of a UI message.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum UiPart {
    /// What the AI SDK has a type for.
    Typed(TypedPart),
    /// A call of a tool.
    Tool(UiToolCall),
    /// Anything else.
    Data(UiData),
    /// A part of a person's message, as the client sent it.
    Sent(SentPart),
}

/// A part of a type that the AI SDK defines.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum TypedPart {
    /// A model was called.
    StepStart,
    /// A text.
    Text {
        /// What it says.
        text: String,
        /// `streaming`, or `done`.
        state: TextState,
    },
    /// Thinking.
    Reasoning {
        /// The part, for clients that know this key.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// What it says.
        text: String,
        /// `streaming`, or `done`.
        state: TextState,
    },
    /// A picture, a sound or a film.
    #[serde(rename_all = "camelCase")]
    File {
        /// What it is.
        media_type: String,
        /// Where it is.
        url: String,
    },
    /// A page that may be cited.
    SourceUrl(UiUrlSource),
    /// A document that may be cited.
    SourceDocument(UiDocumentSource),
    /// What a person said meanwhile, for clients that know this part.
    SteeringMessage {
        /// The message.
        id: String,
        /// Its texts and files.
        parts: Vec<Value>,
    },
}

/// A page that may be cited.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UiUrlSource {
    /// The source.
    pub source_id: String,
    /// Where it is.
    pub url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A document that may be cited.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UiDocumentSource {
    /// The source.
    pub source_id: String,
    /// What it is.
    pub media_type: String,
    /// Its title.
    pub title: String,
}

/// A part as its client has sent it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SentPart(pub Value);

impl PartialSchema for SentPart {
    fn schema() -> RefOr<Schema> {
        let kind = ObjectBuilder::new().schema_type(Type::String);
        let object = ObjectBuilder::new().property("type", kind).required("type");
        let object = object.additional_properties(Some(AdditionalProperties::FreeForm(true)));
        let description = "A part of a person's message, as the client sent it: `text`, `file` …";
        object.description(Some(description)).into()
    }
}

impl ToSchema for SentPart {}

impl From<TypedPart> for UiPart {
    fn from(part: TypedPart) -> Self {
        Self::Typed(part)
    }
}

/// Whether a text goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextState {
    /// It does.
    Streaming,
    /// It has ended.
    Done,
}

/// A call of a tool in a UI message.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UiToolCall {
    /// `dynamic-tool` of a tool of the server's; `tool-` and the name of one of the client's.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool, where its type does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The call.
    pub tool_call_id: String,
    /// How far it is.
    pub state: ToolState,
    /// The arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_text: Option<String>,
    /// Whether the result tells only how far the tool is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preliminary: Option<bool>,
    /// Whether the server runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_executed: Option<bool>,
}

impl UiToolCall {
    /// A call whose arguments are still to come.
    pub fn begun(tool_call_id: String, tool_name: String, is_servers: bool) -> Self {
        Self {
            kind: match is_servers {
                true => "dynamic-tool".to_owned(),
                false => format!("tool-{tool_name}"),
            },
            tool_name: is_servers.then_some(tool_name),
            tool_call_id,
            state: ToolState::InputStreaming,
            input: None,
            output: None,
            error_text: None,
            preliminary: None,
            provider_executed: is_servers.then_some(true),
        }
    }

    /// Ends it with a failure.
    pub fn fail(&mut self, error_text: String) {
        self.state = ToolState::OutputError;
        self.output = None;
        self.preliminary = None;
        self.error_text = Some(error_text);
    }
}

/// How far a call of a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolState {
    /// The model writes its arguments.
    InputStreaming,
    /// It runs, or is to be run.
    InputAvailable,
    /// It has a result.
    OutputAvailable,
    /// It failed.
    OutputError,
}

/// What has a type of its own.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct UiData {
    /// `data-` and the type.
    #[serde(rename = "type")]
    #[schema(pattern = "^data-")]
    pub kind: String,
    /// The part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it holds.
    pub data: Value,
    /// It is told once and becomes no part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
}
