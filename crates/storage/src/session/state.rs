//! `Session`: what a context and the handles of its storages share.

use super::agent::{Agent, placement};
use super::ambit::Ambit;
use super::context::Context;
use super::history::{ChatHistoryStorage, HistoryOptions};
use super::usage::UsageStorage;
use crate::batch::BatchCheck;
use crate::bus::EventMetadata;
use crate::directory::{IndexRow, TrackRequest};
use crate::identity::SessionIdentity;
use crate::items::{SharedCell, StorageCell};
use crate::kind::StorageKind;
use crate::lease::CountedLease;
use crate::stores::Placement;
use crate::{Error, Result, ids, memory};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a context and the handles of its storages share.
pub(crate) struct Session {
    pub(crate) ambit: Ambit,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) base: SessionIdentity,
    pub(super) tenant: String,
    pub(super) options: HistoryOptions,
    pub(super) state: Mutex<SessionState>,
    /// One save of the session at a time: two at once would count what is staged twice.
    pub(crate) saving: tokio::sync::Mutex<()>,
}

/// What changes while a session is open.
pub(super) struct SessionState {
    pub(super) history: SharedCell,
    pub(super) usage: SharedCell,
    pub(super) others: Vec<SharedCell>,
    /// The prefixes of those of the others that the index has on record and nobody has asked for here.
    pub(super) unasked: BTreeSet<String>,
    /// What listeners have said of the memory's row, for all handles on it; nothing where they are asked before the next write.
    pub(super) memory_labels: Arc<Mutex<Option<BTreeMap<String, String>>>>,
    pub(super) labels: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) failed_read: Option<String>,
    pub(super) is_clearing: bool,
    pub(super) lease: Option<CountedLease>,
    /// The id of the history's index row.
    pub(super) row: Option<String>,
    /// The id of the row without which the history is not written.
    pub(super) bound_row: Option<String>,
    /// The turn that events are said to be of.
    pub(super) turn: Option<SessionTurn>,
    /// The other agents that work on the conversation.
    pub(super) touched_as: BTreeSet<String>,
}

/// A turn of a session.
pub(super) struct SessionTurn {
    pub(super) id: String,
    /// The grant of the lease that it works under, with which it ends.
    pub(super) epoch: Option<u64>,
}

impl SessionState {
    pub(super) fn new(history: SharedCell, usage: SharedCell) -> Self {
        Self {
            history,
            usage,
            others: Vec::new(),
            unasked: BTreeSet::new(),
            memory_labels: Arc::default(),
            labels: BTreeMap::new(),
            failed_read: None,
            is_clearing: false,
            lease: None,
            row: None,
            bound_row: None,
            turn: None,
            touched_as: BTreeSet::new(),
        }
    }

    /// The grant of the lease that is held.
    pub(super) fn epoch(&self) -> Option<u64> {
        self.lease.as_ref().map(|counted| counted.lease.epoch())
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

    /// Takes in a storage that the index has on record, unless it is open. It is not new, so nobody is asked or told.
    pub(super) fn put_recorded(&mut self, cell: SharedCell) {
        let prefix = cell.prefix.clone();
        if self.put(cell).is_none() {
            self.unasked.insert(prefix);
        }
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

    /// True for what is cleared and removed with the session: what is its alone, and its history and memory whoever shares them.
    pub(crate) fn takes_along(&self, identity: &SessionIdentity) -> bool {
        let scope = identity.scope();
        self.is_own(identity) || matches!(scope, Some(ChatHistoryStorage::PREFIX | memory::SCOPE))
    }

    /// The index rows of what the agent keeps in this session's chat, also of storages that nobody has opened here. No filter tells
    /// those of a session without a chat from those of all chats, so none of them are looked for.
    pub(crate) async fn own_rows(&self) -> Result<Vec<IndexRow>> {
        if self.base.chat_name().is_none() {
            return Ok(Vec::new());
        }
        let is_own = |row: &IndexRow| self.is_own(&row.identity);
        let agent = self.base.agent_name();
        self.ambit.rows_of(agent, &self.base, is_own).await
    }

    /// Has listeners asked again before the next write of the memory, whose row is gone.
    pub(crate) fn forget_memory_row(&self) {
        *self.state().memory_labels.lock() = None;
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
            turn_id: self.turn_id(),
            ..EventMetadata::new(tenant, self.base.clone(), clock.now())
        }
    }

    /// The turn at work. It is over with its lease, however that ends.
    fn turn_id(&self) -> Option<String> {
        let state = self.state();
        let turn = state.turn.as_ref();
        let turn = turn.filter(|turn| turn.epoch == state.epoch());
        turn.map(|turn| turn.id.clone())
    }

    pub(super) fn cell(&self, prefix: &str) -> Option<SharedCell> {
        self.state()
            .cells()
            .find(|cell| cell.prefix == prefix)
            .cloned()
    }

    /// The storage with this prefix as the agent keeps such.
    pub(super) fn cell_of_kind(&self, prefix: &str) -> Result<SharedCell> {
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
