//! One write: checks that must hold and writes that happen together or not at all.

mod validate;

use crate::address::{LogKey, Space, ValueKey};
use crate::clock::Millis;
use crate::directory::{IndexRow, RowMark, TrackRequest};
use crate::json::Json;
use crate::operation::{Operation, OperationOutput};
use crate::pattern::Pattern;

/// Committed whole or not at all; the only way to write.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// What must hold, judged before any write.
    pub checks: Vec<BatchCheck>,
    /// What changes, in order; a later write sees the earlier ones.
    pub writes: Vec<BatchWrite>,
}

/// A condition of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchCheck {
    /// The log's head is this one (`None`: the log is absent); else `Conflict`.
    Head {
        /// The log.
        log: LogKey,
        /// The head the writer saw.
        head: Option<Head>,
    },
    /// The value has this version (`None`: it is absent or expired); else `Conflict`.
    Version {
        /// The value.
        key: ValueKey,
        /// The version the writer saw.
        version: Option<u64>,
    },
    /// The lease is live and was granted with this epoch; else `Fenced`.
    Lease {
        /// The lease.
        key: ValueKey,
        /// The epoch of the writer's grant.
        epoch: u64,
    },
    /// The index row of the space is still as it was marked (`None`: there is none); else `Conflict`.
    Row {
        /// The space.
        space: Space,
        /// The mark of the row that the writer saw.
        mark: Option<RowMark>,
    },
    /// The index row of the space is the one with this id, whoever has touched it since; else `Conflict`.
    RowId {
        /// The space.
        space: Space,
        /// The id of the row that the writer saw.
        id: String,
    },
}

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchWrite {
    /// Adds entries in order. An entry whose id the log has already is not stored again.
    Append {
        /// The log; made by its first entry.
        log: LogKey,
        /// The entries.
        entries: Vec<NewEntry>,
    },
    /// Replaces the bodies of entries that must be forgotten. Sequences that are not there are passed over.
    Redact {
        /// The log.
        log: LogKey,
        /// New bodies by sequence.
        bodies: Vec<(u64, Json)>,
    },
    /// Does one operation on one value.
    Apply {
        /// The value.
        key: ValueKey,
        /// The operation.
        op: Operation,
        /// How long a value that the operation sets or creates lives; `None` for ever.
        life: Option<Millis>,
    },
    /// Deletes the values of a space whose name matches.
    Wipe {
        /// The space.
        space: Space,
        /// Which names.
        pattern: Pattern,
    },
    /// Deletes one log with its entries; one that is not there is no error. What is appended later begins a new generation.
    Drop {
        /// The log.
        log: LogKey,
    },
    /// Erases all logs and values of a space; if it had an `items` log, that one stays, empty, as a new generation.
    Clear {
        /// The space.
        space: Space,
    },
    /// Erases a space without a trace.
    Remove {
        /// The space.
        space: Space,
    },
    /// Inserts an index row, or adds a touch to the one that is there.
    Track(Box<TrackRequest>),
    /// Deletes an index row; one that is not there is no error.
    Untrack {
        /// The row's tenant.
        tenant: String,
        /// The row's id.
        id: String,
    },
    /// Makes one thing equal to another store's: how a chain copies. Needs no judgement and can be repeated.
    Mirror(MirrorWrite),
}

/// The highest number that is taken over from another store: those given out after it stay exact in every store.
pub(crate) const MAX_COPIED: u64 = 1 << 52;

/// What one store has, for another one to have too.
#[derive(Clone, Debug, PartialEq)]
pub enum MirrorWrite {
    /// A log's entries. If the log here is absent or of another generation, it is begun anew with `head.generation`;
    /// entries that it has already are left alone. Entries must join on to what is there.
    Log {
        /// The log.
        log: LogKey,
        /// The source's head.
        head: Head,
        /// Entries of the source, ascending, with their sequences.
        entries: Vec<LogEntry>,
    },
    /// A value, with version and end of life; `None` deletes it.
    Value {
        /// The value.
        key: ValueKey,
        /// The source's entry.
        entry: Option<ValueEntry>,
    },
    /// An index row as it is, id included. Its ordinal too, unless another row has that here: then it keeps the one it
    /// has here, or gets a new one.
    Row(Box<IndexRow>),
}

/// An entry to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Unique in the log; appending it again stores nothing. Ids that grow with time cost least.
    pub id: String,
    /// The content.
    pub body: Json,
}

/// Where a log ends. Of two heads of one log the later one is greater.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Head {
    /// Higher after each clear or re-creation.
    pub generation: u64,
    /// The last sequence; 0 where the log is empty.
    pub last: u64,
}

/// An entry as stored.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LogEntry {
    /// Its place: 1, 2, 3 … without gaps.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// When it was stored.
    pub at: Millis,
    /// The content.
    pub body: Json,
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueEntry {
    /// The value's type, as in the `ctx.memory` reference.
    pub kind: &'static str,
    /// The number of items of a list, 1 for anything else.
    pub length: u64,
    /// The value, or the part of it that was asked for.
    pub value: Json,
    /// Given by the store at each change; never used twice for one key.
    pub version: u64,
    /// When it ends, if it does.
    pub expires_at: Option<Millis>,
    /// True where a secondary answered for a primary that is down.
    pub stale_possible: bool,
}

