//! From stored messages to what was shown: one entry of a history is one message, several, or part of another one.

use crate::error::{Error, Result, ServerFailure};
use crate::value_text::value_text;
use ambit_storage::quotes::without_quotes;
use ambit_storage::storage::{Message, Role, StoredItem, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Begins the ids of messages that clients sent.
pub(crate) const CLIENT_ID_PREFIX: &str = "U";
/// The type of what a person says.
pub const USER_INPUT: &str = "user_input";
/// One entry of a history shows fewer messages than this.
const PER_ENTRY: u64 = 1_000;

/// A message as it was shown, in its last state.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChatMessageView {
    /// `<request_id>.<message_id>`.
    pub id: String,
    /// The chat.
    pub chat_id: String,
    /// The turn; empty where it was stored outside of any.
    pub request_id: String,
    /// Its id on the turn's stream.
    pub message_id: String,
    /// The id that the client has given to it, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// `user` or `assistant`.
    pub role: &'static str,
    /// What kind of message.
    #[serde(rename = "type")]
    pub kind: String,
    /// The content.
    pub props: Map<String, Value>,
    /// The block it stands in.
    pub block_id: Option<String>,
    /// The thread it stands in.
    pub thread_id: Option<String>,
    /// The agent.
    pub assistant_id: String,
    /// Its place in the chat; later ones have higher numbers.
    pub sequence: u64,
    /// `completed`, `partial` or `error`.
    pub status: String,
    /// Whether it was changed after it had ended.
    pub amended: bool,
    /// Free data.
    pub metadata: Option<Value>,
    /// In milliseconds since 1970.
    pub created_at: i64,
    /// The turn that has taken its place; nothing where none has.
    pub superseded_by: Option<String>,
}

/// The sequence of the first message of the entry at this position.
pub(super) fn sequence(position: u64) -> u64 {
    position.saturating_mul(PER_ENTRY)
}

/// The position of the entry that shows this sequence.
pub(crate) fn position(sequence: u64) -> u64 {
    sequence / PER_ENTRY
}

/// A stored entry as a message; `None` for what was erased.
pub(super) fn parse(item: &StoredItem) -> Result<Option<Message>> {
    let body: Value = item.body.to()?;
    let message: Message = serde_json::from_value(body).map_err(|error| {
        let why = without_quotes(&error.to_string());
        let message = format!("message {} is corrupt: {why}", item.id);
        Error::new(crate::error::ErrorCode::Corrupt, message)
    })?;
    Ok((!message.is_erased()).then_some(message))
}

/// Folds entries of a history, in order, into what they show. All entries of a turn must be among them.
pub(super) struct ChatHistoryFold<'a> {
    /// The chat.
    pub chat_id: &'a str,
    /// The agent of entries that name none.
    pub agent: &'a str,
    /// What has taken the place of the next entry.
    pub superseded_by: Option<String>,
    pub shown: Vec<ChatMessageView>,
}

