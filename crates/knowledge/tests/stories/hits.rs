//! Uses of chunks are kept, counted, and taken back.

use crate::erasure::{everything, vote};
use crate::person::Person;
use crate::world::{World, key_of, settings};
use ambit_knowledge::{
    ChunkHit, CollectionUpdate, DocumentChunk, KnowledgeBase, KnowledgeReach, UsedChunk,
};
use ambit_storage::Json;
use ambit_storage::address::{Space, digest};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::operation::Operation;
use std::sync::Arc;

/// A collection that Bob may read too, and the first chunk of its document.
async fn shared(world: &World) -> String {
    world.collection("c").await;
    let update = CollectionUpdate {
        public: Some(true),
        ..CollectionUpdate::default()
    };
    let base = &world.base;
    base.update_collection(&world.ann, "c", &update)
        .await
        .unwrap();
    world.add("c", "d", "A heron.").await;
    chunk(world).await.id
}

fn reach(who: &Person) -> Arc<dyn KnowledgeReach> {
    Arc::new(who.clone())
}

async fn chunk(world: &World) -> DocumentChunk {
    let chunks = world.base.document_chunks(&world.ann, "d", 0..1).await;
    chunks.unwrap().remove(0)
}

pub async fn who_told_of_a_use_takes_it_back_and_so_does_the_owner(world: World) {
    let id = shared(&world).await;
    let (base, ann, bob, carl) = (
        &world.base,
        &world.ann,
        &Person::named("bob"),
        &Person::named("carl"),
    );
    let uses = [ChunkHit::default(), ChunkHit::default()];
    let told = base.add_hits(bob, "d", &id, &uses).await.unwrap();
    let more = base.add_hits(carl, "d", &id, &uses[..1]).await.unwrap();
    assert_eq!(chunk(&world).await.hit, 3);
    // What others have told is their own, but for the owner.
    assert_eq!(base.hits(carl, "d", &id).await.unwrap(), more);
    assert_eq!(base.hits(ann, "d", &id).await.unwrap().len(), 3);
    let (first, other) = ([told[0].hit_id.clone()], [more[0].hit_id.clone()]);
    assert_eq!(base.remove_hits(carl, "d", &id, &first).await.unwrap(), 0);
    assert_eq!(base.remove_hits(bob, "d", &id, &first).await.unwrap(), 1);
    assert_eq!(base.remove_hits(ann, "d", &id, &other).await.unwrap(), 1);
    assert_eq!(base.hits(ann, "d", &id).await.unwrap(), told[1..]);
    assert_eq!(chunk(&world).await.hit, 1);
    let lost = base.add_hits(bob, "d", "nowhere", &uses).await.unwrap_err();
    assert_eq!(lost.to_string(), "segment \"nowhere\" not found");
}

pub async fn g204_uses_are_counted_for_their_person_and_go_with_them(world: World) {
    let id = shared(&world).await;
    let (base, bob) = (&world.base, &Person::named("bob"));
    let used = |document: &str, chunk: &str| UsedChunk {
        document_id: document.to_owned(),
        chunk_id: chunk.to_owned(),
    };
    // What is gone by the time it is counted counts nothing.
    let all = ["d", "d", "gone"].map(|document| used(document, &id));
    base.note_hits(
        &reach(bob),
        [all.to_vec(), vec![used("d", "gone")]].concat(),
    );
    base.note_hits(&reach(&world.ann), vec![used("d", &id)]);
    base.store_hits().await.unwrap();
    base.note_hits(&reach(bob), vec![used("d", &id)]);
    base.store_hits().await.unwrap();
    assert_eq!(chunk(&world).await.hit, 4);
    let counts = base.hits(bob, "d", &id).await.unwrap();
    assert_eq!((counts.len(), counts[0].count), (1, 3));
    base.erase_person("t", "bob").await.unwrap();
    assert_eq!(chunk(&world).await.hit, 1);
    let key = key_of(world.driver.as_ref(), "c").await;
    let left = everything(world.driver.as_ref(), &key).await;
    assert!(!left.iter().any(|value| value.contains("bob")), "{left:#?}");
    let mine = base.hits(&world.ann, "d", &id).await.unwrap();
    let removed = [mine[0].hit_id.clone()];
    assert_eq!(
        base.remove_hits(&world.ann, "d", &id, &removed)
            .await
            .unwrap(),
        1
    );
    assert_eq!(chunk(&world).await.hit, 0);
}

