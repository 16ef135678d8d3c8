//! The body of a chat request: OpenAI's, with further fields.

use super::options;
use crate::http::input::BodyFields;
use ambit_runtime::Result;
use ambit_runtime::chat::ToolDefinition;
use ambit_runtime::{SearchChoice, SkipOptions};
use ambit_storage::lease::OnBusy;
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a client asks.
#[derive(Default, serde::Deserialize, ToSchema)]
pub struct ChatCompletionBody {
    /// An agent's id; or a connector, if the agent is named otherwise.
    pub model: Option<String>,
    /// The new messages, or the whole conversation with new ones at its end.
    #[schema(value_type = Vec<Object>)]
    pub messages: Option<Vec<Value>>,
    /// Whether the answer is a stream: by default in every format but `standard`.
    pub stream: Option<bool>,
    /// What the stream tells beside the answer.
    pub stream_options: Option<StreamOptions>,
    /// `false` keeps the turn out of the history.
    pub store: Option<bool>,
    /// The agent.
    pub assistant_id: Option<String>,
    /// The chat's name; without one a new chat begins.
    pub chat_id: Option<String>,
    /// The format of the answer: `standard`, `cui-web` …
    pub accept: Option<String>,
    /// The language.
    pub locale: Option<String>,
    /// The theme of the page.
    pub theme: Option<String>,
    /// The route of the page.
    pub route: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// What a second request to a busy chat does.
    pub on_busy: Option<BusyChoice>,
    /// The turn ends when nobody reads its stream any more.
    pub cancel_on_disconnect: Option<bool>,
    /// Client-supplied data, at most 16 KiB.
    #[serde(default, deserialize_with = "free_object")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// What is left out.
    pub skip: Option<SkipFields>,
    /// Whether and what is searched automatically.
    #[schema(value_type = Option<Object>)]
    pub search: Option<SearchField>,
    /// Tools that the client runs itself.
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Vec<ToolDefinition>>,
    /// What one agent may tell another when it calls it, as far as clients may say it.
    pub options: Option<CallFields>,
    /// How much chance there is in the answer.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 2)]
    pub temperature: Option<Between<0, 2>>,
    /// How much of what is probable is considered.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1)]
    pub top_p: Option<Between<0, 1>>,
    /// How much what was said is avoided.
    #[schema(value_type = Option<f64>, minimum = -2, maximum = 2)]
    pub presence_penalty: Option<Between<-2, 2>>,
    /// How much what was said often is avoided.
    #[schema(value_type = Option<f64>, minimum = -2, maximum = 2)]
    pub frequency_penalty: Option<Between<-2, 2>>,
    /// At most so many tokens.
    #[schema(minimum = 1)]
    pub max_tokens: Option<i64>,
    /// At most so many tokens, those of reasoning too.
    #[schema(minimum = 1)]
    pub max_completion_tokens: Option<i64>,
    /// 1: an agent gives one answer.
    #[schema(minimum = 1, maximum = 1)]
    pub n: Option<i64>,
    /// Makes answers more alike.
    pub seed: Option<i64>,
    /// Whom the client asks for.
    pub user: Option<String>,
    /// How likely single tokens are.
    #[schema(value_type = Option<Object>)]
    pub logit_bias: Option<Map<String, Value>>,
    /// The shape of the answer.
    #[schema(value_type = Option<Object>)]
    pub response_format: Option<Map<String, Value>>,
    /// A text, or a list of texts, at which the answer ends.
    #[schema(value_type = Option<Object>)]
    pub stop: Option<StopTexts>,
    /// Whether a tool is called, and which.
    #[schema(value_type = Option<Object>)]
    pub tool_choice: Option<ToolChoice>,
}

impl BodyFields for ChatCompletionBody {
    const IGNORES_UNKNOWN: bool = true;

    fn check(&self) -> Result<()> {
        options::check(self)
    }
}

/// What a stream tells beside the answer.
#[derive(Clone, Copy, serde::Deserialize, ToSchema)]
pub struct StreamOptions {
    /// The usage, at the end.
    include_usage: Option<bool>,
}

