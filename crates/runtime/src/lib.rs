//! A turn: one request in flight, through hooks, model, tools and search, and the events that come of it.
//!
//! This crate may use `ambit-storage` and `ambit-script`. It must not know HTTP servers, wire formats, the environment, or
//! where its settings came from.

pub mod access;
pub mod app;
pub mod chat;
mod chat_message;
pub mod chats;
mod check;
pub mod concurrent_calls;
pub mod ctx;
mod detached_context;
pub mod error;
pub mod event;
pub mod feed;
pub mod frame;
mod globals;
pub mod hook;
mod inbox;
pub mod inspect;
mod journal;
pub mod limits;
mod live_turn;
pub mod llm;
mod loaded_app;
mod lock;
mod maintenance;
pub mod mcp;
pub mod model;
pub mod net;
mod optional;
pub mod outbox;
pub mod process;
pub mod request;
mod retention;
pub mod runtime;
mod runtime_core;
mod schema;
mod storage_agent;
pub mod stream;
mod summariser;
pub mod tool;
pub mod trace;
mod turn;
mod turn_info;
pub mod turn_location;
mod uses;
mod uuid;
mod value_text;

pub use access::Authorized;
pub use check::check;
pub use error::{Error, ErrorCode, PublicError, Result};
pub use frame::Frame;
pub use request::TurnRequest;
pub use runtime::Runtime;
