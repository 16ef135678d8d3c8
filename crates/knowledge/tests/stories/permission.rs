//! What a caller may not see is not there.

use crate::person::Person;
use crate::world::{World, settings};
use ambit_knowledge::{
    CollectionFilter, CollectionShare, CollectionUpdate, DocumentAccess, DocumentFilter,
    DocumentUpdate, JobFilter, KnowledgeAnswer, KnowledgeBase, KnowledgeError, KnowledgeQuery,
    MetadataFilter, NewDocument, ReindexRequest,
};
use ambit_storage::conformance::{DriverFixture, FaultKind, FlakyDriver};
use serde_json::{Value, json};
use std::sync::Arc;

/// Adds a document that some may read.
async fn add_for(world: &World, id: &str, text: &str, access: DocumentAccess) {
    let new = NewDocument {
        id: Some(id.to_owned()),
        access: Some(access),
        ..NewDocument::text(format!("{id}.md"), text)
    };
    world.base.add_document(&world.ann, "c", new).await.unwrap();
    world.base.work().await.unwrap();
}

async fn publish(world: &World) {
    let update = CollectionUpdate {
        public: Some(true),
        ..CollectionUpdate::default()
    };
    world
        .base
        .update_collection(&world.ann, "c", &update)
        .await
        .unwrap();
}

pub async fn g202_what_is_not_visible_changes_nothing(world: World) {
    world.collection("c").await;
    publish(&world).await;
    for at in 0..4 {
        let text = format!("The heron number {at} stands beside the river.");
        world.add("c", &format!("d{at}"), &text).await;
    }
    let bob = Person::named("bob");
    let query = KnowledgeQuery::new("heron river canary", &["c"]);
    let before = world.ask(&bob, &query).await;
    assert_eq!(before.items.len(), 4);
    let counted_before = world.base.collection(&bob, "c").await.unwrap();
    for at in 0..6 {
        let text = "canary heron heron river and many other words that make it long";
        let access = DocumentAccess {
            users: vec!["carl".to_owned()],
            ..DocumentAccess::default()
        };
        add_for(&world, &format!("secret{at}"), text, access).await;
    }
    assert_eq!(world.ask(&bob, &query).await, before);
    assert_eq!(
        world.ask(&Person::named("carl"), &query).await.items.len(),
        10
    );
    assert_eq!(world.ask(&world.ann, &query).await.items.len(), 10);
    let listed = world
        .base
        .documents(&bob, &DocumentFilter::default())
        .await
        .unwrap();
    assert_eq!(listed.len(), 4);
    let counted = world.base.collection(&bob, "c").await.unwrap();
    assert_eq!(counted, counted_before);
    let counted = world.base.collection(&Person::named("carl"), "c").await;
    assert_eq!(counted.unwrap().documents, 10);
    let refused = world.base.document(&bob, "secret1").await.unwrap_err();
    assert_eq!(refused.to_string(), "document \"secret1\" not found");
}

pub async fn g202_a_re_index_tells_of_no_document_that_is_not_visible(world: World) {
    world.collection("c").await;
    publish(&world).await;
    world.add("c", "d", "A heron.").await;
    let only = DocumentAccess {
        users: vec!["carl".to_owned()],
        ..DocumentAccess::default()
    };
    for id in ["secret1", "secret2"] {
        add_for(&world, id, "A stork.", only.clone()).await;
    }
    let request = ReindexRequest {
        language: Some("de".parse().unwrap()),
        ..ReindexRequest::default()
    };
    let job = world.base.reindex(&world.ann, "c", &request).await.unwrap();
    // A node lists the documents, and is gone.
    let flaky = Arc::new(FlakyDriver::new(world.fresh.open().await));
    flaky.fail_after(5, FaultKind::Write, u64::MAX);
    let node = KnowledgeBase::open(settings(flaky));
    assert!(node.work().await.is_err());
    let seen = async |who: &Person| {
        let of_collection = world.base.collection(who, "c").await.unwrap().reindex;
        let total = of_collection.unwrap().total;
        let all = JobFilter::default();
        let listed = world.base.jobs(who, &all, None, 100).await.unwrap();
        let job = world.base.job(who, &job.job_id).await.unwrap();
        (total, job.total, listed.items.contains(&job))
    };
    assert_eq!(seen(&world.ann).await, (3, 3, true));
    assert_eq!(seen(&Person::named("bob")).await, (1, 1, true));
}

