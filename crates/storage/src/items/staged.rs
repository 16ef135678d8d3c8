//! What is staged in a storage and not yet written.

use super::hidden::{EntryRange, HiddenRange, shown};
use super::view::{LogView, ViewItem};
use crate::batch::{BatchCheck, BatchWrite, Head, NewEntry};
use crate::ids;
use crate::operation::Operation;
use std::collections::HashSet;

#[derive(Clone, Debug, Default)]
pub(crate) struct StagedChanges {
    /// A clear or a replace, which must find the log as it was seen.
    pub(crate) basis: Option<StagedReplacement>,
    /// What is to be added behind it.
    pub(crate) appends: Vec<NewEntry>,
    /// Further writes of the same commit, each with the id of what it belongs to: usage sums, a turn's journal.
    pub(crate) extra: Vec<(String, BatchWrite)>,
    /// What must hold for those, under the same ids.
    pub(crate) checks: Vec<(String, BatchCheck)>,
    /// A commit of this failed in a way that may have left it done.
    pub(crate) is_doubtful: bool,
}

/// What a staged clear or replace was based on, and what is to be there.
#[derive(Clone, Debug)]
pub(crate) struct StagedReplacement {
    pub(crate) items: Option<Head>,
    pub(crate) overlays: Option<Head>,
    /// The version of the count of erasures.
    pub(crate) erasures: Option<u64>,
    /// The sequence of the overlay that was shown.
    pub(crate) previous: Option<u64>,
    /// The archived entries that were shown.
    pub(crate) shown: Vec<EntryRange>,
    /// What was left out otherwise than by truncation.
    pub(crate) hidden: Vec<HiddenRange>,
    /// The new view; `None` is a clear, which erases the archive too.
    pub(crate) view: Option<Vec<ViewItem>>,
    /// Why, for the overlay's record.
    pub(crate) reason: String,
    /// The overlay's id, to which the revision belongs.
    pub(crate) id: String,
    /// How often the view was changed again before it was saved.
    pub(crate) revision: u32,
    /// It was found to be done already: repeating its writes changes nothing.
    pub(crate) is_done: bool,
}

impl StagedChanges {
    /// What of this was there then, too.
    pub(crate) fn common(&self, then: &Self) -> Self {
        let basis = |staged: &Self| staged.basis.as_ref().map(|basis| basis.id.clone());
        let ids: HashSet<&String> = then.appends.iter().map(|entry| &entry.id).collect();
        let appends = self.appends.iter();
        let beside: HashSet<&String> = then.extra.iter().map(|(id, _)| id).collect();
        let extra = self.extra.iter();
        let bound: HashSet<&String> = then.checks.iter().map(|(id, _)| id).collect();
        let checks = self.checks.iter();
        Self {
            basis: self.basis.clone().filter(|_| basis(self) == basis(then)),
            appends: appends
                .filter(|entry| ids.contains(&entry.id))
                .cloned()
                .collect(),
            extra: extra
                .filter(|(id, _)| beside.contains(id))
                .cloned()
                .collect(),
            checks: checks
                .filter(|(id, _)| bound.contains(id))
                .cloned()
                .collect(),
            is_doubtful: self.is_doubtful,
        }
    }

    /// The further writes, without those of which later ones leave nothing: entries of a log that is dropped, and values that are
    /// replaced.
    pub(crate) fn further_writes(&self) -> Vec<BatchWrite> {
        let (mut dropped, mut replaced) = (HashSet::new(), HashSet::new());
        let mut left = Vec::new();
        for (_, write) in self.extra.iter().rev() {
            let is_left = match write {
                BatchWrite::Drop { log } => {
                    dropped.insert(log);
                    true
                }
                BatchWrite::Append { log, .. } => !dropped.contains(log),
                BatchWrite::Apply { key, op, .. } => match op {
                    Operation::Set(_) | Operation::Del => replaced.insert(key),
                    _ => {
                        replaced.remove(key);
                        true
                    }
                },
                _ => true,
            };
            if is_left {
                left.push(write.clone());
            }
        }
        left.reverse();
        left
    }

    /// The further entries that no check binds. A commit before the next save may have them too: a log stores an id once.
    pub(crate) fn unbound_entries(&self) -> Vec<BatchWrite> {
        let bound: HashSet<&String> = self.checks.iter().map(|(id, _)| id).collect();
        let unbound = self.extra.iter().filter(|(id, _)| !bound.contains(id));
        let entries = unbound.filter(|(_, write)| matches!(write, BatchWrite::Append { .. }));
        entries.map(|(_, write)| write.clone()).collect()
    }

    /// True where everything is to be erased.
    pub(crate) fn is_clear(&self) -> bool {
        self.basis
            .as_ref()
            .is_some_and(|basis| basis.view.is_none())
    }

    /// True where there is nothing to write.
    pub(crate) fn is_clean(&self) -> bool {
        let has_items = self.basis.is_some() || !self.appends.is_empty();
        !has_items && self.extra.is_empty() && self.checks.is_empty()
    }
}

