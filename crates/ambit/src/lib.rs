//! Ambit, the context layer of AI agents: it knows who is talking, what was said and remembered, and keeps it.
//!
//! An app is a folder of agents, connectors and texts, as `ambit new` makes one. [`Ambit::open`] opens it in a program of your
//! own; `ambit serve` serves the same folder over HTTP. An agent has a connector, and prompts or tools with which its model is
//! asked, or a script that answers; without prompts, tools and script it says nothing.
//!
//! ```
//! use ambit::{Ambit, Context, Result};
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     // Or a folder: `Ambit::open("path/to/app")`. The model of this app is scripted, so that it needs no key.
//!     let ambit = Ambit::open([
//!         ("app.yao", "{}"),
//!         ("assistants/support/package.yao", r#"{ "name": "Support", "connector": "scripted" }"#),
//!         ("assistants/support/prompts.yml", "- { role: system, content: You help customers. }"),
//!         ("connectors/scripted.conn.yao", r#"{ "type": "scripted", "options": { "rules": [{ "reply": "How may I help?" }] } }"#),
//!     ])
//!     .await?;
//!
//!     let agent = ambit.agent("support")?.for_user_id("ann").chat("billing").await?;
//!     let response = agent.respond("Hello").await?;
//!     println!("{response}");
//!     # assert_eq!(response.text, "How may I help?");
//!
//!     let contexts = Context::of(&ambit, "support")?.for_user("ann");
//!     for row in contexts.page(None, 100).await?.items {
//!         println!("{} of the chat {:?}", row.identity, row.identity.chat_name());
//!     }
//!     # assert_eq!(contexts.count().await?, 2);
//!     ambit.close().await
//! }
//! ```
//!
//! | to | there is |
//! |---|---|
//! | say where data is, and add tools, agents and listeners | [`AmbitBuilder`] |
//! | show an answer while it is made | [`TurnBuilder::stream`] |
//! | give agents functions of the program as tools | [`ToolServer`] |
//! | change, refuse or hear of what happens | [`Ambit::before`], [`Ambit::after`], [`event`] |
//! | find, clear and remove contexts | [`Context::of`] |
//! | add up what was spent | [`Usage::of`] |
//! | remember things of a user | [`Ambit::user_memory`] |
//! | say where an agent's sessions are kept | [`Agent`] |
//! | serve the app in an application of axum's | [`server::router`] |
//!
//! What the program does with an app fails with [`Error`]. What it gives to one, an [`Agent`] or a listener, fails with
//! [`storage::Error`], and there too `?` takes what an app or its storages answer.
//!
//! Each has an example in the crate's folder `examples` (of [`Agent`] it is `own_agent`); more, on storages and drivers of your
//! own, are beside [`storage`]. What pages of [`storage`] show is written for that crate alone: the `Ambit` there is
//! [`storage::Ambit`], which knows contexts and no app.

#[doc(hidden)]
pub mod app_files;
#[doc(hidden)]
pub mod auth;
#[doc(hidden)]
pub mod environment;
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod format;
mod gzip;
#[doc(hidden)]
pub mod http;
mod id;
mod library;
#[doc(hidden)]
pub mod log;
mod open_counts;
#[doc(hidden)]
pub mod otlp_variables;
#[doc(hidden)]
pub mod reference;
pub mod server;
mod status;
#[doc(hidden)]
pub mod store_urls;
#[doc(hidden)]
pub mod suggestion;
#[doc(hidden)]
pub mod timestamp;

pub use ambit_runtime as runtime;
pub use ambit_runtime::tool::{ToolCaller, ToolServer};
pub use ambit_runtime::{Authorized, Error, ErrorCode, Frame, Result};
pub use ambit_storage as storage;
pub use ambit_storage::lease::OnBusy;
pub use ambit_storage::memory::Memory;
pub use ambit_storage::storage::{
    ChatHistoryStorage, HistoryOptions, Message, Role, StorageKind, UsageStorage,
};
pub use ambit_storage::{
    Agent, AmbitSettings, Caller, Context, SessionIdentity, SessionQuery, Stores, Usage,
    UsageField, User,
};
pub use library::{
    AgentHandle, AgentSession, AgentSessionBuilder, Ambit, AmbitBuilder, AppSource, Response,
    ResponseStream, TextStream, TurnBuilder,
};

/// Events of contexts, storages and turns, for [`Ambit::before`] and [`Ambit::after`].
pub mod event {
    pub use ambit_runtime::event::*;
    pub use ambit_storage::event::*;
}
