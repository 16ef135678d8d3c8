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

/// The storages that every session has.
pub(crate) struct SessionStorages {
    pub(crate) history: ChatHistoryStorage,
    pub(crate) usage: UsageStorage,
    /// Storages of other kinds that the index has on record.
    pub(crate) recorded: Vec<SharedCell>,
    /// The id of the history's index row, where it has one.
    pub(crate) row: Option<String>,
}

impl SessionStorages {
    /// Puts the storage of the row's scope where the index says it is.
    pub(crate) fn place(&mut self, row: &IndexRow, stores: &Stores) -> Result<()> {
        let placement = || stores.chain(&row.placement);
        match row.identity.scope() {
            Some(ChatHistoryStorage::PREFIX) => {
                self.row = Some(row.id.clone());
                self.history = ChatHistoryStorage::new(
                    row.identity.clone(),
                    placement()?,
                    self.history.options(),
                )?;
            }
            Some(UsageStorage::PREFIX) => {
                self.usage = UsageStorage::new(row.identity.clone(), placement()?)?;
            }
            // A conversation's memory is where its history is.
            None | Some(memory::SCOPE) => {}
            Some(scope) => {
                let cell = StorageCell::new(scope, &row.identity, placement()?)?;
                self.recorded.push(Arc::new(cell));
            }
        }
        Ok(())
    }
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
        let session = Session {
            ambit: ambit.clone(),
            agent,
            base,
            tenant,
            options: parts.history.options(),
            recorded: parts.recorded,
            state: Mutex::new(SessionState {
                row: parts.row,
                ..SessionState::new(history.clone(), usage.clone())
            }),
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
            recorded: Vec::new(),
            state: Mutex::new(state),
            saving: Default::default(),
        };
        Ok(Self {
            session: Arc::new(session),
        })
    }
}
