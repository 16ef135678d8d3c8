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
use futures::{StreamExt, stream};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// For how long it counts what a node has said.
const LIFE: Duration = Duration::from_secs(30);
/// How often a node says it again.
const RENEWAL: Duration = Duration::from_secs(10);
/// So many users have what a node says of them written apart from each other.
const LOCKS: usize = 64;
/// So many users are renewed at once.
const RENEWED_AT_ONCE: usize = 16;
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
    /// Held from reading a count of a user until it is said, so that what is said last is what was counted last. A user has always the
    /// same one.
    telling: [tokio::sync::Mutex<()>; LOCKS],
    hasher: RandomState,
    /// Says again and again what this node has, once there was anything to say.
    renewal: OnceLock<JoinHandle<()>>,
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
}

impl OpenStreams {
    /// None so far.
    pub fn new(store: Option<Arc<dyn Driver>>) -> Arc<Self> {
        Arc::new(Self {
            store,
            node: ids::unguessable(),
            open: OpenCounts::default(),
            telling: std::array::from_fn(|_| tokio::sync::Mutex::default()),
            hasher: RandomState::new(),
            renewal: OnceLock::new(),
        })
    }

    /// One more place, if this user has fewer than so many.
    pub async fn place(self: &Arc<Self>, user: String, most: u64) -> Result<Option<StreamPlace>> {
        let Some(counted) = self.place_here(user, most) else {
            return Ok(None);
        };
        if let Some(store) = &self.store {
            self.tell(store, &counted.user).await?;
            if self.count_everywhere(store, &counted.user).await? > most {
                return Ok(None);
            }
            self.renewal
                .get_or_init(|| tokio::spawn(renew(Arc::downgrade(self), store.clone())));
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
        })
    }

    /// Says how many streams of a user this node has.
    async fn tell(&self, store: &Arc<dyn Driver>, user: &str) -> Result<()> {
        let _telling = self.lock_of(user).lock().await;
        let op = match self.open.get(user) {
            Some(count) => Operation::Set(Json::of(&count)?.into()),
            None => Operation::Del,
        };
        let key = Space::rate_limits().key(format!("streams/{user}/{}", self.node));
        let write = BatchWrite::apply(key, op, Some(to_millis(LIFE)));
        store.commit(Batch::of([write])).await?;
        Ok(())
    }

    fn lock_of(&self, user: &str) -> &tokio::sync::Mutex<()> {
        let hash = self.hasher.hash_one(user);
        &self.telling[usize::try_from(hash % LOCKS as u64).unwrap_or(0)]
    }

    /// Says what this node has of each user, whose streams are as many as they are.
    async fn tell_all(self: &Arc<Self>, store: &Arc<dyn Driver>) {
        let users = self.open.owners().into_iter();
        let telling = users.map(|user| {
            let (streams, store) = (self.clone(), store.clone());
            async move {
                if let Err(error) = streams.tell(&store, &user).await {
                    tracing::warn!(%error, "other nodes are not told that a user has a stream open");
                }
            }
        });
        let telling: Vec<_> = telling.collect();
        let told = stream::iter(telling).buffer_unordered(RENEWED_AT_ONCE);
        told.collect::<()>().await;
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

async fn renew(streams: Weak<OpenStreams>, store: Arc<dyn Driver>) {
    loop {
        sleep(RENEWAL).await;
        let Some(streams) = streams.upgrade() else {
            return;
        };
        streams.tell_all(&store).await;
    }
}

impl Drop for OpenStreams {
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.get() {
            renewal.abort();
        }
    }
}

impl Drop for CountedPlace {
    fn drop(&mut self) {
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
    use ambit_storage::driver::{DriverOptions, open};

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

    #[tokio::test]
    async fn what_a_node_has_is_said_once_for_a_user_and_by_one_task() {
        let store = open("memory:", DriverOptions::default()).await.unwrap();
        let streams = OpenStreams::new(Some(store.clone()));
        let mut held = Vec::new();
        for user in ["ann", "ann", "bob"] {
            held.extend(streams.place(user.to_owned(), 2).await.unwrap());
        }
        assert_eq!((held.len(), streams.open.owners().len()), (3, 2));
        assert!(streams.renewal.get().is_some());
        // Nobody else has the node's streams, and telling them again counts none twice.
        streams.tell_all(&store).await;
        let count = async |user: &str| streams.count_everywhere(&store, user).await.unwrap();
        assert_eq!((count("ann").await, count("bob").await), (2, 1));
        assert!(streams.place("ann".to_owned(), 2).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn one_user_is_told_of_while_another_is_being_told_of() {
        let store = open("memory:", DriverOptions::default()).await.unwrap();
        let streams = OpenStreams::new(Some(store));
        let _ann = streams.lock_of("ann").lock().await;
        let mut others = (0..1_000).map(|number| format!("user{number}"));
        let other =
            others.find(|user| !std::ptr::eq(streams.lock_of(user), streams.lock_of("ann")));
        let place = streams.place(other.unwrap(), 1).await.unwrap();
        assert!(place.is_some());
    }
}
