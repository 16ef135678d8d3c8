//! An app: a folder of agents, connectors and texts, loaded as a whole and never changed afterwards.

pub mod check;
pub mod find;
pub mod limits;
pub mod locales;
pub mod problem;
pub mod prompts;
pub mod read;
pub mod variables;
pub mod watcher;

mod app_file;
mod connector;
pub(crate) mod defaults;
mod files;
mod load;
mod loader;
mod mcp_mapping;
mod mcp_server;
mod model;
mod package;
mod references;
mod scripts;
mod search;
mod store;

pub use mcp_mapping::{McpMapping, PromptMapping, ResourceMapping, ToolMapping};
pub use problem::{FileProblem, Severity};
pub use variables::EnvVariables;

use crate::model::TableModel;
use ambit_script::ProgramSource;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A loaded app.
#[derive(Default)]
pub struct App {
    /// Its folder.
    pub root: PathBuf,
    /// `name` of `app.yao`.
    pub name: String,
    /// `version` of `app.yao`.
    pub version: String,
    /// `description` of `app.yao`.
    pub description: String,
    /// Ambit's settings, `ambit` of `app.yao`.
    pub settings: AppSettings,
    /// `agent/agent.yml`.
    pub defaults: AgentDefaults,
    /// The agents by id; a broken one is what is wrong with it.
    pub agents: BTreeMap<String, Result<Arc<AppAgent>, FileProblem>>,
    /// The connectors by id.
    pub connectors: BTreeMap<String, Result<Arc<Connector>, FileProblem>>,
    /// The stores by id.
    pub stores: BTreeMap<String, Result<Arc<AppStore>, FileProblem>>,
    /// The tool servers by id, those of agents as `agents.<agent>.<name>`.
    pub servers: BTreeMap<String, Result<Arc<McpServerFile>, FileProblem>>,
    /// The models by id, those of agents as `agents.<agent>.<name>`.
    pub models: BTreeMap<String, Result<Arc<TableModel>, FileProblem>>,
    /// The scripts whose functions are processes, by the name in front of the function's: `scripts.tools`.
    pub processes: BTreeMap<String, ProgramSource>,
    /// The files of `openapi/`.
    pub access: AccessFiles,
    /// What `$ENV.NAME` stands for.
    pub variables: EnvVariables,
    /// Why agents that need the files of `agent/` cannot be used.
    pub broken: BrokenDefaults,
    /// Translations for all agents.
    pub locales: Locales,
    /// The global prompts, `agent/prompts.yml`.
    pub prompts: Vec<Prompt>,
    /// Everything that is wrong or not used, in order of files.
    pub problems: Vec<FileProblem>,
}

impl fmt::Debug for App {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut app = out.debug_struct("App");
        app.field("root", &self.root).field("name", &self.name);
        app.field("agents", &self.agents.keys());
        app.finish_non_exhaustive()
    }
}

/// What is broken in `agent/`.
#[derive(Clone, Debug, Default)]
pub struct BrokenDefaults {
    /// `agent.yml` or `search.yml`: no agent can be used.
    pub defaults: Option<FileProblem>,
    /// `prompts.yml`: agents with global prompts cannot be used.
    pub prompts: Option<FileProblem>,
}

/// The files of `openapi/` by path, variables replaced. They hold secrets: never shown or logged.
#[derive(Clone, Default, PartialEq)]
pub struct AccessFiles(pub BTreeMap<String, Value>);

impl fmt::Debug for AccessFiles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

/// `ambit` of `app.yao`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppSettings {
    /// `limits`, only those that are set.
    pub limits: Map<String, Value>,
    /// Hosts that scripts may reach.
    pub http: Vec<Value>,
    /// Patterns of processes that scripts may call; `None` for the default.
    pub processes: Option<Vec<String>>,
    /// Variables that prompts may show.
    pub prompt_env: Vec<String>,
    /// `stream.retention`, in seconds.
    pub stream_retention: Option<u64>,
    /// `events.content`: the feed of events tells what messages, calls and answers say.
    pub has_content_in_events: bool,
    /// `memory.default_ttl` by namespace, in seconds.
    pub memory_ttl: BTreeMap<String, u64>,
    /// `trace.enabled`.
    pub is_trace_off: bool,
    /// `trace.retention`, in seconds.
    pub trace_retention: Option<u64>,
    /// `visibility`: `public` or `private`, where it is said.
    pub visibility: Option<Visibility>,
}

/// Who may see something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Its owner.
    Private,
    /// Its owner's team.
    Team,
    /// Everybody.
    Public,
}

/// `agent/agent.yml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentDefaults {
    /// `uses`: by key; `default` and `title` name agents.
    pub uses: Map<String, Value>,
    /// `force_uses`.
    pub force_uses: Option<bool>,
    /// `system`: connectors by role.
    pub roles: BTreeMap<String, String>,
    /// `store.max_size`: messages of history.
    pub history_size: Option<usize>,
    /// `store.expiration`, in seconds: chats unused for so long are removed.
    pub expiration: Option<u64>,
    /// `agent/search.yml`.
    pub search: Option<Value>,
}

