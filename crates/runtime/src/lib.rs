//! A turn: one request in flight, through hooks, model, tools and search, and the events that come of it.
//!
//! This crate may use `ambit-storage` and `ambit-script`. It must not know HTTP servers, wire formats, the environment, or
//! where its settings came from.

pub mod access;
pub mod app;
pub mod ask;
mod asked;
mod census;
pub mod chats;
mod check;
pub mod ctx;
pub mod error;
pub mod event;
pub mod feed;
pub mod frame;
mod globals;
pub mod hook;
mod inbox;
pub mod inspect;
mod journal;
mod kept;
pub mod limits;
mod live;
pub mod llm;
mod loaded;
mod lock;
pub mod mcp;
mod message;
pub mod model;
pub mod net;
pub mod outbox;
mod plain;
pub mod process;
pub mod request;
pub mod requests;
mod retention;
pub mod runtime;
mod schema;
pub mod stream;
mod summarise;
pub mod together;
pub mod tool;
pub mod trace;
mod turn;
mod upkeep;
mod uses;
mod uuid;

pub use access::Authorized;
pub use check::check;
pub use error::{Code, Error, Result, Told};
pub use frame::Frame;
pub use request::Request;
pub use runtime::Runtime;
