//! What is asked of an agent, however it came in.

use crate::access::Authorized;
use crate::chat::{ChatMessage, GenerationOptions, ToolDefinition};
use ambit_storage::SessionIdentity;
use ambit_storage::lease::OnBusy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request, checked and with its agent found. Everything about who is asking comes from authentication.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The id that its turn gets, made by `ids::ordered` for this request alone, where somebody has to know it ahead of the
    /// turn; else a new one.
    #[serde(skip)]
    pub id: Option<String>,
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
    /// New messages, or the whole history with new ones behind it, in the shape of OpenAI's chat messages.
    pub messages: Vec<ChatMessage>,
    /// Generation options: `temperature`, `max_tokens`, `stop`, `tool_choice`, `response_format` …
    #[serde(default)]
    pub options: GenerationOptions,
    /// Tools that the client runs itself.
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    /// The connector that the client chose.
    pub connector: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// Where it came from and how the answer is shown.
    pub origin: RequestOrigin,
    /// Client-supplied data.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// What is left out.
    #[serde(default)]
    pub skip: SkipOptions,
    /// Automatic search: `true`, `false` or an intent.
    pub search: Option<Value>,
    /// Whether the global prompts are left out.
    #[serde(default)]
    pub disable_global_prompts: bool,
    /// Further keys of a call's options, given to `Create` as they are.
    #[serde(default)]
    pub further: Map<String, Value>,
    /// What to do if the conversation has a turn running.
    #[serde(skip)]
    pub on_busy: OnBusy,
    /// The turn ends when nobody reads its stream any more.
    #[serde(default)]
    pub cancel_on_disconnect: bool,
    /// Two requests of one caller with this key are one request.
    pub idempotency_key: Option<String>,
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
    /// The same with these keys changed; what is not said stays.
    pub fn with(self, keys: &Value) -> Self {
        let say =
            |name: &str, before: bool| keys.get(name).and_then(Value::as_bool).unwrap_or(before);
        Self {
            history: say("history", self.history),
            trace: say("trace", self.trace),
            output: say("output", self.output),
            search: say("search", self.search),
            keyword: say("keyword", self.keyword),
            content_parsing: say("content_parsing", self.content_parsing),
        }
    }
}
