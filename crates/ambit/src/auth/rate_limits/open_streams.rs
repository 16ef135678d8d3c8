//! How many streams users have open. Where nodes share PostgreSQL or Redis, each says there how many it has of a user; what a node said
//! that has died ends by itself.

use crate::open_counts::{OpenCount, OpenCounts};
use ambit_runtime::{Result, StorageError};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::to_millis;
use ambit_storage::driver::{Driver, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, ids};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// For how long it counts what a node has said.
const LIFE: Duration = Duration::from_secs(30);
/// How often a node says it again.
const RENEWAL: Duration = Duration::from_secs(10);
/// More nodes than an installation has.
const MOST_NODES: usize = 1_000;

/// The streams that are open.
pub(super) struct OpenStreams {
    /// Where nodes say what they have, if they share a server.
    store: Option<Arc<dyn Driver>>,
    /// Names this node.
    node: String,
    /// Those of this node, by who reads them.
    open: OpenCounts,
    /// Held from reading a count until it is said, so that what is said last is what was counted last.
    telling: tokio::sync::Mutex<()>,
}

/// The place of a stream, which is free again when this is dropped. The default is one of a stream that nobody counts.
#[derive(Default)]
pub struct StreamPlace {
    _counted: Option<CountedPlace>,
}

struct CountedPlace {
    streams: Arc<OpenStreams>,
    user: String,
    open: Option<OpenCount>,
    renewal: Option<JoinHandle<()>>,
}

impl OpenStreams {
    /// None so far.
    pub fn new(store: Option<Arc<dyn Driver>>) -> Arc<Self> {
        Arc::new(Self {
            store,
            node: ids::unguessable(),
            open: OpenCounts::default(),
            telling: tokio::sync::Mutex::default(),
        })
    }

    /// One more place, if this user has fewer than so many.
    pub async fn place(self: &Arc<Self>, user: String, most: u64) -> Result<Option<StreamPlace>> {
        let Some(mut counted) = self.place_here(user, most) else {
            return Ok(None);
        };
        if let Some(store) = &self.store {
            self.tell(store, &counted.user).await?;
            if self.count_everywhere(store, &counted.user).await? > most {
                return Ok(None);
            }
            let renewing = renew(self.clone(), store.clone(), counted.user.clone());
            counted.renewal = Some(tokio::spawn(renewing));
        }
        Ok(Some(StreamPlace {
            _counted: Some(counted),
        }))
    }

    /// The same on this node alone.
    fn place_here(self: &Arc<Self>, user: String, most: u64) -> Option<CountedPlace> {
        let open = self.open.add(user.clone(), 1, most)?;
        Some(CountedPlace {
            streams: self.clone(),
            user,
            open: Some(open),
            renewal: None,
        })
    }

    /// Says how many streams of a user this node has.
    async fn tell(&self, store: &Arc<dyn Driver>, user: &str) -> Result<()> {
        let _telling = self.telling.lock().await;
        let op = match self.open.get(user) {
            Some(count) => Operation::Set(Json::of(&count)?.into()),
            None => Operation::Del,
        };
        let key = Space::rate_limits().key(format!("streams/{user}/{}", self.node));
        let write = BatchWrite::apply(key, op, Some(to_millis(LIFE)));
        store.commit(Batch::of([write])).await?;
        Ok(())
    }

    /// How many streams of a user all nodes have.
    async fn count_everywhere(&self, store: &Arc<dyn Driver>, user: &str) -> Result<u64> {
        let pattern = Pattern::parse(&format!("streams/{user}/*"));
        let scan = ValueScan::first(pattern, MOST_NODES, ValuePart::Whole);
        let told = store.scan(&Space::rate_limits(), &scan).await?;
        let counts = told.iter().map(|(_, count)| count.value.to::<u64>());
        Ok(counts.sum::<Result<u64, StorageError>>()?)
    }
}

/// Says again and again what this node has of a user. Ends with the place for which it does so.
async fn renew(streams: Arc<OpenStreams>, store: Arc<dyn Driver>, user: String) {
    loop {
        sleep(RENEWAL).await;
        if let Err(error) = streams.tell(&store, &user).await {
            tracing::warn!(%error, "other nodes are not told that a user has a stream open");
        }
    }
}

impl Drop for CountedPlace {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
        // What other nodes are told below is without it.
        drop(self.open.take());
        let Some(store) = self.streams.store.clone() else {
            return;
        };
        let (streams, user) = (self.streams.clone(), std::mem::take(&mut self.user));
        // Where it does not come through, what was said before ends by itself.
        tokio::spawn(async move { drop(streams.tell(&store, &user).await) });
    }
}

#[cfg(test)]
mod tests {
    use super::OpenStreams;

    #[test]
    fn a_place_is_free_again_when_its_stream_has_ended() {
        let streams = OpenStreams::new(None);
        let place = |user: &str| streams.place_here(user.to_owned(), 1);
        let held = place("ann");
        assert!(held.is_some() && place("ann").is_none() && place("bob").is_some());
        drop(held);
        assert!(place("ann").is_some());
        assert_eq!(streams.open.get("ann"), None);
    }
}
