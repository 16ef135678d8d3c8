//! A node in a process of its own is killed at each point of each write of a job; this process is the node that goes on.

use crate::child::{self, Worker};
use crate::crashes::{birds, text};
use crate::embedder_crashes::{self, CHUNKS, EmbeddingWorld, embedding_settings};
use crate::erasure::everything;
use crate::files::{Folder, handbook};
use crate::reindex::{LONG, SHORT, begin, chunks_of, embedded_by, left, texts};
use crate::reindex_crashes::KilledWorld;
use crate::stores::wait_for;
use crate::world::{World, key_of, settings};
use ambit_knowledge::{Job, JobStatus, KnowledgeBase};
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::{self, DriverOptions, Durability, FaultPoints};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The lease of a node that was killed has ended then.
pub const LATER: Duration = Duration::from_secs(11);

/// What a worker does: all that is to be done in this store.
#[derive(Serialize, Deserialize)]
pub struct Order {
    pub url: String,
    /// How far its clock is ahead.
    pub ahead: Duration,
    /// It kills itself when a write comes to this point for the so-manyth time.
    pub point: String,
    pub times: u64,
    /// Where its embedder records what it is asked for, if it has one.
    pub embedder_file: Option<PathBuf>,
    /// The round of the folder that it first makes a collection equal to, if it does.
    pub folder_round: Option<u64>,
}

/// Does what the environment orders; false where it orders nothing, as in the test itself.
pub fn obey() -> bool {
    let Some(order) = child::order::<Order>() else {
        return false;
    };
    wait_for(work(order));
    true
}

async fn work(order: Order) {
    let left = AtomicU64::new(order.times);
    let fault_points = FaultPoints::new(move |reached| {
        if reached == order.point && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            child::die();
        }
    });
    let options = DriverOptions {
        durability: Durability::Normal,
        fault_points,
        ..DriverOptions::default()
    };
    options.clock.advance(order.ahead);
    let driver = driver::open(&order.url, options).await.unwrap();
    let node = KnowledgeBase::open(match &order.embedder_file {
        Some(file) => embedding_settings(driver, file),
        None => settings(driver),
    });
    if let Some(round) = order.folder_round {
        let synced = node.sync(&handbook(), &Folder::of_round(round)).await;
        assert!(synced.unwrap().is_some(), "round {round}");
    }
    node.work().await.unwrap();
}

/// How far a job is when it is looked at.
#[derive(Clone, Copy, PartialEq)]
enum JobMoment {
    /// Its node was killed.
    Killed,
    /// It says that it is done.
    Done,
    /// All that was to be done is done.
    Settled,
}

/// A job that can be asked for again and again, each time with another outcome.
#[async_trait]
trait KilledJob: Sync {
    fn world(&self) -> &World;

    /// Where the embedder records what it is asked for, if there is one.
    fn embedder_file(&self) -> Option<PathBuf> {
        None
    }

    /// Asks for it; its id.
    async fn begin(&self, round: u64) -> String;

    /// Fails where the store shows something else than it may.
    async fn check(&self, round: u64, moment: JobMoment);
}

/// Kills a node at each point of each write of a job, and lets this one go on.
async fn kill_everywhere(job: &dyn KilledJob) {
    let world = job.world();
    let (mut round, mut ahead) = (0, Duration::ZERO);
    for point in world.store.fault_points {
        let mut times = 0;
        loop {
            (round, times) = (round + 1, times + 1);
            let id = job.begin(round).await;
            let order = Order {
                url: world.fresh.place.url.clone(),
                ahead,
                point: (*point).to_owned(),
                times,
                embedder_file: job.embedder_file(),
                folder_round: None,
            };
            let has_died = is_killed(order).await;
            let moment = match job_of(world, &id).await.status {
                JobStatus::Done => JobMoment::Done,
                _ => JobMoment::Killed,
            };
            job.check(round, moment).await;
            ahead += LATER;
            world.fresh.clock().advance(LATER);
            world.base.work().await.unwrap();
            let done = job_of(world, &id).await;
            assert_eq!(done.status, JobStatus::Done, "{point} {times}: {done:?}");
            job.check(round, JobMoment::Settled).await;
            if !has_died {
                break;
            }
        }
        assert!(times > 4, "only {times} times at {point}");
    }
}

