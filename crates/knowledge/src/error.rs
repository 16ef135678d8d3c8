//! The one error of this crate: variants by meaning, each message says what failed, for which input and what would help.

use std::fmt;

/// The result of everything here.
pub type Result<T, E = KnowledgeError> = std::result::Result<T, E>;

/// What went wrong, by meaning.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// It is not there, or the caller may not know that it is.
    #[error("{what} \"{name}\" not found")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// The name that was asked for.
        name: String,
    },
    /// The caller's input breaks a rule; nothing was changed.
    #[error("{field} {reason}")]
    Invalid {
        /// Which part of the input: the subject of the message.
        field: String,
        /// Which rule, and what would be accepted.
        reason: String,
    },
    /// The caller may see it and not change it.
    #[error("denied: {reason}")]
    Denied {
        /// Which right is missing.
        reason: String,
    },
    /// What is there stands against it.
    #[error("{reason}")]
    Conflict {
        /// What, and what would help.
        reason: String,
    },
    /// One thing is larger than is accepted at all.
    #[error("{what} has {actual}, at most {limit} are accepted")]
    TooLarge {
        /// What was measured.
        what: String,
        /// Its size.
        actual: Size,
        /// The largest size.
        limit: Size,
    },
    /// There is no room for one more.
    #[error("{what}: the limit of {limit} is reached (ambit.search.limits.{setting})")]
    LimitExceeded {
        /// Whose limit.
        what: String,
        /// The limit.
        limit: u64,
        /// Where it is set.
        setting: &'static str,
    },
    /// The store failed in its own way.
    #[error(transparent)]
    Store(#[from] ambit_storage::Error),
}

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many.
    pub count: u64,
    /// Of what, in the plural.
    pub unit: &'static str,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.unit)
    }
}

impl KnowledgeError {
    /// Nothing of this name is there for the caller.
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        Self::NotFound { what, name }
    }

    /// Something else was written first: what was begun is to be done again.
    pub(crate) fn race(what: impl Into<String>) -> Self {
        Self::Store(ambit_storage::Error::Conflict {
            what: what.into(),
            expected: "what was there at the beginning".to_owned(),
            found: "something newer".to_owned(),
        })
    }

    /// Whether it is to be done again from its beginning, because something else was written first.
    pub(crate) fn is_race(&self) -> bool {
        matches!(self, Self::Store(ambit_storage::Error::Conflict { .. }))
    }

    /// Whether the store is away: what else is asked of it now fails too.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Self::Store(ambit_storage::Error::Unavailable { .. }))
    }

    /// The input breaks a rule.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            reason: reason.into(),
        }
    }
}
