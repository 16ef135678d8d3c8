//! What a batch touches, by space: what must be there before the primary judges it, and what secondaries get after.

use crate::address::{ITEMS, Key, LogKey, Space};
use crate::batch::{Batch, Check, Mirror, Write};
use crate::op::Op;
use std::collections::{BTreeMap, BTreeSet};

/// What a batch does, by space.
pub type Plan = BTreeMap<Space, Touched>;

/// What a batch does to one space.
#[derive(Debug, Default)]
pub struct Touched {
    /// Logs that the primary looks at.
    pub logs_seen: BTreeSet<LogKey>,
    /// Values that the primary looks at.
    pub keys_seen: BTreeSet<Key>,
    /// Something is erased: a copy that misses this must not be believed.
    pub erases: bool,
    /// The whole space is erased: copies are made anew.
    pub starts_anew: bool,
    /// Wipes, repeated as they are before values are copied.
    pub wipes: Vec<Write>,
    /// Logs that are dropped, and copied anew where a later write of the batch made them again.
    pub dropped: BTreeSet<LogKey>,
    /// Entries whose bodies are copied: what a redaction met depends on its place in the batch.
    pub redacted: BTreeMap<LogKey, BTreeSet<u64>>,
    /// Logs to copy.
    pub logs: BTreeSet<LogKey>,
    /// Values to copy.
    pub keys: BTreeSet<Key>,
    /// The index row may have changed.
    pub row: bool,
    /// The primary needs the index row to judge.
    pub row_seen: bool,
}

impl Touched {
    /// True where a secondary gets something of this.
    pub fn is_copied(&self) -> bool {
        self.erases || self.row || !self.logs.is_empty() || !self.keys.is_empty()
    }
}

/// The plan of a batch. `spaces_of_rows` are those of the rows that it deletes, which it knows by id only.
pub fn plan(batch: &Batch, spaces_of_rows: &[Space]) -> Plan {
    let mut plan = Plan::new();
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

fn note_check(plan: &mut Plan, check: &Check) {
    match check {
        Check::Head { log, .. } => {
            let touched = plan.entry(log.space.clone()).or_default();
            touched.logs_seen.insert(log.clone());
        }
        Check::Version { key, .. } => {
            let touched = plan.entry(key.space.clone()).or_default();
            touched.keys_seen.insert(key.clone());
        }
        Check::Lease { .. } => {}
        Check::Row { space, .. } => plan.entry(space.clone()).or_default().row_seen = true,
    }
}

fn note_write(plan: &mut Plan, write: &Write) {
    let mut of = |space: &Space| std::mem::take(plan.entry(space.clone()).or_default());
    let (space, touched) = match write {
        Write::Append { log, .. } => {
            let mut touched = of(&log.space);
            touched.logs_seen.insert(log.clone());
            touched.logs.insert(log.clone());
            // An append moves the last activity of the row.
            touched.row |= log.name == ITEMS;
            touched.row_seen |= log.name == ITEMS;
            (&log.space, touched)
        }
        Write::Redact { log, bodies } => {
            let redacted = erased(plan, log).redacted.entry(log.clone());
            let seqs = bodies.iter().map(|(seq, _)| *seq);
            return redacted.or_default().extend(seqs);
        }
        Write::Drop { log } => {
            erased(plan, log).dropped.insert(log.clone());
            return;
        }
        Write::Apply { op, .. } if is_lease(op) => return,
        Write::Apply { key, op, .. } => {
            let mut touched = of(&key.space);
            touched.keys_seen.insert(key.clone());
            touched.keys.insert(key.clone());
            touched.erases |= matches!(op, Op::Del | Op::GetDel);
            (&key.space, touched)
        }
        Write::Wipe { space, .. } => {
            let mut touched = of(space);
            touched.wipes.push(write.clone());
            touched.erases = true;
            (space, touched)
        }
        Write::Clear { space } | Write::Remove { space } => {
            let mut touched = of(space);
            // A storage that the primary lost is cleared, not forgotten.
            touched.logs_seen.insert(space.log(ITEMS));
            touched.row_seen = true;
            touched.starts_anew = true;
            touched.erases = true;
            (space, touched)
        }
        Write::Track(track) => return note_row(plan, &Space::of(&track.tenant, &track.identity)),
        Write::Untrack { .. } => return,
        Write::Mirror(Mirror::Log { log, .. }) => {
            let mut touched = of(&log.space);
            touched.logs.insert(log.clone());
            (&log.space, touched)
        }
        Write::Mirror(Mirror::Value { key, entry }) => {
            let mut touched = of(&key.space);
            touched.keys.insert(key.clone());
            touched.erases |= entry.is_none();
            (&key.space, touched)
        }
        Write::Mirror(Mirror::Row(row)) => {
            return note_row(plan, &Space::of(&row.tenant, &row.identity));
        }
    };
    plan.insert(space.clone(), touched);
}

/// What is known of the space of a log in which something is erased.
fn erased<'a>(plan: &'a mut Plan, log: &LogKey) -> &'a mut Touched {
    let touched = plan.entry(log.space.clone()).or_default();
    touched.logs_seen.insert(log.clone());
    touched.logs.insert(log.clone());
    touched.erases = true;
    touched
}

fn note_row(plan: &mut Plan, space: &Space) {
    let touched = plan.entry(space.clone()).or_default();
    touched.row = true;
    touched.row_seen = true;
}

fn is_lease(op: &Op) -> bool {
    matches!(
        op,
        Op::Acquire { .. } | Op::Renew { .. } | Op::Release { .. }
    )
}