/// Whether a worker was killed before all was done.
pub async fn is_killed(order: Order) -> bool {
    let worker = tokio::task::spawn_blocking(move || !Worker::start(&order).ended_well());
    worker.await.unwrap()
}

async fn job_of(world: &World, id: &str) -> Job {
    world.base.job(&world.ann, id).await.unwrap()
}

/// A document gets another text.
struct Replacement(World);

#[async_trait]
impl KilledJob for Replacement {
    fn world(&self) -> &World {
        &self.0
    }

    async fn begin(&self, round: u64) -> String {
        let bird = ["heron", "stork"][round as usize % 2];
        self.0.replace("d", &text(bird)).await.job_id.unwrap()
    }

    async fn check(&self, round: u64, moment: JobMoment) {
        let world = &self.0;
        let (old, new) = match round % 2 {
            0 => ((0, 100), (100, 0)),
            _ => ((100, 0), (0, 100)),
        };
        let found = birds(world).await;
        let is_whole = found == new || moment == JobMoment::Killed && found == old;
        assert!(is_whole, "round {round}: {found:?}");
        let collection = world.base.collection(&world.ann, "c").await.unwrap();
        assert_eq!((collection.documents, collection.chunks), (1, 300));
        let chunks = world.base.document_chunks(&world.ann, "d", 0..999).await;
        let ids: HashSet<String> = chunks.unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(ids.len(), 300, "round {round}");
    }
}

pub async fn g201_a_document_whose_node_is_killed_is_indexed_once_or_not_at_all(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron")).await;
    kill_everywhere(&Replacement(world)).await;
}

/// A document is removed, in a collection that has another one.
struct Removal {
    world: World,
    key: String,
}

#[async_trait]
impl KilledJob for Removal {
    fn world(&self) -> &World {
        &self.world
    }

    async fn begin(&self, _: u64) -> String {
        let world = &self.world;
        world.add("c", "gone", &text("zebracanary")).await;
        let removed = world.base.remove_document(&world.ann, "gone").await;
        removed.unwrap()
    }

    async fn check(&self, round: u64, moment: JobMoment) {
        let world = &self.world;
        assert_eq!(world.found("c", "zebracanary").await, []);
        assert_eq!(birds(world).await, (100, 0), "round {round}");
        if moment != JobMoment::Killed {
            let values = everything(world.driver.as_ref(), &self.key).await;
            let left = values.iter().find(|value| value.contains("zebracanary"));
            assert_eq!(left, None, "round {round}");
        }
    }
}

pub async fn g201_a_removal_whose_node_is_killed_ends_and_shows_nothing(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron")).await;
    let key = key_of(world.driver.as_ref(), "c").await;
    kill_everywhere(&Removal { world, key }).await;
}

/// A collection is removed, beside another one.
struct CollectionRemoval {
    world: World,
    /// By what the space of the one that is removed is named.
    key: Mutex<String>,
}

#[async_trait]
impl KilledJob for CollectionRemoval {
    fn world(&self) -> &World {
        &self.world
    }

    async fn begin(&self, _: u64) -> String {
        let world = &self.world;
        world.collection("removed").await;
        world.add("removed", "gone", "A zebracanary sings.").await;
        let key = key_of(world.driver.as_ref(), "removed").await;
        *self.key.lock().unwrap() = key;
        let removed = world.base.remove_collection(&world.ann, "removed").await;
        removed.unwrap()
    }

    async fn check(&self, round: u64, moment: JobMoment) {
        let world = &self.world;
        let removed = world.base.collection(&world.ann, "removed").await;
        assert!(removed.is_err(), "round {round}");
        assert_eq!(birds(world).await, (100, 0), "round {round}");
        if moment != JobMoment::Killed {
            let key = self.key.lock().unwrap().clone();
            let values = everything(world.driver.as_ref(), &key).await;
            let left = values.iter().find(|value| value.contains("zebracanary"));
            assert_eq!(left, None, "round {round}");
        }
    }
}

