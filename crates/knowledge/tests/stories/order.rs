//! What ties has one order, however it came into the store.

use crate::vectors::with_embedder;
use crate::world::{World, file};
use ambit_knowledge::{
    DocumentUpdate, KnowledgeAnswer, KnowledgeBase, KnowledgeQuery, NewCollection, NewDocument,
};

/// So many documents are equal.
const EQUAL: usize = 24;
/// Each has this section twice.
const TEXT: &str = "# A\n\nThe heron stands.\n\n# A\n\nThe heron stands.";

fn name(at: usize) -> String {
    format!("d{at:02}")
}

async fn add(world: &World, base: &KnowledgeBase, collection: &str, at: usize, text: &str) {
    let id = format!("{collection}-{}", name(at));
    let new = NewDocument {
        id: Some(id),
        ..NewDocument::text("same.md", text)
    };
    let added = base.add_document(&world.ann, collection, new).await;
    added.unwrap();
}

async fn replace(world: &World, base: &KnowledgeBase, collection: &str, at: usize) {
    let update = DocumentUpdate {
        content: Some(file("same.md", TEXT.as_bytes())),
        ..DocumentUpdate::default()
    };
    let id = format!("{collection}-{}", name(at));
    base.update_document(&world.ann, &id, update).await.unwrap();
}

/// Writes the documents: all at once, or one by one from the last, or from the middle with replacements and removals.
async fn write(world: &World, base: &KnowledgeBase, collection: &str) {
    let numbers: Vec<usize> = match collection {
        "c" => (0..EQUAL).collect(),
        "down" => (0..EQUAL).rev().collect(),
        _ => (0..EQUAL).map(|at| (at * 7 + 11) % EQUAL).collect(),
    };
    for at in numbers {
        let is_replaced = collection == "mixed" && at % 3 == 0;
        let first = if is_replaced { "A kettle." } else { TEXT };
        add(world, base, collection, at, first).await;
        if collection != "c" {
            base.work().await.unwrap();
        }
        if is_replaced {
            add(world, base, collection, EQUAL + at, TEXT).await;
            replace(world, base, collection, at).await;
            base.work().await.unwrap();
            let id = format!("{collection}-{}", name(EQUAL + at));
            base.remove_document(&world.ann, &id).await.unwrap();
        }
    }
    base.work().await.unwrap();
}

/// What is found: documents without their collection, places and scores.
fn ranked(answer: &KnowledgeAnswer) -> Vec<(String, u64, f64)> {
    let items = answer.items.iter();
    let id = |id: &str| id.rsplit('-').next().unwrap_or_default().to_owned();
    items
        .map(|item| (id(&item.document_id), item.range[0], item.score))
        .collect()
}

pub async fn g200_what_ties_has_one_order_whatever_the_order_of_writes(world: World) {
    let (base, _) = with_embedder(&world).await;
    for id in ["down", "mixed"] {
        let new = NewCollection {
            embedding: Some(ambit_knowledge::EmbeddingSettings {
                connector: "e5".to_owned(),
                ..ambit_knowledge::EmbeddingSettings::default()
            }),
            id: id.to_owned(),
            ..NewCollection::default()
        };
        base.create_collection(&world.ann, new).await.unwrap();
    }
    let mut rankings = Vec::new();
    for collection in ["c", "down", "mixed"] {
        write(&world, &base, collection).await;
        // By words and vectors, by vectors alone.
        for words in ["heron", "bird"] {
            let mut query = KnowledgeQuery::new(words, &[collection]);
            (query.limit, query.is_counted) = (7, false);
            let answer = base.search(&world.ann, &query).await.unwrap();
            rankings.push(ranked(&answer));
        }
    }
    let ids: Vec<&str> = rankings[0].iter().map(|(id, ..)| id.as_str()).collect();
    assert_eq!(ids, ["d00", "d00", "d01", "d01", "d02", "d02", "d03"]);
    for at in 2..rankings.len() {
        assert_eq!(rankings[at], rankings[at % 2]);
    }
}
