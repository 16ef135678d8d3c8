//! Which conversation a request goes on with, where no chat's name says it.

use serde::{Deserialize, Serialize};

/// Which conversation a request goes on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationSource {
    /// That of the history with this row in the index, opened as it is stored, whichever agent is asked.
    Row(String),
    /// What was said up to the end of this turn: its own conversation where nothing came behind it, else a new one that begins
    /// with a copy.
    Behind(String),
    /// A new one, which has the turn's own name: `resp_R`.
    New,
}