pub async fn g201_a_removed_collection_whose_node_is_killed_leaves_nothing(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron")).await;
    let key = Mutex::default();
    kill_everywhere(&CollectionRemoval { world, key }).await;
}

/// The length of chunks of a round.
fn size_of(round: u64) -> u64 {
    [LONG, SHORT][round as usize % 2]
}

#[async_trait]
impl KilledJob for KilledWorld {
    fn world(&self) -> &World {
        &self.world
    }

    async fn begin(&self, round: u64) -> String {
        let job = begin(&self.world, &chunks_of(size_of(round))).await;
        job.job_id
    }

    async fn check(&self, round: u64, moment: JobMoment) {
        let world = &self.world;
        let found = texts(world, &world.base, "heron").await;
        let (new, old) = (
            &self.herons[&size_of(round)],
            &self.herons[&size_of(round + 1)],
        );
        let is_whole = found == *new || moment == JobMoment::Killed && found == *old;
        assert!(is_whole, "round {round}: {found:?}");
        if moment == JobMoment::Settled {
            let collection = world.base.collection(&world.ann, "c").await.unwrap();
            let version = u64::from(collection.version);
            let left = left(world.driver.as_ref(), &self.key, version).await;
            assert_eq!(left, Vec::<String>::new(), "round {round}");
        }
    }
}

pub async fn g201_a_re_index_whose_node_is_killed_shows_one_index(world: World) {
    kill_everywhere(&KilledWorld::new(world).await).await;
}

/// A document of a collection with vectors gets another text.
#[async_trait]
impl KilledJob for EmbeddingWorld {
    fn world(&self) -> &World {
        &self.world
    }

    fn embedder_file(&self) -> Option<PathBuf> {
        Some(self.asked())
    }

    async fn begin(&self, round: u64) -> String {
        let text = embedder_crashes::text(round);
        self.world.replace("d", &text).await.job_id.unwrap()
    }

    async fn check(&self, round: u64, moment: JobMoment) {
        let world = &self.world;
        let chunks = world.base.document_chunks(&world.ann, "d", 0..1).await;
        let text = chunks.unwrap().remove(0).text;
        let is_new = text.contains(&format!("heron{round} "));
        assert!(
            is_new || moment == JobMoment::Killed,
            "round {round}: {text}"
        );
        if moment == JobMoment::Settled {
            self.check_ready().await;
            self.repeated(CHUNKS);
        }
    }
}

pub async fn g206_of_a_document_whose_node_is_killed_one_batch_is_embedded_again_at_most(
    world: World,
) {
    let killed = EmbeddingWorld::new(world).await;
    let first = embedder_crashes::text(0);
    killed.world.add("c", "d", &first).await;
    assert_eq!(killed.repeated(CHUNKS), 0);
    kill_everywhere(&killed).await;
}

/// The vectors of a collection are made anew, each time by another connector.
struct VectorReindex(EmbeddingWorld);

#[async_trait]
impl KilledJob for VectorReindex {
    fn world(&self) -> &World {
        &self.0.world
    }

    fn embedder_file(&self) -> Option<PathBuf> {
        Some(self.0.asked())
    }

    async fn begin(&self, round: u64) -> String {
        let connector = ["e5", "e6"][round as usize % 2];
        let job = begin(self.world(), &embedded_by(connector)).await;
        job.job_id
    }

    async fn check(&self, _: u64, moment: JobMoment) {
        if moment == JobMoment::Settled {
            self.0.check_ready().await;
            self.0.repeated(CHUNKS);
        }
    }
}

pub async fn g206_of_a_re_index_whose_node_is_killed_one_batch_is_embedded_again_at_most(
    world: World,
) {
    let killed = EmbeddingWorld::new(world).await;
    killed.world.add("c", "d", &embedder_crashes::text(0)).await;
    assert_eq!(killed.repeated(CHUNKS), 0);
    kill_everywhere(&VectorReindex(killed)).await;
}
