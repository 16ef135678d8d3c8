//! A turn: one request in flight, through hooks, model, tools and search, and the events that come of it.
//!
//! This crate may use `ambit-storage` and `ambit-script`. It must not know HTTP servers, wire formats, the environment, or
//! where its settings came from.

pub mod access;
pub mod app;
pub mod error;
pub mod frame;
pub mod llm;
pub mod outbox;
pub mod request;
pub mod runtime;
pub mod stream;

pub use access::Authorized;
pub use error::{Code, Error, Result};
pub use frame::Frame;
pub use request::Request;
pub use runtime::Runtime;