impl StreamOptions {
    /// Whether the stream ends with the usage.
    pub fn include_usage(self) -> bool {
        self.include_usage.unwrap_or(false)
    }
}

/// What a second request to a busy chat does.
#[derive(Clone, Copy, serde::Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BusyChoice {
    /// It fails.
    Reject,
    /// It waits.
    Queue,
    /// It ends the turn that runs.
    Interrupt,
}

impl From<BusyChoice> for OnBusy {
    fn from(choice: BusyChoice) -> Self {
        match choice {
            BusyChoice::Reject => Self::Reject,
            BusyChoice::Queue => Self::Queue,
            BusyChoice::Interrupt => Self::Interrupt,
        }
    }
}

/// What is left out of a turn.
#[derive(Clone, Copy, serde::Deserialize, ToSchema)]
pub struct SkipFields {
    /// Nothing is stored in the history.
    history: Option<bool>,
    /// No trace is kept.
    trace: Option<bool>,
    /// Nothing is shown.
    output: Option<bool>,
    /// Nothing is searched automatically.
    search: Option<bool>,
    /// No keywords are looked for.
    keyword: Option<bool>,
    /// What is attached is not read.
    content_parsing: Option<bool>,
}

impl From<SkipFields> for SkipOptions {
    fn from(fields: SkipFields) -> Self {
        Self {
            history: fields.history.unwrap_or(false),
            trace: fields.trace.unwrap_or(false),
            output: fields.output.unwrap_or(false),
            search: fields.search.unwrap_or(false),
            keyword: fields.keyword.unwrap_or(false),
            content_parsing: fields.content_parsing.unwrap_or(false),
        }
    }
}

/// What one agent may tell another when it calls it, as far as clients may say it.
#[derive(Default, serde::Deserialize, ToSchema)]
pub struct CallFields {
    /// The connector.
    pub connector: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// Whether and what is searched automatically.
    #[schema(value_type = Option<Object>)]
    pub search: Option<SearchField>,
    /// What is left out.
    pub skip: Option<SkipFields>,
    /// Client-supplied data.
    #[serde(default, deserialize_with = "free_object")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// Whatever the agent's `Create` hook takes.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub further: Map<String, Value>,
}

/// Whether and what is searched automatically.
pub struct SearchField(pub SearchChoice);

impl<'de> Deserialize<'de> for SearchField {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Value::deserialize(reader)? {
            Value::Bool(flag) => Ok(Self(SearchChoice::Flag(flag))),
            Value::Object(intent) => Ok(Self(SearchChoice::Intent(intent))),
            _ => Err(D::Error::custom("must be true, false or an object")),
        }
    }
}

/// Texts at which an answer ends.
pub struct StopTexts(pub Value);

impl<'de> Deserialize<'de> for StopTexts {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(reader)?;
        let is_right = match &value {
            Value::String(_) => true,
            Value::Array(texts) => texts.iter().all(Value::is_string),
            _ => false,
        };
        match is_right {
            true => Ok(Self(value)),
            false => Err(D::Error::custom("must be a string or a list of strings")),
        }
    }
}

/// Whether a tool is called, and which.
pub struct ToolChoice(pub Value);

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Value::deserialize(reader)? {
            value @ (Value::String(_) | Value::Object(_)) => Ok(Self(value)),
            _ => Err(D::Error::custom("must be a string or an object")),
        }
    }
}

/// A number in a range.
pub struct Between<const FROM: i32, const TO: i32>(pub f64);

impl<'de, const FROM: i32, const TO: i32> Deserialize<'de> for Between<FROM, TO> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(reader)?;
        match (f64::from(FROM)..=f64::from(TO)).contains(&number) {
            true => Ok(Self(number)),
            false => Err(D::Error::custom(format_args!(
                "must be from {FROM} to {TO}"
            ))),
        }
    }
}

/// An object of any JSON, read as one value: what is wrong within it is wrong with the whole.
fn free_object<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    match Option::<Value>::deserialize(reader)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(Error::invalid_type(
            Unexpected::Other("no object"),
            &"a map",
        )),
    }
}
