//! Recall: what was said and remembered, found by its words. Conversations have an index for each owner, which follows their
//! logs when it is searched; what it does not have yet is read and ranked with it, so that an answer is complete.

mod history;
mod messages;
mod owner_index;
mod owner_note;
mod owner_vectors;
mod sessions;
mod settings;
mod unindexed;

pub use messages::{ChatMessageMatch, MessageSearch, search_messages};
pub use owner_vectors::embed_messages;
pub use sessions::{
    ChatMatch, ChatMatches, MessageMatch, SearchedOwners, SessionSearch, search_sessions,
};
pub use settings::RecallSettings;
