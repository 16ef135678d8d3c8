//! Vectors follow the words, whatever becomes of who makes them.

use crate::world::{World, file, key_of, settings};
use ambit_knowledge::{
    DocumentFilter, DocumentStatus, DocumentUpdate, Embedder, EmbeddingFailure, EmbeddingRequest,
    EmbeddingSettings, Embeddings, JobStatus, KnowledgeBase, KnowledgeQuery, KnowledgeSettings,
    NewCollection, NewDocument, ReindexRequest,
};
use ambit_storage::Json;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Knows that herons are birds and kettles are not.
#[derive(Default)]
pub struct ScriptedEmbedder {
    pub is_down: Mutex<bool>,
    pub is_gone: Mutex<bool>,
    pub asked: Mutex<Vec<String>>,
    pub tries: Mutex<usize>,
    pub dimension: Mutex<usize>,
}

impl Embedder for ScriptedEmbedder {
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            *self.tries.lock().unwrap() += 1;
            if *self.is_down.lock().unwrap() {
                return Err(EmbeddingFailure::Unavailable("it is down".to_owned()));
            }
            if *self.is_gone.lock().unwrap() {
                return Err(EmbeddingFailure::Permanent("it is gone".to_owned()));
            }
            if request.texts.iter().any(|text| text.contains("poison")) {
                return Err(EmbeddingFailure::Refused("it is too long".to_owned()));
            }
            self.asked.lock().unwrap().extend(request.texts.clone());
            let more = *self.dimension.lock().unwrap();
            let vector = |text: &String| {
                let is_bird = ["heron", "bird"].iter().any(|word| text.contains(word));
                let mut vector = if is_bird {
                    vec![1.0, 0.1]
                } else {
                    vec![-0.1, 1.0]
                };
                vector.resize(2 + more, 0.0);
                vector
            };
            Ok(Embeddings {
                model: "m".to_owned(),
                vectors: request.texts.iter().map(vector).collect(),
                tokens: 0,
            })
        })
    }
}

/// A collection with vectors.
pub fn embedded(id: &str) -> NewCollection {
    NewCollection {
        id: id.to_owned(),
        embedding: Some(EmbeddingSettings {
            connector: "e5".to_owned(),
            ..EmbeddingSettings::default()
        }),
        ..NewCollection::default()
    }
}

/// A knowledge base with an embedder, and a collection that uses it.
pub async fn with_embedder(world: &World) -> (KnowledgeBase, Arc<ScriptedEmbedder>) {
    let embedder = Arc::new(ScriptedEmbedder::default());
    let base = KnowledgeBase::open(KnowledgeSettings {
        embedder: Some(embedder.clone()),
        clock: world.fresh.clock(),
        ..settings(world.driver.clone())
    });
    base.create_collection(&world.ann, embedded("c"))
        .await
        .unwrap();
    (base, embedder)
}

pub async fn add(world: &World, base: &KnowledgeBase, id: &str, text: &str) {
    let new = NewDocument {
        id: Some(id.to_owned()),
        ..NewDocument::text(format!("{id}.md"), text)
    };
    base.add_document(&world.ann, "c", new).await.unwrap();
    base.work().await.unwrap();
}

pub async fn g206_words_find_while_the_embedder_is_down_and_vectors_follow(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    *embedder.is_down.lock().unwrap() = true;
    add(&world, &base, "d", "The heron stands.").await;
    add(&world, &base, "k", "The kettle boils.").await;
    let query = KnowledgeQuery::new("heron", &["c"]);
    let found = base.search(&world.ann, &query).await.unwrap();
    assert_eq!(found.items.len(), 1);
    let document = base.document(&world.ann, "d").await.unwrap();
    assert_eq!(
        (document.status, document.error),
        (DocumentStatus::Embedding, None)
    );
    *embedder.is_down.lock().unwrap() = false;
    world.fresh.clock().advance(Duration::from_secs(61));
    base.work().await.unwrap();
    let document = base.document(&world.ann, "d").await.unwrap();
    assert_eq!((document.status, document.done), (DocumentStatus::Ready, 1));
    let query = KnowledgeQuery::new("bird", &["c"]);
    let found = base.search(&world.ann, &query).await.unwrap();
    assert_eq!(
        found
            .items
            .iter()
            .map(|item| &item.document_id)
            .collect::<Vec<_>>(),
        ["d"]
    );
    assert_eq!(found.notes, Vec::<String>::new());
    *embedder.is_down.lock().unwrap() = true;
    let query = KnowledgeQuery::new("birds, kettle", &["c"]);
    let found = base.search(&world.ann, &query).await.unwrap();
    assert_eq!(
        found.notes,
        ["words only: embedding connector \"e5\" is unavailable"]
    );
    assert_eq!(found.items[0].document_id, "k");
    let asked = embedder.asked.lock().unwrap().clone();
    assert_eq!(
        asked.iter().filter(|text| text.contains("stands")).count(),
        1
    );
}

