//! An agent in one conversation.

use super::Ambit;
use super::agent::AgentHandle;
use super::turn::TurnBuilder;
use ambit_runtime::{Authorized, Result};
use ambit_storage::memory::Memory;
use ambit_storage::storage::ChatHistoryStorage;
use ambit_storage::{Context, LiveAgent, Page, SessionIdentity, Usage};
use futures::future::BoxFuture;
use std::future::ready;

/// An agent in one conversation: it responds, and what the conversation holds is beside it.
#[derive(Clone, Debug)]
pub struct AgentSession {
    ambit: Ambit,
    authorized: Authorized,
    live: LiveAgent,
}

impl AgentSession {
    pub(super) fn new(ambit: Ambit, authorized: Authorized, live: LiveAgent) -> Self {
        Self {
            ambit,
            authorized,
            live,
        }
    }

    /// Starts a turn: the agent's answer to this message. Awaited it gives the whole answer, and by
    /// [`stream`](TurnBuilder::stream) the answer as it is made.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
    /// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
    /// let agent = ambit.agent("welcome")?.for_user("ann").await?;
    /// let response = agent.respond("Hello").await?;
    /// assert!(response.text.contains("without a network"));
    /// # ambit.close().await
    /// # }
    /// ```
    pub fn respond(&self, message: impl Into<String>) -> TurnBuilder {
        TurnBuilder::new(Box::pin(ready(Ok(self.clone()))), message.into())
    }

    /// Returns the context: the open storages of the conversation.
    pub fn context(&self) -> &Context {
        self.live.context()
    }

    /// Returns the chat's name; `None` in a user's default conversation.
    pub fn chat_name(&self) -> Option<&str> {
        self.live.chat_name()
    }

    /// Returns the chat history.
    pub fn history(&self) -> ChatHistoryStorage {
        self.live.history()
    }

    /// Returns what the conversation remembers, `ctx.memory.chat` in scripts.
    pub fn memory(&self) -> Result<Memory> {
        Ok(self.context().memory()?)
    }

    /// Starts a question about what the conversation has used.
    ///
    /// # Examples
    ///
    /// ```
    /// use ambit::{Usage, UsageField};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> ambit::Result<()> {
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/welcome");
    /// # let ambit = ambit::Ambit::builder(folder).in_memory().open().await?;
    /// let agent = ambit.agent("welcome")?.for_user("ann").await?;
    /// agent.respond("Hello").await?;
    /// let of_session = agent.usage().aggregate().await?.unwrap();
    /// assert_eq!(of_session.records, 1);
    ///
    /// let by_model = Usage::of(&ambit, "welcome").for_user("ann").group_by(UsageField::Model).await?.unwrap();
    /// assert_eq!(by_model["scripted-1"], of_session);
    /// # ambit.close().await
    /// # }
    /// ```
    pub fn usage(&self) -> Usage {
        self.live.usage()
    }

    /// Returns the rendered keys of all the agent's tracked storages.
    pub async fn storage_keys(&self) -> Result<Page<String>> {
        Ok(self.live.storage_keys().await?)
    }

    /// Returns the rendered keys of the agent's chat histories.
    pub async fn chat_keys(&self) -> Result<Page<String>> {
        Ok(self.live.chat_keys().await?)
    }

    /// Returns the identities of the agent's chat histories.
    pub async fn chat_identities(&self) -> Result<Page<SessionIdentity>> {
        Ok(self.live.chat_identities().await?)
    }

    /// Returns the identities under which the agent's usage is counted.
    pub async fn usage_identities(&self) -> Result<Page<SessionIdentity>> {
        Ok(self.live.usage_identities().await?)
    }

    /// Clears the chat history and saves that.
    pub async fn clear(&self) -> Result<()> {
        Ok(self.live.clear().await?)
    }

    pub(super) fn ambit(&self) -> &Ambit {
        &self.ambit
    }

    pub(super) fn authorized(&self) -> &Authorized {
        &self.authorized
    }
}

/// A session of a user that is about to be opened: await it, or let it respond at once.
#[derive(Clone, Debug)]
pub struct AgentSessionBuilder {
    agent: AgentHandle,
    user: String,
    chat: Option<String>,
}

impl AgentSessionBuilder {
    pub(super) fn new(agent: AgentHandle, user: String) -> Self {
        Self {
            agent,
            user,
            chat: None,
        }
    }

    /// Opens one of the user's many chats instead of the default one.
    pub fn chat(self, name: impl Into<String>) -> Self {
        Self {
            chat: Some(name.into()),
            ..self
        }
    }

    /// Opens the session and starts a turn in it, as [`AgentSession::respond`] does.
    pub fn respond(self, message: impl Into<String>) -> TurnBuilder {
        TurnBuilder::new(self.into_future(), message.into())
    }
}

impl IntoFuture for AgentSessionBuilder {
    type Output = Result<AgentSession>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { agent, user, chat } = self;
            agent.open_for_user(&user, chat).await
        })
    }
}
