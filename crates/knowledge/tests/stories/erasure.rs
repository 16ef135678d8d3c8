//! What is removed leaves no byte behind.

use crate::person::Person;
use crate::world::{World, key_of, settings};
use ambit_knowledge::{
    ChunkHit, ChunkVote, CollectionUpdate, FeedbackContext, JobStatus, KnowledgeBase, NewDocument,
    VoteKind, WeightChange,
};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::conformance::FlakyDriver;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use std::cell::Cell;
use std::sync::Arc;

/// Names and texts of all that a tenant's collections keep, but for their jobs.
pub async fn everything(driver: &dyn Driver, key: &str) -> Vec<String> {
    let tenant = Some("t");
    let spaces = [
        Space::collections(tenant),
        Space::collection(tenant, key),
        Space::collection_index(tenant, key, 1),
        Space::knowledge_jobs(tenant),
        Space::knowledge_work(),
    ];
    let mut values = Vec::new();
    for space in spaces {
        let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Whole);
        while let Some(page) = pages.next().await.unwrap() {
            values.extend(
                page.into_iter()
                    .map(|(name, entry)| format!("{name} {}", entry.value)),
            );
        }
    }
    values
}

/// A vote for a chunk, with what was asked.
pub fn vote(chunk: &str) -> ChunkVote {
    ChunkVote {
        id: chunk.to_owned(),
        vote_id: String::new(),
        vote: VoteKind::Positive,
        hit_id: None,
        found: zebracanary(),
    }
}

fn zebracanary() -> FeedbackContext {
    FeedbackContext {
        query: Some("zebracanary".to_owned()),
        ..FeedbackContext::default()
    }
}

/// A use of a chunk, with what was asked.
fn hit() -> ChunkHit {
    ChunkHit {
        found: zebracanary(),
        ..ChunkHit::default()
    }
}

