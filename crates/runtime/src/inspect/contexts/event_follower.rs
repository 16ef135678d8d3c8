//! The feed of events beside a server: what is still kept of it, and what comes.

use crate::access::Authorized;
use crate::error::Result;
use crate::feed::{EventFeed, EventFilter, FeedCursor, FeedItem, FeedReader};
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Ambit, Stores};
use std::sync::Arc;

/// Reads the events of a tenant. As long as it does, servers over the same stores write what happens.
pub struct EventFollower {
    reader: FeedReader,
    /// Behind what was read.
    read: FeedCursor,
    /// Behind what was kept at the beginning.
    kept: FeedCursor,
    /// The reader ends with it.
    _feed: EventFeed,
}

impl EventFollower {
    /// Follows the events of the caller's tenant from the first one on that is still kept.
    pub async fn open(stores: Arc<Stores>, ambit: Ambit, who: &Authorized) -> Result<Self> {
        let driver = stores.index()?.driver().clone();
        let kept = kept_steps(driver.as_ref(), who.tenant()).await?;
        let cursor = |step: u64| FeedCursor { step, event: 0 };
        let first = kept.map(|(first, _)| cursor(first));
        let feed = EventFeed::new(stores);
        let reader = feed.follow(ambit, who, EventFilter::default(), first);
        Ok(Self {
            reader: reader.await?,
            read: FeedCursor::default(),
            kept: kept.map_or_else(FeedCursor::default, |(_, last)| cursor(last + 1)),
            _feed: feed,
        })
    }

    /// What comes next.
    pub async fn next(&mut self) -> Result<Option<Vec<FeedItem>>> {
        let items = self.reader.next().await?;
        let last = items.iter().flatten().next_back();
        if let Some(FeedItem::Event { cursor, .. }) = last {
            self.read = *cursor;
        }
        Ok(items)
    }

    /// Whether all that was kept at the beginning was read.
    pub fn has_read_kept(&self) -> bool {
        self.read >= self.kept
    }
}

/// The first and the last step of a tenant's feed that are kept.
async fn kept_steps(driver: &dyn Driver, tenant: &str) -> Result<Option<(u64, u64)>> {
    let (space, steps) = (Space::events(tenant), Pattern::parse("step/*"));
    let mut pages = ValuePages::of(driver, &space, steps, ValuePart::Nothing);
    let mut kept: Option<(u64, u64)> = None;
    while let Some(page) = pages.next().await? {
        let numbers = page.iter().filter_map(|(name, _)| {
            let number = name.strip_prefix("step/")?;
            number.parse::<u64>().ok()
        });
        for number in numbers {
            let (first, last) = kept.unwrap_or((number, number));
            kept = Some((first.min(number), last.max(number)));
        }
    }
    Ok(kept)
}
