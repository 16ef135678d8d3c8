//! Agents as this crate sees them: a name, and where their conversations are kept. Factories open sessions.

mod stored;

use super::ambit::Ambit;
use super::context::{Context, SessionStorages};
use super::events::{AgentCleared, AgentInitialized};
use super::history::{ChatHistoryStorage, HistoryOptions};
use super::usage::UsageStorage;
use crate::caller::Caller;
use crate::debug::opaque_debug;
use crate::identity::{IdentityBuilder, SessionIdentity};
use crate::kind::StorageKind;
use crate::stores::{Placement, Stores};
use crate::{Result, ids, truncation};
use futures::future::BoxFuture;
use std::sync::Arc;

/// An agent's say in where its sessions are kept. Every method gets what it may decide from; none reads globals. Where
/// a session is opened by its identity, they are asked only about storages that the index does not have on record.
///
/// History per team, usage per organisation:
///
/// ```
/// use ambit_storage::driver::DriverOptions;
/// use ambit_storage::{Agent, Ambit, Caller, Result, SessionIdentity, Stores};
///
/// struct Shared;
///
/// impl Agent for Shared {
///     fn name(&self) -> &str {
///         "Shared"
///     }
///
///     fn create_history_identity(&self, _base: &SessionIdentity, caller: &Caller) -> Result<SessionIdentity> {
///         let chat = format!("team-{}", caller.team_id()?);
///         SessionIdentity::builder(self.name()).chat_name(chat).build()
///     }
///
///     fn create_usage_identity(&self, _base: &SessionIdentity, caller: &Caller) -> Result<SessionIdentity> {
///         let chat = format!("org-{}", caller.claim("organization_id")?);
///         SessionIdentity::builder(self.name()).chat_name(chat).build()
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// let stores = Stores::builder(DriverOptions::default()).build()?;
/// let ambit = Ambit::builder(stores).agent(Shared).build();
/// let ann = Caller::user("default", "ann").with_team("blue").with_claim("organization_id", "acme");
///
/// let agent = ambit.acting_as(&ann).agent("Shared")?.for_user_id("ann").await?;
/// assert_eq!(agent.history().identity().key(), "chatHistory_Shared_team-blue");
/// assert_eq!(agent.context().usage().identity().key(), "usage_Shared_org-acme");
/// # Ok(())
/// # }
/// ```
pub trait Agent: Send + Sync + 'static {
    /// The name, unique in the application.
    fn name(&self) -> &str;

    /// The group that the session's storages belong to, if agents share them.
    fn group(&self, _caller: &Caller) -> Result<Option<String>> {
        Ok(None)
    }

    /// The drivers of this agent's storages of a scope, where they differ from the application's.
    fn drivers(&self, _scope: &str) -> Option<Vec<String>> {
        None
    }

    /// Whether `metadata` of messages is stored. A history on record is opened by this.
    fn store_meta(&self) -> bool {
        false
    }

    /// When and how this agent's histories are shortened, where that differs from provider and application.
    fn truncation(&self) -> truncation::TruncationSettings {
        truncation::TruncationSettings::default()
    }

    /// Where the chat history lives; used as returned.
    fn create_history_identity(
        &self,
        base: &SessionIdentity,
        _caller: &Caller,
    ) -> Result<SessionIdentity> {
        Ok(base.clone())
    }

    /// Where usage is counted; used as returned.
    fn create_usage_identity(
        &self,
        base: &SessionIdentity,
        _caller: &Caller,
    ) -> Result<SessionIdentity> {
        Ok(base.clone())
    }

    /// The whole chat history storage: identity, drivers, options.
    fn create_chat_history(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
        stores: &Stores,
    ) -> Result<ChatHistoryStorage> {
        let identity = self.create_history_identity(base, caller)?;
        let placement = placement(
            self.drivers(ChatHistoryStorage::PREFIX),
            stores,
            ChatHistoryStorage::PREFIX,
        )?;
        ChatHistoryStorage::new(
            identity,
            placement,
            HistoryOptions {
                store_meta: self.store_meta(),
            },
        )
    }

    /// The whole usage storage: identity and drivers.
    fn create_usage_storage(
        &self,
        base: &SessionIdentity,
        caller: &Caller,
        stores: &Stores,
    ) -> Result<UsageStorage> {
        let identity = self.create_usage_identity(base, caller)?;
        UsageStorage::new(
            identity,
            placement(
                self.drivers(UsageStorage::PREFIX),
                stores,
                UsageStorage::PREFIX,
            )?,
        )
    }
}

