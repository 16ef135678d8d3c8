//! Where the feed is kept, and cursors in it.

use crate::error::{Error, Result};
use ambit_storage::address::{DEFAULT_TENANT, LogKey, Space, ValueKey};
use std::fmt;
use std::str::FromStr;

/// A cursor between two events of a tenant's feed: behind all earlier steps and behind the first events of this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedCursor {
    /// The step, from 1.
    pub step: u64,
    /// How many of its events are known.
    pub event: usize,
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.step, self.event)
    }
}

impl FromStr for FeedCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('.');
        let cursor = parts.and_then(|(step, event)| {
            Some(Self {
                step: step.parse().ok()?,
                event: event.parse().ok()?,
            })
        });
        let refused =
            || Error::invalid("last-event-id", "Last-Event-ID must be an id of this feed");
        cursor.ok_or_else(refused)
    }
}

/// There as long as somebody follows the events of any tenant.
pub(super) fn any_follower() -> ValueKey {
    Space::events(DEFAULT_TENANT).key("anybody")
}

/// There as long as somebody follows the tenant's events.
pub(super) fn follower(tenant: &str) -> ValueKey {
    Space::events(tenant).key("followed")
}

/// The number of the last step.
pub(super) fn last_step(tenant: &str) -> ValueKey {
    Space::events(tenant).key("last")
}

/// The events of a step.
pub(super) fn step(tenant: &str, number: u64) -> ValueKey {
    Space::events(tenant).key(format!("step/{number}"))
}

/// Grows with each step, so that followers wake.
pub(super) fn wake_log(tenant: &str) -> LogKey {
    Space::events(tenant).log("bell")
}
