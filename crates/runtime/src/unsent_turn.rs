//! Turns that have ended and whose traces no collector has yet: one note each, made by the turn's last commit and removed when a
//! collector has taken the trace.
//!
//! The notes are list and cursor in one. They tell nothing of the conversation, which they may outlive, and end with the time for
//! which the trace is kept.

use crate::error::Result;
use ambit_storage::address::Space;
use ambit_storage::batch::BatchWrite;
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::json::Json;
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Notes read at a time.
const PAGE: usize = 100;
/// A note lives at least so long.
const SHORTEST: Duration = Duration::from_secs(1);

/// A turn whose trace is to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UnsentTurn {
    pub tenant: String,
    pub place: TurnPlace,
    pub ended_at: Millis,
}

/// Where the conversation of a turn is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TurnPlace {
    /// Where the index row of its history says.
    Row(String),
    /// A temporary conversation is in no index.
    Temporary(Space),
}

/// A note that was found.
#[derive(Clone, Debug)]
pub(crate) struct UnsentNote {
    pub name: String,
    /// Given by the store when the turn ended: later ends have greater ones.
    version: u64,
    pub turn: UnsentTurn,
}

impl UnsentTurn {
    /// The write that notes it for as long as its trace is kept.
    pub fn note(&self, request_id: &str, life: Duration) -> Result<BatchWrite> {
        Ok(BatchWrite::Apply {
            key: Space::unsent_turns().key(format!("{:020}/{request_id}", self.ended_at)),
            op: Operation::Set(Json::of(self)?.into()),
            life: Some(to_millis(life.max(SHORTEST))),
        })
    }
}

impl UnsentNote {
    /// The next notes behind a name, in the order in which their turns ended. A note that cannot be read is passed over.
    pub async fn page(driver: &dyn Driver, after: Option<String>) -> Result<UnsentPage> {
        let scan = ValueScan {
            after,
            ..ValueScan::first(Pattern::all(), PAGE, ValuePart::Whole)
        };
        let found = driver.scan(&Space::unsent_turns(), &scan).await?;
        let last = found.last().map(|(name, _)| name.clone());
        let is_last = found.len() < PAGE;
        let mut notes = Vec::with_capacity(found.len());
        for (name, entry) in found {
            match entry.value.to() {
                Ok(turn) => notes.push(Self {
                    name,
                    version: entry.version,
                    turn,
                }),
                Err(error) => {
                    tracing::warn!(note = name, %error, "a note of an ended turn cannot be read");
                }
            }
        }
        // Names go by the clocks of nodes; of what is there at the same time the store knows the order.
        notes.sort_by_key(|note| note.version);
        let next = last.filter(|_| !is_last);
        Ok(UnsentPage { notes, next })
    }

    /// The turn.
    pub fn request_id(&self) -> &str {
        self.name.split_once('/').map_or("", |(_, id)| id)
    }

    /// The write that removes it.
    pub fn removal(&self) -> BatchWrite {
        BatchWrite::Apply {
            key: Space::unsent_turns().key(self.name.as_str()),
            op: Operation::Del,
            life: None,
        }
    }
}

/// Notes, and the name behind which there may be more.
pub(crate) struct UnsentPage {
    pub notes: Vec<UnsentNote>,
    pub next: Option<String>,
}

impl UnsentPage {
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.next.is_none()
    }
}
