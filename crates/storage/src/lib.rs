//! Identities, contexts, storages and memory of AI agents, over any of several stores.
//!
//! The lower half keeps bytes: [`driver::Driver`] is one small trait, everything durable is one [`batch::Batch`], and
//! what an operation on a value means is one pure function, [`operation::Operation::apply`].
//!
//! The upper half knows whose they are: an [`Ambit`] has agents and [`Stores`], an [`Agent`] opens a [`Context`] for a
//! [`SessionIdentity`], and its storages stage changes until `save` writes them as one batch per store.
//!
//! # A conversation
//!
//! ```
//! use ambit_storage::driver::DriverOptions;
//! use ambit_storage::storage::Message;
//! use ambit_storage::{Agent, Ambit, Context, Stores};
//!
//! /// An agent needs no more than a name.
//! struct Support;
//!
//! impl Agent for Support {
//!     fn name(&self) -> &str {
//!         "Support"
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> ambit_storage::Result<()> {
//!     // The process's own memory; `.open("sqlite:data/ambit.db").await?` before `build` keeps things for good.
//!     let stores = Stores::builder(DriverOptions::default()).build()?;
//!     let ambit = Ambit::builder(stores).agent(Support).build();
//!
//!     // One of the chats of a user, with what was said in it before.
//!     let agent = ambit.agent("Support")?.for_user_id("user-123").chat("billing").await?;
//!     agent.history().add_message(Message::user("Where is my invoice?")).await?;
//!     agent.history().add_message(Message::assistant("It is on its way.")).await?;
//!     // What was added is staged; one commit makes all of it durable.
//!     agent.context().save().await?;
//!
//!     // Found again by whose it is, and gone on with.
//!     let found = Context::of(&ambit, "Support")?.for_user("user-123").first().await?;
//!     let found = found.expect("it was saved");
//!     let agent = ambit.agent("Support")?.from_identity(&found).await?;
//!     assert_eq!(agent.chat_name(), Some("billing"));
//!     assert_eq!(agent.history().count().await?, 2);
//!     Ok(())
//! }
//! ```
//!
//! More of this kind is in the crate's `examples`: a kind of storage, a driver and a truncation of your own, several
//! stores, a report on usage, and listeners.
//!
//! # Features
//!
//! | feature | what it builds |
//! |---|---|
//! | `sqlite` (default) | the driver for one file of SQLite |
//! | `postgres` | the driver for PostgreSQL |
//! | `redis` | the driver for Redis |
//! | `file` | the driver for a folder of plain files |
//! | `conformance` | the suite that every driver passes, for drivers of your own |
//!
//! The process's memory and chains of drivers are always there.

pub mod address;
pub mod backup;
pub mod batch;
mod bus;
mod caller;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod copies;
mod data_kind;
mod debug;
mod detach_on_drop;
pub mod directory;
pub mod doctor;
pub mod driver;
mod erasure;
mod error;
mod identity;
pub mod ids;
mod index_sweep;
mod items;
pub mod json;
mod kind;
pub mod lease;
pub mod memory;
mod message;
pub mod operation;
pub mod pattern;
pub mod quotes;
pub mod relocation;
mod removal;
mod report;
mod retention;
mod session;
mod session_query;
mod stores;
pub mod suggestion;
mod temporary;
mod time_counts;
pub mod truncation;
pub mod upkeep;
mod usage;
mod usage_query;

pub use caller::Caller;
pub use directory::MAX_PAGE;
pub use error::{Error, Result, ValueProblem};
pub use identity::{IdentityBuilder, SessionIdentity};
pub use index_sweep::{IndexSweep, IndexSweepReport};
pub use json::{Json, StoredValue};
pub use report::{BulkReport, SaveReport};
pub use retention::Retention;
pub use session::{
    Agent, AgentDefinition, Ambit, AmbitBuilder, AmbitSettings, Context, LiveAgent, SessionBuilder,
    User,
};
pub use session_query::{Page, QueryRows, SessionQuery};
pub use stores::{MEMORY, Placement, Stores, StoresBuilder};
pub use time_counts::TimeCounts;
pub use truncation::TruncationStrategy;
pub use usage::{ModelPrice, OnRemove, UsageSettings};
pub use usage_query::{Usage, UsageField, UsageTotals};

/// Events in two phases: a *before* listener may change the event or veto it, an *after* listener is told.
pub mod event {
    pub use crate::bus::{
        After, AfterFn, Before, BeforeFn, Event, EventBus, EventMetadata, ListenerOptions,
        ListenerSwitch, OnError, Verdict,
    };
    pub use crate::session::events::*;
}

/// Storages: typed items under one scoped identity. Changes are staged and leave memory only by `save`.
pub mod storage {
    pub use crate::items::INLINE;
    pub use crate::kind::StorageKind;
    pub use crate::message::{Message, Role, ToolCall, ToolResult, for_model, view_for_model};
    pub use crate::session::{
        ChatHistoryStorage, HistoryEnd, HistoryOptions, HistoryPosition, ListStorage,
        MessageErasure, OmittedMessages, SequencedMessage, StorageSnapshot, StorageState,
        StoredItem, SupersedableHistory, SupersededHistory, UsageStorage,
    };
    pub use crate::usage::{Cost, UsageRecord};
}
