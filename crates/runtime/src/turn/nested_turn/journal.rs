//! What calls of agents from inside a turn have done. A hook that runs again after a crash calls again: what is kept of its
//! calls is not done once more. Why, and how a call is known again, is in decision 0017.

use crate::error::{Error, ErrorCode, Result};
use crate::journal::{self, JournalEntry};
use crate::lock::lock;
use crate::stream::StreamTarget;
use crate::turn::usage::TurnUsage;
use ambit_storage::address::hex;
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::json::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// What a call has done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::turn) enum NestedCallStep {
    /// A step, as in the journal of a turn.
    Step(Box<JournalEntry>),
    /// The call has ended with this.
    Ended {
        /// What it gives to scripts.
        response: Value,
        /// The same in words.
        content: String,
    },
    /// What this version does not know, as an earlier one has noted it: it is passed over. Its number is taken all the same.
    #[serde(untagged)]
    Unknown(Value),
}

#[derive(Serialize, Deserialize)]
struct NestedCallEntry {
    call: String,
    done: NestedCallStep,
}

/// The calls from inside one turn.
pub(in crate::turn) struct NestedCallJournal {
    target: StreamTarget,
    /// Bytes that the store takes in one entry.
    most: usize,
    /// What those of an earlier attempt have done.
    before: HashMap<String, Vec<NestedCallStep>>,
    /// How often a call with the same words was made from the same place.
    begun: Mutex<HashMap<String, usize>>,
    /// What calls that were dropped had not made durable, each for a batch of its own.
    dropped: Mutex<Vec<Vec<BatchWrite>>>,
}

pub(in crate::turn) struct NestedCallRecord {
    calls: Arc<NestedCallJournal>,
    /// What it is known by.
    pub key: String,
    pending: Mutex<PendingEntries>,
}

/// What is not durable yet.
struct PendingEntries {
    count: usize,
    entries: Vec<NewEntry>,
}

impl NestedCallJournal {
    /// Of a turn that has made none.
    pub fn new(target: StreamTarget, most: usize) -> Self {
        Self {
            target,
            most,
            before: HashMap::new(),
            begun: Mutex::default(),
            dropped: Mutex::default(),
        }
    }

    /// Of a turn that is taken up again.
    pub async fn read(target: StreamTarget, most: usize) -> Result<Self> {
        let mut calls = Self::new(target, most);
        let StreamTarget { driver, log, .. } = &calls.target;
        for entry in journal::read(driver.as_ref(), log).await? {
            let NestedCallEntry { call, done } = entry;
            calls.before.entry(call).or_default().push(done);
        }
        Ok(calls)
    }

    /// Of a turn that is restarted: what its calls have done is not done again. None of them runs any more.
    pub async fn for_restart(&self) -> Result<Self> {
        self.persist_dropped().await?;
        Self::read(self.target.clone(), self.most).await
    }

    /// Makes durable what calls that were dropped have left.
    pub async fn persist_dropped(&self) -> Result<()> {
        let dropped = std::mem::take(&mut *lock(&self.dropped));
        for writes in dropped {
            self.commit(writes).await?;
        }
        Ok(())
    }

    /// Whether there is anything that has to go with the turn.
    pub fn is_used(&self) -> bool {
        !self.before.is_empty() || !lock(&self.begun).is_empty()
    }

    /// A call from a place, with all that it was made with.
    pub fn begin(self: &Arc<Self>, made_with: &Value) -> NestedCallRecord {
        let digest = hex(&Sha256::digest(made_with.to_string()));
        let mut begun = lock(&self.begun);
        let times = begun.entry(digest.clone()).or_default();
        let key = format!("{digest}.{times}");
        *times += 1;
        drop(begun);
        let count = self.before.get(&key).map_or(0, Vec::len);
        let entries = Vec::new();
        NestedCallRecord {
            calls: self.clone(),
            key,
            pending: Mutex::new(PendingEntries { count, entries }),
        }
    }

    async fn commit(&self, writes: Vec<BatchWrite>) -> Result<()> {
        let mut batch = Batch::of(writes);
        batch.checks.extend(self.target.check.clone());
        self.target.driver.commit(batch).await?;
        Ok(())
    }
}

impl NestedCallRecord {
    /// What it has done in an earlier attempt, in order.
    pub fn before(&self) -> &[NestedCallStep] {
        let before = self.calls.before.get(&self.key);
        before.map_or(&[], Vec::as_slice)
    }

    /// Notes what becomes durable with the next `flush`. What the store would not take is refused at once, so that all else
    /// that waits is not refused with it.
    pub fn note(&self, done: NestedCallStep) -> Result<()> {
        let call = self.key.clone();
        let body = Json::of(&NestedCallEntry { call, done })?;
        let (size, most) = (body.as_str().len(), self.calls.most);
        if size > most {
            let message =
                format!("{size} bytes are more than the {most} that the store takes at once");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let mut pending = lock(&self.pending);
        let id = format!("{}.{:06}", self.key, pending.count);
        pending.count += 1;
        pending.entries.push(NewEntry { id, body });
        Ok(())
    }

    /// Makes all that was noted durable, with what the turn has used until now. What could not be written goes along with the
    /// next time.
    pub async fn flush(&self, usage: &TurnUsage) -> Result<()> {
        let entries = lock(&self.pending).entries.clone();
        if entries.is_empty() {
            return Ok(());
        }
        let (count, (notes, last)) = (entries.len(), usage.notes());
        self.calls.commit(self.writes(entries, notes)).await?;
        usage.clear_notes(last);
        lock(&self.pending).entries.drain(..count);
        Ok(())
    }

    /// Leaves what is not durable, with what the turn has used until now, to the turn around it.
    pub fn drop_pending(&self, usage: &TurnUsage) {
        let entries = std::mem::take(&mut lock(&self.pending).entries);
        if !entries.is_empty() {
            let (notes, _) = usage.notes();
            lock(&self.calls.dropped).push(self.writes(entries, notes));
        }
    }

    /// What was used stands before what is gone on with behind it.
    fn writes(&self, entries: Vec<NewEntry>, mut notes: Vec<BatchWrite>) -> Vec<BatchWrite> {
        let log = self.calls.target.log.clone();
        notes.push(BatchWrite::Append { log, entries });
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::{NestedCallEntry, NestedCallStep};

    #[test]
    fn what_an_earlier_version_has_noted_is_unknown_and_no_failure() {
        let old = r#"{"call":"d.0","done":{"used":{"record_id":"r1","prompt_tokens":10,"completion_tokens":2}}}"#;
        let noted: NestedCallEntry = serde_json::from_str(old).unwrap();
        assert_eq!(noted.call, "d.0");
        assert!(matches!(noted.done, NestedCallStep::Unknown(_)));
    }
}
