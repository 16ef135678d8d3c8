//! The open storages of one identity.

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context;

/// What a save did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveReport {
    /// The prefixes of the storages that were written.
    pub written: Vec<String>,
    /// How many index rows are new.
    pub rows_added: u64,
    /// Drivers of a chain that have not the write yet.
    pub degraded: Vec<String>,
}
