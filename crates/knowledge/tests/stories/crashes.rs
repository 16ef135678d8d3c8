//! A store that fails at each write in turn, as a node that is killed there: what others find then, and after it was gone on with.

use crate::erasure::{everything, vote};
use crate::world::{World, file, key_of, settings};
use ambit_knowledge::{
    CollectionOwner, DocumentStatus, DocumentUpdate, FetchedPage, KnowledgeBase, KnowledgeQuery,
    KnowledgeSettings, NewContent, NewDocument, PageFetcher,
};
use ambit_storage::conformance::{DriverFixture, FaultKind, FlakyDriver};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex};

/// Large enough to come in steps.
pub fn text(bird: &str) -> String {
    sections(bird, 300)
}

fn sections(bird: &str, count: usize) -> String {
    let sections = (0..count).map(|at| format!("# S{at}\n\n{bird} number{at}\n\n"));
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
pub async fn birds(world: &World) -> (usize, usize) {
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

pub async fn g204_a_vote_beside_a_chunk_that_is_gone_keeps_nothing_of_it(world: World) {
    world.collection("c").await;
    let key = key_of(world.driver.as_ref(), "c").await;
    let both = "# A\n\nThe heron stands.\n\n# B\n\nThe stork flies.";
    world.add("c", "d", both).await;
    let chunks = async || world.base.document_chunks(&world.ann, "d", 0..9).await;
    let mut passing = 0;
    // A node replaces the text, and dies before it has erased what that had.
    let gone = loop {
        let gone = chunks().await.unwrap().remove(1).id;
        world
            .base
            .vote(&world.ann, "d", &vote(&gone))
            .await
            .unwrap();
        world.replace("d", "# A\n\nThe heron stands.").await;
        let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
        let node = KnowledgeBase::open(settings(flaky.clone()));
        flaky.fail_after(passing, FaultKind::Write, u64::MAX);
        assert!(node.work().await.is_err(), "after {passing} writes");
        let lease = std::time::Duration::from_secs(10);
        world.fresh.clock().advance(lease);
        if chunks().await.unwrap().len() == 1 {
            break gone;
        }
        world.base.work().await.unwrap();
        world.replace("d", both).await;
        world.base.work().await.unwrap();
        passing += 1;
    };
    let stays = chunks().await.unwrap().remove(0).id;
    let voted = world.base.vote(&world.ann, "d", &vote(&stays)).await;
    voted.unwrap();
    world.base.work().await.unwrap();
    let left = everything(world.driver.as_ref(), &key).await;
    assert_eq!(left.iter().find(|value| value.contains(&gone)), None);
    let votes = world.base.votes(&world.ann, "d", &stays).await;
    assert_eq!(votes.unwrap().len(), 1);
}

/// A page that changes.
#[derive(Default)]
struct ChangingPage(Mutex<String>);

impl PageFetcher for ChangingPage {
    fn fetch<'a>(
        &'a self,
        _: &'a str,
        _: &'a CollectionOwner,
    ) -> BoxFuture<'a, Result<FetchedPage, String>> {
        Box::pin(async move {
            Ok(FetchedPage {
                media_type: Some("text/markdown".to_owned()),
                bytes: self.0.lock().unwrap().clone().into_bytes(),
            })
        })
    }
}

pub async fn g204_what_was_put_aside_of_another_text_is_erased(world: World) {
    world.collection("c").await;
    let key = key_of(world.driver.as_ref(), "c").await;
    let page = Arc::new(ChangingPage::default());
    let with_page = |driver| {
        KnowledgeBase::open(KnowledgeSettings {
            fetcher: Some(page.clone()),
            ..settings(driver)
        })
    };
    let base = with_page(world.driver.clone());
    // What is there then is put aside too, or comes with others.
    for count in [280, 3] {
        *page.0.lock().unwrap() = sections("heron", 600);
        let new = NewDocument::of(NewContent::Url("https://birds.example/page.md".to_owned()));
        let added = base.add_document(&world.ann, "c", new).await.unwrap();
        let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
        flaky.fail_after(6, FaultKind::Write, u64::MAX);
        assert!(with_page(flaky).work().await.is_err());
        let staged = everything(world.driver.as_ref(), &key).await;
        assert!(staged.iter().any(|value| value.contains("chunk/1/")));
        *page.0.lock().unwrap() = sections("stork", count);
        world
            .fresh
            .clock()
            .advance(std::time::Duration::from_secs(10));
        base.work().await.unwrap();
        assert_eq!(birds(&world).await, (0, count.min(100)));
        let left = everything(world.driver.as_ref(), &key).await;
        assert_eq!(left.iter().find(|value| value.contains("heron")), None);
        let chunks = left.iter().filter(|value| value.contains("chunk/1/"));
        assert_eq!(chunks.count(), count);
        let removed = base.remove_document(&world.ann, &added.document_id).await;
        removed.unwrap();
        base.work().await.unwrap();
    }
}