impl ChatHistoryFold<'_> {
    /// Takes one entry in.
    pub fn add(&mut self, at: u64, message: &Message) {
        match message.role {
            Role::System | Role::Developer => {}
            Role::Tool => self.settle(message),
            Role::User => self.push(at, self.user_message(message)),
            Role::Assistant => match message.extras.get("shown") {
                Some(Value::Array(parts)) => {
                    for (at, part) in (at..).zip(parts) {
                        let shown = self.part(message, part);
                        self.push(at, shown);
                    }
                }
                _ if message.extras.contains_key("message_id") => {
                    self.push(at, self.sent(message));
                }
                _ => self.plain(at, message),
            },
        }
    }

    /// Puts a message behind the others; an ended one of the same turn and id is this one, changed.
    fn push(&mut self, at: u64, mut shown: ChatMessageView) {
        shown.sequence = at;
        let is_same =
            |other: &&mut ChatMessageView| other.id == shown.id && !shown.request_id.is_empty();
        if let Some(before) = self.shown.iter_mut().rev().find(is_same) {
            shown.sequence = before.sequence;
            shown.created_at = before.created_at;
            shown.amended = true;
            *before = shown;
            return;
        }
        self.shown.push(shown);
    }

    /// What a person said.
    fn user_message(&self, message: &Message) -> ChatMessageView {
        let fields = &message.extras;
        let id = text(fields.get("message_id")).unwrap_or_else(|| message.id.clone());
        ChatMessageView {
            props: user_input_props(message),
            ..self.shown(message, fields, id, USER_INPUT)
        }
    }

    /// What a hook sent.
    fn sent(&self, message: &Message) -> ChatMessageView {
        let fields = &message.extras;
        let id = text(fields.get("message_id")).unwrap_or_default();
        let content = || content(message.text());
        let props = object(fields.get("props")).unwrap_or_else(content);
        ChatMessageView {
            props,
            ..self.shown(message, fields, id, "text")
        }
    }

    /// One of the messages that a model's answer was shown as.
    fn part(&self, message: &Message, part: &Value) -> ChatMessageView {
        let none = Map::new();
        let fields = part.as_object().unwrap_or(&none);
        let kind = text(fields.get("type")).unwrap_or_default();
        let derived = || match kind.as_str() {
            "tool_call" => called(message, fields.get("call")).map_or_else(Map::new, call),
            "thinking" => content(reasoning(message).unwrap_or_default()),
            _ => content(message.text()),
        };
        let props = object(fields.get("props")).unwrap_or_else(derived);
        let id = text(fields.get("message_id")).unwrap_or_default();
        ChatMessageView {
            props,
            ..self.shown(message, fields, id, "text")
        }
    }

    /// An answer that was stored without being shown, as an import or a library call leaves it.
    fn plain(&mut self, at: u64, message: &Message) {
        let none = Map::new();
        let mut parts: Vec<(&'static str, Map<String, Value>)> = Vec::new();
        if let Some(text) = reasoning(message) {
            parts.push(("thinking", content(text)));
        }
        if !message.text().is_empty() {
            parts.push(("text", content(message.text())));
        }
        let calls = message.tool_calls.iter();
        parts.extend(calls.map(|one| ("tool_call", call(one))));
        let is_one = parts.len() == 1;
        for (at, (number, (kind, props))) in (at..).zip((1..).zip(parts)) {
            let id = match is_one {
                true => message.id.clone(),
                false => format!("{}.{number}", message.id),
            };
            let shown = self.shown(message, &none, id, kind);
            self.push(at, ChatMessageView { props, ..shown });
        }
    }

    /// The result of a call belongs to the message that shows the call.
    fn settle(&mut self, message: &Message) {
        let Some(result) = &message.tool_result else {
            return;
        };
        let turn = message.turn_id.as_deref().unwrap_or_default();
        let is_it = |shown: &&mut ChatMessageView| {
            shown.kind == "tool_call"
                && shown.request_id == turn
                && shown.props.get("id").and_then(Value::as_str) == Some(&result.call_id)
        };
        let Some(shown) = self.shown.iter_mut().rev().find(is_it) else {
            return;
        };
        let (status, field) = match result.is_error {
            true => ("error", "error"),
            false => ("completed", "result"),
        };
        let props = &mut shown.props;
        props.insert("status".to_owned(), status.into());
        if !props.contains_key(field) {
            props.insert(field.to_owned(), result.content.clone());
        }
        for name in ["server", "tool", ServerFailure::PROPERTY] {
            if let Some(value) = result.extras.get(name) {
                props.insert(name.to_owned(), value.clone());
            }
        }
        shown.amended = true;
    }

    /// A message without its properties.
    fn shown(
        &self,
        message: &Message,
        fields: &Map<String, Value>,
        message_id: String,
        kind: &str,
    ) -> ChatMessageView {
        let own = |name: &str| text(fields.get(name));
        let request_id = message.turn_id.clone().unwrap_or_default();
        let agent = own("assistant_id").or_else(|| text(message.extras.get("assistant_id")));
        ChatMessageView {
            id: match request_id.is_empty() {
                true => message_id.clone(),
                false => format!("{request_id}.{message_id}"),
            },
            chat_id: self.chat_id.to_owned(),
            request_id,
            message_id,
            client_id: client_id(message).map(str::to_owned),
            role: match message.role {
                Role::User => "user",
                _ => "assistant",
            },
            kind: own("type").unwrap_or_else(|| kind.to_owned()),
            props: Map::new(),
            block_id: own("block_id"),
            thread_id: own("thread_id"),
            assistant_id: agent.unwrap_or_else(|| self.agent.to_owned()),
            sequence: 0,
            status: own("status").unwrap_or_else(|| "completed".to_owned()),
            amended: fields.get("amended") == Some(&Value::Bool(true)),
            metadata: message.metadata.clone(),
            created_at: message.created_at,
            superseded_by: self.superseded_by.clone(),
        }
    }
}

