//! Identities, contexts, storages and memory of AI agents, over any of several stores.
//!
//! The lower half keeps bytes: [`driver::Driver`] is one small trait, everything durable is one [`batch::Batch`], and
//! what an operation on a value means is one pure function, [`op::Op::apply`].
//!
//! The upper half knows whose they are: an [`Ambit`] has agents and [`Stores`], an [`Agent`] opens a [`Context`] for a
//! [`SessionIdentity`], and its storages stage changes until `save` writes them as one batch per store.

pub mod address;
mod agent;
mod ambit;
pub mod backup;
pub mod batch;
mod caller;
pub mod clock;
mod commit;
#[cfg(feature = "conformance")]
pub mod conformance;
mod context;
pub mod directory;
pub mod doctor;
pub mod driver;
mod error;
pub mod event;
mod identity;
pub mod ids;
mod index_sweep;
pub mod json;
pub mod lease;
pub mod memory;
pub mod operation;
pub mod pattern;
pub mod relocation;
mod removal;
mod retention;
mod session_query;
pub mod storage;
mod stores;
pub mod suggestion;
mod temporary;
pub mod truncation;
pub mod upkeep;
mod usage;

pub use agent::{Agent, AgentDefinition, LiveAgent, SessionBuilder, User};
pub use ambit::{Ambit, AmbitBuilder, AmbitSettings};
pub use caller::Caller;
pub use context::{Context, SaveReport};
pub use error::{Error, Result, ValueProblem};
pub use identity::{IdentityBuilder, SessionIdentity};
pub use index_sweep::{IndexSweep, IndexSweepReport};
pub use json::{Json, StoredValue};
pub use removal::BulkReport;
pub use retention::Retention;
pub use session_query::{MAX_PAGE, Page, QueryRows, SessionQuery};
pub use stores::{MEMORY, Placement, Stores, StoresBuilder};
pub use truncation::TruncationStrategy;
pub use usage::{ModelPrice, OnRemove, Usage, UsageField, UsageSettings, UsageTotals};
