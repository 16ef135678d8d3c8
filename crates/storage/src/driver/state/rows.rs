//! Index rows held in memory.

use super::{State, Undo};
use crate::Result;
use crate::address::{ITEMS, Space};
use crate::batch::{Head, Outcome};
use crate::clock::Millis;
use crate::directory::{Filter, Lookup, PageRequest, State as RowState, Touch, Track, Tracked};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Last activity is exact to this many milliseconds, so that busy sessions do not rewrite their row at each entry.
pub const ACTIVITY_STEP: Millis = 1_000;

/// The index: rows by ordinal, and the ways to them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: BTreeMap<u64, Tracked>,
    by_space: HashMap<Space, u64>,
    by_id: HashMap<String, u64>,
    by_lookup: HashMap<Lookup, BTreeSet<u64>>,
}

impl Rows {
    /// The row with this id.
    pub fn by_id(&self, id: &str) -> Option<&Tracked> {
        self.rows.get(self.by_id.get(id)?)
    }

    /// The row of this storage.
    pub fn by_storage_key(&self, tenant: &str, storage_key: &str) -> Option<&Tracked> {
        let space = Space {
            tenant: tenant.to_owned(),
            path: storage_key.to_owned(),
        };
        self.rows.get(self.by_space.get(&space)?)
    }

    /// The row at this place.
    pub fn by_ordinal(&self, ordinal: u64) -> Option<&Tracked> {
        self.rows.get(&ordinal)
    }

    /// Adds a row.
    pub fn insert(&mut self, row: Tracked) {
        self.by_space
            .insert(Space::of(&row.tenant, &row.identity), row.ordinal);
        self.by_id.insert(row.id.clone(), row.ordinal);
        for lookup in row.lookups() {
            self.by_lookup
                .entry(lookup)
                .or_default()
                .insert(row.ordinal);
        }
        self.rows.insert(row.ordinal, row);
    }

    /// Takes a row away.
    pub fn remove(&mut self, ordinal: u64) {
        let Some(row) = self.rows.remove(&ordinal) else {
            return;
        };
        self.by_space.remove(&Space::of(&row.tenant, &row.identity));
        self.by_id.remove(&row.id);
        for lookup in row.lookups() {
            if let Some(ordinals) = self.by_lookup.get_mut(&lookup) {
                ordinals.remove(&ordinal);
            }
        }
        self.by_lookup.retain(|_, ordinals| !ordinals.is_empty());
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

    /// The smallest set of rows that holds all that the filter wants.
    fn candidates(&self, filter: &Filter) -> Vec<&Tracked> {
        if let (Some(tenant), Some(key)) = (&filter.tenant, &filter.storage_key) {
            return self.by_storage_key(tenant, key).into_iter().collect();
        }
        if let Some(id) = &filter.id {
            return self.by_id(id).into_iter().collect();
        }
        let none = BTreeSet::new();
        let sets = filter
            .lookups()
            .into_iter()
            .map(|lookup| self.by_lookup.get(&lookup).unwrap_or(&none));
        match sets.min_by_key(|ordinals| ordinals.len()) {
            Some(ordinals) => ordinals
                .iter()
                .filter_map(|ordinal| self.rows.get(ordinal))
                .collect(),
            None => self.rows.values().collect(),
        }
    }
}

/// The new row, or the old one with one more touch; refused where the old one is kept elsewhere.
pub fn touched(
    before: Option<&Tracked>,
    track: &Track,
    ordinal: u64,
    now: Millis,
) -> Result<Tracked> {
    let touch = Touch {
        agent: track.agent.clone(),
        base: track.base.clone(),
        first_at: now,
        last_at: now,
    };
    let Some(before) = before else {
        return Ok(Tracked {
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
pub fn told(row: &Tracked, head: Option<Head>) -> Tracked {
    let state = if head.is_some_and(|head| head.last == 0) {
        RowState::Cleared
    } else {
        RowState::Live
    };
    let (generation, items) = head.map_or((0, 0), |head| (head.generation, head.last));
    Tracked {
        state,
        generation,
        items,
        ..row.clone()
    }
}

impl State {
    pub(super) fn track(&mut self, track: &Track, now: Millis) -> Result<(Outcome, Undo)> {
        let before = self
            .rows
            .by_storage_key(&track.tenant, &track.identity.storage_key())
            .cloned();
        let ordinal = before
            .as_ref()
            .map_or_else(|| self.tick(), |row| row.ordinal);
        let row = touched(before.as_ref(), track, ordinal, now)?;
        let outcome = Outcome::Tracked {
            id: row.id.clone(),
            is_new: before.is_none(),
        };
        self.rows.remove(ordinal);
        self.rows.insert(row);
        Ok((outcome, Undo::Row(ordinal, before.map(Box::new))))
    }

    /// Makes a row equal to another store's, but for an ordinal that another row has here.
    pub(super) fn mirror_row(&mut self, row: &Tracked) -> Undo {
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
        self.rows.insert(Tracked {
            ordinal,
            ..row.clone()
        });
        Undo::Row(ordinal, twin.map(Box::new))
    }

    /// The row with what its space says about it.
    fn told(&self, row: &Tracked) -> Tracked {
        told(
            row,
            self.head(&Space::of(&row.tenant, &row.identity).log(ITEMS)),
        )
    }

    /// One page of rows.
    pub fn identities(&self, filter: &Filter, page: &PageRequest) -> Vec<Tracked> {
        let wanted = self
            .rows
            .candidates(filter)
            .into_iter()
            .filter(|row| filter.matches(row));
        let behind = |row: &&Tracked| {
            page.after
                .is_none_or(|after| page.order.is_behind(row.position(), after))
        };
        let mut rows: Vec<Tracked> = wanted.filter(behind).cloned().collect();
        page.order.sort(&mut rows);
        rows.truncate(page.limit);
        rows.iter().map(|row| self.told(row)).collect()
    }

    /// How many rows the filter wants.
    pub fn count(&self, filter: &Filter) -> u64 {
        self.rows
            .candidates(filter)
            .into_iter()
            .filter(|row| filter.matches(row))
            .count() as u64
    }
}