/// What a message of the type `user_input` says: a text where it is all text, else parts.
pub(crate) fn user_input_props(message: &Message) -> Map<String, Value> {
    let texts = message.parts.iter().all(|part| part["type"] == "text");
    let content = match texts {
        true => Value::String(message.text()),
        false => Value::Array(message.parts.clone()),
    };
    let mut props = Map::from_iter([
        ("content".to_owned(), content),
        ("role".to_owned(), "user".into()),
    ]);
    if let Some(name) = message.extras.get("name") {
        props.insert("name".to_owned(), name.clone());
    }
    props
}

/// Whether a message is what a turn began with, or stands outside of turns. What a person says while a turn runs is part of its
/// answer, and so are the results of client calls that a turn begins with.
pub(crate) fn is_input(message: &Message) -> bool {
    let has = |name: &str| message.extras.contains_key(name);
    match message.role {
        Role::Tool => false,
        Role::Assistant => has("message_id") && !has("assistant_id"),
        _ => message.turn_id.is_none() || has("message_id") || !has("type"),
    }
}

/// Whether a message is what a model has answered an agent. What scripts have models say is stored like what they send.
pub(super) fn is_answer(message: &Message) -> bool {
    let has = |name: &str| message.extras.contains_key(name);
    message.role == Role::Assistant && !has("message_id") && !has("synthetic")
}

/// Whether a client sent a message of a turn.
pub(crate) fn is_sent_by_client(message: &Message) -> bool {
    let id = message.extras.get("message_id").and_then(Value::as_str);
    id.is_some_and(|id| id.starts_with(CLIENT_ID_PREFIX))
}

/// Whether a message is the first that a client has sent of its turn, with which the turn begins.
pub(super) fn is_first_of_turn(message: &Message) -> bool {
    let id = message.extras.get("message_id").and_then(Value::as_str);
    id.and_then(|id| id.strip_prefix(CLIENT_ID_PREFIX)) == Some("1")
}

/// The id that a client has given to a stored message.
pub fn client_id(message: &Message) -> Option<&str> {
    message.extras.get("client")?.get("id")?.as_str()
}

fn text(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::to_owned)
}

fn object(value: Option<&Value>) -> Option<Map<String, Value>> {
    value?.as_object().cloned()
}

fn content(text: String) -> Map<String, Value> {
    Map::from_iter([("content".to_owned(), Value::String(text))])
}

fn reasoning(message: &Message) -> Option<String> {
    text(message.extras.get("reasoning_content")).filter(|text| !text.is_empty())
}

/// The call that a part shows: named by its id or by its place among the calls.
fn called<'a>(message: &'a Message, name: Option<&Value>) -> Option<&'a ToolCall> {
    match name? {
        Value::Number(place) => message
            .tool_calls
            .get(usize::try_from(place.as_u64()?).ok()?),
        name => message.tool_calls.iter().find(|call| *name == call.id),
    }
}

fn call(call: &ToolCall) -> Map<String, Value> {
    let mut props = Map::new();
    props.insert("id".to_owned(), json!(call.id));
    props.insert("name".to_owned(), json!(call.name));
    props.insert("arguments".to_owned(), value_text(&call.arguments).into());
    for name in ["server", "tool"] {
        if let Some(value) = call.extras.get(name) {
            props.insert(name.to_owned(), value.clone());
        }
    }
    props.insert("status".to_owned(), "pending".into());
    props
}