pub async fn g206_a_text_whose_vector_another_chunk_has_is_not_embedded_again(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    for (id, text) in [("gone", "A kettle."), ("d", "The heron stands.")] {
        add(&world, &base, id, text).await;
    }
    let chunks = base.document_chunks(&world.ann, "d", 0..1).await.unwrap();
    base.remove_document(&world.ann, "gone").await.unwrap();
    base.work().await.unwrap();
    // As it is while the first chunk is being erased, which had this text too.
    let key = key_of(world.driver.as_ref(), "c").await;
    let place = format!("vector/1/{}/00000000", chunks[0].hash);
    let place = Space::collection(Some("t"), &key).key(place);
    let set = Operation::Set(Json::of(&true).unwrap().into());
    let batch = Batch::of([BatchWrite::apply(place, set, None)]);
    world.driver.commit(batch).await.unwrap();
    embedder.asked.lock().unwrap().clear();
    add(&world, &base, "e", "The heron stands.").await;
    let document = base.document(&world.ann, "e").await.unwrap();
    assert_eq!(document.status, DocumentStatus::Ready);
    assert_eq!(*embedder.asked.lock().unwrap(), Vec::<String>::new());
}

pub async fn g206_what_stays_of_a_text_is_not_embedded_again(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    add(
        &world,
        &base,
        "d",
        "# A\n\nThe heron stands.\n\n# B\n\nOld.",
    )
    .await;
    let update = DocumentUpdate {
        content: Some(file("d.md", b"# A\n\nThe heron stands.\n\n# B\n\nNew.")),
        ..DocumentUpdate::default()
    };
    base.update_document(&world.ann, "d", update).await.unwrap();
    base.work().await.unwrap();
    let asked = embedder.asked.lock().unwrap().clone();
    assert_eq!(asked, ["The heron stands.", "Old.", "New."]);
    let document = base.document(&world.ann, "d").await.unwrap();
    assert_eq!((document.status, document.done), (DocumentStatus::Ready, 2));
}

