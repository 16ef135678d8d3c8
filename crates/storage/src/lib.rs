//! Identities, contexts, storages and memory of AI agents, over any of several stores.
//!
//! The lower half keeps bytes: [`driver::Driver`] is one small trait, everything durable is one [`batch::Batch`], and
//! what an operation on a value means is one pure function, [`op::Op::apply`].

pub mod address;
pub mod batch;
pub mod clock;
pub mod conformance;
pub mod directory;
pub mod driver;
mod error;
mod identity;
pub mod json;
pub mod op;
pub mod pattern;

pub use error::{Error, Problem, Result};
pub use identity::{Builder as IdentityBuilder, SessionIdentity};
pub use json::{Json, Value};
