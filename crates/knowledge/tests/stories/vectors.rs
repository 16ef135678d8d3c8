//! Vectors follow the words, whatever becomes of who makes them.

use crate::world::{World, file, settings};
use ambit_knowledge::{
    DocumentStatus, DocumentUpdate, Embedder, EmbeddingFailure, EmbeddingRequest,
    EmbeddingSettings, Embeddings, JobStatus, KnowledgeBase, KnowledgeQuery, KnowledgeSettings,
    NewCollection, NewDocument,
};
use ambit_storage::conformance::DriverFixture;
use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Knows that herons are birds and kettles are not.
#[derive(Default)]
pub struct ScriptedEmbedder {
    pub is_down: Mutex<bool>,
    pub is_gone: Mutex<bool>,
    pub asked: Mutex<Vec<String>>,
    pub dimension: Mutex<usize>,
}

#[async_trait]
impl Embedder for ScriptedEmbedder {
    async fn embed(&self, request: &EmbeddingRequest) -> Result<Embeddings, EmbeddingFailure> {
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
    let new = NewCollection {
        id: "c".to_owned(),
        embedding: Some(EmbeddingSettings {
            connector: "e5".to_owned(),
            ..EmbeddingSettings::default()
        }),
        ..NewCollection::default()
    };
    base.create_collection(&world.ann, new).await.unwrap();
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