impl StagedReplacement {
    /// What a clear or replace of this view is based on.
    pub(super) fn of(view: &LogView) -> Self {
        let previous = view.overlay.as_ref().map(|entry| entry.seq);
        Self {
            items: view.items,
            overlays: view.overlays,
            erasures: None,
            previous,
            shown: shown(&view.pieces),
            hidden: view.hidden.clone(),
            view: None,
            reason: String::new(),
            id: ids::unguessable(),
            revision: 0,
            is_done: false,
        }
    }

    /// The id of the overlay that shows this view.
    pub(super) fn overlay(&self) -> String {
        match self.revision {
            0 => self.id.clone(),
            again => format!("{}.{again}", self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StagedChanges;
    use crate::address::Space;
    use crate::batch::{BatchCheck, BatchWrite, NewEntry};
    use crate::driver::DriverOptions;
    use crate::items::StorageCell;
    use crate::json::Json;
    use crate::operation::Operation;
    use crate::{SessionIdentity, Stores};

    #[test]
    fn what_a_later_write_undoes_is_not_written() {
        let space = Space::user_memory("t", "ann");
        let append = |log: &str| BatchWrite::append(space.log(log), vec![entry("1")]);
        let drop = |log: &str| BatchWrite::Drop {
            log: space.log(log),
        };
        let apply = |key: &str, op: Operation| BatchWrite::apply(space.key(key), op, None);
        let set = |key: &str, value: &str| apply(key, Operation::Set(Json::stored(value).into()));
        let incr = |key: &str| apply(key, Operation::Incr(1.into()));
        for (staged, left) in [
            (vec![append("a"), append("b"), drop("a")], vec![1, 2]),
            (vec![append("a"), drop("a"), append("a")], vec![1, 2]),
            (
                vec![set("a", "1"), set("b", "1"), set("a", "2")],
                vec![1, 2],
            ),
            (vec![set("a", "1"), incr("a"), set("a", "2")], vec![0, 1, 2]),
            (vec![set("a", "1"), incr("a")], vec![0, 1]),
            (vec![set("a", "1"), apply("a", Operation::Del)], vec![1]),
        ] {
            let expected: Vec<&BatchWrite> = left.iter().map(|at| &staged[*at]).collect();
            let expected = format!("{expected:?}");
            let extra = staged.into_iter().map(|write| (String::new(), write));
            let changes = StagedChanges {
                extra: extra.collect(),
                ..StagedChanges::default()
            };
            assert_eq!(format!("{:?}", changes.further_writes()), expected);
        }
    }

    #[test]
    fn entries_that_a_check_binds_are_left_to_the_save() {
        let space = Space::user_memory("t", "ann");
        let append = |log: &str| BatchWrite::append(space.log(log), vec![entry("1")]);
        let set = Operation::Set(Json::stored("1").into());
        let set = BatchWrite::apply(space.key("a"), set, None);
        let staged = [("1", append("a")), ("2", append("b")), ("3", set)];
        let extra = staged.map(|(id, write)| (id.to_owned(), write));
        let check = BatchCheck::head(space.log("b"), None);
        let changes = StagedChanges {
            extra: extra.into(),
            checks: vec![("2".to_owned(), check)],
            ..StagedChanges::default()
        };
        let expected = format!("{:?}", [append("a")]);
        assert_eq!(format!("{:?}", changes.unbound_entries()), expected);
    }

    fn cell() -> StorageCell {
        let stores = Stores::builder(DriverOptions::default()).build().unwrap();
        let identity = SessionIdentity::builder("Support").build().unwrap();
        StorageCell::new("notes", identity, stores.for_scope("notes").unwrap()).unwrap()
    }

    fn entry(id: &str) -> NewEntry {
        NewEntry::new(id, Json::of(&id).unwrap())
    }

    fn staged_ids(cell: &StorageCell) -> Vec<String> {
        let staged = cell.staged();
        staged
            .appends
            .iter()
            .map(|entry| entry.id.clone())
            .collect()
    }

    #[tokio::test]
    async fn a_view_that_is_changed_again_during_its_write_stays_staged() {
        let cell = cell();
        cell.append(entry("a"));
        cell.replace("default", "set", Some).await.unwrap();
        let written = cell.staged().clone();
        let nothing = |_| Some(Vec::new());
        cell.replace("default", "set", nothing).await.unwrap();
        cell.committed(&written);
        assert!(cell.is_dirty());
        let written = cell.staged().clone();
        cell.committed(&written);
        assert!(!cell.is_dirty());
    }

    #[tokio::test]
    async fn a_replace_takes_in_only_what_it_has_seen() {
        let cell = cell();
        cell.append(entry("a"));
        let meanwhile = |items| {
            let written = cell.staged().clone();
            cell.committed(&written);
            cell.append(entry("b"));
            Some(items)
        };
        cell.replace("default", "set", meanwhile).await.unwrap();
        assert_eq!(staged_ids(&cell), ["b"]);
    }
}
