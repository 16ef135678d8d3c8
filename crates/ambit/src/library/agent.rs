//! An agent of an app, which opens its sessions.

use super::Ambit;
use super::session::{AgentSession, AgentSessionBuilder};
use ambit_runtime::{Authorized, DataConstraints, Result};
use ambit_storage::{AgentDefinition, SessionIdentity, User};

/// An agent of an app. It opens sessions: conversations under an identity.
#[derive(Clone, Debug)]
pub struct AgentHandle {
    ambit: Ambit,
    id: String,
}

impl AgentHandle {
    pub(super) fn new(ambit: Ambit, id: &str) -> Result<Self> {
        if let Err(unknown) = ambit.index().agent(id) {
            // The app knows what is wrong with an agent, or which one may be meant.
            ambit.runtime().app().agent(id)?;
            return Err(unknown.into());
        }
        let id = id.to_owned();
        Ok(Self { ambit, id })
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Opens the session of this chat, which belongs to no user. A name that begins with `_temp` opens a temporary one: it is
    /// not tracked and ends by itself.
    pub async fn for_chat(&self, name: impl Into<String>) -> Result<AgentSession> {
        let authorized = self.ambit.authorized.clone();
        let live = self.definition(&authorized)?.for_chat(name).await?;
        Ok(AgentSession::new(self.ambit.clone(), authorized, live))
    }

    /// Opens a session whose name is random and cannot be guessed.
    pub async fn make(&self) -> Result<AgentSession> {
        let authorized = self.ambit.authorized.clone();
        let live = self.definition(&authorized)?.make().await?;
        Ok(AgentSession::new(self.ambit.clone(), authorized, live))
    }

    /// Starts to open the user's default conversation or, with [`chat`](AgentSessionBuilder::chat), one of their many.
    pub fn for_user(&self, user: &(impl User + ?Sized)) -> AgentSessionBuilder {
        self.for_user_id(user.user_id())
    }

    /// The same, by the user's id.
    pub fn for_user_id(&self, id: impl Into<String>) -> AgentSessionBuilder {
        AgentSessionBuilder::new(self.clone(), id.into())
    }

    /// Opens the session behind an identity that was found in the index.
    pub async fn from_identity(&self, identity: &SessionIdentity) -> Result<AgentSession> {
        let authorized = self.authorized(identity.user_id());
        let live = self
            .definition(&authorized)?
            .from_identity(identity)
            .await?;
        Ok(AgentSession::new(self.ambit.clone(), authorized, live))
    }

    pub(super) async fn open_for_user(
        &self,
        user: &str,
        chat: Option<String>,
    ) -> Result<AgentSession> {
        let authorized = self.authorized(Some(user));
        let definition = self.definition(&authorized)?;
        let opening = definition.for_user_id(user);
        let live = match chat {
            Some(chat) => opening.chat(chat).await?,
            None => opening.await?,
        };
        Ok(AgentSession::new(self.ambit.clone(), authorized, live))
    }

    /// Who asks in a session of this user: the program acts for any, a caller only as themselves. Scripts and tools of a user's
    /// turns reach the data that the user would reach over HTTP.
    fn authorized(&self, user: Option<&str>) -> Authorized {
        let mut authorized = self.ambit.authorized.clone();
        if self.ambit.is_program {
            authorized.user_id = user.map(str::to_owned);
            if user.is_some() {
                authorized.constraints = DataConstraints::usual(&authorized);
            }
        }
        authorized
    }

    fn definition(&self, authorized: &Authorized) -> Result<AgentDefinition> {
        let ambit = Ambit {
            authorized: authorized.clone(),
            ..self.ambit.clone()
        };
        Ok(ambit.index().agent(&self.id)?)
    }
}
