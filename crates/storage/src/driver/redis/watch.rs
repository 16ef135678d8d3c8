//! Wake-ups from other processes: one subscription, made when somebody first watches, ended by `close`.

use super::server::{RedisServer, failure};
use crate::Result;
use crate::address::LogKey;
use crate::driver::WatchHub;
use futures::StreamExt;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long to wait before subscribing again after the connection was lost.
const PAUSE: Duration = Duration::from_millis(200);

/// The logs that are watched, by the words that a commit sends.
type WatchedLogs = Arc<Mutex<HashMap<String, LogKey>>>;

/// The subscription of one driver.
#[derive(Default)]
pub struct LogSubscription {
    watched: WatchedLogs,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl LogSubscription {
    /// Returns when changes of this log will be heard of.
    pub async fn follow(&self, server: &RedisServer, hub: &WatchHub, log: &LogKey) -> Result<()> {
        self.note(hub, log);
        let mut task = self.task.lock().await;
        if task.is_some() {
            return Ok(());
        }
        let channel = server.key("wake");
        let client = server.client.clone();
        let first = subscribe(&client, &channel)
            .await
            .map_err(|error| failure(&server.place, error))?;
        let (hub, watched) = (hub.clone(), Arc::clone(&self.watched));
        *task = Some(tokio::spawn(async move {
            listen(first, &hub, &watched).await;
            loop {
                if let Ok(next) = subscribe(&client, &channel).await {
                    // What was sent in between is lost, so that everybody must look.
                    hub.notify_all();
                    listen(next, &hub, &watched).await;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }));
        Ok(())
    }

    pub async fn close(&self) {
        if let Some(task) = self.task.lock().await.take() {
            task.abort();
        }
    }

    /// Remembers a log, and forgets those that nobody follows any more.
    fn note(&self, hub: &WatchHub, log: &LogKey) {
        let mut watched = self.watched.lock();
        watched.insert(message(log), log.clone());
        if watched.len().is_power_of_two() {
            let followed: std::collections::HashSet<LogKey> = hub.watched().into_iter().collect();
            watched.retain(|_, known| followed.contains(known) || known == log);
        }
    }
}

/// What a commit sends about a log; `commit.lua` spells it alike.
fn message(log: &LogKey) -> String {
    format!("{} {}", log.space.digest(), log.name)
}

async fn subscribe(
    client: &redis::Client,
    channel: &str,
) -> redis::RedisResult<redis::aio::PubSub> {
    let mut subscription = client.get_async_pubsub().await?;
    subscription.subscribe(channel).await?;
    Ok(subscription)
}

async fn listen(subscription: redis::aio::PubSub, hub: &WatchHub, watched: &WatchedLogs) {
    let mut messages = subscription.into_on_message();
    while let Some(message) = messages.next().await {
        let Ok(text) = message.get_payload::<String>() else {
            continue;
        };
        let log = watched.lock().get(&text).cloned();
        match log {
            Some(log) => hub.notify(&log),
            None if text == "*" => hub.notify_all(),
            None => {}
        }
    }
}
