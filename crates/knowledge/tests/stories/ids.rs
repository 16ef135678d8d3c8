//! An id is taken only for those who see the document that has it.

use crate::person::Person;
use crate::world::{World, key_of};
use ambit_knowledge::{
    CollectionUpdate, DocumentAccess, DocumentFilter, DocumentUpdate, JobStatus, KnowledgeQuery,
    KnowledgeReach, NewCollection, NewDocument, UsedChunk,
};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use std::sync::Arc;

const TAKEN: &str = "document \"d\" is there already, replace it by PUT";

/// A text with the id `d`.
fn new(text: &str) -> NewDocument {
    NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::text("d.md", text)
    }
}

async fn text(world: &World, who: &Person) -> String {
    world.base.document_text(who, "d", 0..99).await.unwrap()
}

/// How many values say where the tenant's documents are.
async fn places(world: &World) -> usize {
    let (space, names) = (Space::collections(Some("t")), Pattern::parse("document/*"));
    let mut pages = ValuePages::of(world.driver.as_ref(), &space, names, ValuePart::Nothing);
    pages.next().await.unwrap().unwrap().len()
}

pub async fn g202_an_id_that_others_use_unseen_is_free(world: World) {
    let (base, ann, bob) = (&world.base, &world.ann, &Person::named("bob"));
    world.collection("anns").await;
    world.add("anns", "d", "The heron of Ann.").await;
    let own = NewCollection {
        id: "bobs".to_owned(),
        ..NewCollection::default()
    };
    base.create_collection(bob, own).await.unwrap();
    let added = base.add_document(bob, "bobs", new("The stork of Bob."));
    let job_id = added.await.unwrap().job_id.unwrap();
    base.work().await.unwrap();
    let job = base.job(bob, &job_id).await.unwrap();
    assert_eq!(job.status, JobStatus::Done);
    assert!(base.job(ann, &job_id).await.is_err());
    assert_eq!(text(&world, ann).await, "The heron of Ann.");
    assert_eq!(text(&world, bob).await, "The stork of Bob.");
    // What each has is taken for themselves, also in another collection.
    world.collection("more").await;
    for (who, collection) in [(bob, "bobs"), (ann, "more")] {
        let refused = base.add_document(who, collection, new("A crane.")).await;
        assert_eq!(refused.unwrap_err().to_string(), TAKEN);
    }
    let update = DocumentUpdate {
        content: Some(new("The egret of Bob.").content),
        ..DocumentUpdate::default()
    };
    base.update_document(bob, "d", update).await.unwrap();
    base.work().await.unwrap();
    assert_eq!(text(&world, bob).await, "The egret of Bob.");
    assert_eq!(text(&world, ann).await, "The heron of Ann.");
    // Who sees both says which of them is meant by its collection.
    let operator = &Person::operator("t");
    let all = DocumentFilter::default();
    assert_eq!(base.documents(operator, &all).await.unwrap().len(), 2);
    assert_eq!(places(&world).await, 2);
    let removed = base.remove_document_of(operator, Some("bobs"), "d").await;
    removed.unwrap();
    base.work().await.unwrap();
    assert!(base.document(bob, "d").await.is_err());
    assert_eq!(text(&world, ann).await, "The heron of Ann.");
    let again = base.add_document(bob, "bobs", new("The swift of Bob."));
    again.await.unwrap();
    base.erase_person("t", "ann").await.unwrap();
    base.work().await.unwrap();
    assert!(base.document(ann, "d").await.is_err());
    assert_eq!(text(&world, bob).await, "The swift of Bob.");
    base.remove_collection(bob, "bobs").await.unwrap();
    base.work().await.unwrap();
    assert_eq!(places(&world).await, 0);
}

pub async fn g202_equal_documents_of_one_id_count_for_who_sees_them(world: World) {
    let (base, ann) = (&world.base, &world.ann);
    let (bob, carl) = (&Person::named("bob"), &Person::named("carl"));
    let operator = &Person::operator("t");
    world.collection("c").await;
    let public = CollectionUpdate {
        public: Some(true),
        ..CollectionUpdate::default()
    };
    base.update_collection(ann, "c", &public).await.unwrap();
    let access = DocumentAccess {
        users: vec!["carl".to_owned()],
        ..DocumentAccess::default()
    };
    let hidden = NewDocument {
        access: Some(access),
        ..new("The heron.")
    };
    base.add_document(operator, "c", hidden).await.unwrap();
    base.add_document(ann, "c", new("The heron."))
        .await
        .unwrap();
    base.work().await.unwrap();
    for (who, count) in [(bob, 1), (carl, 2), (ann, 1)] {
        let found = world.ask(who, &KnowledgeQuery::new("heron", &["c"])).await;
        assert_eq!(found.items.len(), count, "{who:?}");
    }
    let chunks = base.document_chunks(bob, "d", 0..1).await.unwrap();
    let used = UsedChunk {
        document_id: "d".to_owned(),
        chunk_id: chunks[0].id.clone(),
    };
    let reach: Arc<dyn KnowledgeReach> = Arc::new(bob.clone());
    base.note_hits(&reach, vec![used]);
    base.store_hits().await.unwrap();
    let hits = async |who| base.document_chunks(who, "d", 0..1).await.unwrap()[0].hit;
    assert_eq!((hits(ann).await, hits(operator).await), (1, 0));
    base.remove_document(ann, "d").await.unwrap();
    base.work().await.unwrap();
    assert!(base.document(bob, "d").await.is_err());
    assert_eq!(hits(carl).await, 0);
    let key = key_of(world.driver.as_ref(), "c").await;
    let left = crate::erasure::everything(world.driver.as_ref(), &key).await;
    assert!(!left.iter().any(|value| value.contains("bob")), "{left:#?}");
}
