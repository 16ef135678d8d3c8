//! What models of vectors are sent: which texts, and how much at once.

use crate::vectors::{embedded, with_embedder};
use crate::world::{World, settings};
use ambit_knowledge::{
    ChunkLengths, Embedder, EmbeddingFailure, EmbeddingRequest, EmbeddingSettings, Embeddings,
    KnowledgeBase, KnowledgeQuery, KnowledgeSettings, NewCollection, NewDocument,
};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Barrier;
use tokio::time::timeout;

pub async fn texts_and_queries_are_embedded_behind_their_prefixes(world: World) {
    let (base, embedder) = with_embedder(&world).await;
    let plain = embedded("p");
    let prefixed = EmbeddingSettings {
        query_prefix: "query: ".to_owned(),
        document_prefix: "passage: ".to_owned(),
        ..plain.embedding.clone().unwrap()
    };
    let new = NewCollection {
        embedding: Some(prefixed),
        ..plain
    };
    base.create_collection(&world.ann, new).await.unwrap();
    let new = NewDocument::text("d.md", "The heron stands.");
    base.add_document(&world.ann, "p", new).await.unwrap();
    base.work().await.unwrap();
    let query = KnowledgeQuery::new("bird", &["p"]);
    let found = base.search(&world.ann, &query).await.unwrap();
    assert_eq!(found.items[0].content, "The heron stands.");
    let asked = embedder.asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("passage: ") && asked[0].ends_with("The heron stands."));
    assert_eq!(asked[1], "query: bird");
}

/// Keeps what it was sent, and makes the same vector of everything.
#[derive(Default)]
struct RecordingEmbedder(Mutex<Vec<Vec<String>>>);

impl Embedder for RecordingEmbedder {
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            self.0.lock().unwrap().push(request.texts.clone());
            Ok(Embeddings {
                model: "m".to_owned(),
                vectors: vec![vec![1.0, 0.0]; request.texts.len()],
                tokens: 0,
            })
        })
    }
}

pub async fn a_batch_has_at_most_thirty_two_thousand_tokens(world: World) {
    const MOST: u64 = 32_000;
    let embedder = Arc::new(RecordingEmbedder::default());
    let base = KnowledgeBase::open(KnowledgeSettings {
        embedder: Some(embedder.clone()),
        ..settings(world.driver.clone())
    });
    let new = NewCollection {
        chunk: ChunkLengths {
            size: 2_000,
            overlap: 0,
        },
        ..embedded("c")
    };
    base.create_collection(&world.ann, new).await.unwrap();
    let section = |number| {
        format!(
            "# Part {number}\n\n{}\n\n",
            format!("word{number} ").repeat(1_500)
        )
    };
    let text: String = (0..20).map(section).collect();
    let new = NewDocument {
        id: Some("d".to_owned()),
        ..NewDocument::text("d.md", text)
    };
    base.add_document(&world.ann, "c", new).await.unwrap();
    base.work().await.unwrap();
    let chunks = base.document_chunks(&world.ann, "d", 0..1_000).await;
    let tokens: HashMap<String, u64> = chunks
        .unwrap()
        .into_iter()
        .map(|chunk| (chunk.text, chunk.tokens))
        .collect();
    assert!(tokens.values().sum::<u64>() > MOST);
    let batches = embedder.0.lock().unwrap();
    assert_eq!(batches.concat().len(), tokens.len());
    for batch in batches.iter() {
        let sum: u64 = batch.iter().map(|text| tokens[text]).sum();
        assert!(sum <= MOST, "{sum} tokens");
    }
}

/// Answers a request, where that is wanted, once another one is there too.
struct PairingEmbedder {
    is_pairing: AtomicBool,
    pair: Barrier,
    asked: RecordingEmbedder,
}

impl Embedder for PairingEmbedder {
    fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
    ) -> BoxFuture<'a, Result<Embeddings, EmbeddingFailure>> {
        Box::pin(async move {
            if self.is_pairing.load(Ordering::SeqCst) {
                self.pair.wait().await;
            }
            self.asked.embed(request).await
        })
    }
}

pub async fn g206_two_documents_are_embedded_at_once_and_what_both_say_once(world: World) {
    let embedder = Arc::new(PairingEmbedder {
        is_pairing: AtomicBool::new(false),
        pair: Barrier::new(2),
        asked: RecordingEmbedder::default(),
    });
    let base = KnowledgeBase::open(KnowledgeSettings {
        embedder: Some(embedder.clone()),
        ..settings(world.driver.clone())
    });
    let created = base.create_collection(&world.ann, embedded("c")).await;
    created.unwrap();
    let first = ["The heron stands."];
    let others = ["The stork flies.", "The kettle boils."];
    let equal = ["The crane dances.", "The crane dances."];
    for (texts, is_pairing) in [
        (&first[..], false),
        (&others[..], true),
        (&equal[..], false),
    ] {
        embedder.is_pairing.store(is_pairing, Ordering::SeqCst);
        for text in texts {
            let new = NewDocument::text("d.md", *text);
            base.add_document(&world.ann, "c", new).await.unwrap();
        }
        let worked = timeout(Duration::from_secs(60), base.work()).await;
        worked.unwrap().unwrap();
    }
    let mut asked = embedder.asked.0.lock().unwrap().concat();
    asked.sort_unstable();
    let expected = [equal[0], first[0], others[1], others[0]];
    assert_eq!(asked, expected);
}
