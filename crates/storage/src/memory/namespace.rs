//! The namespaces: whose memory it is, where it lies, and how a handle on it is made.

use super::{Memory, Ttl};
use crate::address::Space;
use crate::clock::Clock;
use crate::directory::TrackRequest;
use crate::driver::{self, Driver};
use crate::identity::SessionIdentity;
use crate::{Error, Result, identity};
use std::sync::Arc;

/// The scope under which a conversation's memory is kept.
pub const SCOPE: &str = "memory";

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// A user's, across agents and chats.
    User,
    /// A team's.
    Team,
    /// A conversation's.
    Chat,
    /// A request's; gone when it ends.
    Context,
    /// A named store of the app, which nobody owns.
    Store,
}

impl Namespace {
    /// The name that scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Team => "team",
            Self::Chat => "chat",
            Self::Context => "context",
            Self::Store => "store",
        }
    }

    /// What a namespace without an owner asks for.
    pub(super) fn missing_owner(self) -> Error {
        let (field, reason) = match self {
            Self::User => ("memory.user", "needs authorized.user_id"),
            Self::Team => ("memory.team", "needs authorized.team_id"),
            Self::Chat => ("memory.chat", "needs chat_id"),
            Self::Context => ("memory.context", "needs context_id"),
            Self::Store => ("store", "needs an id"),
        };
        Error::invalid(field, reason)
    }
}

/// What an app decides about a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// How long a value lives if its write does not say.
    pub default_ttl: Ttl,
    /// The largest value or list item, in bytes.
    pub value_limit: usize,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            default_ttl: Ttl::Never,
            value_limit: 1 << 20,
        }
    }
}

/// The conversation that owns a chat memory.
#[derive(Clone)]
pub struct ChatMemoryOwner {
    /// Its identity; the scope is set here.
    pub identity: SessionIdentity,
    /// The index row of its memory, which every write that makes data carries, so that no data exists without its row.
    /// `None` for temporary sessions, which are not tracked.
    pub tracking: Option<RowTracking>,
}

/// An index row and where it is kept.
#[derive(Clone)]
pub struct RowTracking {
    /// The row; each write that may make it gives it an id of its own.
    pub track: TrackRequest,
    /// The store of the index, where it is not the one of the data.
    pub index: Option<Arc<dyn Driver>>,
}

#[derive(Clone)]
pub(super) struct MemoryOwner {
    pub id: String,
    pub space: Space,
}

impl Memory {
    /// What a user keeps. Without a user it reads as empty and refuses writes.
    pub fn user(
        driver: Arc<dyn Driver>,
        tenant: &str,
        user_id: Option<&str>,
        settings: MemorySettings,
    ) -> Result<Self> {
        let space = |id: &str| Space::user_memory(tenant, id);
        let owner = owner("user_id", user_id, space)?;
        Ok(Self::new(driver, Namespace::User, owner, settings))
    }

    /// What a team keeps. Without a team it reads as empty and refuses writes.
    pub fn team(
        driver: Arc<dyn Driver>,
        tenant: &str,
        team_id: Option<&str>,
        settings: MemorySettings,
    ) -> Result<Self> {
        let space = |id: &str| Space::team_memory(tenant, id);
        let owner = owner("team_id", team_id, space)?;
        Ok(Self::new(driver, Namespace::Team, owner, settings))
    }

    /// What a conversation keeps. Without one it reads as empty and refuses writes.
    pub fn chat(
        driver: Arc<dyn Driver>,
        tenant: &str,
        conversation: Option<ChatMemoryOwner>,
        settings: MemorySettings,
    ) -> Result<Self> {
        let Some(ChatMemoryOwner { identity, tracking }) = conversation else {
            return Ok(Self::new(driver, Namespace::Chat, None, settings));
        };
        let owner = MemoryOwner {
            id: identity.chat_name().unwrap_or_default().to_owned(),
            space: Space::of(tenant, &identity.with_scope(SCOPE)?),
        };
        let memory = Self::new(driver, Namespace::Chat, Some(owner), settings);
        Ok(Self {
            tracking: tracking.map(Arc::new),
            ..memory
        })
    }

    /// What one request keeps, in a store of its own: it ends with `end`, or with the last handle if the request is
    /// broken off.
    pub fn request(
        clock: Clock,
        tenant: &str,
        context_id: &str,
        settings: MemorySettings,
    ) -> Result<Self> {
        let space = |id: &str| Space::request_memory(tenant, id);
        let owner = owner("context_id", Some(context_id), space)?;
        let options = driver::DriverOptions {
            clock,
            ..driver::DriverOptions::default()
        };
        let driver = Arc::new(driver::memory::MemoryDriver::new(options));
        Ok(Self::new(driver, Namespace::Context, owner, settings))
    }

    /// What a named store of the app keeps.
    pub fn store(driver: Arc<dyn Driver>, id: &str, settings: MemorySettings) -> Result<Self> {
        let owner = owner("store", Some(id), Space::store)?;
        Ok(Self::new(driver, Namespace::Store, owner, settings))
    }

    fn new(
        driver: Arc<dyn Driver>,
        namespace: Namespace,
        owner: Option<MemoryOwner>,
        settings: MemorySettings,
    ) -> Self {
        Self {
            driver,
            namespace,
            owner,
            settings,
            tracking: None,
            row_listener: None,
            temporary: None,
            listener: None,
        }
    }
}

fn owner(
    field: &'static str,
    id: Option<&str>,
    space: impl Fn(&str) -> Space,
) -> Result<Option<MemoryOwner>> {
    let Some(id) = id else {
        return Ok(None);
    };
    identity::check(field, id)?;
    Ok(Some(MemoryOwner {
        id: id.to_owned(),
        space: space(id),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn g105_a_broken_off_request_leaves_nothing_behind() {
        let memory =
            Memory::request(Clock::default(), "t", "ctx-1", MemorySettings::default()).unwrap();
        memory.set("k", "text", None).await.unwrap();
        let store = Arc::downgrade(&memory.driver);
        drop(memory);
        assert!(store.upgrade().is_none());
    }
}
