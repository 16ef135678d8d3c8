//! What a batch touches, by space: what must be there before the primary judges it, and what secondaries get after.

use crate::address::{ITEMS, LogKey, Space, ValueKey};
use crate::batch::{Batch, BatchCheck, BatchWrite, MirrorWrite};
use crate::operation::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// What a batch does, by space.
pub type BatchPlan = BTreeMap<Space, SpacePlan>;

/// What a batch does to one space.
#[derive(Debug, Default)]
pub struct SpacePlan {
    /// Logs that the primary looks at.
    pub logs_seen: BTreeSet<LogKey>,
    /// Values that the primary looks at.
    pub keys_seen: BTreeSet<ValueKey>,
    /// Something is erased: a copy that misses this must not be believed.
    pub erases: bool,
    /// The whole space is erased: copies are made anew.
    pub starts_anew: bool,
    /// Wipes, repeated as they are before values are copied.
    pub wipes: Vec<BatchWrite>,
    /// Logs that are dropped, and copied anew where a later write of the batch made them again.
    pub dropped: BTreeSet<LogKey>,
    /// Entries whose bodies are copied: what a redaction met depends on its place in the batch.
    pub redacted: BTreeMap<LogKey, BTreeSet<u64>>,
    pub logs: BTreeSet<LogKey>,
    pub keys: BTreeSet<ValueKey>,
    /// The index row may have changed.
    pub row: bool,
    /// The primary needs the index row to judge.
    pub row_seen: bool,
}

impl SpacePlan {
    /// True where a secondary gets something of this.
    pub fn is_copied(&self) -> bool {
        self.erases || self.row || !self.logs.is_empty() || !self.keys.is_empty()
    }

    fn append(&mut self, log: &LogKey) {
        self.logs_seen.insert(log.clone());
        self.logs.insert(log.clone());
        // An append moves the last activity of the row.
        if log.name == ITEMS {
            self.change_row();
        }
    }

    fn erase_in(&mut self, log: &LogKey) {
        self.logs_seen.insert(log.clone());
        self.logs.insert(log.clone());
        self.erases = true;
    }

    fn change(&mut self, key: &ValueKey, erases: bool) {
        self.keys.insert(key.clone());
        self.erases |= erases;
    }

    fn change_row(&mut self) {
        self.row = true;
        self.row_seen = true;
    }

    /// A storage that the primary lost is cleared, not forgotten.
    fn start_anew(&mut self, space: &Space) {
        self.logs_seen.insert(space.log(ITEMS));
        self.row_seen = true;
        self.starts_anew = true;
        self.erases = true;
    }
}

/// The plan of a batch. `spaces_of_rows` are those of the rows that it deletes, which it knows by id only.
pub fn plan(batch: &Batch, spaces_of_rows: &[Space]) -> BatchPlan {
    let mut plan = BatchPlan::new();
    for check in &batch.checks {
        note_check(&mut plan, check);
    }
    for write in &batch.writes {
        note_write(&mut plan, write);
    }
    for space in spaces_of_rows {
        let touched = touched(&mut plan, space);
        touched.row = true;
        touched.erases = true;
    }
    plan
}

fn touched<'a>(plan: &'a mut BatchPlan, space: &Space) -> &'a mut SpacePlan {
    plan.entry(space.clone()).or_default()
}

fn note_check(plan: &mut BatchPlan, check: &BatchCheck) {
    match check {
        BatchCheck::Head { log, .. } => {
            touched(plan, &log.space).logs_seen.insert(log.clone());
        }
        BatchCheck::Version { key, .. } => {
            touched(plan, &key.space).keys_seen.insert(key.clone());
        }
        BatchCheck::Lease { .. } => {}
        BatchCheck::Row { space, .. } | BatchCheck::RowId { space, .. } => {
            touched(plan, space).row_seen = true;
        }
    }
}

fn note_write(plan: &mut BatchPlan, write: &BatchWrite) {
    match write {
        BatchWrite::Append { log, .. } => touched(plan, &log.space).append(log),
        BatchWrite::Redact { log, bodies } => {
            let touched = touched(plan, &log.space);
            touched.erase_in(log);
            let redacted = touched.redacted.entry(log.clone()).or_default();
            redacted.extend(bodies.iter().map(|(seq, _)| *seq));
        }
        BatchWrite::Drop { log } => {
            let touched = touched(plan, &log.space);
            touched.erase_in(log);
            touched.dropped.insert(log.clone());
        }
        BatchWrite::Apply { op, .. } if is_lease(op) => {}
        BatchWrite::Apply { key, op, .. } => {
            let erases = matches!(op, Operation::Del | Operation::GetDel);
            let touched = touched(plan, &key.space);
            touched.keys_seen.insert(key.clone());
            touched.change(key, erases);
        }
        BatchWrite::Wipe { space, .. } => {
            let touched = touched(plan, space);
            touched.wipes.push(write.clone());
            touched.erases = true;
        }
        BatchWrite::Clear { space } | BatchWrite::Remove { space } => {
            touched(plan, space).start_anew(space);
        }
        BatchWrite::Track(track) => touched(plan, &track.space()).change_row(),
        BatchWrite::Untrack { .. } => {}
        BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => {
            touched(plan, &log.space).logs.insert(log.clone());
        }
        BatchWrite::Mirror(MirrorWrite::Value { key, entry }) => {
            touched(plan, &key.space).change(key, entry.is_none());
        }
        BatchWrite::Mirror(MirrorWrite::Row(row)) => touched(plan, &row.space()).change_row(),
    }
}

fn is_lease(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Acquire { .. } | Operation::Renew { .. } | Operation::Release { .. }
    )
}
