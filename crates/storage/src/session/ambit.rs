//! `Ambit`: the agents, stores, listeners and settings of one installation, as one caller sees them.

use super::agent::{Agent, AgentDefinition};
use crate::address::Space;
use crate::bus::{After, AfterFn, Before, BeforeFn, EventBus};
use crate::caller::Caller;
use crate::directory::{IndexRow, RowFilter};
use crate::driver::RowPages;
use crate::driver::first_row;
use crate::identity::SessionIdentity;
use crate::retention::Retention;
use crate::stores::Stores;
use crate::usage::UsageSettings;
use crate::{Error, Result, address};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An installation. Cheap to clone; the clones share everything.
#[derive(Clone, Debug)]
pub struct Ambit {
    core: Arc<AmbitInner>,
    caller: Caller,
}

#[derive(Debug)]
struct AmbitInner {
    agents: BTreeMap<String, Arc<dyn Agent>>,
    stores: Arc<Stores>,
    bus: EventBus,
    settings: AmbitSettings,
}

/// What an application may set.
#[derive(Clone, Debug)]
pub struct AmbitSettings {
    /// How usage is counted.
    pub usage: UsageSettings,
    /// What memories do where nothing else is said.
    pub memory: crate::memory::MemorySettings,
    /// When and how histories are shortened for the model.
    pub truncation: crate::truncation::TruncationSettings,
    /// How long an idle temporary session lives.
    pub temporary_life: Duration,
    /// How long storages are kept that nobody uses.
    pub retention: Retention,
    /// How long a row of the index may be without data: longer than any first commit takes.
    pub orphan_life: Duration,
}

impl Default for AmbitSettings {
    fn default() -> Self {
        Self {
            usage: UsageSettings::default(),
            memory: crate::memory::MemorySettings::default(),
            truncation: crate::truncation::TruncationSettings::default(),
            temporary_life: Duration::from_secs(3600),
            retention: Retention::default(),
            orphan_life: Duration::from_secs(24 * 3600),
        }
    }
}

impl Ambit {
    /// Starts an installation over these stores; several may share them.
    pub fn builder(stores: impl Into<Arc<Stores>>) -> AmbitBuilder {
        AmbitBuilder {
            agents: BTreeMap::new(),
            stores: stores.into(),
            bus: EventBus::default(),
            settings: AmbitSettings::default(),
        }
    }

    /// The agent with this name.
    pub fn agent(&self, name: &str) -> Result<AgentDefinition> {
        let agent = self.core.agents.get(name).cloned();
        let agent = agent.ok_or_else(|| Error::not_found("agent", name))?;
        Ok(AgentDefinition::new(self.clone(), agent))
    }

