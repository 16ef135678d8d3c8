//! What is asked of an agent, however it came in.

mod call_options;
mod conversation_source;
mod layered_options;
mod supersede;

pub use call_options::{CallOptions, ScriptCallOptions, SearchChoice};
pub use conversation_source::ConversationSource;
pub use layered_options::LayeredCallOptions;
pub use supersede::{Supersede, TurnTrigger};

use crate::access::Authorized;
use crate::chat::ChatMessage;
use crate::trace_context::TraceContext;
use ambit_storage::lease::OnBusy;
use ambit_storage::{Json, SessionIdentity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use utoipa::ToSchema;

/// A request, checked and with its agent found. Everything about who is asking comes from authentication.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The id that its turn gets, made by `ids::ordered` for this request alone, where somebody has to know it ahead of the
    /// turn; else a new one.
    #[serde(skip)]
    pub id: Option<String>,
    /// For how long no second turn of this id begins, whoever starts it and wherever, also where the first one was removed: its
    /// first commit is refused as `Conflict`. Both have to keep their conversations in the same store.
    #[serde(skip)]
    pub reserves_id_for: Option<Duration>,
    /// Who asks.
    pub authorized: Authorized,
    /// The agent's id.
    pub agent: String,
    /// The chat's name; a new random one if there is none.
    pub chat: Option<String>,
    /// The conversation's base identity, where a program has opened it itself: it then counts instead of `chat`, and may be one
    /// that callers cannot name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<SessionIdentity>,
    /// Which conversation it goes on with, where neither of these says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ConversationSource>,
    /// Instructions for this turn alone, behind those of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// New messages, or the whole history with new ones behind it, in the shape of OpenAI's chat messages.
    pub messages: Vec<ChatMessage>,
    /// Each message has the id by which the client knows it, and those whose ids are stored are not new, wherever they stand.
    #[serde(skip)]
    pub has_message_ids: bool,
    /// The messages are items: all of them are new, and consecutive ones of an assistant are one answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_items: bool,
    /// What of the request is left out, for the turn's trace.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// How many of the messages that were sent the conversation has already, so that they are left out.
    #[serde(skip)]
    pub repeated: usize,
    /// What the client's protocol has to know of the request as long as the turn is known.
    #[serde(skip)]
    pub protocol_record: Option<Json>,
    /// What of the conversation it takes the place of. Then there may be no messages, if what is left ends with a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersede: Option<Supersede>,
    /// The turn whose answer it continues, the first one of all that do; found out when its own turn begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// How the agent's model is called.
    #[serde(flatten)]
    pub call: CallOptions,
    /// Where it came from and how the answer is shown.
    pub origin: RequestOrigin,
    /// Client-supplied data.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// What takes the place of the shared state before `Create`, where the agent has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// What is left out.
    #[serde(default)]
    pub skip: SkipOptions,
    /// Models are offered no tools of the client, not those of packages either: whoever asks cannot run any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omits_client_tools: bool,
    /// Where what is said in its turn is kept.
    #[serde(default)]
    pub storage: TurnStorage,
    /// Its stream tells what providers want back of their models' reasoning, for a client that brings it along again.
    #[serde(default)]
    pub tells_reasoning_parts: bool,
    /// Further keys of a call's options, given to `Create` as they are.
    #[serde(default)]
    pub further: Map<String, Value>,
    /// What to do if the conversation has a turn running.
    #[serde(skip)]
    pub on_busy: OnBusy,
    /// The turn ends when nobody reads its stream any more.
    #[serde(default)]
    pub cancel_on_disconnect: bool,
}

impl TurnRequest {
    /// Whether anything of its turn is kept.
    pub fn is_stored(&self) -> bool {
        self.storage == TurnStorage::Conversation
    }

    /// How its turn came about.
    pub fn trigger(&self) -> TurnTrigger {
        match (&self.supersede, &self.continues) {
            (Some(_), _) if self.messages.is_empty() => TurnTrigger::Regenerate,
            (Some(_), _) => TurnTrigger::Edit,
            (None, Some(_)) => TurnTrigger::Continue,
            (None, None) => TurnTrigger::Submit,
        }
    }
}

/// Where what is said in a turn is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStorage {
    /// In its conversation.
    #[default]
    Conversation,
    /// Nowhere. The turn has no conversation: its messages are all that it knows, the request's names of chat and identity count
    /// for nothing, and history, stream, journal and trace are in the memory of this process and end with it. What it uses is
    /// counted. No other node and no later start takes it up, and it is cancelled when nobody reads its stream any more.
    None,
}

/// Where a request came from: the plain properties of `ctx`. Absent values are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestOrigin {
    /// The language, `en-us`.
    pub locale: String,
    /// The theme of the client's surface.
    pub theme: String,
    /// The page of the client.
    pub route: String,
    /// The output format: `standard`, `cui-web` …
    pub accept: String,
    /// What kind of caller: `api`, `jssdk`, `agent` …
    pub referer: String,
    /// The client program.
    pub client: ClientInfo,
    /// The trace that the request is part of, as its client says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_context: Option<TraceContext>,
}

/// A client program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientInfo {
    /// `web`, `android`, `ios`, `windows`, `macos`, `linux`, `agent` or `jssdk`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its User-Agent.
    pub user_agent: String,
    /// Its address.
    pub ip: String,
}

/// What a turn leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the keys of the reference")]
pub struct SkipOptions {
    /// History is neither loaded nor written.
    pub history: bool,
    /// Nothing is traced.
    pub trace: bool,
    /// Nothing is shown.
    pub output: bool,
    /// Nothing is searched automatically.
    pub search: bool,
    /// No keywords are extracted.
    pub keyword: bool,
    /// Media parts stay as they are.
    pub content_parsing: bool,
}

impl SkipOptions {
    /// The same with these changes.
    pub fn with(self, changes: SkipChanges) -> Self {
        Self {
            history: changes.history.unwrap_or(self.history),
            trace: changes.trace.unwrap_or(self.trace),
            output: changes.output.unwrap_or(self.output),
            search: changes.search.unwrap_or(self.search),
            keyword: changes.keyword.unwrap_or(self.keyword),
            content_parsing: changes.content_parsing.unwrap_or(self.content_parsing),
        }
    }
}

/// What a call says of what is left out; what it does not say stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
pub struct SkipChanges {
    /// History is neither loaded nor written.
    pub history: Option<bool>,
    /// Nothing is traced.
    pub trace: Option<bool>,
    /// Nothing is shown.
    pub output: Option<bool>,
    /// Nothing is searched automatically.
    pub search: Option<bool>,
    /// No keywords are extracted.
    pub keyword: Option<bool>,
    /// Media parts stay as they are.
    pub content_parsing: Option<bool>,
}

impl SkipChanges {
    /// What these keys say; one that is neither true nor false says nothing.
    pub fn read(keys: &Value) -> Self {
        let flag = |name: &str| keys.get(name).and_then(Value::as_bool);
        Self {
            history: flag("history"),
            trace: flag("trace"),
            output: flag("output"),
            search: flag("search"),
            keyword: flag("keyword"),
            content_parsing: flag("content_parsing"),
        }
    }
}
