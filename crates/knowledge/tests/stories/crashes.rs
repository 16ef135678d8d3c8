//! A store that fails at each write in turn, as a node that is killed there: what others find then, and after it was gone on with.

use crate::world::{World, file, settings};
use ambit_knowledge::{DocumentStatus, DocumentUpdate, KnowledgeBase, KnowledgeQuery, NewDocument};
use ambit_storage::conformance::{DriverFixture, FaultKind, FlakyDriver};
use std::sync::Arc;

/// Large enough to come in steps.
fn text(bird: &str) -> String {
    let sections = (0..300).map(|at| format!("# S{at}\n\n{bird} number{at}\n\n"));
    sections.collect()
}

/// How many chunks of a bird are found.
async fn count(world: &World, bird: &str) -> usize {
    let mut query = KnowledgeQuery::new(bird, &["c"]);
    query.limit = 100;
    query.is_counted = false;
    world.ask(&world.ann, &query).await.items.len()
}

/// How many of both are found.
async fn birds(world: &World) -> (usize, usize) {
    (count(world, "heron").await, count(world, "stork").await)
}

pub async fn g201_killed_at_any_write_all_of_a_document_is_there_or_nothing(world: World) {
    world.collection("c").await;
    world.add("c", "d", &text("heron")).await;
    let mut passing = 0;
    loop {
        let new = if passing % 2 == 0 { "stork" } else { "heron" };
        let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
        let node = KnowledgeBase::open(settings(flaky.clone()));
        let update = DocumentUpdate {
            content: Some(file("d.md", text(new).as_bytes())),
            ..DocumentUpdate::default()
        };
        world
            .base
            .update_document(&world.ann, "d", update)
            .await
            .unwrap();
        flaky.fail_after(passing, FaultKind::Write, u64::MAX);
        let died = node.work().await.is_err();
        drop(node);
        let (herons, storks) = birds(&world).await;
        assert!(
            (herons == 100 && storks == 0) || (herons == 0 && storks == 100),
            "after {passing} writes: {herons} herons, {storks} storks"
        );
        // The lease of the dead one ends, and another one goes on.
        world
            .fresh
            .clock()
            .advance(std::time::Duration::from_secs(10));
        world.base.work().await.unwrap();
        let expected = if new == "heron" { (100, 0) } else { (0, 100) };
        assert_eq!(birds(&world).await, expected, "after {passing} writes");
        assert_eq!(world.document("d").await.status, DocumentStatus::Ready);
        let collection = world.base.collection(&world.ann, "c").await.unwrap();
        assert_eq!((collection.documents, collection.chunks), (1, 300));
        if !died {
            break;
        }
        passing += 1;
    }
    assert!(passing > 6, "only {passing} writes");
}

pub async fn g207_a_document_that_kills_its_reader_three_times_is_given_up(world: World) {
    world.collection("c").await;
    let new = NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::text("d.md", "A heron.")
    };
    world.base.add_document(&world.ann, "c", new).await.unwrap();
    for _ in 0..3 {
        let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
        let node = KnowledgeBase::open(settings(flaky.clone()));
        // It takes the lease and begins, then it is gone.
        flaky.fail_after(2, FaultKind::Write, u64::MAX);
        assert!(node.work().await.is_err());
        world
            .fresh
            .clock()
            .advance(std::time::Duration::from_secs(10));
    }
    world.add("c", "other", "A stork.").await;
    let document = world.document("d").await;
    assert_eq!(document.status, DocumentStatus::Failed);
    let reason = "given up: whoever read it died 3 times";
    assert_eq!(document.error.as_deref(), Some(reason));
    assert_eq!(world.found("c", "stork").await.len(), 1);
}
