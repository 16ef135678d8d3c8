//! A store with data of others answers as one without it.

use crate::erasure::vote;
use crate::person::Person;
use crate::vectors::{embedded, with_embedder};
use crate::world::World;
use ambit_knowledge::{
    Collection, CollectionFilter, CollectionUpdate, Document, DocumentAccess, DocumentFilter, Job,
    JobFilter, KnowledgeAnswer, KnowledgeBase, KnowledgeQuery, MetadataFilter, NewCollection,
    NewDocument,
};
use serde_json::json;

/// What somebody gets of a store.
#[derive(Debug, PartialEq)]
struct Seen {
    answers: Vec<KnowledgeAnswer>,
    collections: Vec<Collection>,
    documents: Vec<Document>,
    jobs: Vec<Job>,
    refused: Vec<String>,
}

async fn add(base: &KnowledgeBase, who: &Person, id: &str, text: &str, is_hidden: bool) {
    let access = DocumentAccess {
        users: vec!["carl".to_owned()],
        ..DocumentAccess::default()
    };
    let new = NewDocument {
        id: Some(id.to_owned()),
        access: is_hidden.then_some(access),
        metadata: json!({"year": 2024}).as_object().unwrap().clone(),
        ..NewDocument::text(format!("{id}.md"), text)
    };
    base.add_document(who, "c", new).await.unwrap();
    base.work().await.unwrap();
}

/// A collection for everybody of a tenant, with some documents.
async fn shared(base: &KnowledgeBase, who: &Person) {
    let public = CollectionUpdate {
        public: Some(true),
        ..CollectionUpdate::default()
    };
    base.update_collection(who, "c", &public).await.unwrap();
    for at in 0..4 {
        let text = format!("The heron number {at} stands beside the river.");
        add(base, who, &format!("d{at}"), &text, false).await;
    }
}

/// Hidden documents in the same collection, collections of others, another tenant with the same ids.
async fn add_strangers(world: &World, base: &KnowledgeBase) {
    let text = "canary heron herons river riverbank and many other words that make it long";
    for at in 0..6 {
        add(base, &world.ann, &format!("a{at}"), text, true).await;
    }
    let chunks = base.document_chunks(&world.ann, "a1", 0..1).await.unwrap();
    base.vote(&world.ann, "a1", &vote(&chunks[0].id))
        .await
        .unwrap();
    let mut elsewhere = Person::named("ann");
    elsewhere.tenant = "other".to_owned();
    for (who, id) in [(&elsewhere, "c"), (&world.ann, "private")] {
        let new = NewCollection {
            id: id.to_owned(),
            ..NewCollection::default()
        };
        base.create_collection(who, new).await.unwrap();
    }
    add(base, &elsewhere, "d1", text, false).await;
    let new = NewDocument::text("private.md", text);
    base.add_document(&world.ann, "private", new).await.unwrap();
    base.work().await.unwrap();
}

/// All that Bob can get.
async fn seen(base: &KnowledgeBase) -> Seen {
    let bob = Person::named("bob");
    let year = MetadataFilter::parse(&json!({"year": {"$gte": 2024}})).unwrap();
    let mut answers = Vec::new();
    for words in ["heron river", "canary", "riv*", "bird", "number 2", "the"] {
        for (collections, document, filter) in [
            (["c", "private"], None, None),
            (["c", "nowhere"], Some("d1"), None),
            (["c", "c"], Some("a1"), Some(year.clone())),
            (["private", "nowhere"], None, None),
        ] {
            let mut query = KnowledgeQuery::new(words, &collections);
            query.document_id = document.map(str::to_owned);
            (query.metadata, query.limit, query.is_counted) = (filter, 3, false);
            answers.push(base.search(&bob, &query).await.unwrap());
        }
    }
    let mut refused = Vec::new();
    for id in ["a1", "nothing"] {
        let error = base.document(&bob, id).await.unwrap_err();
        refused.push(error.to_string().replace(id, "it"));
    }
    let all = CollectionFilter::default();
    let every = JobFilter::default();
    let jobs = base.jobs(&bob, &every, None, 100);
    let mut seen = Seen {
        answers,
        collections: base.collections(&bob, &all).await.unwrap(),
        documents: base
            .documents(&bob, &DocumentFilter::default())
            .await
            .unwrap(),
        jobs: jobs.await.unwrap().items,
        refused,
    };
    seen.forget_chance();
    seen
}

impl Seen {
    /// Takes out what differs from one store to another: times, and ids made by chance.
    fn forget_chance(&mut self) {
        for collection in &mut self.collections {
            (collection.created_at, collection.updated_at) = (0, 0);
        }
        for document in &mut self.documents {
            (document.created_at, document.updated_at) = (0, 0);
            (document.indexed_at, document.job_id) = (None, None);
        }
        for job in &mut self.jobs {
            (job.created_at, job.updated_at) = (0, 0);
            job.job_id.clear();
        }
    }
}

pub async fn g202_a_store_with_data_of_others_answers_as_one_without(world: World) {
    let other = World::new(world.store).await;
    let (among, _) = with_embedder(&world).await;
    let (alone, _) = with_embedder(&other).await;
    for base in [&among, &alone] {
        shared(base, &world.ann).await;
    }
    add_strangers(&world, &among).await;
    let expected = seen(&alone).await;
    let found = expected.answers.iter().filter(|it| !it.items.is_empty());
    assert!(found.count() > 8, "{expected:#?}");
    assert_eq!(seen(&among).await, expected);
}

pub async fn g202_nobody_learns_what_another_tenant_has_asked(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    let mut eve = Person::named("eve");
    eve.tenant = "other".to_owned();
    base.create_collection(&eve, embedded("c")).await.unwrap();
    for who in [&world.ann, &eve] {
        let new = NewDocument::text("d.md", "The heron stands.");
        base.add_document(who, "c", new).await.unwrap();
    }
    base.work().await.unwrap();
    let query = KnowledgeQuery::new("heron", &["c"]);
    let notes = async |who: &Person| base.search(who, &query).await.unwrap().notes;
    assert_eq!(notes(&world.ann).await, Vec::<String>::new());
    *embedder.is_down.lock().unwrap() = true;
    assert_eq!(notes(&world.ann).await, Vec::<String>::new());
    let missing = "words only: embedding connector \"e5\" is unavailable";
    assert_eq!(notes(&eve).await, [missing]);
}
