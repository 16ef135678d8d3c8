//! An app: a folder of agents, connectors and texts, loaded as a whole and never changed afterwards.

pub(crate) mod caller_variables;
pub(crate) mod file_versions;
pub(crate) mod files;
pub mod find;
pub mod locales;
pub mod problem;
pub mod prompts;
pub mod read;
pub mod variables;
pub mod watcher;

mod access_files;
mod app_console;
mod app_file;
mod app_mcp_server;
mod app_search;
mod collection;
mod connector;
mod defaults;
mod kinds;
mod limits;
mod load;
mod loader;
mod mcp_mapping;
mod mcp_server;
mod model;
mod package;
mod references;
mod scripts;
mod search;
mod search_faults;
mod store;
mod written_settings;

pub use app_console::{AppConsole, is_web_origin};
pub use app_file::{
    AppCapabilities, AppFile, AppSettings, DefaultVisibility, EventSettings, MemoryLife,
    MemorySettings, StreamSettings, TelemetryContent, TelemetryConventions, TelemetrySettings,
    TelemetryUser, TracingSettings,
};
pub use app_mcp_server::AppMcpServer;
pub use app_search::{AppSearch, RecallOptions, SearchLimits, ValueSearchOptions};
pub use collection::{
    ChunkSizes, CollectionFile, CollectionVectors, DocumentPattern, VectorOptions, document_files,
};
pub(crate) use defaults::{AGENTS_FILE, SEARCH_FILE};
pub use defaults::{AgentDefaults, DefaultUses, HistorySettings, StepUses};
pub(crate) use find::ROLE;
pub use kinds::FILES;
pub use limits::LimitSettings;
pub use load::CONVERSATIONS;
pub use mcp_mapping::{
    McpMapping, ProcessArgument, PromptFile, PromptMapping, ResourceFile, ResourceMapping,
    ToolMapping,
};
pub use mcp_server::{ConnectionSettings, ServerFile, TransportKind};
pub use package::{
    AgentKind, AgentOptions, AgentRuntime, AgentShare, AgentTools, ClientSettings, ConnectorChoice,
    ContextSettings, HistoryPlacement, PackageFile, Placement, ToolErrorPolicy, ToolOptions,
    TruncationName, TruncationSettings,
};
pub use problem::{FileProblem, ItemsById, Severity};
pub use search::{
    CitationSettings, EffectiveSearch, KeywordSettings, KnowledgeSearch, QueryDslSettings,
    RerankSettings, SearchOptions, SearchSettings, SearchWeights, TableSearch,
};
pub use store::{StoreFile, StoreKind, StoreOptions};
pub(crate) use store::{address, is_internal};
pub use variables::EnvVariables;
pub use written_settings::WrittenSettings;

pub use crate::config::Overrides;
pub use crate::llm::Connector;
pub use crate::net::{AllowedHost, HostEntry};
pub use crate::web_search::WebSearchSettings;

use crate::model::TableModel;
use ambit_script::ProgramSource;
use serde_json::Value;
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
    /// `agent/search.yml`.
    pub search: Overrides<SearchSettings>,
    /// The agents.
    pub agents: ItemsById<Arc<AppAgent>>,
    /// The connectors.
    pub connectors: ItemsById<Arc<Connector>>,
    /// The stores.
    pub stores: ItemsById<Arc<AppStore>>,
    /// The collections whose documents are files.
    pub collections: ItemsById<Arc<AppCollection>>,
    /// The tool servers, those of agents as `agents.<agent>.<name>`.
    pub servers: ItemsById<Arc<McpServerFile>>,
    /// The models, those of agents as `agents.<agent>.<name>`.
    pub models: ItemsById<Arc<TableModel>>,
    /// The scripts whose functions are processes, by the name in front of the function's: `scripts.tools`.
    pub processes: BTreeMap<String, ProgramSource>,
    /// The files of `openapi/` that hold access rules.
    pub access: AccessFiles,
    /// What `$ENV.NAME` stands for.
    pub variables: EnvVariables,
    /// The files that are read, by their path below the folder with `/`, in order.
    pub files: Vec<String>,
    /// What files say of the settings of agents.
    pub written: WrittenSettings,
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

/// The files of access rules by path, variables replaced. They hold secrets: never shown or logged.
#[derive(Clone, Default, PartialEq)]
pub struct AccessFiles(pub BTreeMap<String, Value>);

impl fmt::Debug for AccessFiles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
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

/// One agent.
#[derive(Clone, Default)]
pub struct AppAgent {
    /// Dotted id.
    pub id: String,
    /// Its folder below the app's, with `/`.
    pub folder: String,
    /// What `package.yao` says, but for its prompts and translations.
    pub package: PackageFile,
    /// The default prompts.
    pub prompts: Vec<Prompt>,
    /// Presets by dotted key.
    pub presets: BTreeMap<String, Vec<Prompt>>,
    /// Translations of this agent.
    pub locales: Locales,
    /// Hooks: `src/index.ts` or `.js` below the app's folder, if there is one.
    pub hooks: Option<String>,
    /// Identity overrides: `src/context.ts`.
    pub overrides: Option<String>,
    /// Event listeners: `src/events.ts`.
    pub listeners: Option<String>,
}

impl fmt::Debug for AppAgent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("AppAgent").field(&self.id).finish()
    }
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
    /// The file that it is in.
    pub file: String,
    /// The first 128 bits of the file's SHA-256.
    pub version: String,
    /// Which one of the file, from 0.
    pub index: usize,
    /// The variables that were filled in, once they are.
    pub variables: Vec<String>,
    /// The texts of `@assets/<file>` by file. They are put in with the variables, so that what looks like one in them is not
    /// taken for one.
    pub assets: BTreeMap<String, Arc<str>>,
}

/// Translations by tag and flattened key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locales(pub BTreeMap<String, BTreeMap<String, String>>);

/// A named store of the app.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppStore {
    /// Dotted id.
    pub id: String,
    /// Whether it lives in this process only.
    pub is_lru: bool,
    /// What its file says.
    pub file: StoreFile,
}

/// A collection of knowledge, as its file describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppCollection {
    /// Dotted id.
    pub id: String,
    /// What its file says.
    pub file: CollectionFile,
}

/// A tool server, as its file describes it.
#[derive(Clone, Default, PartialEq)]
pub struct McpServerFile {
    /// Dotted id.
    pub id: String,
    /// The file.
    pub file: String,
    /// What the file says, variables replaced. One that is functions of the program around the runtime has no file.
    pub settings: ServerFile,
    /// What its processes are, for `process`.
    pub mapping: McpMapping,
}

impl fmt::Debug for McpServerFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("McpServerFile").field(&self.id).finish()
    }
}
