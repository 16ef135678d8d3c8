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
    /// Logs to copy.
    pub logs: BTreeSet<LogKey>,
    /// Values to copy.
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
        let touched = plan.entry(space.clone()).or_default();
        touched.row = true;
        touched.erases = true;
    }
    plan
}

fn note_check(plan: &mut BatchPlan, check: &BatchCheck) {
    match check {
        BatchCheck::Head { log, .. } => {
            let touched = plan.entry(log.space.clone()).or_default();
            touched.logs_seen.insert(log.clone());
        }
        BatchCheck::Version { key, .. } => {
            let touched = plan.entry(key.space.clone()).or_default();
            touched.keys_seen.insert(key.clone());
        }
        BatchCheck::Lease { .. } => {}
        BatchCheck::Row { space, .. } => plan.entry(space.clone()).or_default().row_seen = true,
    }
}

fn note_write(plan: &mut BatchPlan, write: &BatchWrite) {
    let mut of = |space: &Space| std::mem::take(plan.entry(space.clone()).or_default());
    let (space, touched) = match write {
        BatchWrite::Append { log, .. } => {
            let mut touched = of(&log.space);
            touched.logs_seen.insert(log.clone());
            touched.logs.insert(log.clone());
            // An append moves the last activity of the row.
            touched.row |= log.name == ITEMS;
            touched.row_seen |= log.name == ITEMS;
            (&log.space, touched)
        }
        BatchWrite::Redact { log, bodies } => {
            let redacted = erased(plan, log).redacted.entry(log.clone());
            let seqs = bodies.iter().map(|(seq, _)| *seq);
            return redacted.or_default().extend(seqs);
        }
        BatchWrite::Drop { log } => return note_drop(plan, log),
        BatchWrite::Apply { op, .. } if is_lease(op) => return,
        BatchWrite::Apply { key, op, .. } => {
            let mut touched = of(&key.space);
            touched.keys_seen.insert(key.clone());
            touched.keys.insert(key.clone());
            touched.erases |= matches!(op, Operation::Del | Operation::GetDel);
            (&key.space, touched)
        }
        BatchWrite::Wipe { space, .. } => {
            let mut touched = of(space);
            touched.wipes.push(write.clone());
            touched.erases = true;
            (space, touched)
        }
        BatchWrite::Clear { space } | BatchWrite::Remove { space } => {
            let mut touched = of(space);
            // A storage that the primary lost is cleared, not forgotten.
            touched.logs_seen.insert(space.log(ITEMS));
            touched.row_seen = true;
            touched.starts_anew = true;
            touched.erases = true;
            (space, touched)
        }
        BatchWrite::Track(track) => {
            return note_row(plan, &Space::of(&track.tenant, &track.identity));
        }
        BatchWrite::Untrack { .. } => return,
        BatchWrite::Mirror(MirrorWrite::Log { log, .. }) => {
            let mut touched = of(&log.space);
            touched.logs.insert(log.clone());
            (&log.space, touched)
        }
        BatchWrite::Mirror(MirrorWrite::Value { key, entry }) => {
            let mut touched = of(&key.space);
            touched.keys.insert(key.clone());
            touched.erases |= entry.is_none();
            (&key.space, touched)
        }
        BatchWrite::Mirror(MirrorWrite::Row(row)) => {
            return note_row(plan, &Space::of(&row.tenant, &row.identity));
        }
    };
    plan.insert(space.clone(), touched);
}

/// What is known of the space of a log in which something is erased.
fn erased<'a>(plan: &'a mut BatchPlan, log: &LogKey) -> &'a mut SpacePlan {
    let touched = plan.entry(log.space.clone()).or_default();
    touched.logs_seen.insert(log.clone());
    touched.logs.insert(log.clone());
    touched.erases = true;
    touched
}

fn note_drop(plan: &mut BatchPlan, log: &LogKey) {
    erased(plan, log).dropped.insert(log.clone());
}

fn note_row(plan: &mut BatchPlan, space: &Space) {
    let touched = plan.entry(space.clone()).or_default();
    touched.row = true;
    touched.row_seen = true;
}

fn is_lease(op: &Operation) -> bool {
    matches!(
        op,
        Operation::Acquire { .. } | Operation::Renew { .. } | Operation::Release { .. }
    )
}
