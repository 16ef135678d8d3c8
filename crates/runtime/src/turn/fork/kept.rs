//! What calls of agents from inside a turn have done. A hook that runs again after a crash calls again: what is kept of its
//! calls is not done once more. Why, and how a call is known again, is in decision 0017.

use crate::error::{Code, Error, Result};
use crate::journal::Step;
use crate::lock::lock;
use crate::stream::Place;
use crate::turn::meter::Spent;
use ambit_storage::address::hex;
use ambit_storage::batch::{Batch, NewEntry, Write};
use ambit_storage::driver::Range;
use ambit_storage::json::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Entries read at a time.
const PAGE: usize = 256;

/// What a call has done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::turn) enum Done {
    /// A step, as in the journal of a turn.
    Step(Box<Step>),
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
struct Noted {
    call: String,
    done: Done,
}

/// The calls from inside one turn.
pub(in crate::turn) struct Calls {
    place: Place,
    /// Bytes that the store takes in one entry.
    most: usize,
    /// What those of an earlier attempt have done.
    before: HashMap<String, Vec<Done>>,
    /// How often a call with the same words was made from the same place.
    begun: Mutex<HashMap<String, usize>>,
    /// What calls that were dropped had not made durable, each for a batch of its own.
    left: Mutex<Vec<Vec<Write>>>,
}

/// One call.
pub(in crate::turn) struct Kept {
    calls: Arc<Calls>,
    /// What it is known by.
    pub key: String,
    waiting: Mutex<Waiting>,
}

/// What is not durable yet.
struct Waiting {
    count: usize,
    entries: Vec<NewEntry>,
}

impl Calls {
    /// Of a turn that has made none.
    pub fn new(place: Place, most: usize) -> Self {
        Self {
            place,
            most,
            before: HashMap::new(),
            begun: Mutex::default(),
            left: Mutex::default(),
        }
    }

    /// Of a turn that is taken up again.
    pub async fn read(place: Place, most: usize) -> Result<Self> {
        let mut calls = Self::new(place, most);
        let mut last = 0;
        loop {
            let range = Range::from(last + 1, PAGE);
            let page = calls.place.driver.read(&calls.place.log, range).await?;
            let Some(entry) = page.entries.last() else {
                return Ok(calls);
            };
            last = entry.seq;
            for entry in &page.entries {
                let Noted { call, done } = entry.body.to()?;
                calls.before.entry(call).or_default().push(done);
            }
        }
    }

    /// Of a turn that begins anew: what its calls have done is not done again. None of them runs any more.
    pub async fn anew(&self) -> Result<Self> {
        self.keep_left().await?;
        Self::read(self.place.clone(), self.most).await
    }

    /// Makes durable what calls that were dropped have left.
    pub async fn keep_left(&self) -> Result<()> {
        let left = std::mem::take(&mut *lock(&self.left));
        for writes in left {
            self.commit(writes).await?;
        }
        Ok(())
    }

    /// Whether there is anything that has to go with the turn.
    pub fn is_used(&self) -> bool {
        !self.before.is_empty() || !lock(&self.begun).is_empty()
    }

    /// A call from a place, with all that it was made with.
    pub fn begin(self: &Arc<Self>, made_with: &Value) -> Kept {
        let digest = hex(&Sha256::digest(made_with.to_string()));
        let mut begun = lock(&self.begun);
        let times = begun.entry(digest.clone()).or_default();
        let key = format!("{digest}.{times}");
        *times += 1;
        drop(begun);
        let count = self.before.get(&key).map_or(0, Vec::len);
        let entries = Vec::new();
        Kept {
            calls: self.clone(),
            key,
            waiting: Mutex::new(Waiting { count, entries }),
        }
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<()> {
        let mut batch = Batch::of(writes);
        batch.checks.extend(self.place.check.clone());
        self.place.driver.commit(batch).await?;
        Ok(())
    }
}

impl Kept {
    /// What it has done in an earlier attempt, in order.
    pub fn before(&self) -> &[Done] {
        let before = self.calls.before.get(&self.key);
        before.map_or(&[], Vec::as_slice)
    }

    /// Notes what becomes durable with the next `flush`. What the store would not take is refused at once, so that all else
    /// that waits is not refused with it.
    pub fn note(&self, done: Done) -> Result<()> {
        let call = self.key.clone();
        let body = Json::of(&Noted { call, done })?;
        let (size, most) = (body.as_str().len(), self.calls.most);
        if size > most {
            let message =
                format!("{size} bytes are more than the {most} that the store takes at once");
            return Err(Error::new(Code::LimitExceeded, message));
        }
        let mut waiting = lock(&self.waiting);
        let id = format!("{}.{:06}", self.key, waiting.count);
        waiting.count += 1;
        waiting.entries.push(NewEntry { id, body });
        Ok(())
    }

    /// Makes all that was noted durable, with what the turn has used until now. What could not be written goes along with the
    /// next time.
    pub async fn flush(&self, spent: &Spent) -> Result<()> {
        let entries = lock(&self.waiting).entries.clone();
        if entries.is_empty() {
            return Ok(());
        }
        let (count, (notes, last)) = (entries.len(), spent.notes());
        self.calls.commit(self.writes(entries, notes)).await?;
        spent.noted(last);
        lock(&self.waiting).entries.drain(..count);
        Ok(())
    }

    /// Leaves what is not durable, with what the turn has used until now, to the turn around it.
    pub fn leave(&self, spent: &Spent) {
        let entries = std::mem::take(&mut lock(&self.waiting).entries);
        if !entries.is_empty() {
            let (notes, _) = spent.notes();
            lock(&self.calls.left).push(self.writes(entries, notes));
        }
    }

    /// What was used stands before what is gone on with behind it.
    fn writes(&self, entries: Vec<NewEntry>, mut notes: Vec<Write>) -> Vec<Write> {
        let log = self.calls.place.log.clone();
        notes.push(Write::Append { log, entries });
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, Noted};

    #[test]
    fn what_an_earlier_version_has_noted_is_unknown_and_no_failure() {
        let old = r#"{"call":"d.0","done":{"used":{"record_id":"r1","prompt_tokens":10,"completion_tokens":2}}}"#;
        let noted: Noted = serde_json::from_str(old).unwrap();
        assert_eq!(noted.call, "d.0");
        assert!(matches!(noted.done, Done::Unknown(_)));
    }
}
