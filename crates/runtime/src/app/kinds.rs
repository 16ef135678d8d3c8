//! The kinds of files that an app may have, but for those of `openapi/`.

use super::app_file::AppFile;
use super::collection::CollectionFile;
use super::connector::ConnectorFile;
use super::defaults::{AGENTS_FILE, AgentDefaults, SEARCH_FILE};
use super::mcp_mapping::{PromptFile, ResourceFile};
use super::mcp_server::ServerFile;
use super::model::ModelFile;
use super::package::PackageFile;
use super::prompts::read::PromptList;
use super::read::{FileKind, Setting};
use super::search::SearchSettings;
use super::store::StoreFile;

/// All of them.
pub const FILES: &[FileKind] = &[
    FileKind {
        name: "app",
        doc: "The app's name and Ambit's settings.",
        patterns: &["app.yao"],
        kind: AppFile::KIND,
    },
    FileKind {
        name: "agents",
        doc: "What counts for all agents where they say nothing themselves.",
        patterns: &[AGENTS_FILE],
        kind: AgentDefaults::KIND,
    },
    FileKind {
        name: "search",
        doc: "How is searched for all agents; what a package says counts before it, key by key.",
        patterns: &[SEARCH_FILE],
        kind: SearchSettings::KIND,
    },
    FileKind {
        name: "package",
        doc: "One agent. Its id is the path of its folder, with dots.",
        patterns: &["assistants/**/package.yao"],
        kind: PackageFile::KIND,
    },
    FileKind {
        name: "prompts",
        doc: "Prompts for all agents, those of one agent, and presets that a mode or a hook selects.",
        patterns: &[
            "agent/prompts.yml",
            "assistants/**/prompts.yml",
            "assistants/**/prompts/**/*.yml",
        ],
        kind: PromptList::KIND,
    },
    FileKind {
        name: "connector",
        doc: "A model, or a place that keeps data. Its id is its path, with dots.",
        patterns: &["connectors/**/*.conn.yao"],
        kind: ConnectorFile::KIND,
    },
    FileKind {
        name: "server",
        doc: "A tool server (MCP), of the app or of one agent. Its id is its path, with dots.",
        patterns: &["mcps/**/*.mcp.yao", "assistants/**/mcps/**/*.mcp.yao"],
        kind: ServerFile::KIND,
    },
    FileKind {
        name: "resource",
        doc: "A process as a resource of a server over `process`.",
        patterns: &[
            "mcps/mapping/**/*.res.yao",
            "assistants/**/mcps/mapping/**/*.res.yao",
        ],
        kind: ResourceFile::KIND,
    },
    FileKind {
        name: "prompt",
        doc: "A process, or a text, as a prompt of a server over `process`.",
        patterns: &[
            "mcps/mapping/**/*.pmt.yao",
            "assistants/**/mcps/mapping/**/*.pmt.yao",
        ],
        kind: PromptFile::KIND,
    },
    FileKind {
        name: "model",
        doc: "A table of the app or of an agent. Its id is its path, with dots.",
        patterns: &["models/**/*.mod.yao", "assistants/**/models/**/*.mod.yao"],
        kind: ModelFile::KIND,
    },
    FileKind {
        name: "collection",
        doc: "A collection of knowledge whose documents are files of the app. Its id is its path, with dots.",
        patterns: &["kb/**/*.kb.yao"],
        kind: CollectionFile::KIND,
    },
    FileKind {
        name: "store",
        doc: "A named store. Its id is its path, with dots.",
        patterns: &["stores/**/*.yao"],
        kind: StoreFile::KIND,
    },
];
