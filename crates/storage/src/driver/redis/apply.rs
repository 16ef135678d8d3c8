//! Operations on values: what each changes, as words for the script.

use super::plan::CommitPlan;
use super::value::{RedisValue, ValueContent, ValueHeader, fingerprint};
use crate::Result;
use crate::address::ValueKey;
use crate::batch::WriteOutcome;
use crate::clock::Millis;
use crate::driver::state::ValueContents;
use crate::json::{Json, StoredValue};
use crate::operation::{self, ListChange, Operation};

/// What the store gives to a value that is written whole.
#[derive(Clone, Copy)]
struct WriteStamp {
    number: u64,
    expires_at: Option<Millis>,
}

impl CommitPlan {
    pub(super) fn apply(
        &mut self,
        key: &ValueKey,
        op: &Operation,
        life: Option<Millis>,
    ) -> Result<WriteOutcome> {
        let number = self.seen.take_number();
        // Moved out, so that a long list is not copied; a refused batch never looks at it again.
        match self.seen.values.remove(key).flatten() {
            Some(slot) if slot.header.list != 0 && op.is_list_op() => {
                self.apply_to_list(key, op, slot, number)
            }
            slot => {
                let slot = slot.as_ref();
                let expires_at = operation::end_of_life(
                    op,
                    slot.map(|slot| slot.header.expires_at),
                    self.seen.now,
                    life,
                );
                self.apply_to_whole(key, op, slot, WriteStamp { number, expires_at })
            }
        }
    }

    fn apply_to_whole(
        &mut self,
        key: &ValueKey,
        op: &Operation,
        slot: Option<&RedisValue>,
        given: WriteStamp,
    ) -> Result<WriteOutcome> {
        let WriteStamp { number, expires_at } = given;
        let version = match (op, slot) {
            (Operation::Renew { .. }, Some(slot)) => slot.header.version,
            _ => number,
        };
        if slot.is_none() && matches!(op, Operation::Acquire { .. }) {
            let guard = ["floor?", &key.space.digest(), &number.to_string()];
            self.seen.guard(&guard);
        }
        let applied = op.apply(&key.name, slot.map(RedisValue::whole), number)?;
        let stored = applied.value.map(|value| ValueContents {
            value,
            version,
            expires_at,
        });
        let version = stored.as_ref().map(|stored| stored.version);
        self.store(key, stored, number);
        if matches!(op, Operation::AddToSet(_)) {
            self.count_all(key);
        }
        Ok(WriteOutcome::applied(applied.output, version))
    }

    /// Replaces a value as a whole; a list's items are kept under the number `list`.
    pub(super) fn store(&mut self, key: &ValueKey, stored: Option<ValueContents>, list: u64) {
        let digest = key.space.digest();
        let Some(stored) = stored else {
            self.push_words(&["erase", &digest, &key.name]);
            self.seen.values.insert(key.clone(), None);
            return;
        };
        let header = ValueHeader {
            kind: stored.value.kind(),
            length: 1,
            version: stored.version,
            expires_at: stored.expires_at,
            list: 0,
            is_counted: false,
        };
        let slot = match stored.value {
            StoredValue::Plain(json) => RedisValue {
                header,
                content: ValueContent::Plain(json),
            },
            StoredValue::List(items) => RedisValue {
                header: ValueHeader {
                    length: items.len() as u64,
                    list,
                    ..header
                },
                content: ValueContent::Tail(items),
            },
        };
        self.put(key, &slot);
        if let ValueContent::Tail(items) = &slot.content {
            self.push_words(&["list", &digest, &list.to_string(), "0"]);
            self.items(items);
        }
        self.seen.values.insert(key.clone(), Some(slot));
    }

    fn put(&mut self, key: &ValueKey, slot: &RedisValue) {
        let body = match &slot.content {
            ValueContent::Plain(json) => json.as_str(),
            _ => "",
        };
        self.push_words(&[
            "put",
            &key.space.digest(),
            &key.name,
            &slot.header.text(),
            body,
        ]);
    }

    fn items(&mut self, items: &[Json]) {
        self.push_words(&[&items.len().to_string()]);
        self.words
            .extend(items.iter().map(|item| item.as_str().to_owned()));
    }

    fn apply_to_list(
        &mut self,
        key: &ValueKey,
        op: &Operation,
        slot: RedisValue,
        number: u64,
    ) -> Result<WriteOutcome> {
        let length = slot.header.length;
        let (change, output) = op.apply_to_list(&key.name, length, slot.window(op))?;
        let mut slot = slot;
        slot.header.version = number;
        self.change(key, &mut slot, change);
        let is_counted = slot.header.is_counted;
        self.seen.values.insert(key.clone(), Some(slot));
        if matches!(op, Operation::AddToSet(_)) && !is_counted {
            self.count_all(key);
        }
        Ok(WriteOutcome::applied(output, Some(number)))
    }

    /// Writes a change of a list, and makes the same change to what is known of it.
    fn change(&mut self, key: &ValueKey, slot: &mut RedisValue, change: ListChange) {
        let (digest, id) = (key.space.digest(), slot.header.list.to_string());
        let mut known = match &mut slot.content {
            ValueContent::Tail(items) => std::mem::take(items),
            _ => Vec::new(),
        };
        let hidden = slot.header.length - known.len() as u64;
        let place = |at: u64| usize::try_from(at.saturating_sub(hidden)).unwrap_or(usize::MAX);
        let gone = known.split_off(place(change.keep).min(known.len()));
        let (replaced, added): (Vec<_>, Vec<_>) = change
            .put
            .into_iter()
            .partition(|(at, _)| *at < change.keep);
        let added: Vec<Json> = added.into_iter().map(|(_, item)| item).collect();
        if slot.header.is_counted && !replaced.is_empty() {
            // What was there before is not always known, and sets are hardly ever changed by index.
            self.push_words(&["uncount", &digest, &id]);
            slot.header.is_counted = false;
        }
        slot.header.length = change.keep + added.len() as u64;
        self.put(key, slot);
        for (at, item) in replaced {
            self.push_words(&["item", &digest, &id, &at.to_string(), item.as_str()]);
            if let Some(known) = known.get_mut(place(at)).filter(|_| at >= hidden) {
                *known = item;
            }
        }
        self.push_words(&["list", &digest, &id, &change.keep.to_string()]);
        self.items(&added);
        if slot.header.is_counted && change.keep == 0 {
            self.push_words(&["uncount", &digest, &id]);
        } else if slot.header.is_counted {
            self.count(&digest, &id, &gone, "-1");
        }
        if slot.header.is_counted {
            self.count(&digest, &id, &added, "1");
        }
        if let ValueContent::Tail(items) = &mut slot.content {
            known.extend(added);
            *items = known;
        }
    }

    /// Begins to count the fingerprints of a list that is known whole.
    fn count_all(&mut self, key: &ValueKey) {
        let Some(mut slot) = self.seen.values.remove(key).flatten() else {
            return;
        };
        let (digest, id) = (key.space.digest(), slot.header.list.to_string());
        if let ValueContent::Tail(items) = &slot.content {
            self.count(&digest, &id, items, "1");
        }
        slot.header.is_counted = true;
        self.put(key, &slot);
        self.seen.values.insert(key.clone(), Some(slot));
    }

    fn count(&mut self, digest: &str, id: &str, items: &[Json], by: &str) {
        if items.is_empty() {
            return;
        }
        self.push_words(&["count", digest, id, &items.len().to_string()]);
        for item in items {
            self.push_words(&[&fingerprint(item), by]);
        }
    }
}
