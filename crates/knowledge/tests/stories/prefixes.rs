//! What a model of vectors wants to read before a text and before a query.

use crate::vectors::{embedded, with_embedder};
use crate::world::World;
use ambit_knowledge::{EmbeddingSettings, KnowledgeQuery, NewCollection, NewDocument};

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
