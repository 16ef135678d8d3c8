//! `Context`: the open storages of one session, and operations over all of them.

mod chat_memory;
mod open;
mod with_history;

pub(crate) use open::{SessionStorages, recorded_cell};

use super::ambit::Ambit;
use super::commit;
use super::events::{
    ContextClearing, ContextRead, ContextReading, IdentityAdding, StorageRegistered,
};
use super::history::ChatHistoryStorage;
use super::list::ListStorage;
use super::state::{Session, SessionTurn};
use super::usage::UsageStorage;
use crate::address::Space;
use crate::bus::EventMetadata;
use crate::debug::opaque_debug;
use crate::driver::Driver;
use crate::identity::SessionIdentity;
use crate::items::{SharedCell, StorageCell};
use crate::kind::{StorageKind, check_prefix};
use crate::lease::{Lease, OnBusy};
use crate::report::SaveReport;
use crate::{Error, Result, temporary};
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The storages of one session. Cheap to clone; the clones share everything.
///
/// What is added to a storage is staged until the context is saved:
///
/// ```
/// # use ambit_storage::{Agent, Ambit, Stores, driver::DriverOptions};
/// # struct Support;
/// # impl Agent for Support {
/// #     fn name(&self) -> &str {
/// #         "Support"
/// #     }
/// # }
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// # let stores = Stores::builder(DriverOptions::default()).build()?;
/// # let ambit = Ambit::builder(stores).agent(Support).build();
/// use ambit_storage::storage::{Message, UsageRecord};
///
/// let agent = ambit.agent("Support")?.for_user_id("user-123").await?;
/// let context = agent.context();
/// context.history().add_message(Message::user("Hello")).await?;
/// context.usage().record(UsageRecord {
///     prompt_tokens: 12,
///     ..UsageRecord::default()
/// })?;
/// assert!(context.is_dirty());
///
/// let report = context.save().await?;
/// assert_eq!(report.written, ["chatHistory_Support_user-123", "usage_Support_user-123"]);
/// assert!(!context.is_dirty());
///
/// // Data and index rows go; the sums of usage stay, without the user's name.
/// context.remove().await?;
/// assert_eq!(context.history().count().await?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    pub(super) session: Arc<Session>,
}

impl Context {
    /// The base identity.
    pub fn identity(&self) -> &SessionIdentity {
        &self.session.base
    }

    /// The identity of the agent's part of the index.
    pub fn context_identity(&self) -> Result<SessionIdentity> {
        SessionIdentity::builder(self.identity().agent_name())
            .scope("context")
            .build()
    }

    /// The installation, as the session's caller sees it.
    pub fn ambit(&self) -> &Ambit {
        &self.session.ambit
    }

    /// The chat history.
    pub fn history(&self) -> ChatHistoryStorage {
        let cell = self.session.state().history.clone();
        ChatHistoryStorage::attached(cell, self.session.options, &self.session)
    }

    /// The usage records.
    pub fn usage(&self) -> UsageStorage {
        let cell = self.session.state().usage.clone();
        UsageStorage::attached(cell, &self.session)
    }

    /// The storage of this kind, registered at its first use.
    pub async fn storage<K: StorageKind>(&self) -> Result<ListStorage<K>> {
        // Ambit's own storages have rules that a plain list would pass by.
        check_prefix(K::PREFIX)?;
        self.session.state().unasked.remove(K::PREFIX);
        let cell = match self.session.cell(K::PREFIX) {
            Some(cell) => cell,
            None => {
                let cell = self.session.cell_of_kind(K::PREFIX)?;
                self.register_cell(&cell).await?
            }
        };
        Ok(ListStorage::attached(cell, &self.session))
    }

    /// Registers a storage of this kind. Nobody may have registered its prefix in this context.
    pub async fn register<K: StorageKind>(&self) -> Result<ListStorage<K>> {
        let is_unasked = self.session.state().unasked.contains(K::PREFIX);
        if self.has(K::PREFIX) && !is_unasked {
            return Err(Error::invalid(
                "prefix",
                format!("\"{}\" is registered in this context already", K::PREFIX),
            ));
        }
        self.storage::<K>().await
    }

    /// The identity of the storage with this prefix, if it is registered.
    pub fn get(&self, prefix: &str) -> Option<SessionIdentity> {
        self.session.cell(prefix).map(|cell| cell.identity.clone())
    }

    /// True where a storage with this prefix is registered.
    pub fn has(&self, prefix: &str) -> bool {
        self.session.cell(prefix).is_some()
    }

    /// The registered prefixes, in order of registration.
    pub fn names(&self) -> Vec<String> {
        self.session
            .cells()
            .iter()
            .map(|cell| cell.prefix.clone())
            .collect()
    }

    /// True where something is staged.
    pub fn is_dirty(&self) -> bool {
        self.session.cells().iter().any(|cell| cell.is_dirty())
    }

    /// True where the session leaves nothing behind.
    pub fn is_temporary(&self) -> bool {
        self.session.is_temporary()
    }

    /// Writes all that is staged.
    pub async fn save(&self) -> Result<SaveReport> {
        commit::save(self, &self.session.cells()).await
    }

    /// Reads every storage again. Staged changes stay.
    pub async fn read(&self) -> Result<()> {
        let event = ContextReading {
            about: self.about(),
            context: self.clone(),
        };
        self.ambit().bus().ask(event).await?;
        for cell in self.session.cells() {
            let head = cell.head(&self.session.tenant).await;
            self.session.seen(head)?;
        }
        self.history().load().await?;
        self.ambit()
            .bus()
            .notify(ContextRead {
                about: self.about(),
                context: self.clone(),
            })
            .await;
        Ok(())
    }

