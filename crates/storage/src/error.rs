//! The one error of this crate: variants by meaning, each message says what failed, for which input and what would help.

use std::sync::Arc;

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A foreign error that caused ours.
pub type ErrorSource = Arc<dyn std::error::Error + Send + Sync>;

/// What went wrong, by meaning. Foreign errors are converted once, where the foreign thing is called.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The caller's input breaks a rule; nothing was changed.
    #[error("{field} {reason}")]
    Invalid {
        /// Which part of the input: the subject of the message.
        field: String,
        /// Which rule, and what would be accepted: the rest of the sentence, as in "must be a non-empty string".
        reason: String,
    },
    /// A value operation met a value it cannot work on; the value is unchanged.
    #[error("{method}: {problem}")]
    Refused {
        /// The operation, spelled as in the `ctx.memory` reference.
        method: &'static str,
        /// What stood in the way.
        problem: ValueProblem,
    },
    /// The named thing does not exist, or the caller may not know that it does.
    #[error("{what} \"{name}\" was not found")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// The name that was asked for.
        name: String,
    },
    /// The caller has no right to do this.
    #[error("denied: {reason}")]
    Denied {
        /// Which right is missing.
        reason: String,
    },
    /// A *before* listener stopped the operation; nothing was written.
    #[error("{event} was vetoed by {listener}: {reason}")]
    Vetoed {
        /// The event's name.
        event: &'static str,
        /// The listener's name.
        listener: String,
        /// The listener's words.
        reason: String,
    },
    /// What the write was based on has changed; read again and repeat.
    #[error("{what} changed since it was read: expected {expected}, found {found}")]
    Conflict {
        /// The log or key.
        what: String,
        /// What the writer had seen.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Somebody else is at work on it; try again later.
    #[error("{what} is busy: {reason}")]
    Busy {
        /// The session, key or file.
        what: String,
        /// Who holds it.
        reason: String,
    },
    /// The writer's lease has passed on; its write changed nothing.
    #[error("the lease {lease} with epoch {epoch} is no longer held")]
    Fenced {
        /// The lease's key.
        lease: String,
        /// The epoch the writer quoted.
        epoch: u64,
    },
    /// Too large or too many.
    #[error("{}", exceeds(what, *limit))]
    Limited {
        /// What was measured, its unit as the last word: "value bytes".
        what: String,
        /// Its size.
        actual: u64,
        /// The largest size accepted.
        limit: u64,
    },
    /// Some stores have the write and some have not. Repeating the call is safe and finishes the rest.
    #[error("written to {}, but not to {}; repeat the call to finish", done.join(", "), failures(failed))]
    Partial {
        /// Stores that have the write.
        done: Vec<String>,
        /// Stores that have not, and why.
        failed: Vec<(String, String)>,
    },
    /// A store cannot be reached or failed in its own way; repeating later is safe.
    #[error("{what} is unavailable{}", because(source))]
    Unavailable {
        /// The store and what it was doing.
        what: String,
        /// The store's own error.
        source: Option<ErrorSource>,
    },
    /// Stored bytes do not have the form they were written in; they are left as they are.
    #[error("{place} is corrupt: {reason}")]
    Corrupt {
        /// The file, row or key.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A defect of Ambit.
    #[error("internal error: {what}")]
    Internal {
        /// What was impossible.
        what: String,
    },
}

/// Why a value operation was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueProblem {
    /// The value has another type.
    #[error("key \"{key}\" holds a {holds}, not a {wants}")]
    Type {
        /// The key.
        key: String,
        /// The type found.
        holds: &'static str,
        /// The type needed.
        wants: &'static str,
    },
    /// A list index outside the list.
    #[error("index {index} out of range for key \"{key}\" (length {length})")]
    Index {
        /// The key.
        key: String,
        /// The index asked for.
        index: i64,
        /// The list's length.
        length: u64,
    },
    /// A number that would not be exact any more.
    #[error("result out of range for key \"{key}\"")]
    Range {
        /// The key.
        key: String,
    },
}

/// Errors that say the same are equal; what caused them is told in their text.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}

impl Error {
    /// The input `field` breaks the rule given in `reason`.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            reason: reason.into(),
        }
    }

    /// Somebody else is at work on `what`.
    pub fn busy(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Busy {
            what: what.into(),
            reason: reason.into(),
        }
    }

    /// There is more of `what` than the limit; the last word of `what` is its unit.
    pub fn limited(what: impl Into<String>, actual: u64, limit: u64) -> Self {
        Self::Limited {
            what: what.into(),
            actual,
            limit,
        }
    }

    /// No `what` of this name exists, or the caller may not know that it does.
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::NotFound {
            what,
            name: name.into(),
        }
    }

    /// A defect of Ambit.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal { what: what.into() }
    }

    /// A store failed with an error of its own.
    pub fn unavailable(
        what: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Unavailable {
            what: what.into(),
            source: Some(Arc::new(source)),
        }
    }

    /// The answer of a store to every call after it was closed.
    pub fn closed(store: impl std::fmt::Display) -> Self {
        Self::Unavailable {
            what: format!("{store} (it was closed)"),
            source: None,
        }
    }

    /// Copied entries that do not join on to a log.
    pub(crate) fn gap(
        log: impl Into<String>,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Self {
        Self::Conflict {
            what: log.into(),
            expected: format!("entry {expected}"),
            found: format!("entry {found}"),
        }
    }

    /// Stored bytes are not what they should be.
    pub fn corrupt(place: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Corrupt {
            place: place.into(),
            reason: reason.to_string(),
        }
    }

    /// True where the store itself failed, so that the caller cannot know what is stored.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. } | Self::Corrupt { .. } | Self::Internal { .. }
        )
    }
}

/// `value exceeds 512 bytes`, the form that the `ctx.memory` reference fixes.
fn exceeds(what: &str, limit: u64) -> String {
    match what.rsplit_once(' ') {
        Some((thing, unit)) => format!("{thing} exceeds {limit} {unit}"),
        None => format!("at most {limit} {what} are accepted"),
    }
}

fn failures(failed: &[(String, String)]) -> String {
    let each: Vec<String> = failed
        .iter()
        .map(|(name, why)| format!("{name} ({why})"))
        .collect();
    each.join(", ")
}

fn because(source: &Option<ErrorSource>) -> String {
    source
        .as_ref()
        .map_or_else(String::new, |source| format!(": {source}"))
}
