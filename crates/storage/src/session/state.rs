//! `Session`: what a context and the handles of its storages share.

use super::agent::{Agent, placement};
use super::ambit::Ambit;
use super::context::Context;
use super::history::{ChatHistoryStorage, HistoryOptions};
use super::usage::UsageStorage;
use crate::batch::BatchCheck;
use crate::bus::EventMetadata;
use crate::directory::TrackRequest;
use crate::identity::SessionIdentity;
use crate::items::{SharedCell, StorageCell};
use crate::kind::StorageKind;
use crate::lease::CountedLease;
use crate::stores::Placement;
use crate::{Error, Result, ids};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a context and the handles of its storages share.
pub(crate) struct Session {
    pub(crate) ambit: Ambit,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) base: SessionIdentity,
    pub(super) tenant: String,
    pub(super) options: HistoryOptions,
    pub(super) recorded: Vec<SharedCell>,
    pub(super) state: Mutex<SessionState>,
    /// One save of the session at a time: two at once would count what is staged twice.
    pub(crate) saving: tokio::sync::Mutex<()>,
}

/// What changes while a session is open.
pub(super) struct SessionState {
    pub(super) history: SharedCell,
    pub(super) usage: SharedCell,
    pub(super) others: Vec<SharedCell>,
    pub(super) labels: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) failed_read: Option<String>,
    pub(super) is_clearing: bool,
    pub(super) lease: Option<CountedLease>,
    /// The id of the history's index row.
    pub(super) row: Option<String>,
    /// The id of the row without which the history is not written.
    pub(super) bound_row: Option<String>,
}

impl SessionState {
    pub(super) fn new(history: SharedCell, usage: SharedCell) -> Self {
        Self {
            history,
            usage,
            others: Vec::new(),
            labels: BTreeMap::new(),
            failed_read: None,
            is_clearing: false,
            lease: None,
            row: None,
            bound_row: None,
        }
    }

    fn cells(&self) -> impl Iterator<Item = &SharedCell> {
        [&self.history, &self.usage].into_iter().chain(&self.others)
    }

    /// Takes the storage in. One of its prefix that somebody else has registered meanwhile is the answer, and stays.
    pub(super) fn put(&mut self, cell: SharedCell) -> Option<SharedCell> {
        match cell.prefix.as_str() {
            ChatHistoryStorage::PREFIX => self.history = cell,
            UsageStorage::PREFIX => self.usage = cell,
            prefix => {
                let mut others = self.others.iter();
                if let Some(other) = others.find(|other| other.prefix == prefix) {
                    return Some(other.clone());
                }
                self.others.push(cell);
            }
        }
        None
    }
}

impl Session {
    pub(crate) fn tenant(&self) -> &str {
        &self.tenant
    }

    pub(crate) fn base(&self) -> &SessionIdentity {
        &self.base
    }

    pub(crate) fn agent(&self) -> &dyn Agent {
        self.agent.as_ref()
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.base.is_temporary()
    }

    pub(crate) fn context(self: &Arc<Self>) -> Context {
        Context {
            session: self.clone(),
        }
    }

    pub(crate) fn cells(&self) -> Vec<SharedCell> {
        self.state().cells().cloned().collect()
    }

    /// True where an identity is this session's alone and not a wider one.
    pub(crate) fn is_own(&self, identity: &SessionIdentity) -> bool {
        identity.base().same_storage(&self.base)
    }

    /// The condition under which a turn's writes count.
    pub(crate) fn fence(&self) -> Option<BatchCheck> {
        let state = self.state();
        state.lease.as_ref().map(|counted| counted.lease.check())
    }

    /// The condition under which a session that is bound to its row writes.
    pub(crate) fn row_check(&self) -> Option<BatchCheck> {
        let state = self.state();
        let row = state.bound_row.clone()?;
        Some(BatchCheck::row_id(state.history.space(&self.tenant), row))
    }

    /// The request for an index row of this identity.
    pub(crate) fn track(&self, identity: &SessionIdentity, placement: &Placement) -> TrackRequest {
        let (created_by, team) = self.ambit.caller().ids();
        let labels = identity
            .scope()
            .and_then(|scope| self.state().labels.get(scope).cloned());
        TrackRequest {
            id: ids::unguessable(),
            tenant: self.tenant.clone(),
            identity: identity.clone(),
            agent: self.base.agent_name().to_owned(),
            base: self.base.clone(),
            placement: placement.names().to_vec(),
            created_by,
            team,
            labels: labels.unwrap_or_default(),
        }
    }

    /// Remembers the id of the history's index row.
    pub(crate) fn tracked(&self, identity: &SessionIdentity, id: &str) {
        let mut state = self.state();
        if state.history.identity == *identity {
            state.row = Some(id.to_owned());
        }
    }

    /// Remembers a failed read, so that nothing is written over what could not be seen.
    pub(crate) fn seen<T>(&self, result: Result<T>) -> Result<T> {
        match &result {
            Ok(_) => self.state().failed_read = None,
            Err(error) if error.is_failure() => self.state().failed_read = Some(error.to_string()),
            Err(_) => {}
        }
        result
    }

    /// Refuses to write while the last read failed.
    pub(crate) fn check_may_write(&self) -> Result<()> {
        match &self.state().failed_read {
            None => Ok(()),
            Some(error) => {
                let what = format!(
                    "the session {} (its last read failed: {error}; call read first)",
                    self.base
                );
                Err(Error::Unavailable { what, source: None })
            }
        }
    }

    pub(crate) fn about(&self) -> EventMetadata {
        let (caller_id, _team) = self.ambit.caller().ids();
        let clock = &self.ambit.stores().options().clock;
        let tenant = self.ambit.caller().tenant();
        EventMetadata {
            caller_id,
            ..EventMetadata::new(tenant, self.base.clone(), clock.now())
        }
    }

    pub(super) fn cell(&self, prefix: &str) -> Option<SharedCell> {
        self.state()
            .cells()
            .find(|cell| cell.prefix == prefix)
            .cloned()
    }

    /// The storage with this prefix as the index has it on record, else as the agent keeps such.
    pub(super) fn cell_of_kind(&self, prefix: &str) -> Result<SharedCell> {
        if let Some(cell) = self.recorded.iter().rfind(|cell| cell.prefix == prefix) {
            return Ok(cell.clone());
        }
        let (own, stores) = (self.agent.drivers(prefix), self.ambit.stores());
        let placement = placement(own, stores, prefix)?;
        Ok(Arc::new(StorageCell::new(prefix, &self.base, placement)?))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.cells().iter().any(|cell| cell.is_dirty()) {
            tracing::warn!(
                session.key = self.base.key(),
                "a context with staged changes was dropped; they are lost"
            );
        }
    }
}
