//! Notes of erasures that not every secondary has acknowledged: in the primary, in the commit that erased. A note is
//! named by the digest of the space and says only who still owes, so nothing of a session outlives it.

use super::{ChainDriver, ChainMember, copy};
use crate::Result;
use crate::address::{Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, WriteOutcome};
use crate::driver::ValuePart;
use crate::driver::striped_locks::StripedGuard;
use crate::json::Json;
use crate::operation::Operation;
use std::collections::HashSet;

/// A note as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tombstone {
    /// Its version; `None` where there is no note.
    pub version: Option<u64>,
    /// Who owes the erasure.
    pub owing: HashSet<String>,
}

/// Where the note of a space is.
pub fn place(space: &Space) -> ValueKey {
    Space::tombstones(&space.tenant).key(space.digest())
}

/// The write that notes who owes.
pub fn note<'a>(space: &Space, owing: impl IntoIterator<Item = &'a str>) -> Result<BatchWrite> {
    let mut names: Vec<&str> = owing.into_iter().collect();
    names.sort_unstable();
    let op = if names.is_empty() {
        Operation::Del
    } else {
        Operation::Set(Json::of(&names)?.into())
    };
    Ok(BatchWrite::apply(place(space), op, None))
}

/// The version that a write of a note gave it.
pub fn version_of(outcome: Option<&WriteOutcome>) -> Option<u64> {
    match outcome {
        Some(WriteOutcome::Applied { version, .. }) => *version,
        _ => None,
    }
}

/// The note that a driver has.
pub async fn read(member: &ChainMember, space: &Space) -> Result<Tombstone> {
    let Some(entry) = member.driver.get(&place(space), ValuePart::Whole).await? else {
        return Ok(Tombstone::default());
    };
    Ok(Tombstone {
        version: Some(entry.version),
        owing: entry.value.to()?,
    })
}

impl ChainDriver {
    /// The primary's note, remembered for when the primary is down.
    pub(super) async fn tombstone(&self, space: &Space) -> Result<Tombstone> {
        let stone = read(&self.primary, space).await?;
        self.remember(space, &stone.owing);
        Ok(stone)
    }

    pub(super) fn remember(&self, space: &Space, owing: &HashSet<String>) {
        let mut known = self.owing.lock();
        if owing.is_empty() {
            known.remove(space);
        } else {
            known.insert(space.clone(), owing.clone());
        }
    }

    /// Who is known to owe without asking the primary: by memory, and by the copies of the note.
    pub(super) async fn members_with_pending_erasures(&self, space: &Space) -> HashSet<String> {
        let mut owing = self.remembered(space);
        for member in &self.secondaries {
            if let Ok(stone) = read(member, space).await {
                owing.extend(stone.owing);
            }
        }
        owing
    }

    pub(super) fn remembered(&self, space: &Space) -> HashSet<String> {
        let known = self.owing.lock();
        known.get(space).cloned().unwrap_or_default()
    }

    /// The caller's turn in a space, and its note after secondaries have erased what they owe, as far as they can be
    /// reached.
    pub(super) async fn lock_space(&self, space: &Space) -> Result<(StripedGuard, Tombstone)> {
        let turn = self.turns.take([space]).await;
        let stone = self.tombstone(space).await?;
        Ok((turn, self.clean(space, stone).await))
    }

    /// Erases what secondaries owe, as far as they can be reached; the note then says who still owes.
    async fn clean(&self, space: &Space, stone: Tombstone) -> Tombstone {
        let mut left = stone.owing.clone();
        for member in &self.secondaries {
            if !stone.owing.contains(&member.name) {
                continue;
            }
            match copy::recopy_space(&*self.primary.driver, &*member.driver, space).await {
                Ok(()) => left.remove(&member.name),
                Err(error) => {
                    tracing::warn!(driver.name = %member.name, error.message = %error, "an erasure is still owed");
                    continue;
                }
            };
        }
        self.update_tombstone(space, stone, left).await
    }

    /// Makes the note say who owes now. Where another process has changed it meanwhile, that one's note stands.
    pub(super) async fn update_tombstone(
        &self,
        space: &Space,
        stone: Tombstone,
        owing: HashSet<String>,
    ) -> Tombstone {
        if stone.owing == owing {
            return stone;
        }
        self.remember(space, &owing);
        let expected = BatchCheck::version(place(space), stone.version);
        let names = owing.iter().map(String::as_str);
        let noted = async {
            let batch = Batch::of([note(space, names)?]).checking(expected);
            self.primary.driver.commit(batch).await
        };
        let version = match noted.await {
            Ok(outcomes) => version_of(outcomes.first()),
            Err(error) => {
                tracing::warn!(driver.name = %self.primary.name, error.message = %error, "the note of an erasure is not up to date");
                return stone;
            }
        };
        for member in &self.secondaries {
            let key = place(space);
            // A copy of the note is a help for when the primary is down; the primary's is the one that counts.
            let copied = copy::value(&*self.primary.driver, &*member.driver, &key).await;
            if let Err(error) = copied {
                tracing::debug!(driver.name = %member.name, error.message = %error, "the note of an erasure was not copied");
            }
        }
        Tombstone { version, owing }
    }
}
