//! The feed of after-events: what has happened, for clients that follow it on any node. Events are kept in the store of the
//! index for some minutes, and only while somebody follows: what nobody hears costs a turn nothing.

mod cursor;
mod reader;
mod writer;

pub use cursor::FeedCursor;
pub use reader::{EventFilter, FeedItem, FeedReader};

use crate::error::Result;
use crate::event::{EventPayload, described};
use crate::lock::lock;
use ambit_storage::Json;
use ambit_storage::Stores;
use ambit_storage::clock::{Millis, to_millis};
use ambit_storage::driver::{Driver, ValuePart};
use ambit_storage::event::{After, EventBus, ListenerOptions, ListenerSwitch};
use futures::FutureExt;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use writer::FeedWriter;

/// How long events are kept for who comes back.
const EVENT_LIFE: Duration = Duration::from_secs(600);
/// How long a tenant's events are kept behind its last follower, and how long nodes go on without looking for one.
const FOLLOWER_LIFE: Duration = Duration::from_secs(600);
/// From one write to the next, at least.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// From one look for followers on other nodes to the next.
const FOLLOWER_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Events that wait to be written, at most. What comes then is counted, and followers are told how much they miss.
const MAX_WAITING_EVENTS: usize = 4_096;

/// The events of one node on their way to the store.
pub(crate) struct EventFeed {
    stores: Arc<Stores>,
    switch: ListenerSwitch,
    /// Held from reading or setting the marks of followers until the switch is set.
    follower_check: tokio::sync::Mutex<()>,
    waiting: Mutex<PendingEvents>,
    has_come: Notify,
    writer: tokio::sync::Mutex<FeedWriter>,
    is_closed: watch::Sender<bool>,
}

#[derive(Default)]
struct PendingEvents {
    events: VecDeque<PendingEvent>,
    lost: u64,
}

/// Something that has happened, written down only if somebody follows.
struct PendingEvent {
    tenant: String,
    /// Its JSON, with what messages say or without.
    write: Box<dyn Fn(bool) -> Json + Send + Sync>,
    has_content: bool,
}

/// What listens for the feed at one version of the app.
pub struct FeedListener {
    feed: Arc<EventFeed>,
    has_content: bool,
}

impl FeedListener {
    /// Listens to events of this type.
    pub(crate) fn after<E: After>(&self, bus: &EventBus, payload: fn(&E) -> EventPayload) {
        let (feed, has_content) = (self.feed.clone(), self.has_content);
        let options = ListenerOptions {
            name: "the feed of events".to_owned(),
            switch: Some(feed.switch.clone()),
            ..ListenerOptions::default()
        };
        bus.after_with(options, move |event: Arc<E>| {
            // What is temporary leaves nothing in a store that lasts.
            if !event.about().identity.is_temporary() {
                feed.push(PendingEvent {
                    tenant: event.about().tenant.clone(),
                    write: Box::new(move |full| written(&*event, payload(&event), full)),
                    has_content,
                });
            }
            std::future::ready(Ok(())).boxed()
        });
    }
}

/// What only those are told who may read what messages say.
const CONTENT: [&str; 4] = ["arguments", "messages", "response", "result"];
/// What is told of a message in any case.
const OF_MESSAGE: [&str; 4] = ["created_at", "id", "role", "turn_id"];

fn written<E: After>(event: &E, mut payload: EventPayload, has_content: bool) -> Json {
    // The identity stands beside it.
    payload.remove("context");
    if !has_content {
        payload.retain(|name, _| !CONTENT.contains(&name.as_str()));
        if let Some(Value::Object(message)) = payload.get_mut("message") {
            message.retain(|name, _| OF_MESSAGE.contains(&name.as_str()));
        }
    }
    let mut all = described(event.about(), payload);
    all.insert("type".to_owned(), E::NAME.into());
    Json::stored(Value::Object(all).to_string())
}

impl EventFeed {
    /// A feed in the store of the index.
    pub fn new(stores: Arc<Stores>) -> Self {
        Self {
            stores,
            switch: ListenerSwitch::default(),
            follower_check: tokio::sync::Mutex::default(),
            waiting: Mutex::default(),
            has_come: Notify::new(),
            writer: tokio::sync::Mutex::default(),
            is_closed: watch::Sender::new(false),
        }
    }

    /// What listens for it at one version of the app.
    pub fn listener(self: &Arc<Self>, has_content: bool) -> FeedListener {
        FeedListener {
            feed: self.clone(),
            has_content,
        }
    }

    /// Writes what happens, and looks whether somebody follows on another node. Never ends.
    pub async fn run(self: Arc<Self>) {
        loop {
            if let Err(error) = self.check_followers().await {
                tracing::warn!(%error, "whether somebody follows the events cannot be told");
            }
            let soon = tokio::time::timeout(FOLLOWER_CHECK_INTERVAL, self.has_come.notified());
            if soon.await.is_ok() {
                self.write().await;
                tokio::time::sleep(WRITE_INTERVAL).await;
            }
        }
    }

    /// Ends the streams of all followers behind what has happened.
    pub async fn close(&self) {
        self.write().await;
        self.is_closed.send_replace(true);
    }

    fn push(&self, event: PendingEvent) {
        let mut waiting = lock(&self.waiting);
        match waiting.events.len() < MAX_WAITING_EVENTS {
            true => waiting.events.push_back(event),
            false => waiting.lost += 1,
        }
        drop(waiting);
        self.has_come.notify_one();
    }

    async fn write(&self) {
        let mut writer = self.writer.lock().await;
        let new = std::mem::take(&mut *lock(&self.waiting));
        writer.add(new);
        let written = match self.driver() {
            Ok(driver) => writer.write(driver.as_ref(), self.now()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "events wait until they can be written for those who follow them");
            self.has_come.notify_one();
        }
    }

    /// Listens exactly while somebody follows the events of any tenant.
    async fn check_followers(&self) -> Result<()> {
        let _alone = self.follower_check.lock().await;
        let end = end_of(self.driver()?.as_ref(), &cursor::any_follower()).await?;
        self.switch.set(end > self.now());
        Ok(())
    }

    fn driver(&self) -> Result<Arc<dyn Driver>> {
        Ok(self.stores.index()?.driver().clone())
    }

    fn now(&self) -> Millis {
        self.stores.options().clock.now()
    }
}

/// When a mark ends; long ago if there is none.
async fn end_of(driver: &dyn Driver, mark: &ambit_storage::address::ValueKey) -> Result<Millis> {
    let entry = driver.get(mark, ValuePart::Nothing).await?;
    Ok(entry.and_then(|entry| entry.expires_at).unwrap_or(0))
}

/// How long a mark of a follower holds.
fn follower_life() -> Millis {
    to_millis(FOLLOWER_LIFE)
}