impl ValueEntry {
    /// The bytes of its text.
    pub fn size(&self) -> usize {
        self.value.as_str().len()
    }
}

/// What one write of a batch did, in the order of the writes.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteOutcome {
    /// The log's new head, and the sequence of each entry (of the stored one, where the id was there).
    Appended {
        /// The new head.
        head: Head,
        /// Sequences in the order of the entries.
        seqs: Vec<u64>,
    },
    /// The operation's answer, and the value's version if there is a value now.
    Applied {
        /// The answer.
        output: OperationOutput,
        /// The version.
        version: Option<u64>,
    },
    /// The index row.
    Tracked {
        /// The row's id.
        id: String,
        /// True where this batch made it.
        is_new: bool,
    },
    /// How many things were erased: entries and values for `Clear` and `Remove`, entries for `Drop`, values for `Wipe`,
    /// rows for `Untrack`.
    Erased(u64),
    /// Done, nothing to say.
    Done,
}

/// The sizes a store accepts.
#[derive(Clone, Copy, Debug)]
pub struct SizeLimits {
    /// Bytes of one entry or value.
    pub value: usize,
    /// Bytes of the name of a log, value or entry id.
    pub name: usize,
    /// Entries and writes of one batch.
    pub batch: usize,
}

impl Default for SizeLimits {
    fn default() -> Self {
        Self {
            value: 16 << 20,
            name: 1_088,
            batch: 100_000,
        }
    }
}

impl BatchCheck {
    /// The log's head has to be this one.
    pub fn head(log: LogKey, head: Option<Head>) -> Self {
        Self::Head { log, head }
    }

    /// The value has to have this version.
    pub fn version(key: ValueKey, version: Option<u64>) -> Self {
        Self::Version { key, version }
    }

    /// The lease has to be live under this epoch.
    pub fn lease(key: ValueKey, epoch: u64) -> Self {
        Self::Lease { key, epoch }
    }

    /// The index row of the space has to be as it was marked.
    pub fn row(space: Space, mark: Option<RowMark>) -> Self {
        Self::Row { space, mark }
    }

    /// The index row of the space has to be the one with this id.
    pub fn row_id(space: Space, id: impl Into<String>) -> Self {
        let id = id.into();
        Self::RowId { space, id }
    }
}

impl BatchWrite {
    /// Adds entries to a log.
    pub fn append(log: LogKey, entries: Vec<NewEntry>) -> Self {
        Self::Append { log, entries }
    }

    /// Replaces bodies of a log, by sequence.
    pub fn redact(log: LogKey, bodies: Vec<(u64, Json)>) -> Self {
        Self::Redact { log, bodies }
    }

    /// Does one operation on one value; what it creates lives so long, or for ever.
    pub fn apply(key: ValueKey, op: Operation, life: Option<Millis>) -> Self {
        Self::Apply { key, op, life }
    }

    /// Deletes an index row.
    pub fn untrack(tenant: impl Into<String>, id: impl Into<String>) -> Self {
        Self::Untrack {
            tenant: tenant.into(),
            id: id.into(),
        }
    }

    /// Copies entries of a log that has this head.
    pub fn mirror_log(log: LogKey, head: Head, entries: Vec<LogEntry>) -> Self {
        Self::Mirror(MirrorWrite::Log { log, head, entries })
    }

    /// Copies a value, or deletes it where there is none.
    pub fn mirror_value(key: ValueKey, entry: Option<ValueEntry>) -> Self {
        Self::Mirror(MirrorWrite::Value { key, entry })
    }

    /// Copies an index row.
    pub fn mirror_row(row: IndexRow) -> Self {
        Self::Mirror(MirrorWrite::Row(Box::new(row)))
    }
}

impl NewEntry {
    /// An entry with this id and content.
    pub fn new(id: impl Into<String>, body: Json) -> Self {
        Self {
            id: id.into(),
            body,
        }
    }
}

impl Head {
    /// The end of a log of this generation.
    pub fn new(generation: u64, last: u64) -> Self {
        Self { generation, last }
    }
}

impl WriteOutcome {
    /// What an append did.
    pub fn appended(head: Head, seqs: Vec<u64>) -> Self {
        Self::Appended { head, seqs }
    }

    /// What an operation did.
    pub fn applied(output: OperationOutput, version: Option<u64>) -> Self {
        Self::Applied { output, version }
    }

    /// What tracking did.
    pub fn tracked(id: impl Into<String>, is_new: bool) -> Self {
        Self::Tracked {
            id: id.into(),
            is_new,
        }
    }
}

impl Batch {
    /// A batch of these writes without a condition.
    pub fn of(writes: impl IntoIterator<Item = BatchWrite>) -> Self {
        Self {
            checks: Vec::new(),
            writes: writes.into_iter().collect(),
        }
    }

    /// The same batch with one more condition.
    pub fn checking(mut self, check: BatchCheck) -> Self {
        self.checks.push(check);
        self
    }
}
