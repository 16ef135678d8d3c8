//! Index rows held in memory.

use super::{StoreContents, UndoStep};
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::batch::{Head, WriteOutcome};
use crate::clock::Millis;
use crate::directory::{
    AgentTouch, IndexRow, PageRequest, RowFilter, RowLookup, RowOrder, RowState, TrackRequest,
};
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Bound, RangeBounds};

/// Last activity is exact to this many milliseconds, so that busy sessions do not rewrite their row at each entry.
pub const ACTIVITY_STEP: Millis = 1_000;

/// The index: rows by ordinal, and the ways to them.
#[derive(Clone, Debug, Default)]
pub struct IndexContents {
    rows: BTreeMap<u64, IndexRow>,
    by_space: HashMap<Space, u64>,
    by_id: HashMap<String, u64>,
    by_lookup: HashMap<RowLookup, BTreeSet<u64>>,
}

impl IndexContents {
    pub fn by_id(&self, id: &str) -> Option<&IndexRow> {
        self.rows.get(self.by_id.get(id)?)
    }

    pub fn by_storage_key(&self, tenant: &str, storage_key: &str) -> Option<&IndexRow> {
        let space = Space::new(tenant, storage_key);
        self.rows.get(self.by_space.get(&space)?)
    }

    pub fn by_ordinal(&self, ordinal: u64) -> Option<&IndexRow> {
        self.rows.get(&ordinal)
    }

    pub fn insert(&mut self, row: IndexRow) {
        self.by_space.insert(row.space(), row.ordinal);
        self.by_id.insert(row.id.clone(), row.ordinal);
        for lookup in row.lookups() {
            self.by_lookup
                .entry(lookup)
                .or_default()
                .insert(row.ordinal);
        }
        self.rows.insert(row.ordinal, row);
    }

    pub fn remove(&mut self, ordinal: u64) {
        let Some(row) = self.rows.remove(&ordinal) else {
            return;
        };
        self.by_space.remove(&row.space());
        self.by_id.remove(&row.id);
        for lookup in row.lookups() {
            let Entry::Occupied(mut found) = self.by_lookup.entry(lookup) else {
                continue;
            };
            found.get_mut().remove(&ordinal);
            if found.get().is_empty() {
                found.remove();
            }
        }
    }

    /// Notes that something was written to this space. Where that moves a row's last activity, the answer is the row
    /// and the activity before.
    pub fn active(&mut self, space: &Space, now: Millis) -> Option<(u64, Millis)> {
        let ordinal = *self.by_space.get(space)?;
        let row = self.rows.get_mut(&ordinal)?;
        if now - row.last_activity_at < ACTIVITY_STEP {
            return None;
        }
        Some((ordinal, std::mem::replace(&mut row.last_activity_at, now)))
    }

    /// Sets a row's last activity back.
    pub fn set_active(&mut self, ordinal: u64, at: Millis) {
        if let Some(row) = self.rows.get_mut(&ordinal) {
            row.last_activity_at = at;
        }
    }

    /// The smallest set of rows that holds all that the filter wants of these ordinals, ascending.
    fn candidates(&self, filter: &RowFilter, ordinals: OrdinalRange) -> RowCandidates<'_> {
        if let (Some(tenant), Some(key)) = (&filter.tenant, &filter.storage_key) {
            return single(self.by_storage_key(tenant, key), ordinals);
        }
        if let Some(id) = &filter.id {
            return single(self.by_id(id), ordinals);
        }
        let mut smallest: Option<&BTreeSet<u64>> = None;
        for lookup in filter.lookups() {
            let Some(found) = self.by_lookup.get(&lookup) else {
                return Box::new(std::iter::empty());
            };
            if smallest.is_none_or(|known| found.len() < known.len()) {
                smallest = Some(found);
            }
        }
        match smallest {
            Some(found) => {
                let found = found.range(ordinals);
                Box::new(found.filter_map(|ordinal| self.rows.get(ordinal)))
            }
            None => Box::new(self.rows.range(ordinals).map(|(_, row)| row)),
        }
    }
}

type OrdinalRange = (Bound<u64>, Bound<u64>);

const ALL: OrdinalRange = (Bound::Unbounded, Bound::Unbounded);

type RowCandidates<'a> = Box<dyn DoubleEndedIterator<Item = &'a IndexRow> + 'a>;

fn single(row: Option<&IndexRow>, ordinals: OrdinalRange) -> RowCandidates<'_> {
    let row = row.filter(|row| ordinals.contains(&row.ordinal));
    Box::new(row.into_iter())
}

