//! Values held in memory.

use super::StoreContents;
use crate::Result;
use crate::address::{Space, ValueKey};
use crate::batch::{ValueEntry, WriteOutcome};
use crate::clock::Millis;
use crate::driver::value_scan::ScanPage;
use crate::driver::{Direction, ValuePart, ValueScan};
use crate::json::StoredValue;
use crate::operation::{self, Operation};
use std::ops::Bound;

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
        let value = match &self.value {
            StoredValue::Plain(json) => part.of_text(json),
            StoredValue::List(items) => {
                let range = part.of(length);
                let bound = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                part.of_items(items[bound(range.start)..bound(range.end)].to_vec())
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
        let end = scan.pattern.end();
        let (mut first, mut last) = (
            Bound::Included(prefix),
            end.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
        );
        match (scan.after.as_deref(), scan.direction) {
            (None, _) => {}
            // A range that ends before it begins is none.
            (Some(after), Direction::Forward) if end.as_deref().is_some_and(|end| after >= end) => {
                return Vec::new();
            }
            (Some(after), Direction::Backward) if after <= prefix => return Vec::new(),
            (Some(after), Direction::Forward) if after >= prefix => first = Bound::Excluded(after),
            (Some(after), Direction::Backward) if end.as_deref().is_none_or(|end| after < end) => {
                last = Bound::Excluded(after);
            }
            (Some(_), _) => {}
        }
        let named = contents.values.range::<str, _>((first, last));
        let wanted = |(name, stored): &(&String, &ValueContents)| {
            scan.pattern.matches(name) && stored.is_live(now)
        };
        let mut page = ScanPage::of(scan);
        let mut add = |(name, stored): (&String, &ValueContents)| {
            let is_wanted = !page.is_full();
            if is_wanted {
                page.add(name.clone(), stored.entry(scan.part));
            }
            is_wanted
        };
        match scan.direction {
            Direction::Forward => named.filter(wanted).all(&mut add),
            Direction::Backward => named.rev().filter(wanted).all(&mut add),
        };
        page.found
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
