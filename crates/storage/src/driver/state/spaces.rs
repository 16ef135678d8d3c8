//! What every owner has, held in memory, and which value ends when.

use super::{LogContents, SpaceContents, ValueContents};
use crate::address::{LogKey, Space, ValueKey};
use crate::clock::Millis;
use crate::json::StoredValue;
use std::collections::{BTreeSet, HashMap};

/// Logs and values by owner. An owner without either is not kept.
#[derive(Clone, Debug, Default)]
pub struct SpaceMap {
    contents: HashMap<Space, SpaceContents>,
    /// The values that have an end of life, so that a sweep looks at those alone that are due.
    ends: BTreeSet<(Millis, ValueKey)>,
}

impl SpaceMap {
    pub fn get(&self, space: &Space) -> Option<&SpaceContents> {
        self.contents.get(space)
    }

    /// What this owner has from now on.
    pub fn insert(&mut self, space: Space, contents: SpaceContents) {
        self.remove(&space);
        self.ends.extend(ends(&space, &contents));
        if !contents.is_empty() {
            self.contents.insert(space, contents);
        }
    }

    /// Takes away all of this owner.
    pub fn remove(&mut self, space: &Space) -> Option<SpaceContents> {
        let contents = self.contents.remove(space)?;
        for end in ends(space, &contents) {
            self.ends.remove(&end);
        }
        Some(contents)
    }

    pub(super) fn log(&self, log: &LogKey) -> Option<&LogContents> {
        self.contents.get(&log.space)?.logs.get(&log.name)
    }

    pub(super) fn log_mut(&mut self, log: &LogKey) -> Option<&mut LogContents> {
        let contents = self.contents.get_mut(&log.space)?;
        contents.logs.get_mut(&log.name)
    }

    /// The log, new where there is none.
    pub(super) fn log_or(
        &mut self,
        log: &LogKey,
        new: impl FnOnce() -> LogContents,
    ) -> &mut LogContents {
        let contents = self.contents.entry(log.space.clone()).or_default();
        contents.logs.entry(log.name.clone()).or_insert_with(new)
    }

    /// Puts a log in its place, or takes it away; what was there before.
    pub(super) fn put_log(
        &mut self,
        key: &LogKey,
        log: Option<LogContents>,
    ) -> Option<LogContents> {
        let contents = self.contents.entry(key.space.clone()).or_default();
        let before = match log {
            Some(log) => contents.logs.insert(key.name.clone(), log),
            None => contents.logs.remove(&key.name),
        };
        self.forget_empty(&key.space);
        before
    }

    pub(super) fn value(&self, key: &ValueKey) -> Option<&ValueContents> {
        self.contents.get(&key.space)?.values.get(&key.name)
    }

    pub(super) fn value_mut(&mut self, key: &ValueKey) -> Option<&mut StoredValue> {
        let contents = self.contents.get_mut(&key.space)?;
        Some(&mut contents.values.get_mut(&key.name)?.value)
    }

    /// Puts a value in its place, or takes it away; what was there before.
    pub(super) fn put(
        &mut self,
        key: &ValueKey,
        stored: Option<ValueContents>,
    ) -> Option<ValueContents> {
        let end = stored.as_ref().and_then(|stored| stored.expires_at);
        let contents = self.contents.entry(key.space.clone()).or_default();
        let before = match stored {
            Some(stored) => contents.values.insert(key.name.clone(), stored),
            None => contents.values.remove(&key.name),
        };
        let ended = before.as_ref().and_then(|before| before.expires_at);
        if ended != end {
            if let Some(ended) = ended {
                self.ends.remove(&(ended, key.clone()));
            }
            self.ends.extend(end.map(|end| (end, key.clone())));
        }
        self.forget_empty(&key.space);
        before
    }

    /// The values that have ended, longest ago first.
    pub(super) fn ended(&self, now: Millis) -> impl Iterator<Item = &ValueKey> {
        let due = self.ends.iter().take_while(move |(end, _)| *end <= now);
        due.map(|(_, key)| key)
    }

    fn forget_empty(&mut self, space: &Space) {
        if self
            .contents
            .get(space)
            .is_some_and(SpaceContents::is_empty)
        {
            self.contents.remove(space);
        }
    }
}

fn ends(space: &Space, contents: &SpaceContents) -> impl Iterator<Item = (Millis, ValueKey)> {
    let values = contents.values.iter();
    values.filter_map(|(name, stored)| Some((stored.expires_at?, space.key(name.as_str()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;
    use crate::address::DEFAULT_TENANT;

    fn stored(expires_at: Option<Millis>) -> ValueContents {
        ValueContents {
            value: Json::stored("1").into(),
            version: 1,
            expires_at,
        }
    }

    fn space() -> Space {
        Space::user_memory(DEFAULT_TENANT, "u")
    }

    /// Owners with values a (ends at 10), b (at 20) and c (never).
    fn spaces() -> SpaceMap {
        let mut spaces = SpaceMap::default();
        for (name, end) in [("a", Some(10)), ("b", Some(20)), ("c", None)] {
            spaces.put(&space().key(name), Some(stored(end)));
        }
        spaces
    }

    fn ended(spaces: &SpaceMap, now: Millis) -> Vec<&str> {
        spaces.ended(now).map(|key| key.name.as_str()).collect()
    }

    #[test]
    fn values_end_in_the_order_of_their_lives() {
        assert_eq!(ended(&spaces(), 9), Vec::<&str>::new());
        assert_eq!(ended(&spaces(), 10), ["a"]);
        assert_eq!(ended(&spaces(), 20), ["a", "b"]);
    }

    #[test]
    fn a_value_written_again_has_only_its_new_end() {
        let mut spaces = spaces();
        spaces.put(&space().key("a"), Some(stored(Some(30))));
        spaces.put(&space().key("b"), Some(stored(None)));
        assert_eq!(ended(&spaces, 29), Vec::<&str>::new());
        assert_eq!(ended(&spaces, 30), ["a"]);
    }

    #[test]
    fn what_is_taken_away_leaves_no_end() {
        let mut one = spaces();
        one.put(&space().key("a"), None);
        assert_eq!(ended(&one, 99), ["b"]);
        let mut all = spaces();
        all.remove(&space());
        assert_eq!(ended(&all, 99), Vec::<&str>::new());
    }

    #[test]
    fn contents_put_in_place_bring_their_ends() {
        let contents = spaces().remove(&space()).unwrap();
        let mut other = SpaceMap::default();
        other.put(&space().key("gone"), Some(stored(Some(1))));
        other.insert(space(), contents);
        assert_eq!(ended(&other, 99), ["a", "b"]);
    }

    #[test]
    fn an_owner_with_nothing_left_is_forgotten() {
        let mut spaces = SpaceMap::default();
        let key = space().key("a");
        spaces.put(&key, Some(stored(None)));
        spaces.put(&key, None);
        assert_eq!(spaces.get(&space()), None);
    }
}
