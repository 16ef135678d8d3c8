//! Following a tenant's events, as far as the caller may see what they are about.

use super::writer::FeedStep;
use super::{EventFeed, FeedCursor, cursor, end_of, follower_life};
use crate::access::{Authorized, DataAccess};
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Millis;
use ambit_storage::driver::{Driver, LogWatch, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Ambit, Json, SessionIdentity};
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// From one look at the mark that says that somebody follows to the next.
const RENEWAL: Duration = Duration::from_secs(60);
/// Sessions that are remembered as visible.
const MAX_VISIBLE_SESSIONS: usize = 1_000;

/// Which events; every condition that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those of this user's sessions.
    pub user: Option<String>,
    /// Those of sessions with this chat name.
    pub chat: Option<String>,
    /// Those of this group's sessions.
    pub group: Option<String>,
    /// Those of these types; none are all.
    pub types: Vec<&'static str>,
}

impl EventFilter {
    fn wants(&self, event: &EventSubject) -> bool {
        let session = &event.identity;
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == found
        };
        same(&self.agent, event.agent_name.as_deref())
            && same(&self.user, session.user_id())
            && same(&self.chat, session.chat_name())
            && same(&self.group, session.group())
            && (self.types.is_empty() || self.types.iter().any(|name| event.name == **name))
    }
}

/// What is looked at of an event.
#[derive(Deserialize)]
struct EventSubject {
    #[serde(rename = "type")]
    name: String,
    agent_name: Option<String>,
    identity: SessionIdentity,
}

/// What a follower is told.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedItem {
    /// Something has happened.
    Event {
        /// Where it is in the feed, to go on behind it.
        cursor: FeedCursor,
        /// Its type.
        name: String,
        /// All of it.
        event: Json,
    },
    /// So many events at this place were never written; whose they were nobody knows.
    Missed(u64),
}

/// One reader of a tenant's events.
pub struct FeedReader {
    driver: Arc<dyn Driver>,
    ambit: Ambit,
    access: DataAccess,
    filter: EventFilter,
    next: FeedCursor,
    renewal: Instant,
    visible: HashSet<String>,
    wake_log: LogWatch,
    is_closed: watch::Receiver<bool>,
}

impl EventFeed {
    /// Follows the events of the caller's tenant from now on, or from behind a place. All that happens on this node once this
    /// has returned is told, and all on another node once that has looked, within a second.
    pub async fn follow(
        &self,
        ambit: Ambit,
        who: &Authorized,
        filter: EventFilter,
        behind: Option<FeedCursor>,
    ) -> Result<FeedReader> {
        let (driver, access) = (self.driver()?, DataAccess::of(who));
        let mut follower = FeedReader {
            wake_log: driver.watch(&cursor::wake_log(access.tenant())).await?,
            driver,
            ambit,
            access,
            filter,
            next: FeedCursor::default(),
            renewal: Instant::now() + RENEWAL,
            visible: HashSet::new(),
            is_closed: self.is_closed.subscribe(),
        };
        {
            let _alone = self.follower_check.lock().await;
            follower.renew_mark().await?;
            self.switch.set(true);
        }
        follower.begin(behind).await?;
        Ok(follower)
    }
}

impl FeedReader {
    async fn begin(&mut self, behind: Option<FeedCursor>) -> Result<()> {
        let end = FeedCursor {
            step: self.last().await? + 1,
            event: 0,
        };
        self.next = behind.unwrap_or(end);
        if self.next > end {
            let message = "Last-Event-ID is behind the end of this feed";
            return Err(Error::invalid("last-event-id", message));
        }
        if self.next.step < end.step {
            self.step(self.next.step).await?;
        }
        Ok(())
    }

