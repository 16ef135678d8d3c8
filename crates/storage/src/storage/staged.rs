//! What is staged in a storage and not yet written.

use super::view::{Item, View};
use crate::batch::{Head, NewEntry, Write};
use crate::ids;
use std::collections::HashSet;

/// What is not yet written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staged {
    /// A clear or a replace, which must find the log as it was seen.
    pub(crate) basis: Option<Basis>,
    /// What is to be added behind it.
    pub(crate) appends: Vec<NewEntry>,
    /// Further writes that belong to appends, with the entry's id: usage sums.
    pub(crate) extra: Vec<(String, Write)>,
    /// A commit of this failed in a way that may have left it done.
    pub(crate) is_doubtful: bool,
}

/// What a staged clear or replace was based on, and what is to be there.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    /// The head of the items.
    pub(crate) items: Option<Head>,
    /// The head of the overlays.
    pub(crate) overlays: Option<Head>,
    /// The version of the count of erasures.
    pub(crate) erasures: Option<u64>,
    /// The sequence of the overlay that was shown.
    pub(crate) previous: Option<u64>,
    /// The new view; `None` is a clear, which erases the archive too.
    pub(crate) view: Option<Vec<Item>>,
    /// Why, for the overlay's record.
    pub(crate) reason: String,
    /// The overlay's id.
    pub(crate) id: String,
    /// It was found to be done already: repeating its writes changes nothing.
    pub(crate) is_done: bool,
}

impl Staged {
    /// What of this was there then, too.
    pub(crate) fn common(&self, then: &Self) -> Self {
        let basis = |staged: &Self| staged.basis.as_ref().map(|basis| basis.id.clone());
        let ids: HashSet<&String> = then.appends.iter().map(|entry| &entry.id).collect();
        let appends = self.appends.iter();
        let extra = self.extra.iter();
        Self {
            basis: self.basis.clone().filter(|_| basis(self) == basis(then)),
            appends: appends
                .filter(|entry| ids.contains(&entry.id))
                .cloned()
                .collect(),
            extra: extra.filter(|(id, _)| ids.contains(id)).cloned().collect(),
            is_doubtful: self.is_doubtful,
        }
    }

    /// True where everything is to be erased.
    pub(crate) fn is_clear(&self) -> bool {
        self.basis
            .as_ref()
            .is_some_and(|basis| basis.view.is_none())
    }

    /// True where there is nothing to write.
    pub(crate) fn is_clean(&self) -> bool {
        self.basis.is_none() && self.appends.is_empty() && self.extra.is_empty()
    }
}

impl Basis {
    /// What a clear or replace of this view is based on.
    pub(super) fn of(view: &View) -> Self {
        let previous = view.overlay.as_ref().map(|entry| entry.seq);
        Self {
            items: view.items,
            overlays: view.overlays,
            erasures: None,
            previous,
            view: None,
            reason: String::new(),
            id: ids::unguessable(),
            is_done: false,
        }
    }
}