    /// Drops all that is staged.
    pub fn discard(&self) {
        self.session.cells().iter().for_each(|cell| cell.discard());
        self.session.state().is_clearing = false;
    }

    /// Stages a clear of every storage, also of those that only the index knows of a chat; `save` makes it durable. What belongs to
    /// more than the session stays, its history apart.
    pub async fn clear(&self) -> Result<()> {
        let event = ContextClearing {
            about: self.about(),
            context: self.clone(),
        };
        self.ambit().bus().ask(event).await?;
        self.open_recorded().await?;
        for cell in self.session.cells() {
            if self.session.takes_along(&cell.identity) {
                let cleared = cell.clear(&self.session.tenant).await;
                self.session.seen(cleared)?;
            }
        }
        self.session.state().is_clearing = true;
        Ok(())
    }

    /// Takes the conversation for a turn; every save is refused once the lease has passed on.
    pub async fn begin_turn(&self, on_busy: OnBusy) -> Result<()> {
        let history = self.session.state().history.clone();
        let key = history.space(&self.session.tenant).lease();
        let driver = history.placement.driver().clone();
        let leases = self.ambit().stores().lease_counters();
        let lease = leases.take(driver, key, on_busy).await?;
        self.session.state().lease = Some(lease);
        Ok(())
    }

    /// Has the events of this session say that they are of this turn, until the lease that is held now ends. A session that holds
    /// none is the turn's as long as it takes none.
    pub fn set_turn_id(&self, id: &str) {
        let mut state = self.session.state();
        let (id, epoch) = (id.to_owned(), state.epoch());
        state.turn = Some(SessionTurn { id, epoch });
    }

    /// The lease of the running turn, if there is one.
    pub fn lease(&self) -> Option<Lease> {
        let state = self.session.state();
        state.lease.as_ref().map(|counted| counted.lease.clone())
    }

    /// Gives the conversation back.
    pub async fn end_turn(&self) -> Result<()> {
        if let Some(lease) = self.lease() {
            // One that could not be given back is still this turn's, so that the call can be repeated.
            lease.release().await?;
            self.session.state().lease = None;
        }
        Ok(())
    }

    /// Where the conversation is kept: the space of its history, and the driver that keeps it.
    pub fn place(&self) -> (Space, Arc<dyn Driver>) {
        let history = self.session.state().history.clone();
        let space = history.space(&self.session.tenant);
        (space, history.placement.driver().clone())
    }

    /// The id of the history's index row, once there is one.
    pub fn row_id(&self) -> Option<String> {
        self.session.state().row.clone()
    }

    /// Has every later save of the history refused as `Conflict` where its index row is no longer the one with this id: what
    /// others remove meanwhile is not made anew. Where the index is in another store than the history, that is judged just before
    /// the history is written.
    pub fn bind_to_row(&self, id: &str) {
        self.session.state().bound_row = Some(id.to_owned());
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// True once, when the last of the clears that `clear` has staged is durable.
    pub(crate) fn take_clearing(&self) -> bool {
        let is_left = self
            .session
            .cells()
            .iter()
            .any(|cell| cell.staged().is_clear());
        !is_left && std::mem::take(&mut self.session.state().is_clearing)
    }

    pub(crate) fn about(&self) -> EventMetadata {
        self.session.about()
    }

    /// Identities registered here; those already saved are among them.
    pub(crate) fn unsaved_identities(&self) -> Vec<SessionIdentity> {
        if self.is_temporary() {
            return Vec::new();
        }
        self.session
            .cells()
            .iter()
            .map(|cell| cell.identity.clone())
            .collect()
    }

    fn register_cell<'a>(&'a self, cell: &'a SharedCell) -> BoxFuture<'a, Result<SharedCell>> {
        Box::pin(async move {
            let cell = if self.is_temporary() {
                let placement = self.ambit().stores().temporary()?;
                let space = cell.space(self.session.tenant());
                let clock = &self.ambit().stores().options().clock;
                temporary::erase_if_expired(placement.driver().as_ref(), &space, clock).await?;
                Arc::new(StorageCell::new(&cell.prefix, self.identity(), placement)?)
            } else {
                self.announce(cell).await?
            };
            let first = self.session.state().put(cell.clone());
            if let Some(first) = first {
                return Ok(first);
            }
            let event = StorageRegistered {
                about: self.about(),
                context: self.clone(),
                prefix: cell.prefix.clone(),
            };
            self.ambit().bus().notify(event).await;
            Ok(cell)
        })
    }

    /// Lets listeners change or refuse the identity that is about to be added.
    async fn announce(&self, cell: &SharedCell) -> Result<SharedCell> {
        let event = IdentityAdding {
            about: self.about(),
            storage: cell.prefix.clone(),
            identity: cell.identity.clone(),
            labels: BTreeMap::new(),
        };
        let event = self.ambit().bus().ask(event).await?;
        if event.identity.scope() != Some(&cell.prefix) {
            let reason = format!(
                "an IdentityAdding listener changed the scope; it must stay \"{}\"",
                cell.prefix
            );
            return Err(Error::invalid("scope", reason));
        }
        self.session
            .state()
            .labels
            .insert(cell.prefix.clone(), event.labels);
        if event.identity == cell.identity {
            return Ok(cell.clone());
        }
        Ok(Arc::new(StorageCell::new(
            &cell.prefix,
            &event.identity,
            cell.placement.clone(),
        )?))
    }
}

opaque_debug!(Context, |this| key: this.session.base.key());