pub async fn g202_a_collection_of_others_is_as_if_there_were_none(world: World) {
    world.collection("c").await;
    world.add("c", "d", "A heron.").await;
    let team = Person::named("ann").of_team("red");
    let (bob, carl) = (Person::named("bob"), Person::named("carl").of_team("red"));
    let mut elsewhere = Person::operator("other");
    elsewhere.user = Some("ann".to_owned());
    for stranger in [&bob, &carl, &elsewhere] {
        let answer = world
            .ask(stranger, &KnowledgeQuery::new("heron", &["c"]))
            .await;
        let expected = KnowledgeAnswer {
            error: Some("collection \"c\" not found".to_owned()),
            ..KnowledgeAnswer::default()
        };
        assert_eq!(answer, expected);
        let all = CollectionFilter::default();
        assert_eq!(world.base.collections(stranger, &all).await.unwrap(), []);
        let refused = world.base.document(stranger, "d").await.unwrap_err();
        assert!(matches!(refused, KnowledgeError::NotFound { .. }));
    }
    let new = ambit_knowledge::NewCollection {
        id: "teams".to_owned(),
        share: CollectionShare::Team,
        ..ambit_knowledge::NewCollection::default()
    };
    world.base.create_collection(&team, new).await.unwrap();
    assert!(world.base.collection(&carl, "teams").await.is_ok());
    assert!(world.base.collection(&bob, "teams").await.is_err());
    let refused = world
        .base
        .add_document(&carl, "teams", NewDocument::text("x", "y"))
        .await;
    let refused = refused.unwrap_err().to_string();
    assert_eq!(
        refused,
        "denied: collection \"teams\" belongs to somebody else"
    );
    let query = KnowledgeQuery::new("heron", &["teams", "nowhere"]);
    let answer = world.ask(&carl, &query).await;
    assert_eq!(answer.notes, ["collection \"nowhere\" not found"]);
    assert_eq!(answer.error, None);
}

pub async fn access_that_is_narrowed_counts_at_once_on_every_node(world: World) {
    world.collection("c").await;
    publish(&world).await;
    world.add("c", "d", "A heron.").await;
    let (bob, other) = (Person::named("bob"), world.other_node().await);
    let query = KnowledgeQuery::new("heron", &["c"]);
    assert_eq!(other.search(&bob, &query).await.unwrap().items.len(), 1);
    let update = DocumentUpdate {
        access: Some(Some(DocumentAccess::default())),
        ..DocumentUpdate::default()
    };
    world
        .base
        .update_document(&world.ann, "d", update)
        .await
        .unwrap();
    assert_eq!(other.search(&bob, &query).await.unwrap().items, []);
}

pub async fn g203_filters_allow_and_as_many_as_are_wanted_are_found(world: World) {
    world.collection("c").await;
    let lines = (0..90).map(|at| {
        let (kind, id) = (if at % 30 == 0 { "rare" } else { "common" }, at);
        json!({"id": id, "title": format!("Row {at}"), "text": format!("heron of the {kind} sort")})
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let new = NewDocument {
        metadata: json!({"year": 2024}).as_object().unwrap().clone(),
        ..NewDocument::text("rows.jsonl", text)
    };
    world.base.add_document(&world.ann, "c", new).await.unwrap();
    world.base.work().await.unwrap();
    let mut query = KnowledgeQuery::new("heron", &["c"]);
    query.metadata = Some(filter(&json!({"year": {"$gte": 2024}, "id": [0, 30, 60]})));
    let found = world.ask(&world.ann, &query).await;
    assert_eq!(found.items.len(), 3);
    query.metadata = Some(filter(&json!({"year": 2023})));
    assert_eq!(world.ask(&world.ann, &query).await.items, []);
}

fn filter(given: &Value) -> MetadataFilter {
    MetadataFilter::parse(given).unwrap()
}

pub async fn a_collection_that_is_named_twice_is_searched_once(world: World) {
    world.collection("c").await;
    world.add("c", "d", "A heron.").await;
    let once = world
        .ask(&world.ann, &KnowledgeQuery::new("heron", &["c"]))
        .await;
    let twice = KnowledgeQuery::new("heron", &["c", "c"]);
    assert_eq!(world.ask(&world.ann, &twice).await, once);
}