    /// The names of all agents.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.core.agents.keys().map(String::as_str)
    }

    /// The same installation, limited to the tenant and the rights of this caller.
    pub fn acting_as(&self, caller: &Caller) -> Self {
        Self {
            core: self.core.clone(),
            caller: caller.clone(),
        }
    }

    /// The same agents, listeners and settings over other stores.
    pub fn over(&self, stores: impl Into<Arc<Stores>>) -> Self {
        let core = AmbitInner {
            agents: self.core.agents.clone(),
            stores: stores.into(),
            bus: self.core.bus.clone(),
            settings: self.core.settings.clone(),
        };
        Self {
            core: Arc::new(core),
            caller: self.caller.clone(),
        }
    }

    /// Who acts.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The stores.
    pub fn stores(&self) -> &Stores {
        &self.core.stores
    }

    /// The settings.
    pub fn settings(&self) -> &AmbitSettings {
        &self.core.settings
    }

    /// Asks this listener before each `E`; it may change the event's open fields or veto it.
    ///
    /// A listener with state of its own, a name or a deadline is added to the [`bus`](Self::bus).
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
    /// use ambit_storage::Error;
    /// use ambit_storage::event::{IdentityAdded, IdentityAdding, Verdict};
    ///
    /// ambit.before::<IdentityAdding>(async |event| {
    ///     Ok(match event.identity.user_id() {
    ///         Some("mallory") => Verdict::veto("banned"),
    ///         _ => Verdict::Continue,
    ///     })
    /// });
    /// ambit.after::<IdentityAdded>(async |event| {
    ///     println!("new in the index: {}", event.identity);
    ///     Ok(())
    /// });
    ///
    /// let refused = ambit.agent("Support")?.for_user_id("mallory").await;
    /// assert!(matches!(refused, Err(Error::Vetoed { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub fn before<E: Before>(&self, listener: impl BeforeFn<E>) {
        self.core
            .bus
            .before(move |event: &mut E| Box::pin(listener(event)));
    }

    /// Tells this listener after each `E`, once it is durable.
    pub fn after<E: After>(&self, listener: impl AfterFn<E>) {
        self.core.bus.after(listener);
    }

    /// The listeners.
    pub fn bus(&self) -> &EventBus {
        &self.core.bus
    }

    /// Erases the caller's tenant's temporary sessions that have been idle for their time; says how many there were.
    pub async fn sweep_temporary(&self) -> Result<u64> {
        let placement = self.stores().temporary()?;
        let tenant = address::temporary_tenant(self.caller.tenant());
        crate::temporary::sweep(
            placement.driver().as_ref(),
            &tenant,
            &self.stores().options().clock,
        )
        .await
    }

    pub(crate) async fn row_of(&self, identity: &SessionIdentity) -> Result<Option<IndexRow>> {
        let filter = RowFilter::space(&Space::of(self.caller.tenant(), identity));
        first_row(self.stores().index()?.driver().as_ref(), &filter).await
    }

    /// The rows that this agent has touched of the user and the chat of an identity, where it has them, and that are such.
    pub(super) async fn rows_of(
        &self,
        agent: &str,
        base: &SessionIdentity,
        is_such: impl Fn(&IndexRow) -> bool,
    ) -> Result<Vec<IndexRow>> {
        let filter = RowFilter {
            agent: Some(agent.to_owned()),
            user: base.user_id().map(str::to_owned),
            chat: base.chat_name().map(str::to_owned),
            ..RowFilter::tenant(self.caller.tenant())
        };
        let index = self.stores().index()?;
        let mut pages = RowPages::of(index.driver().as_ref(), filter);
        let mut found = Vec::new();
        while let Some(rows) = pages.next().await? {
            found.extend(rows.into_iter().filter(&is_such));
        }
        Ok(found)
    }

    /// Closes the stores.
    pub async fn close(&self) -> Result<()> {
        self.core.stores.close().await
    }
}

impl From<&Self> for Ambit {
    fn from(ambit: &Self) -> Self {
        ambit.clone()
    }
}

/// Collects agents and settings.
#[derive(Debug)]
pub struct AmbitBuilder {
    agents: BTreeMap<String, Arc<dyn Agent>>,
    stores: Arc<Stores>,
    bus: EventBus,
    settings: AmbitSettings,
}

impl AmbitBuilder {
    /// Adds an agent under its name.
    pub fn agent(self, agent: impl Agent) -> Self {
        self.shared_agent(Arc::new(agent))
    }

    /// Adds an agent that others may have too.
    pub fn shared_agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agents.insert(agent.name().to_owned(), agent);
        self
    }

    /// Has the listeners of this bus asked and told first. Several installations may share them.
    pub fn listeners(mut self, parent: &EventBus) -> Self {
        self.bus = EventBus::with_parent(parent);
        self
    }

    /// Replaces the settings.
    pub fn settings(mut self, settings: AmbitSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The installation, acting as the system in the default tenant.
    pub fn build(self) -> Ambit {
        let Self {
            agents,
            stores,
            bus,
            settings,
        } = self;
        let core = Arc::new(AmbitInner {
            agents,
            stores,
            bus,
            settings,
        });
        Ambit {
            core,
            caller: Caller::system(address::DEFAULT_TENANT),
        }
    }
}
