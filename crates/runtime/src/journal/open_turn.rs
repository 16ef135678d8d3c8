//! The notes of turns under way, and of those that have begun.

use crate::error::Result;
use ambit_storage::address::{Space, ValueKey};
use ambit_storage::batch::BatchWrite;
use ambit_storage::operation::Operation;
use ambit_storage::{Json, SessionIdentity};
use serde::{Deserialize, Serialize};

/// A turn under way, as every node can find it. Gone with the turn's last commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OpenTurn {
    pub tenant: String,
    /// The agent that was asked.
    pub agent: String,
    /// The base identity of the conversation.
    pub base: SessionIdentity,
    /// The space of its history.
    pub space: Space,
    /// The turn.
    pub request_id: String,
    /// The node that has taken it up last.
    pub node: Option<String>,
}

impl OpenTurn {
    /// Where it is noted: turns of one conversation stand together.
    pub fn key(&self) -> ValueKey {
        open_key(&self.space, &self.request_id)
    }

    /// The write that notes it.
    pub fn write(&self) -> Result<BatchWrite> {
        let set = Operation::Set(Json::of(self)?.into());
        Ok(BatchWrite::apply(self.key(), set, None))
    }
}

/// Where the turn of this conversation is noted while it is open.
pub(crate) fn open_key(space: &Space, request_id: &str) -> ValueKey {
    let name = format!("{}/{request_id}", space.digest());
    Space::turns().key(name)
}

/// Where it is noted that the turn of this id has begun, while no second one may: apart from what is known of the turn, so that
/// it stays where that is removed.
pub(crate) fn begun_key(tenant: &str, request_id: &str) -> ValueKey {
    Space::repeats(tenant).key(format!("begun/{request_id}"))
}
