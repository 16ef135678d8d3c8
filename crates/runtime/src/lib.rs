//! A turn: one request in flight, through hooks, model, tools and search, and the events that come of it.
//!
//! This crate may use `ambit-storage` and `ambit-script`. It must not know HTTP servers, wire formats, the environment, or
//! where its settings came from.

pub mod app;
pub mod chat;
pub mod chats;
pub mod event;
pub mod frame;
pub mod inspect;
pub mod json_patch;
pub mod llm;
pub mod public_id;
pub mod recall;
pub mod stream;
pub mod tool;
pub mod trace;

mod access;
mod app_types;
mod call_metrics;
mod chat_message;
mod check;
mod concurrent_calls;
mod detached_context;
mod error;
mod event_loop_lag;
mod feed;
mod globals;
mod inbox;
mod journal;
mod json_depth;
mod json_length;
mod live_turn;
mod load_status;
mod loaded_app;
mod log_words;
mod maintenance;
mod model_pairing;
mod optional;
mod otlp;
mod rekey;
mod request;
mod retention;
mod runtime;
mod runtime_core;
mod schema;
mod storage_agent;
mod summariser;
mod telemetry;
mod text_terms;
mod token_estimate;
mod trace_context;
mod turn;
mod turn_info;
mod unsent_turn;
mod uuid;
mod value_text;
mod vector_upkeep;

// Parts that tests and benchmarks reach, and that promise nothing to others.
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod ctx;
#[doc(hidden)]
pub mod hook;
#[doc(hidden)]
pub mod index_vectors;
#[doc(hidden)]
pub mod knowledge;
#[doc(hidden)]
pub mod knowledge_client;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod lock;
#[doc(hidden)]
pub mod manifest;
#[doc(hidden)]
pub mod mcp;
#[doc(hidden)]
pub mod memory_search;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod net;
mod node_record;
mod nodes;
#[doc(hidden)]
pub mod outbox;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod turn_location;
#[doc(hidden)]
pub mod uses;
#[doc(hidden)]
pub mod web_search;

pub use access::{ACTED_BY, ActingCaller, Authorized, CallerReach, DataAccess, DataConstraints};
pub use ambit_storage::quotes::without_quotes;
pub use app_types::app_declarations;
pub use check::check;
pub use error::{
    Disclosure, ERROR_CODES, Error, ErrorCode, ErrorCodeRow, PublicError, Result, ServerFailure,
    StorageError,
};
pub use feed::{EventFilter, FeedCursor, FeedItem, FeedReader};
pub use frame::Frame;
pub use hook::feed_types;
pub use journal::TURN_KINDS;
pub use load_status::{LoadStatus, RefusedReload};
pub use log_words::{refusal, server_failure};
pub use model::rekey::RekeyReport;
pub use model::{ModelSecret, ModelSettings, ModelStore};
pub use model_pairing::{accept_models, examine_models};
pub use node_record::NodeInfo;
pub use otlp::{OtlpEndpoint, OtlpSettings};
pub use rekey::rekey_models;
pub use request::{
    CallOptions, ClientInfo, ConversationSource, RequestOrigin, ScriptCallOptions, SearchChoice,
    SkipChanges, SkipOptions, Supersede, TurnRequest, TurnStorage, TurnTrigger,
};
pub use retention::ExpiredTurnLogs;
pub use runtime::{
    AgentSearchAnswer, AgentSearchRequest, ReloadCheck, RenderedRequest, RequestPlace, Runtime,
    RuntimeSettings, TokenListener,
};
pub use search::stored::{ReferenceList, ReferenceView};
pub use trace_context::TraceContext;
pub use turn::{
    HookTrial, HookTrialError, HookTrialMessage, HookTrialRequest, ToolTrial, ToolTrialRequest,
};
pub use turn_info::{
    InterruptEffect, StartedTurn, TurnInfo, TurnInterrupt, TurnStatus, TurnTotals,
};
