//! Memory: named values that outlive a message. One handle is one namespace of one owner; each write is one batch.

mod lists;
mod namespace;
mod ttl;
mod values;

pub use namespace::{Conversation, Namespace, SCOPE, Settings, Tracking};
pub use ttl::Ttl;

use crate::batch::{Batch, Check, Entry, Outcome, Write};
use crate::clock::{Clock, Millis, to_millis};
use crate::driver::{Driver, Part};
use crate::json::{Json, Value};
use crate::op::{self, Op, Output};
use crate::{Error, Result, temporary};
use namespace::Owner;
use std::sync::Arc;
use std::time::Duration;

/// Longest name of a value, in bytes.
pub const MAX_KEY: usize = 512;

/// One namespace of one owner. Cheap to clone; clones are one handle.
#[derive(Clone)]
pub struct Memory {
    driver: Arc<dyn Driver>,
    namespace: Namespace,
    owner: Option<Owner>,
    settings: Settings,
    tracking: Option<Arc<Tracking>>,
    temporary: Option<Temporary>,
}

/// What is idle for this time is gone, and no value lives longer, whatever its write says.
#[derive(Clone)]
struct Temporary {
    clock: Clock,
    life: Duration,
}

impl Memory {
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

    /// The same memory as a temporary session's.
    pub(crate) fn temporary(self, clock: &Clock, life: Duration) -> Self {
        let clock = clock.clone();
        Self {
            temporary: Some(Temporary { clock, life }),
            ..self
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
        let asked: Option<Millis> = ttl.unwrap_or(self.settings.default_ttl).life();
        let longest = self.temporary.as_ref();
        let longest = longest.map(|temporary| to_millis(temporary.life));
        let life = match (asked, longest) {
            (Some(asked), Some(longest)) => Some(asked.min(longest)),
            (asked, longest) => asked.or(longest),
        };
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

    /// Commits a write; one that makes data comes behind its index row.
    async fn commit(&self, write: Write) -> Result<Outcome> {
        self.commit_if(Vec::new(), write).await
    }

    /// The same where the checks hold.
    async fn commit_if(&self, checks: Vec<Check>, write: Write) -> Result<Outcome> {
        let mut batch = Batch {
            checks,
            ..Batch::default()
        };
        if let Some(tracking) = self.tracking.as_ref().filter(|_| makes_data(&write)) {
            let track = Write::Track(Box::new(tracking.track.clone()));
            match &tracking.index {
                None => batch.writes.push(track),
                Some(index) => {
                    index.commit(Batch::of([track])).await?;
                }
            }
        }
        if let Some(Temporary { clock, life }) =
            self.temporary.as_ref().filter(|_| makes_data(&write))
        {
            let space = &self.owner()?.space;
            batch.writes.push(temporary::stay(space, clock, *life)?);
        }
        batch.writes.push(write);
        let outcomes = self.driver.commit(batch).await?;
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