pub async fn what_is_said_of_no_chunk_is_not_found(world: World) {
    let id = shared(&world).await;
    let (base, ann) = (&world.base, &world.ann);
    base.vote(ann, "d", &vote(&id)).await.unwrap();
    let told = base.add_hits(ann, "d", &id, &[ChunkHit::default()]).await;
    let told = [told.unwrap().remove(0).hit_id];
    for chunk in ["*", "0"] {
        let expected = format!("segment \"{chunk}\" not found");
        let votes = base.votes(ann, "d", chunk).await.map(|_| ());
        let hits = base.hits(ann, "d", chunk).await.map(|_| ());
        let votes_removed = base.remove_votes(ann, "d", chunk, &told).await;
        let removed = base.remove_hits(ann, "d", chunk, &told).await;
        for refused in [votes, hits, votes_removed.map(|_| ()), removed.map(|_| ())] {
            assert_eq!(refused.unwrap_err().to_string(), expected);
        }
    }
    assert_eq!(base.hits(ann, "d", &id).await.unwrap().len(), 1);
}

pub async fn hits_of_a_document_that_cannot_be_written_lose_those_of_no_other(world: World) {
    let id = shared(&world).await;
    world.add("c", "broken", "A stork.").await;
    let chunks = world.base.document_chunks(&world.ann, "broken", 0..1).await;
    let broken = chunks.unwrap().remove(0).id;
    let key = key_of(world.driver.as_ref(), "c").await;
    let name = digest(&["ann", "broken"]);
    let ratings = Space::collection(Some("t"), &key).key(format!("ratings/{}", &name[..32]));
    let set = Operation::Set(Json::of("no ratings").unwrap().into());
    let batch = Batch::of([BatchWrite::apply(ratings, set, None)]);
    world.driver.commit(batch).await.unwrap();
    let used = [("d", &id), ("broken", &broken)].map(|(document, chunk)| UsedChunk {
        document_id: document.to_owned(),
        chunk_id: chunk.clone(),
    });
    world.base.note_hits(&reach(&world.ann), used.to_vec());
    assert!(world.base.store_hits().await.is_err());
    assert_eq!(chunk(&world).await.hit, 1);
}

pub async fn of_a_store_that_is_away_hits_ask_once(world: World) {
    let id = shared(&world).await;
    let flaky = Arc::new(FlakyDriver::new(world.driver.clone()));
    let base = KnowledgeBase::open(settings(flaky.clone()));
    let used = ["a", "b", "d"].map(|document| UsedChunk {
        document_id: document.to_owned(),
        chunk_id: id.clone(),
    });
    base.note_hits(&reach(&world.ann), used.to_vec());
    flaky.go_down();
    let before = flaky.seen(FaultKind::Read);
    let refused = base.store_hits().await.unwrap_err();
    assert!(refused.to_string().contains("unavailable"), "{refused}");
    assert_eq!(flaky.seen(FaultKind::Read) - before, 1);
}

pub async fn g212_a_user_tells_of_so_many_uses_of_a_chunk_and_no_more(world: World) {
    let id = shared(&world).await;
    let (base, bob) = (&world.base, &Person::named("bob"));
    let uses = vec![ChunkHit::default(); 999];
    base.add_hits(bob, "d", &id, &uses).await.unwrap();
    let refused = base.add_hits(bob, "d", &id, &uses[..2]).await.unwrap_err();
    let why = format!("what one user told of segment \"{id}\" exceeds 1000 hits");
    assert_eq!(refused.to_string(), why);
    assert_eq!(chunk(&world).await.hit, 999);
    base.add_hits(bob, "d", &id, &uses[..1]).await.unwrap();
    let others = base.add_hits(&world.ann, "d", &id, &uses[..1]).await;
    assert_eq!(others.unwrap().len(), 1);
    assert_eq!(chunk(&world).await.hit, 1_001);
}
