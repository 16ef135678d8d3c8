//! What a save, a clear or a remove has done.

use crate::directory::IndexRow;
use crate::identity::SessionIdentity;
use crate::{Error, Result};

/// What a save did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveReport {
    /// The rendered keys of the storages that were written.
    pub written: Vec<String>,
    /// The ids of the index rows that are new.
    pub rows_added: Vec<String>,
    /// Secondaries that could not be written, and why.
    pub degraded: Vec<(String, String)>,
}

/// What a clear or a remove did to each identity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BulkReport {
    /// Cleared or removed.
    pub done: Vec<SessionIdentity>,
    /// There was nothing to do.
    pub unchanged: Vec<SessionIdentity>,
    /// Left alone on purpose, and why.
    pub skipped: Vec<(SessionIdentity, String)>,
    /// Still as they were and still tracked, and why.
    pub failed: Vec<(SessionIdentity, Error)>,
    /// Other agents that share what was cleared or removed.
    pub shared_with: Vec<String>,
}

impl BulkReport {
    /// Adds what was done to other identities.
    pub(crate) fn join(&mut self, other: Self) {
        self.done.extend(other.done);
        self.unchanged.extend(other.unchanged);
        self.skipped.extend(other.skipped);
        self.failed.extend(other.failed);
        self.shared_with.extend(other.shared_with);
        self.shared_with.sort();
        self.shared_with.dedup();
    }

    /// The agents besides this one that work with what is cleared or removed.
    pub(crate) fn name_others(&mut self, row: &IndexRow, own: &str) {
        let agents = row.touches.iter().map(|touch| &touch.agent);
        let others = agents.filter(|agent| *agent != own);
        self.shared_with.extend(others.cloned());
        self.shared_with.sort();
        self.shared_with.dedup();
    }

    pub(crate) fn skip_wider(&mut self, identity: SessionIdentity) {
        let why = "it belongs to more than this session";
        self.skipped.push((identity, why.to_owned()));
    }

    pub(crate) fn add(&mut self, identity: SessionIdentity, result: Result<bool>) {
        match result {
            Ok(true) => self.done.push(identity),
            Ok(false) => self.unchanged.push(identity),
            Err(error) => self.failed.push((identity, error)),
        }
    }
}