/// One agent.
#[derive(Clone, Default)]
pub struct AppAgent {
    /// Dotted id.
    pub id: String,
    /// Its folder below the app's, with `/`.
    pub folder: String,
    /// `name`, untranslated, as are all texts here.
    pub name: String,
    /// `description`.
    pub description: String,
    /// `avatar`.
    pub avatar: String,
    /// A `worker` is not callable over HTTP and not listed.
    pub is_worker: bool,
    /// `connector`: an id or `use::<role>`; empty for role `default`.
    pub connector: String,
    /// `connector_options`, if the client may choose.
    pub choice: Option<ConnectorChoice>,
    /// Generation defaults.
    pub options: Map<String, Value>,
    /// `options.tools`: what the client runs, unless a request declares tools of its own.
    pub client_tools: Vec<Value>,
    /// `options.history_size`.
    pub history_size: Option<usize>,
    /// Allowed modes.
    pub modes: Vec<String>,
    /// The mode of requests that name none.
    pub default_mode: String,
    /// Who may see it, where it is said.
    pub share: Option<Visibility>,
    /// `__yao_created_by`.
    pub owner: Option<String>,
    /// `__yao_team_id`.
    pub team: Option<String>,
    /// `__yao_tenant_id`.
    pub tenant: Option<String>,
    /// Whether the global prompts are left out.
    pub disable_global_prompts: bool,
    /// The default prompts.
    pub prompts: Vec<Prompt>,
    /// Presets by dotted key.
    pub presets: BTreeMap<String, Vec<Prompt>>,
    /// Tool servers, as in `package.yao`.
    pub mcp: McpSettings,
    /// `uses`.
    pub uses: Map<String, Value>,
    /// `force_uses`.
    pub force_uses: Option<bool>,
    /// `search`.
    pub search: Option<Value>,
    /// `kb`.
    pub kb: Option<Value>,
    /// `db`.
    pub db: Option<Value>,
    /// Translations of this agent.
    pub locales: Locales,
    /// `runtime.limits`: they may only narrow the app's.
    pub limits: Map<String, Value>,
    /// `runtime.http`.
    pub http: Option<Vec<Value>>,
    /// `context`.
    pub context: ContextOptions,
    /// `client.roles`.
    pub client_roles: Vec<String>,
    /// Hooks: `src/index.ts` or `.js` below the app's folder, if there is one.
    pub hooks: Option<String>,
    /// Identity overrides: `src/context.ts`.
    pub overrides: Option<String>,
    /// Event listeners: `src/events.ts`.
    pub listeners: Option<String>,
    /// Fields that are only shown, as written: `tags`, `sort`, `placeholder`, `capabilities`, `readonly` …
    pub shown: Map<String, Value>,
}

impl fmt::Debug for AppAgent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("AppAgent").field(&self.id).finish()
    }
}

/// Connectors that a client may choose from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectorChoice {
    /// Their ids; none for all that can what `filters` asks.
    pub connectors: Vec<String>,
    /// What they must be able to do.
    pub filters: Vec<String>,
}

/// `mcp` of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSettings {
    /// The servers, each `"id"` or an object.
    pub servers: Vec<Value>,
    /// Whether results go back to the model.
    pub tool_loop: bool,
    /// Tool rounds.
    pub max_turn: usize,
    /// Whether calls of a round run at once.
    pub parallel: bool,
    /// A transport failure fails the step instead of being told to the model.
    pub is_error_fatal: bool,
    /// Milliseconds for one call.
    pub timeout: u64,
    /// The most tools offered.
    pub max_tools: usize,
    /// Samples of each tool that the model sees.
    pub samples: usize,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            tool_loop: true,
            max_turn: 5,
            parallel: true,
            is_error_fatal: false,
            timeout: 60_000,
            max_tools: 64,
            samples: 3,
        }
    }
}

/// `context` of a package: where conversations are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextOptions {
    /// `group`: a template.
    pub group: Option<String>,
    /// `history`.
    pub history: Map<String, Value>,
    /// `usage`.
    pub usage: Map<String, Value>,
    /// `truncation`.
    pub truncation: Map<String, Value>,
}

/// One prompt, with its variables unreplaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// `system`, `developer`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
    /// A name.
    pub name: Option<String>,
    /// The texts of `@assets/<file>` by file. They are put in with the variables, so that what looks like one in them is not
    /// taken for one.
    pub assets: BTreeMap<String, Arc<str>>,
}

/// Translations by tag and flattened key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locales(pub BTreeMap<String, BTreeMap<String, String>>);

/// A named model.
#[derive(Clone, Default)]
pub struct Connector {
    /// Dotted id.
    pub id: String,
    /// `openai`, `anthropic`, `gemini`, `ollama`, `scripted` …
    pub kind: String,
    /// What people call it.
    pub label: String,
    /// `options.fallback`: the connectors that are asked when this one fails.
    pub fallback: Vec<String>,
    /// `options`, variables replaced. Holds secrets: never shown or logged.
    pub options: Map<String, Value>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = (&self.id, &self.kind);
        out.debug_tuple("Connector").field(&id).finish()
    }
}

/// A named store of the app.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppStore {
    /// Dotted id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it lives in this process only.
    pub is_lru: bool,
    /// The connector that keeps it; none for the database.
    pub connector: Option<String>,
    /// The most values of a store in memory.
    pub size: Option<usize>,
    /// How long values live, in milliseconds.
    pub ttl: Option<u64>,
}

/// A tool server, as its file describes it.
#[derive(Clone, Default, PartialEq)]
pub struct McpServerFile {
    /// Dotted id.
    pub id: String,
    /// The file.
    pub file: String,
    /// `process`, `stdio`, `http` or `sse`.
    pub transport: String,
    /// Its keys, variables replaced. They hold secrets: never shown or logged.
    pub fields: Map<String, Value>,
    /// What its processes are, for `process`.
    pub mapping: McpMapping,
}

impl fmt::Debug for McpServerFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("McpServerFile").field(&self.id).finish()
    }
}