pub async fn g204_of_a_removed_document_no_byte_is_left(world: World) {
    world.collection("c").await;
    let key = key_of(world.driver.as_ref(), "c").await;
    world.add("c", "stays", "A heron stands there.").await;
    let before = everything(world.driver.as_ref(), &key).await.len();
    let text = "# Zebracanary\n\nThe zebracanary sings.";
    world.add("c", "zebracanary", text).await;
    let chunks = world
        .base
        .document_chunks(&world.ann, "zebracanary", 0..1)
        .await
        .unwrap();
    let chunk = chunks[0].id.clone();
    world
        .base
        .vote(&world.ann, "zebracanary", &vote(&chunk))
        .await
        .unwrap();
    world
        .base
        .add_hits(&world.ann, "zebracanary", &chunk, &[hit()])
        .await
        .unwrap();
    world.base.work().await.unwrap();
    let job = world
        .base
        .remove_document(&world.ann, "zebracanary")
        .await
        .unwrap();
    assert_eq!(world.found("c", "zebracanary sings").await, []);
    assert!(
        world
            .base
            .document(&world.ann, "zebracanary")
            .await
            .is_err()
    );
    world.base.work().await.unwrap();
    let job = world.base.job(&world.ann, &job).await.unwrap();
    assert_eq!((job.status, job.document_id), (JobStatus::Done, None));
    let left = everything(world.driver.as_ref(), &key).await;
    let holds = |value: &&String| {
        let value = value.to_lowercase();
        value.contains("zebra") || value.contains("sing ") || value.contains(&chunk)
    };
    assert_eq!(
        left.iter().filter(holds).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    // The job of the removal, and the number of changes, are all that is new.
    assert!(left.len() <= before + 2, "{left:#?}");
    assert_eq!(world.found("c", "heron").await.len(), 1);
    let collection = world.base.collection(&world.ann, "c").await.unwrap();
    assert_eq!((collection.documents, collection.chunks), (1, 1));
}

pub async fn g204_what_was_replaced_is_erased_and_what_stays_keeps_its_votes(world: World) {
    world.collection("c").await;
    let key = key_of(world.driver.as_ref(), "c").await;
    world
        .add("c", "d", "# A\n\nThe heron stands.\n\n# B\n\nZebracanary.")
        .await;
    let chunks = world
        .base
        .document_chunks(&world.ann, "d", 0..9)
        .await
        .unwrap();
    for chunk in &chunks {
        world
            .base
            .vote(&world.ann, "d", &vote(&chunk.id))
            .await
            .unwrap();
    }
    let weight = WeightChange {
        id: chunks[0].id.clone(),
        weight: 2.0,
    };
    assert_eq!(
        world
            .base
            .set_weights(&world.ann, "d", &[weight])
            .await
            .unwrap(),
        1
    );
    world
        .replace("d", "# New\n\nFirst.\n\n# A\n\nThe heron stands.")
        .await;
    world.base.work().await.unwrap();
    let now = world
        .base
        .document_chunks(&world.ann, "d", 0..9)
        .await
        .unwrap();
    assert_eq!(
        (now[1].id.as_str(), now[1].weight, now[1].positive),
        (chunks[0].id.as_str(), 2.0, 1)
    );
    let votes = world
        .base
        .votes(&world.ann, "d", &chunks[0].id)
        .await
        .unwrap();
    assert_eq!(votes.len(), 1);
    let left = everything(world.driver.as_ref(), &key).await;
    let gone = |value: &&String| value.contains("Zebracanary.") || value.contains(&chunks[1].id);
    assert_eq!(left.iter().find(gone), None);
    // Of the vote on what stays the query stays too.
    assert_eq!(
        left.iter()
            .filter(|value| value.contains("zebracanary"))
            .count(),
        1
    );
}

fn writes_ratings(batch: &Batch) -> bool {
    let is_rating = |write: &BatchWrite| match write {
        BatchWrite::Apply { key, .. } => key.name.starts_with("ratings/"),
        _ => false,
    };
    batch.writes.iter().any(is_rating)
}

pub async fn g204_what_is_gone_is_erased_whoever_says_something_meanwhile(world: World) {
    world.collection("c").await;
    world.add("c", "d", "The stork flies.").await;
    let chunks = world.base.document_chunks(&world.ann, "d", 0..1).await;
    let gone = chunks.unwrap().remove(0).id;
    let voted = world.base.vote(&world.ann, "d", &vote(&gone)).await;
    voted.unwrap();
    world.replace("d", "The heron stands.").await;
    let flaky = Arc::new(FlakyDriver::new(world.driver.clone()));
    flaky.lose_race(writes_ratings);
    let node = KnowledgeBase::open(settings(flaky));
    node.work().await.unwrap();
    let key = key_of(world.driver.as_ref(), "c").await;
    let left = everything(world.driver.as_ref(), &key).await;
    assert_eq!(left.iter().find(|value| value.contains(&gone)), None);
}

pub async fn g204_a_removed_collection_is_gone_and_its_ids_are_free(world: World) {
    world.collection("c").await;
    let key = key_of(world.driver.as_ref(), "c").await;
    world.add("c", "d", "A heron.").await;
    world
        .base
        .add_document(&world.ann, "c", NewDocument::text("waits", "A stork."))
        .await
        .unwrap();
    let job = world.base.remove_collection(&world.ann, "c").await.unwrap();
    assert!(world.base.collection(&world.ann, "c").await.is_err());
    // Before all of it is erased, its ids are free.
    world.collection("c").await;
    world.add("c", "d", "A crane.").await;
    world.base.work().await.unwrap();
    let job = world.base.job(&world.ann, &job).await.unwrap();
    assert_eq!(job.status, JobStatus::Done);
    let left = everything(world.driver.as_ref(), &key).await;
    assert!(
        !left
            .iter()
            .any(|value| value.contains("heron") || value.contains("stork"))
    );
    assert_eq!(world.found("c", "crane").await.len(), 1);
}

pub async fn g204_of_an_erased_person_nothing_is_left(world: World) {
    world.collection("c").await;
    let update = CollectionUpdate {
        public: Some(true),
        ..CollectionUpdate::default()
    };
    world
        .base
        .update_collection(&world.ann, "c", &update)
        .await
        .unwrap();
    let key = key_of(world.driver.as_ref(), "c").await;
    world.add("c", "d", "A heron.").await;
    let chunk = world
        .base
        .document_chunks(&world.ann, "d", 0..1)
        .await
        .unwrap()[0]
        .id
        .clone();
    let bob = Person::named("bob");
    world.base.vote(&bob, "d", &vote(&chunk)).await.unwrap();
    let told = world.base.add_hits(&bob, "d", &chunk, &[hit()]).await;
    let hits = world.base.hits(&world.ann, "d", &chunk).await.unwrap();
    assert_eq!(hits, told.unwrap());
    let operator = Person {
        user: Some("bob".to_owned()),
        ..Person::operator("t")
    };
    let new = NewDocument::text("bobs", "A zebracanary.");
    world.base.add_document(&operator, "c", new).await.unwrap();
    world.base.work().await.unwrap();
    let jobs = world.base.erase_person("t", "bob").await.unwrap();
    assert_eq!(jobs.len(), 1);
    world.base.work().await.unwrap();
    let left = everything(world.driver.as_ref(), &key).await;
    let is_his = |value: &&String| value.contains("bob") || value.contains("zebracanary");
    assert_eq!(left.iter().find(is_his), None);
    let chunks = world
        .base
        .document_chunks(&world.ann, "d", 0..1)
        .await
        .unwrap();
    assert_eq!((chunks[0].positive, chunks[0].hit), (0, 0));
}

pub async fn weights_and_votes_rank(world: World) {
    world.collection("c").await;
    for id in ["a", "b"] {
        world.add("c", id, "A heron stands.").await;
    }
    let first = |found: Vec<(String, String)>| -> Vec<String> {
        found.into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(first(world.found("c", "heron").await), ["a", "b"]);
    let chunk = world
        .base
        .document_chunks(&world.ann, "b", 0..1)
        .await
        .unwrap()[0]
        .id
        .clone();
    world
        .base
        .vote(&world.ann, "b", &vote(&chunk))
        .await
        .unwrap();
    assert_eq!(first(world.found("c", "heron").await), ["b", "a"]);
    let hidden = WeightChange {
        id: chunk,
        weight: 0.0,
    };
    world
        .base
        .set_weights(&world.ann, "b", &[hidden])
        .await
        .unwrap();
    assert_eq!(first(world.found("c", "heron").await), ["a"]);
}

pub async fn the_removal_of_a_document_ends_with_that_of_its_collection(world: World) {
    world.collection("c").await;
    world.add("c", "d", "A heron.").await;
    let jobs = [
        world.base.remove_document(&world.ann, "d").await.unwrap(),
        world.base.remove_collection(&world.ann, "c").await.unwrap(),
    ];
    world.base.work().await.unwrap();
    for job in jobs {
        let job = world.base.job(&world.ann, &job).await.unwrap();
        assert_eq!(job.status, JobStatus::Done);
    }
}

thread_local! {
    /// Commits of this story that have deleted chunks.
    static ERASED: Cell<u32> = const { Cell::new(0) };
}

/// Counts commits that delete chunks, and lets all of them pass.
fn counts_erased_chunks(batch: &Batch) -> bool {
    let is_chunk = |write: &BatchWrite| match write {
        BatchWrite::Apply { key, .. } => key.name.starts_with("chunk/"),
        _ => false,
    };
    let erases = batch.writes.iter().any(is_chunk);
    ERASED.set(ERASED.get() + u32::from(erases));
    false
}

pub async fn the_chunks_of_a_large_document_are_erased_many_at_once(world: World) {
    world.collection("c").await;
    let sections = (0..1_000).map(|at| format!("# Section {at}\n\nword{at} heron\n\n"));
    world.add("c", "d", &sections.collect::<String>()).await;
    let flaky = Arc::new(FlakyDriver::new(world.driver.clone()));
    // Another story may have counted on this thread.
    ERASED.set(0);
    flaky.lose_race(counts_erased_chunks);
    let node = KnowledgeBase::open(settings(flaky));
    node.remove_document(&world.ann, "d").await.unwrap();
    node.work().await.unwrap();
    assert_eq!(ERASED.get(), 1);
}
