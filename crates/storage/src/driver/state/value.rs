//! Values held in memory.

use super::StoreContents;
use crate::Result;
use crate::address::{Space, ValueKey};
use crate::batch::{ValueEntry, WriteOutcome};
use crate::clock::Millis;
use crate::driver::{ValuePart, ValueScan};
use crate::json::{Json, StoredValue};
use crate::operation::{self, Operation};

/// A value with its version and end of life.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueContents {
    pub value: StoredValue,
    /// Given by the store at each change.
    pub version: u64,
    pub expires_at: Option<Millis>,
}

impl ValueContents {
    /// True until its life ends.
    pub fn is_live(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    /// The value as readers get it.
    pub fn entry(&self, part: ValuePart) -> ValueEntry {
        let length = match &self.value {
            StoredValue::List(items) => items.len() as u64,
            StoredValue::Plain(_) => 1,
        };
        let value = match (&self.value, part) {
            (_, ValuePart::Nothing) => Json::stored("null"),
            (StoredValue::Plain(json), _) => json.clone(),
            (StoredValue::List(items), part) => {
                let range = part.of(length);
                let bound = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                StoredValue::List(items[bound(range.start)..bound(range.end)].to_vec()).json()
            }
        };
        let kind = self.value.kind();
        ValueEntry {
            kind,
            length,
            value,
            version: self.version,
            expires_at: self.expires_at,
            stale_possible: false,
        }
    }
}

impl From<ValueEntry> for ValueContents {
    fn from(entry: ValueEntry) -> Self {
        Self {
            value: entry.value.into(),
            version: entry.version,
            expires_at: entry.expires_at,
        }
    }
}

impl StoreContents {
    pub(super) fn apply(
        &mut self,
        key: &ValueKey,
        op: &Operation,
        life: Option<Millis>,
        now: Millis,
    ) -> Result<WriteOutcome> {
        let version = self.tick();
        let live = self
            .value(key, now)
            .map(|stored| (stored.expires_at, stored.version));
        // The value is moved out, so that an item is added in place; a refused operation leaves a copy behind.
        let current = if live.is_some() {
            self.take(key, op)
        } else {
            None
        };
        let applied = op.apply(&key.name, current, version)?;
        let expires_at = operation::end_of_life(op, live.map(|(end, _)| end), now, life);
        let stored = applied.value.map(|value| {
            let version = if matches!(op, Operation::Renew { .. }) {
                live.map_or(version, |(_, version)| version)
            } else {
                version
            };
            ValueContents {
                value,
                version,
                expires_at,
            }
        });
        let version = stored.as_ref().map(|stored| stored.version);
        self.spaces.put(key, stored);
        Ok(WriteOutcome::applied(applied.output, version))
    }

    /// The value for an operation. Lists are moved out where the operation cannot fail on them.
    fn take(&mut self, key: &ValueKey, op: &Operation) -> Option<StoredValue> {
        match (self.spaces.value_mut(key)?, op) {
            (StoredValue::List(items), Operation::Push(more))
                if (items.len() + more.len()) as u64 <= operation::MAX_LIST =>
            {
                Some(StoredValue::List(std::mem::take(items)))
            }
            (StoredValue::List(items), Operation::Pop | Operation::Pull(_)) => {
                Some(StoredValue::List(std::mem::take(items)))
            }
            (value, _) => Some(value.clone()),
        }
    }

    /// The live values of a space that are asked for.
    pub fn scan(&self, space: &Space, scan: &ValueScan, now: Millis) -> Vec<(String, ValueEntry)> {
        let Some(contents) = self.spaces.get(space) else {
            return Vec::new();
        };
        let prefix = scan.pattern.prefix();
        let first = scan.after.as_deref().filter(|after| *after >= prefix);
        let start = first.map_or(std::ops::Bound::Included(prefix), std::ops::Bound::Excluded);
        let behind = contents
            .values
            .range::<str, _>((start, std::ops::Bound::Unbounded));
        let wanted = behind
            .take_while(|(name, _)| name.starts_with(prefix))
            .filter(|(name, stored)| scan.pattern.matches(name) && stored.is_live(now));
        wanted
            .take(scan.limit)
            .map(|(name, stored)| (name.clone(), stored.entry(scan.part)))
            .collect()
    }

    /// Erases expired values, and says how many.
    pub fn sweep(&mut self, limit: usize, now: Millis) -> u64 {
        let dead: Vec<ValueKey> = self.spaces.ended(now).take(limit).cloned().collect();
        for key in &dead {
            self.spaces.put(key, None);
        }
        dead.len() as u64
    }
}
