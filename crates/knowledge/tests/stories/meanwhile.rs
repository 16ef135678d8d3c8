//! What others do while a document is read.

use crate::person::Person;
use crate::world::{World, file, settings};
use ambit_knowledge::{
    CollectionOwner, DocumentStatus, DocumentUpdate, FetchedPage, KnowledgeBase, KnowledgeSettings,
    NewContent, NewDocument, PageFetcher,
};
use ambit_storage::address::Space;
use ambit_storage::driver::ValuePart;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What the owner does.
#[derive(Clone, Copy)]
enum OwnerAction {
    RemoveCollection,
    Describe,
}

/// A page; while it is fetched its owner does something.
struct BusyPage {
    base: OnceLock<KnowledgeBase>,
    action: OwnerAction,
    fetched: AtomicUsize,
}

impl PageFetcher for BusyPage {
    fn fetch<'a>(
        &'a self,
        _: &'a str,
        _: &'a CollectionOwner,
    ) -> BoxFuture<'a, Result<FetchedPage, String>> {
        Box::pin(async move {
            self.fetched.fetch_add(1, Ordering::SeqCst);
            let (base, ann) = (self.base.get().unwrap(), Person::named("ann"));
            match self.action {
                OwnerAction::RemoveCollection => {
                    base.remove_collection(&ann, "c").await.unwrap();
                }
                OwnerAction::Describe => {
                    let update = DocumentUpdate {
                        name: Some("Herons".to_owned()),
                        metadata: json!({"year": 2024}).as_object().cloned(),
                        ..DocumentUpdate::default()
                    };
                    base.update_document(&ann, "d", update).await.unwrap();
                }
            }
            Ok(FetchedPage {
                media_type: Some("text/markdown".to_owned()),
                bytes: b"A heron.".to_vec(),
            })
        })
    }
}

/// Adds a page to a collection, and reads it.
async fn read_page(world: &World, action: OwnerAction) -> Arc<BusyPage> {
    world.collection("c").await;
    let page = Arc::new(BusyPage {
        base: OnceLock::new(),
        action,
        fetched: AtomicUsize::new(0),
    });
    let base = KnowledgeBase::open(KnowledgeSettings {
        fetcher: Some(page.clone()),
        ..settings(world.driver.clone())
    });
    assert!(page.base.set(base.clone()).is_ok());
    let content = NewContent::Url("https://birds.example/page.md".to_owned());
    let new = NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::of(content)
    };
    base.add_document(&world.ann, "c", new).await.unwrap();
    base.work().await.unwrap();
    page
}

pub async fn g212_a_collection_removed_while_it_is_read_gives_back_what_it_had(world: World) {
    read_page(&world, OwnerAction::RemoveCollection).await;
    let key = Space::collections(Some("t")).key("sums");
    let entry = world.driver.get(&key, ValuePart::Whole).await.unwrap();
    let sums: Value = entry.unwrap().value.to().unwrap();
    let expected = json!({"bytes": 0, "collections": 0, "jobs": 0});
    assert_eq!(sums["sums"], expected, "{sums}");
}

pub async fn g201_what_is_said_of_a_document_meanwhile_holds_and_it_is_read_once(world: World) {
    let page = read_page(&world, OwnerAction::Describe).await;
    let document = world.document("d").await;
    assert_eq!(document.status, DocumentStatus::Ready);
    assert_eq!(document.name, "Herons");
    assert_eq!(document.metadata.get("year"), Some(&json!(2024)));
    assert_eq!(page.fetched.load(Ordering::SeqCst), 1);
    let job = document.job_id.unwrap();
    let job = world.base.job(&world.ann, &job).await.unwrap();
    assert_eq!(job.attempts, 1);
}

pub async fn g201_a_name_that_is_given_while_a_document_waits_holds(world: World) {
    let (base, ann) = (&world.base, &world.ann);
    let update = |name: Option<&str>, content: Option<&str>| DocumentUpdate {
        name: name.map(str::to_owned),
        content: content.map(|text| file("d.md", text.as_bytes())),
        ..DocumentUpdate::default()
    };
    let renamed = async |name: &str| {
        let renamed = base.update_document(ann, "d", update(Some(name), None));
        renamed.await.unwrap();
        base.work().await.unwrap();
        let document = world.document("d").await;
        assert_eq!(
            (document.name.as_str(), document.status),
            (name, DocumentStatus::Ready)
        );
    };
    world.collection("c").await;
    let new = NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::text("d.md", "# Birds\n\nA heron.")
    };
    base.add_document(ann, "c", new).await.unwrap();
    renamed("Herons").await;
    // What is new is called as its file is, as long as nobody says otherwise.
    let replaced = base.update_document(ann, "d", update(None, Some("A stork.")));
    replaced.await.unwrap();
    renamed("Storks").await;
    let replaced = base.update_document(ann, "d", update(Some("Cranes"), Some("A crane.")));
    replaced.await.unwrap();
    base.work().await.unwrap();
    assert_eq!(world.document("d").await.name, "Cranes");
}