pub async fn g206_equal_texts_of_a_collection_are_embedded_once(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    let text = "# A\n\nThe heron stands.\n\n# B\n\nThe heron stands.";
    add(&world, &base, "d", text).await;
    add(&world, &base, "e", text).await;
    base.remove_document(&world.ann, "d").await.unwrap();
    base.work().await.unwrap();
    add(&world, &base, "f", "The heron stands.").await;
    let asked = embedder.asked.lock().unwrap().clone();
    assert_eq!(asked, ["The heron stands."]);
    let query = KnowledgeQuery::new("bird", &["c"]);
    let found = base.search(&world.ann, &query).await.unwrap();
    assert_eq!(found.items.len(), 3);
    for id in ["e", "f"] {
        let document = base.document(&world.ann, id).await.unwrap();
        assert_eq!(document.status, DocumentStatus::Ready);
        base.remove_document(&world.ann, id).await.unwrap();
    }
    base.work().await.unwrap();
    let space = Space::collection(Some("t"), &key_of(world.driver.as_ref(), "c").await);
    let left = ValueScan::first(Pattern::parse("vector/*"), 1, ValuePart::Nothing);
    let left = world.driver.scan(&space, &left).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

pub async fn a_refused_text_is_a_warning_and_another_dimension_a_failure(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    add(
        &world,
        &base,
        "d",
        "# A\n\nThe heron stands.\n\n# B\n\npoison poison poison poison",
    )
    .await;
    let document = base.document(&world.ann, "d").await.unwrap();
    assert_eq!(document.status, DocumentStatus::Ready);
    assert_eq!(document.warnings, ["chunk 1 has no vector: it is too long"]);
    *embedder.dimension.lock().unwrap() = 1;
    add(&world, &base, "e", "A stork.").await;
    let document = base.document(&world.ann, "e").await.unwrap();
    let reason = "embedding has 3 dimensions, collection \"c\" 2: reindex";
    assert_eq!(
        (document.status, document.error.as_deref()),
        (DocumentStatus::Failed, Some(reason))
    );
}

pub async fn a_job_that_is_called_off_asks_for_no_vectors(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    *embedder.is_down.lock().unwrap() = true;
    add(&world, &base, "d", "The heron stands.").await;
    let job = base
        .document(&world.ann, "d")
        .await
        .unwrap()
        .job_id
        .unwrap();
    let cancelled = base.cancel_job(&world.ann, &job).await.unwrap();
    assert_eq!(cancelled.status, JobStatus::Cancelled);
    *embedder.is_down.lock().unwrap() = false;
    world.fresh.clock().advance(Duration::from_secs(61));
    base.work().await.unwrap();
    assert_eq!(*embedder.asked.lock().unwrap(), Vec::<String>::new());
    let document = base.document(&world.ann, "d").await.unwrap();
    assert_eq!(document.status, DocumentStatus::Ready);
}

pub async fn g206_equal_content_is_left_alone_while_the_embedder_is_down(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    *embedder.is_down.lock().unwrap() = true;
    add(&world, &base, "d", "The heron stands.").await;
    let before = base.document(&world.ann, "d").await.unwrap();
    let update = DocumentUpdate {
        content: Some(file("d.md", b"The heron stands.")),
        ..DocumentUpdate::default()
    };
    let accepted = base.update_document(&world.ann, "d", update).await;
    assert_eq!(accepted.unwrap().job_id, None);
    assert_eq!(base.document(&world.ann, "d").await.unwrap(), before);
}

pub async fn g206_what_is_due_waits_for_nothing_that_is_postponed(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    *embedder.is_down.lock().unwrap() = true;
    for at in 0..100 {
        let new = NewDocument::text("d.md", format!("The heron number {at} stands."));
        base.add_document(&world.ann, "c", new).await.unwrap();
    }
    base.work().await.unwrap();
    *embedder.is_down.lock().unwrap() = false;
    for id in ["e", "f", "g"] {
        add(&world, &base, id, "The kettle boils.").await;
        let document = base.document(&world.ann, id).await.unwrap();
        assert_eq!(document.status, DocumentStatus::Ready);
    }
}

pub async fn g206_whatever_waits_for_an_embedder_waits_for_it_together(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    *embedder.is_down.lock().unwrap() = true;
    // More than are looked at together.
    for at in 0..70 {
        let new = NewDocument::text("d.md", format!("The heron number {at} stands."));
        base.add_document(&world.ann, "c", new).await.unwrap();
    }
    base.work().await.unwrap();
    assert_eq!(*embedder.tries.lock().unwrap(), 1);
    *embedder.is_down.lock().unwrap() = false;
    // None of them waits any longer once another index has its vectors.
    let request = ReindexRequest {
        language: Some("de".parse().unwrap()),
        ..ReindexRequest::default()
    };
    base.reindex(&world.ann, "c", &request).await.unwrap();
    base.work().await.unwrap();
    let waiting = DocumentFilter {
        status: Some(DocumentStatus::Embedding),
        ..DocumentFilter::default()
    };
    let waiting = base.documents(&world.ann, &waiting).await.unwrap();
    assert_eq!(waiting, []);
}

pub async fn a_replacement_that_failed_is_not_painted_over_by_older_vectors(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    *embedder.is_down.lock().unwrap() = true;
    add(&world, &base, "d", "The heron stands.").await;
    let update = DocumentUpdate {
        content: Some(file("d.png", b"\x89PNG\r\n\x1a\n")),
        ..DocumentUpdate::default()
    };
    base.update_document(&world.ann, "d", update).await.unwrap();
    base.work().await.unwrap();
    let failed = base.document(&world.ann, "d").await.unwrap();
    assert_eq!(failed.status, DocumentStatus::Failed);
    *embedder.is_down.lock().unwrap() = false;
    world.fresh.clock().advance(Duration::from_secs(61));
    base.work().await.unwrap();
    assert_eq!(embedder.asked.lock().unwrap().len(), 1);
    let document = base.document(&world.ann, "d").await.unwrap();
    assert_eq!(
        (document.status, document.error),
        (failed.status, failed.error)
    );
    let count = || async { base.collection(&world.ann, "c").await.unwrap().failed };
    assert_eq!(count().await, 1);
    base.remove_document(&world.ann, "d").await.unwrap();
    assert_eq!(count().await, 0);
}

/// Says that it was asked, and never answers.
#[derive(Default)]
struct HangingEmbedder(tokio::sync::Notify);

impl Embedder for HangingEmbedder {
    fn embed<'a>(
        &'a self,
        _: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            self.0.notify_one();
            std::future::pending().await
        })
    }
}

pub async fn g206_an_embedder_that_hangs_holds_up_no_other_collection(world: World) {
    let embedder = Arc::new(HangingEmbedder::default());
    let base = KnowledgeBase::open(KnowledgeSettings {
        embedder: Some(embedder.clone()),
        ..settings(world.driver.clone())
    });
    base.create_collection(&world.ann, embedded("c"))
        .await
        .unwrap();
    world.collection("other").await;
    let _worker = base.start();
    let document = || NewDocument::text("d.md", "A heron.");
    base.add_document(&world.ann, "c", document())
        .await
        .unwrap();
    embedder.0.notified().await;
    let added = base.add_document(&world.ann, "other", document()).await;
    let job = added.unwrap().job_id.unwrap();
    let job = base.finished_job(&world.ann, &job).await.unwrap();
    assert_eq!(job.status, JobStatus::Done);
}

pub async fn g206_a_search_asks_an_embedder_once_for_all_collections(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    base.create_collection(&world.ann, embedded("k"))
        .await
        .unwrap();
    add(&world, &base, "d", "The heron stands.").await;
    let new = NewDocument::text("k.md", "The kettle boils.");
    base.add_document(&world.ann, "k", new).await.unwrap();
    base.work().await.unwrap();
    *embedder.is_down.lock().unwrap() = true;
    let before = *embedder.tries.lock().unwrap();
    let query = KnowledgeQuery::new("kettle", &["c", "k"]);
    let found = base.search(&world.ann, &query).await.unwrap();
    let note = "words only: embedding connector \"e5\" is unavailable";
    assert_eq!((found.items.len(), found.notes), (1, vec![note.to_owned()]));
    assert_eq!(*embedder.tries.lock().unwrap(), before + 1);
}