/// The new row, or the old one with one more touch; refused where the old one is kept elsewhere.
pub fn touched(
    before: Option<&IndexRow>,
    track: &TrackRequest,
    ordinal: u64,
    now: Millis,
) -> Result<IndexRow> {
    let touch = AgentTouch {
        agent: track.agent.clone(),
        base: track.base.clone(),
        first_at: now,
        last_at: now,
    };
    let Some(before) = before else {
        return Ok(IndexRow {
            id: track.id.clone(),
            ordinal,
            tenant: track.tenant.clone(),
            identity: track.identity.clone(),
            state: RowState::Live,
            generation: 0,
            items: 0,
            created_at: now,
            last_activity_at: now,
            placement: track.placement.clone(),
            created_by: track.created_by.clone(),
            team: track.team.clone(),
            labels: track.labels.clone(),
            touches: vec![touch],
        });
    };
    track.check_placement(&before.placement)?;
    let mut row = before.clone();
    match row
        .touches
        .iter_mut()
        .find(|known| known.agent == touch.agent)
    {
        Some(known) if now - known.last_at >= ACTIVITY_STEP => known.last_at = now,
        Some(_) => {}
        None => row.touches.push(touch),
    }
    Ok(row)
}

/// The row with what the head of its items says.
pub fn row_with_head(row: &IndexRow, head: Option<Head>) -> IndexRow {
    let state = if head.is_some_and(|head| head.last == 0) {
        RowState::Cleared
    } else {
        RowState::Live
    };
    let (generation, items) = head.map_or((0, 0), |head| (head.generation, head.last));
    IndexRow {
        state,
        generation,
        items,
        ..row.clone()
    }
}

impl StoreContents {
    pub(super) fn track(
        &mut self,
        track: &TrackRequest,
        now: Millis,
    ) -> Result<(WriteOutcome, UndoStep)> {
        let before = self
            .rows
            .by_storage_key(&track.tenant, &track.identity.storage_key())
            .cloned();
        let ordinal = before
            .as_ref()
            .map_or_else(|| self.tick(), |row| row.ordinal);
        let row = touched(before.as_ref(), track, ordinal, now)?;
        let outcome = WriteOutcome::tracked(row.id.clone(), before.is_none());
        if before.as_ref() == Some(&row) {
            return Ok((outcome, UndoStep::Nothing));
        }
        self.rows.remove(ordinal);
        self.rows.insert(row);
        Ok((outcome, UndoStep::Row(ordinal, before.map(Box::new))))
    }

    /// Makes a row equal to another store's, but for an ordinal that another row has here.
    pub(super) fn mirror_row(&mut self, row: &IndexRow) -> UndoStep {
        self.clock = self.clock.max(row.ordinal);
        let twin = self
            .rows
            .by_storage_key(&row.tenant, &row.identity.storage_key())
            .cloned();
        let holder = self.rows.by_ordinal(row.ordinal);
        let is_taken = holder.is_some_and(|holder| !holder.is_twin_of(row));
        let ordinal = match &twin {
            _ if !is_taken => row.ordinal,
            Some(twin) => twin.ordinal,
            None => self.tick(),
        };
        if let Some(twin) = &twin {
            self.rows.remove(twin.ordinal);
        }
        self.rows.insert(IndexRow {
            ordinal,
            ..row.clone()
        });
        UndoStep::Row(ordinal, twin.map(Box::new))
    }

    /// The row with what its space says about it.
    fn current_row(&self, row: &IndexRow) -> IndexRow {
        row_with_head(row, self.head(&row.space().log(ITEMS)))
    }

    /// One page of rows.
    pub fn identities(&self, filter: &RowFilter, page: &PageRequest) -> Vec<IndexRow> {
        let found = |ordinals| {
            let rows = self.rows.candidates(filter, ordinals);
            rows.filter(|row| filter.matches(row))
        };
        let after = page.after.map(|after| Bound::Excluded(after.ordinal));
        let after = after.unwrap_or(Bound::Unbounded);
        let rows: Vec<&IndexRow> = match page.order {
            RowOrder::Oldest => found((after, Bound::Unbounded)).take(page.limit).collect(),
            RowOrder::Newest => {
                let found = found((Bound::Unbounded, after)).rev();
                found.take(page.limit).collect()
            }
            RowOrder::Recent => recent(found(ALL), page),
        };
        rows.into_iter().map(|row| self.current_row(row)).collect()
    }

    /// How many rows the filter wants.
    pub fn count(&self, filter: &RowFilter) -> u64 {
        self.rows
            .candidates(filter, ALL)
            .filter(|row| filter.matches(row))
            .count() as u64
    }
}

/// The page of these rows by last activity, which no set is ordered by.
fn recent<'a>(rows: impl Iterator<Item = &'a IndexRow>, page: &PageRequest) -> Vec<&'a IndexRow> {
    let behind = |row: &&IndexRow| {
        page.after
            .is_none_or(|after| page.order.is_behind(row.position(), after))
    };
    let mut rows: Vec<&IndexRow> = rows.filter(behind).collect();
    rows.sort_by_key(|row| Reverse((row.last_activity_at, row.ordinal)));
    rows.truncate(page.limit);
    rows
}
