//! Memory: named values that outlive a message. One handle is one namespace of one owner; each write is one batch.

mod lists;
mod ttl;
mod values;

pub use ttl::Ttl;

use crate::address::Space;
use crate::batch::{Batch, Entry, Outcome, Write};
use crate::clock::{Clock, Millis};
use crate::directory::Track;
use crate::driver::{self, Driver, Part};
use crate::json::{Json, Value};
use crate::op::{self, Op, Output};
use crate::{Error, Result, SessionIdentity, identity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest name of a value, in bytes.
pub const MAX_KEY: usize = 512;

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
}

impl Namespace {
    /// The name that scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Team => "team",
            Self::Chat => "chat",
            Self::Context => "context",
        }
    }

    /// What a namespace without an owner asks for.
    fn missing_owner(self) -> Error {
        let (field, reason) = match self {
            Self::User => ("memory.user", "needs authorized.user_id"),
            Self::Team => ("memory.team", "needs authorized.team_id"),
            Self::Chat => ("memory.chat", "needs chat_id"),
            Self::Context => ("memory.context", "needs context_id"),
        };
        Error::invalid(field, reason)
    }
}

/// What an app decides about a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a value lives if its write does not say.
    pub default_ttl: Ttl,
    /// The largest value or list item, in bytes.
    pub value_limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_ttl: Ttl::Never,
            value_limit: 1 << 20,
        }
    }
}

/// The conversation that owns a chat memory.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Its identity; the scope is set here.
    pub identity: SessionIdentity,
    /// The index row of its memory, committed with the first value that this handle writes, so that no data exists
    /// without its row. `None` for temporary sessions, which are not tracked.
    pub track: Option<Track>,
}

/// One namespace of one owner. Cheap to clone; clones are one handle.
#[derive(Clone)]
pub struct Memory {
    driver: Arc<dyn Driver>,
    namespace: Namespace,
    owner: Option<Owner>,
    settings: Settings,
    tracking: Arc<Tracking>,
}

#[derive(Clone)]
struct Owner {
    id: String,
    space: Space,
}

/// The index row that the first write still has to bring.
#[derive(Default)]
struct Tracking {
    is_done: AtomicBool,
    track: Mutex<Option<Track>>,
}

impl Tracking {
    fn pending(&self) -> Option<Write> {
        if self.is_done.load(Ordering::Acquire) {
            return None;
        }
        let track = self.track.lock().unwrap_or_else(PoisonError::into_inner);
        track.clone().map(|track| Write::Track(Box::new(track)))
    }
}

impl Memory {
    /// What a user keeps. Without a user it reads as empty and refuses writes.
    pub fn user(
        driver: Arc<dyn Driver>,
        tenant: &str,
        user_id: Option<&str>,
        settings: Settings,
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
        settings: Settings,
    ) -> Result<Self> {
        let space = |id: &str| Space::team_memory(tenant, id);
        let owner = owner("team_id", team_id, space)?;
        Ok(Self::new(driver, Namespace::Team, owner, settings))
    }

    /// What a conversation keeps. Without one it reads as empty and refuses writes.
    pub fn chat(
        driver: Arc<dyn Driver>,
        tenant: &str,
        conversation: Option<Conversation>,
        settings: Settings,
    ) -> Result<Self> {
        let Some(Conversation { identity, track }) = conversation else {
            return Ok(Self::new(driver, Namespace::Chat, None, settings));
        };
        let owner = Owner {
            id: identity.chat_name().unwrap_or_default().to_owned(),
            space: Space::of(tenant, &identity.with_scope(SCOPE)?),
        };
        let memory = Self::new(driver, Namespace::Chat, Some(owner), settings);
        let tracking = Tracking {
            is_done: AtomicBool::new(track.is_none()),
            track: Mutex::new(track),
        };
        Ok(Self {
            tracking: Arc::new(tracking),
            ..memory
        })
    }

    /// What one request keeps, in a store of its own: it ends with `end`, or with the last handle if the request is
    /// broken off.
    pub fn request(
        clock: Clock,
        tenant: &str,
        context_id: &str,
        settings: Settings,
    ) -> Result<Self> {
        let space = |id: &str| Space::request_memory(tenant, id);
        let owner = owner("context_id", Some(context_id), space)?;
        let options = driver::Options {
            clock,
            ..driver::Options::default()
        };
        let driver = Arc::new(driver::memory::Memory::new(options));
        Ok(Self::new(driver, Namespace::Context, owner, settings))
    }

    fn new(
        driver: Arc<dyn Driver>,
        namespace: Namespace,
        owner: Option<Owner>,
        settings: Settings,
    ) -> Self {
        let tracking = Arc::new(Tracking::default());
        Self {
            driver,
            namespace,
            owner,
            settings,
            tracking,
        }
    }

