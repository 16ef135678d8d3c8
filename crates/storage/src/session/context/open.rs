//! Opening a context: by its agent, or on a stored identity.

use super::Context;
use crate::directory::IndexRow;
use crate::identity::SessionIdentity;
use crate::items::{SharedCell, StorageCell};
use crate::kind::StorageKind;
use crate::session::agent::Agent;
use crate::session::ambit::Ambit;
use crate::session::events::ContextCreated;
use crate::session::history::{ChatHistoryStorage, HistoryOptions};
use crate::session::state::{Session, SessionState};
use crate::session::usage::UsageStorage;
use crate::stores::Stores;
use crate::{Result, address, memory};
use parking_lot::Mutex;
use std::sync::Arc;

/// The storages that a session begins with.
pub(crate) struct SessionStorages {
    pub(crate) history: ChatHistoryStorage,
    pub(crate) usage: UsageStorage,
    /// Those of other kinds that the index has on record.
    pub(crate) recorded: Vec<SharedCell>,
    /// The id of the history's index row, where it has one.
    pub(crate) row: Option<String>,
}

/// The storage of a row where the index says it is, if it is of an application's own kind.
pub(crate) fn recorded_cell(row: &IndexRow, stores: &Stores) -> Result<Option<SharedCell>> {
    let scope = row.identity.scope();
    // A conversation's memory is where its history is.
    let own = scope.filter(|scope| !is_part(scope) && *scope != memory::SCOPE);
    let Some(scope) = own else {
        return Ok(None);
    };
    let placement = stores.chain(&row.placement)?;
    let cell = StorageCell::new(scope, &row.identity, placement)?;
    Ok(Some(Arc::new(cell)))
}

/// Stands in for the agent of a stored identity, whose code is not run.
struct PlaceholderAgent(String);

impl Agent for PlaceholderAgent {
    fn name(&self) -> &str {
        &self.0
    }
}

fn is_part(scope: &str) -> bool {
    [ChatHistoryStorage::PREFIX, UsageStorage::PREFIX].contains(&scope)
}

impl Context {
    pub(crate) async fn open(
        ambit: &Ambit,
        agent: Arc<dyn Agent>,
        base: SessionIdentity,
        parts: SessionStorages,
    ) -> Result<Self> {
        let caller = ambit.caller();
        let is_temporary = base.is_temporary();
        let tenant = if is_temporary {
            address::temporary_tenant(caller.tenant())
        } else {
            caller.tenant().to_owned()
        };
        let (history, usage) = (parts.history.cell().clone(), parts.usage.cell().clone());
        let mut state = SessionState::new(history.clone(), usage.clone());
        state.row = parts.row;
        if !is_temporary {
            let recorded = parts.recorded.into_iter();
            recorded.for_each(|cell| state.put_recorded(cell));
        }
        let session = Session {
            ambit: ambit.clone(),
            agent,
            base,
            tenant,
            options: parts.history.options(),
            state: Mutex::new(state),
            saving: Default::default(),
        };
        let context = Self {
            session: Arc::new(session),
        };
        ambit
            .bus()
            .notify(ContextCreated {
                about: context.about(),
                context: context.clone(),
            })
            .await;
        context.register_cell(&history).await?;
        context.register_cell(&usage).await?;
        Ok(context)
    }

    /// Opens the session's storages that the index has on record and nobody has opened here. One whose store is not set up any more
    /// cannot be opened, and keeps nobody from the others.
    pub(super) async fn open_recorded(&self) -> Result<()> {
        if self.is_temporary() {
            return Ok(());
        }
        for row in self.session.seen(self.session.own_rows().await)? {
            match recorded_cell(&row, self.ambit().stores()) {
                Ok(Some(cell)) => self.session.state().put_recorded(cell),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(session.key = %row.identity.key(), error.message = %error, "a storage of a session cannot be opened");
                }
            }
        }
        Ok(())
    }

    /// The context of one stored identity, opened without its agent's code and without events.
    pub(crate) fn stored(ambit: &Ambit, row: &IndexRow) -> Result<Self> {
        let placement = ambit.stores().chain(&row.placement)?;
        let own = row.identity.agent_name();
        let touch = row.touches.iter().find(|touch| touch.agent == own);
        let base = touch.map_or_else(|| row.identity.base(), |touch| touch.base.clone());
        let cell =
            |prefix| StorageCell::new(prefix, row.identity.base(), placement.clone()).map(Arc::new);
        let mut state = SessionState::new(
            cell(ChatHistoryStorage::PREFIX)?,
            cell(UsageStorage::PREFIX)?,
        );
        if let Some(scope) = row.identity.scope().filter(|scope| !is_part(scope)) {
            state.put(cell(scope)?);
        }
        let session = Session {
            ambit: ambit.clone(),
            agent: Arc::new(PlaceholderAgent(own.to_owned())),
            base,
            tenant: row.tenant.clone(),
            options: HistoryOptions::default(),
            state: Mutex::new(state),
            saving: Default::default(),
        };
        Ok(Self {
            session: Arc::new(session),
        })
    }
}
