//! The body of a chat request: OpenAI's, with further fields.

use super::messages::ClientMessages;
use super::options;
use crate::http::input::BodyFields;
use ambit_runtime::chat::{StopSequences, ToolChoice, ToolDefinition};
use ambit_runtime::search::SearchKind;
use ambit_runtime::search::answers::unknown_types;
use ambit_runtime::{Result, SearchChoice, SkipChanges};
use ambit_storage::lease::OnBusy;
use ambit_storage::suggestion;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

/// What a client asks.
#[derive(Default, Deserialize, ToSchema)]
pub struct ChatCompletionBody {
    /// An agent's id; or a connector, if the agent is named otherwise.
    pub model: Option<String>,
    /// The new messages, or the whole conversation with new ones at its end. None are needed where `supersede` leaves a message
    /// of a person at the chat's end.
    #[schema(value_type = Vec<Object>, required = false)]
    pub messages: Option<ClientMessages>,
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
    /// The message whose place this turn takes, with all behind it: an id of the chat's messages. One inside an answer means
    /// the whole answer, and so does the id of its request.
    pub supersede: Option<String>,
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
    pub skip: Option<SkipChanges>,
    /// Whether and what is searched automatically.
    #[serde(default, deserialize_with = "search")]
    pub search: Option<SearchChoice>,
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
    #[serde(default, deserialize_with = "stop")]
    pub stop: Option<StopSequences>,
    /// Whether a tool is called, and which.
    #[serde(default, deserialize_with = "tool_choice")]
    pub tool_choice: Option<ToolChoice>,
}

impl BodyFields for ChatCompletionBody {
    const IGNORES_UNKNOWN: bool = true;

    fn check(&self) -> Result<()> {
        options::check(self)
    }
}

/// What a stream tells beside the answer.
#[derive(Clone, Copy, Deserialize, ToSchema)]
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
#[derive(Clone, Copy, Deserialize, ToSchema)]
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

/// What one agent may tell another when it calls it, as far as clients may say it.
#[derive(Default, Deserialize, ToSchema)]
pub struct CallFields {
    /// The connector.
    pub connector: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// Whether and what is searched automatically.
    #[serde(default, deserialize_with = "search")]
    pub search: Option<SearchChoice>,
    /// What is left out.
    pub skip: Option<SkipChanges>,
    /// Client-supplied data.
    #[serde(default, deserialize_with = "free_object")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// Whatever the agent's `Create` hook takes.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub further: Map<String, Value>,
}

/// A number in a range.
#[derive(Clone, Copy)]
pub struct Between<const FROM: i32, const TO: i32>(f64);

impl<const FROM: i32, const TO: i32> Between<FROM, TO> {
    /// The number.
    pub fn number(self) -> Option<Number> {
        Number::from_f64(self.0)
    }
}

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

/// An object of any JSON.
fn free_object<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    whole(reader, "must be an object")
}

fn search<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<SearchChoice>, D::Error> {
    let choice: Option<SearchChoice> = whole(reader, "must be true, false or an object")?;
    let unknown = match &choice {
        Some(SearchChoice::Intent(intent)) => unknown_types(intent).into_iter().next(),
        _ => None,
    };
    let Some(unknown) = unknown else {
        return Ok(choice);
    };
    let known = SearchKind::ALL.map(SearchKind::name);
    let hint = suggestion::hint(&unknown, known);
    let known = known.join(", ");
    let reason = format!("names the type \"{unknown}\"; known are {known}{hint}");
    Err(D::Error::custom(reason))
}

fn stop<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<StopSequences>, D::Error> {
    whole(reader, "must be a string or a list of strings")
}

fn tool_choice<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<ToolChoice>, D::Error> {
    whole(reader, "must be a string or an object")
}

/// A value that is read as one: what is wrong within it is wrong with the whole.
fn whole<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    reader: D,
    rule: &str,
) -> Result<Option<T>, D::Error> {
    match Value::deserialize(reader)? {
        Value::Null => Ok(None),
        value => T::deserialize(value)
            .map(Some)
            .map_err(|_| D::Error::custom(rule)),
    }
}