    /// The owner's id; empty where there is no owner.
    pub fn id(&self) -> &str {
        self.owner.as_ref().map_or("", |owner| &owner.id)
    }

    /// The namespace's name.
    pub fn space(&self) -> &'static str {
        self.namespace.name()
    }

    /// Ends a request's memory: nothing of it is left, and later calls of any clone fail `Unavailable`. The other
    /// namespaces outlive their handles, so nothing happens to them.
    pub async fn end(&self) -> Result<()> {
        match self.namespace {
            Namespace::Context => self.driver.close().await,
            _ => Ok(()),
        }
    }

    fn owner(&self) -> Result<&Owner> {
        self.owner
            .as_ref()
            .ok_or_else(|| self.namespace.missing_owner())
    }

    /// The write of one operation, everything about it checked and fixed.
    fn plan(&self, key: &str, op: Op, ttl: Option<Ttl>) -> Result<Write> {
        check_key(key)?;
        let key = self.owner()?.space.key(key);
        self.check_size(&op)?;
        let life: Option<Millis> = ttl.unwrap_or(self.settings.default_ttl).life();
        Ok(Write::Apply { key, op, life })
    }

    fn check_size(&self, op: &Op) -> Result<()> {
        let (size, limit) = (op.size(), self.settings.value_limit);
        if size > limit {
            return Err(Error::Limited {
                what: "value bytes".to_owned(),
                actual: size as u64,
                limit: limit as u64,
            });
        }
        match op {
            Op::Set(Value::List(items)) if items.len() as u64 > op::MAX_LIST => {
                Err(op::too_long(items.len() as u64))
            }
            _ => Ok(()),
        }
    }

    /// Commits a write, behind the index row where that is still to come.
    async fn commit(&self, write: Write) -> Result<Outcome> {
        let track = if makes_data(&write) {
            self.tracking.pending()
        } else {
            None
        };
        let is_tracked = track.is_some();
        let writes = track.into_iter().chain([write]);
        let outcomes = self.driver.commit(Batch::of(writes)).await?;
        if is_tracked {
            self.tracking.is_done.store(true, Ordering::Release);
        }
        let nothing = || Error::Internal {
            what: "a driver gave no outcome for a write".to_owned(),
        };
        outcomes.into_iter().next_back().ok_or_else(nothing)
    }

    async fn apply(&self, write: Write) -> Result<Output> {
        match self.commit(write).await? {
            Outcome::Applied { output, .. } => Ok(output),
            other => Err(unexpected(&other)),
        }
    }

    async fn read(&self, key: &str, part: Part) -> Result<Option<Entry>> {
        check_key(key)?;
        match &self.owner {
            Some(owner) => self.driver.get(&owner.space.key(key), part).await,
            None => Ok(None),
        }
    }
}

fn owner(
    field: &'static str,
    id: Option<&str>,
    space: impl Fn(&str) -> Space,
) -> Result<Option<Owner>> {
    let Some(id) = id else {
        return Ok(None);
    };
    identity::check(field, id)?;
    Ok(Some(Owner {
        id: id.to_owned(),
        space: space(id),
    }))
}

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() {
        return Err(Error::invalid("key", "must be a non-empty string"));
    }
    if key.len() > MAX_KEY {
        return Err(Error::Limited {
            what: "key bytes".to_owned(),
            actual: key.len() as u64,
            limit: MAX_KEY as u64,
        });
    }
    Ok(())
}

/// True for the writes that can leave data where there was none; the others need no index row.
fn makes_data(write: &Write) -> bool {
    let Write::Apply { op, .. } = write else {
        return false;
    };
    matches!(
        op,
        Op::Set(_) | Op::Incr(_) | Op::Push(_) | Op::AddToSet(_) | Op::ArraySet(..)
    )
}

fn unexpected(what: &impl std::fmt::Debug) -> Error {
    Error::Internal {
        what: format!("a driver answered {what:?} to a memory operation"),
    }
}

/// The items of a list, or the one item that another value is.
fn items_of(values: Json) -> Vec<Json> {
    match Value::from(values) {
        Value::List(items) => items,
        Value::Plain(item) => vec![item],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn g105_a_broken_off_request_leaves_nothing_behind() {
        let memory = Memory::request(Clock::default(), "t", "ctx-1", Settings::default()).unwrap();
        memory.set("k", "text", None).await.unwrap();
        let store = Arc::downgrade(&memory.driver);
        drop(memory);
        assert!(store.upgrade().is_none());
    }
}
