//! Identities, contexts, storages and memory of AI agents, over any of several stores.
//!
//! The lower half keeps bytes: [`driver::Driver`] is one small trait, everything durable is one [`batch::Batch`], and
//! what an operation on a value means is one pure function, [`op::Op::apply`].
//!
//! The upper half knows whose they are: an [`Ambit`] has agents and [`Stores`], an [`Agent`] opens a [`Context`] for a
//! [`SessionIdentity`], and its storages stage changes until `save` writes them as one batch per store.

pub mod address;
pub mod backup;
pub mod batch;
mod bus;
mod caller;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
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
pub mod relocation;
mod removal;
mod report;
mod retention;
mod session;
mod session_query;
mod stores;
pub mod suggestion;
mod temporary;
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
pub use truncation::TruncationStrategy;
pub use usage::{ModelPrice, OnRemove, UsageSettings};
pub use usage_query::{Usage, UsageField, UsageTotals};

/// Events in two phases: a *before* listener may change the event or veto it, an *after* listener is told.
pub mod event {
    pub use crate::bus::{
        After, Before, Event, EventBus, EventMetadata, ListenerOptions, ListenerSwitch, OnError,
        Verdict,
    };
    pub use crate::session::events::*;
}

/// Storages: typed items under one scoped identity. Changes are staged and leave memory only by `save`.
pub mod storage {
    pub use crate::items::INLINE;
    pub use crate::kind::StorageKind;
    pub use crate::message::{Message, Role, ToolCall, ToolResult, for_model};
    pub use crate::session::{
        ChatHistoryStorage, HistoryOptions, ListStorage, StorageSnapshot, StorageState, StoredItem,
        UsageStorage,
    };
    pub use crate::usage::{Cost, UsageRecord};
}
