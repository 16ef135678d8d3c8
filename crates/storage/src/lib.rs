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
mod facade;
mod identity;
pub mod ids;
pub mod json;
pub mod lease;
pub mod memory;
pub mod near;
pub mod op;
mod patrol;
pub mod pattern;
pub mod relocation;
mod removal;
mod retention;
pub mod storage;
mod stores;
mod temporary;
pub mod truncation;
pub mod upkeep;
mod usage;

pub use agent::{Agent, Definition, LiveAgent, Opening, User};
pub use ambit::{Ambit, Builder as AmbitBuilder, Settings};
pub use caller::Caller;
pub use context::{Context, SaveReport};
pub use error::{Error, Problem, Result};
pub use facade::{MAX_PAGE, Page, Query, Rows};
pub use identity::{Builder as IdentityBuilder, SessionIdentity};
pub use json::{Json, Value};
pub use patrol::{Patrol, Patrolled};
pub use removal::BulkReport;
pub use retention::Retention;
pub use stores::{Builder as StoresBuilder, MEMORY, Placement, Stores};
pub use truncation::TruncationStrategy;
pub use usage::{OnRemove, Price, Totals, Usage, UsageField, UsageSettings};