    /// What has happened since; none when the node is being closed. May be given up and called again.
    pub async fn next(&mut self) -> Result<Option<Vec<FeedItem>>> {
        loop {
            let is_over = *self.is_closed.borrow_and_update();
            let items = self.next_items().await?;
            if !items.is_empty() {
                return Ok(Some(items));
            }
            if is_over {
                return Ok(None);
            }
            tokio::select! {
                is_open = self.wake_log.changed() => if !is_open {
                    return Err(Error::new(ErrorCode::Unavailable, "the store was closed"));
                },
                _ = self.is_closed.changed() => {}
                () = tokio::time::sleep_until(self.renewal) => {
                    self.renew_mark().await?;
                    self.renewal = Instant::now() + RENEWAL;
                }
            }
        }
    }

    /// What the caller sees of the next steps, up to the first of which it sees something.
    async fn next_items(&mut self) -> Result<Vec<FeedItem>> {
        let last = self.last().await?;
        let mut items = Vec::new();
        while items.is_empty() && self.next.step <= last {
            let step = self.step(self.next.step).await?;
            items = self.visible_items(step).await?;
            self.next = behind(self.next.step);
        }
        Ok(items)
    }

    async fn visible_items(&mut self, step: FeedStep) -> Result<Vec<FeedItem>> {
        let mut items = Vec::new();
        if step.lost > 0 && self.next.event == 0 {
            items.push(FeedItem::Missed(step.lost));
        }
        let count = step.events.len();
        for (at, event) in step.events.into_iter().enumerate().skip(self.next.event) {
            let subject: EventSubject = event.to()?;
            if self.filter.wants(&subject) && self.sees(&subject.identity).await? {
                let cursor = match at + 1 == count {
                    true => behind(self.next.step),
                    false => FeedCursor {
                        event: at + 1,
                        ..self.next
                    },
                };
                let name = subject.name;
                items.push(FeedItem::Event {
                    cursor,
                    name,
                    event,
                });
            }
        }
        Ok(items)
    }

    async fn sees(&mut self, session: &SessionIdentity) -> Result<bool> {
        let key = session.storage_key();
        if self.visible.contains(&key) {
            return Ok(true);
        }
        let is_visible = self.access.lists(&self.ambit, session).await?;
        if is_visible {
            if self.visible.len() >= MAX_VISIBLE_SESSIONS {
                self.visible.clear();
            }
            self.visible.insert(key);
        }
        Ok(is_visible)
    }

    async fn last(&self) -> Result<u64> {
        let last = cursor::last_step(self.access.tenant());
        let last = self.driver.get(&last, ValuePart::Whole).await?;
        Ok(last.map_or(Ok(0), |entry| entry.value.to())?)
    }

    async fn step(&self, number: u64) -> Result<FeedStep> {
        let key = cursor::step(self.access.tenant(), number);
        let entry = self.driver.get(&key, ValuePart::Whole).await?;
        let over = || {
            let message = "events behind Last-Event-ID are no longer kept; follow without it";
            Error::new(ErrorCode::StreamExpired, message)
        };
        Ok(entry.ok_or_else(over)?.value.to()?)
    }

    /// Lets all nodes know that somebody follows, long before they would forget.
    async fn renew_mark(&self) -> Result<()> {
        let tenant = self.access.tenant();
        let now = self.ambit.stores().options().clock.now();
        let end = end_of(self.driver.as_ref(), &cursor::follower(tenant)).await?;
        if end - now > follower_life() / 2 {
            return Ok(());
        }
        let marks = [cursor::any_follower(), cursor::follower(tenant)];
        let marks = marks.map(|key| mark(key, follower_life()));
        self.driver.commit(Batch::of(marks)).await?;
        Ok(())
    }
}

/// The place behind all of a step.
fn behind(step: u64) -> FeedCursor {
    FeedCursor {
        step: step + 1,
        event: 0,
    }
}

fn mark(key: ambit_storage::address::ValueKey, life: Millis) -> BatchWrite {
    BatchWrite::Apply {
        key,
        op: Operation::Set(Json::stored("true").into()),
        life: Some(life),
    }
}
