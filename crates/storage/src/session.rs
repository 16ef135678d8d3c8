//! Sessions: an `Ambit` has agents, an agent opens a context on its storages, and a save makes what they stage durable.
//! These know each other; what else works on sessions stands above them.

mod agent;
mod ambit;
mod commit;
mod context;
pub(crate) mod events;
mod history;
mod list;
mod snapshot;
mod state;
mod truncate;
mod usage;

pub use agent::{Agent, AgentDefinition, LiveAgent, SessionBuilder, User};
pub use ambit::{Ambit, AmbitBuilder, AmbitSettings};
pub use context::Context;
pub use history::{
    ChatHistoryStorage, HistoryEnd, HistoryOptions, HistoryPosition, MessageErasure,
    OmittedMessages, SequencedMessage, SupersedableHistory, SupersededHistory,
};
pub use list::{ListStorage, StorageState};
pub use snapshot::{StorageSnapshot, StoredItem};
pub use usage::UsageStorage;