opaque_debug!(dyn Agent, |this| name: this.name());

/// The agent's own drivers for a scope, else the application's.
pub(crate) fn placement(
    own: Option<Vec<String>>,
    stores: &Stores,
    scope: &str,
) -> Result<Placement> {
    own.map_or_else(|| stores.for_scope(scope), |names| stores.chain(&names))
}

/// Anything that is a user.
pub trait User {
    /// The id that conversations are kept under.
    fn user_id(&self) -> &str;
}

/// The id itself.
impl User for str {
    fn user_id(&self) -> &str {
        self
    }
}

impl User for String {
    fn user_id(&self) -> &str {
        self
    }
}

/// A registered agent; opens sessions.
#[derive(Clone, Debug)]
pub struct AgentDefinition {
    ambit: Ambit,
    agent: Arc<dyn Agent>,
}

impl AgentDefinition {
    pub(crate) fn new(ambit: Ambit, agent: Arc<dyn Agent>) -> Self {
        Self { ambit, agent }
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.agent.name()
    }

    /// Where its storages of a scope are kept.
    pub(crate) fn placement(&self, scope: &str) -> Result<Placement> {
        placement(self.agent.drivers(scope), self.ambit.stores(), scope)
    }

    /// The session of this chat.
    pub async fn for_chat(&self, key: impl Into<String>) -> Result<LiveAgent> {
        self.open(SessionIdentity::builder(self.name()).chat_name(key))
            .await
    }

    /// A session with a random chat name that cannot be guessed.
    pub async fn make(&self) -> Result<LiveAgent> {
        self.for_chat(ids::unguessable()).await
    }

    /// The session of nobody in particular, which has no chat.
    pub async fn for_nobody(&self) -> Result<LiveAgent> {
        self.open(SessionIdentity::builder(self.name())).await
    }

    /// The user's one default conversation, or with `chat` one of their many.
    pub fn for_user(&self, user: &(impl User + ?Sized)) -> SessionBuilder<'_> {
        self.for_user_id(user.user_id())
    }

    /// As `for_user`, by id.
    pub fn for_user_id(&self, user_id: impl Into<String>) -> SessionBuilder<'_> {
        SessionBuilder {
            definition: self,
            identity: SessionIdentity::builder(self.name()).user_id(user_id),
        }
    }

    async fn open(&self, identity: IdentityBuilder) -> Result<LiveAgent> {
        let plain = identity.build()?;
        let caller = self.ambit.caller();
        caller.check_may_open(&plain)?;
        let base = match self.agent.group(caller)? {
            Some(group) => plain.with_group(group)?,
            None => plain,
        };
        let parts = self.storages(&base, &[])?;
        self.live(base, parts).await
    }

    fn live<'a>(
        &'a self,
        base: SessionIdentity,
        parts: SessionStorages,
    ) -> BoxFuture<'a, Result<LiveAgent>> {
        Box::pin(async move {
            let context = Context::open(&self.ambit, self.agent.clone(), base, parts).await?;
            let about = context.about();
            self.ambit.bus().notify(AgentInitialized { about }).await;
            Ok(LiveAgent { context })
        })
    }
}

/// A session about to be opened.
#[derive(Debug)]
pub struct SessionBuilder<'a> {
    definition: &'a AgentDefinition,
    identity: IdentityBuilder,
}

impl SessionBuilder<'_> {
    /// One of the user's many chats instead of the default one.
    pub fn chat(self, chat_name: impl Into<String>) -> Self {
        Self {
            identity: self.identity.chat_name(chat_name),
            ..self
        }
    }
}

impl<'a> IntoFuture for SessionBuilder<'a> {
    type Output = Result<LiveAgent>;
    type IntoFuture = futures::future::BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.definition.open(self.identity))
    }
}

/// An agent bound to one session.
#[derive(Clone, Debug)]
pub struct LiveAgent {
    context: Context,
}

impl LiveAgent {
    /// The session's context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The chat's name; `None` in a user's default conversation.
    pub fn chat_name(&self) -> Option<&str> {
        self.context.identity().chat_name()
    }

    /// The chat history.
    pub fn history(&self) -> ChatHistoryStorage {
        self.context.history()
    }

    /// Clears the chat history and saves that.
    pub async fn clear(&self) -> Result<()> {
        self.history().clear().await?;
        self.context.save().await?;
        let about = self.context.about();
        let bus = self.context.ambit().bus();
        bus.notify(AgentCleared { about }).await;
        Ok(())
    }
}
