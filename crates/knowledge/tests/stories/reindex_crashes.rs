//! A node is killed after each write of a re-index, while others change the collection.

use crate::reindex::{LONG, SHORT, begin, chunks_of, ended, left, text, texts};
use crate::world::{World, key_of, settings};
use ambit_knowledge::{DocumentStatus, Job, JobStatus, KnowledgeBase, NewDocument};
use ambit_storage::conformance::{DriverFixture, FaultKind, FlakyDriver};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What is known of a collection whose re-index is killed again and again.
pub struct KilledWorld {
    pub world: World,
    pub key: String,
    /// The texts with herons, by the length of chunks.
    pub herons: BTreeMap<u64, BTreeSet<String>>,
}

impl KilledWorld {
    pub async fn new(world: World) -> Self {
        world.collection("c").await;
        world.add("c", "d", &text("heron", 60)).await;
        // It comes in steps.
        world.add("c", "large", &text("stork", 1300)).await;
        world.add("c", "changes", &text("crane", 20)).await;
        let mut herons = BTreeMap::new();
        for size in [SHORT, LONG] {
            let job = begin(&world, &chunks_of(size)).await;
            assert_eq!(
                ended(&world, &world.base, &job).await.status,
                JobStatus::Done
            );
            herons.insert(size, texts(&world, &world.base, "heron").await);
        }
        let key = key_of(world.driver.as_ref(), "c").await;
        Self { world, key, herons }
    }

    /// A node makes the index anew and dies after so many writes. False where it has done all before.
    async fn kill_after(&self, passing: u64, size: u64) -> bool {
        let world = &self.world;
        let before = texts(world, &world.base, "heron").await;
        let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
        let node = KnowledgeBase::open(settings(flaky.clone()));
        flaky.fail_after(passing, FaultKind::Write, u64::MAX);
        let has_died = node.work().await.is_err();
        let found = texts(world, &world.base, "heron").await;
        let is_whole = found == before || found == self.herons[&size];
        assert!(is_whole, "after {passing} writes: {found:?}");
        has_died
    }

    /// Others change the collection meanwhile.
    async fn change(&self, passing: u64) {
        let world = &self.world;
        let bird = ["egret", "crane"][passing as usize % 2];
        world.replace("changes", &text(bird, 20)).await;
        if passing.is_multiple_of(2) {
            let new = NewDocument {
                id: Some("passes".to_owned()),
                ..NewDocument::text("passes.md", text("zebracanary", 20))
            };
            world.base.add_document(&world.ann, "c", new).await.unwrap();
        } else {
            world
                .base
                .remove_document(&world.ann, "passes")
                .await
                .unwrap();
        }
    }

    /// All is there that was written meanwhile, and nothing else.
    async fn check(&self, passing: u64, size: u64, job: &Job) {
        let world = &self.world;
        assert_eq!(ended(world, &world.base, job).await.status, JobStatus::Done);
        let found = texts(world, &world.base, "heron").await;
        assert_eq!(found, self.herons[&size], "after {passing} writes");
        let is_odd = passing % 2 == 1;
        for (bird, is_there) in [
            ("egret", !is_odd),
            ("crane", is_odd),
            ("zebracanary", !is_odd),
        ] {
            let found = texts(world, &world.base, bird).await;
            assert_eq!(!found.is_empty(), is_there, "{bird} after {passing} writes");
        }
        let collection = world.base.collection(&world.ann, "c").await.unwrap();
        let mut chunks = 0;
        for id in ["d", "large", "changes", "passes"] {
            if id == "passes" && is_odd {
                continue;
            }
            let document = world.document(id).await;
            assert_eq!(
                document.status,
                DocumentStatus::Ready,
                "{id} after {passing} writes"
            );
            let there = world.base.document_chunks(&world.ann, id, 0..9999).await;
            assert_eq!(there.unwrap().len() as u64, document.chunks, "{id}");
            chunks += document.chunks;
        }
        assert_eq!(collection.chunks, chunks, "after {passing} writes");
        let version = u64::from(collection.version);
        let left = left(world.driver.as_ref(), &self.key, version).await;
        assert_eq!(left, Vec::<String>::new(), "after {passing} writes");
    }
}

/// A node works on what is there, and dies after so many writes.
async fn die_after(world: &World, passing: u64) {
    let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
    let node = KnowledgeBase::open(settings(flaky.clone()));
    flaky.fail_after(passing, FaultKind::Write, u64::MAX);
    assert!(node.work().await.is_err());
    world.fresh.clock().advance(Duration::from_secs(10));
}

pub async fn g207_deaths_before_a_step_that_was_done_are_forgotten(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron", 80)).await;
    let job = begin(&world, &chunks_of(SHORT)).await;
    // Two die at the first step, one does it and dies at the next, as another does.
    for (passing, deaths) in [(2, 1), (2, 2), (6, 1), (2, 2)] {
        die_after(&world, passing).await;
        let job = world.base.job(&world.ann, &job.job_id).await.unwrap();
        assert_eq!((job.status.is_final(), job.attempts), (false, deaths));
    }
    let done = ended(&world, &world.base, &job).await;
    assert_eq!((done.status, done.error), (JobStatus::Done, None));
}

pub async fn g207_a_re_index_that_kills_its_node_three_times_is_given_up(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron", 80)).await;
    let before = texts(&world, &world.base, "heron").await;
    let job = begin(&world, &chunks_of(SHORT)).await;
    for _ in 0..3 {
        // It takes the lease and begins, then it is gone.
        die_after(&world, 2).await;
    }
    let failed = ended(&world, &world.base, &job).await;
    let reason = "given up: whoever made the index died 3 times";
    assert_eq!(
        (failed.status, failed.error.as_deref(), failed.attempts),
        (JobStatus::Failed, Some(reason), 3)
    );
    assert_eq!(texts(&world, &world.base, "heron").await, before);
    let key = key_of(world.driver.as_ref(), "c").await;
    let left = left(world.driver.as_ref(), &key, 1).await;
    assert_eq!(left, Vec::<String>::new());
    let job = begin(&world, &chunks_of(SHORT)).await;
    let done = ended(&world, &world.base, &job).await;
    assert_eq!((done.status, done.attempts), (JobStatus::Done, 1));
}

pub async fn g201_killed_at_any_write_of_a_re_index_one_index_is_whole(world: World) {
    let killed = KilledWorld::new(world).await;
    let mut passing = 0;
    loop {
        let size = if passing % 2 == 0 { SHORT } else { LONG };
        let job = begin(&killed.world, &chunks_of(size)).await;
        let has_died = killed.kill_after(passing, size).await;
        killed.change(passing).await;
        killed.world.fresh.clock().advance(Duration::from_secs(10));
        killed.check(passing, size, &job).await;
        if !has_died {
            break;
        }
        passing += 1;
    }
    assert!(passing > 12, "only {passing} writes");
}
