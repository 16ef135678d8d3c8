//! Searches of collections as clients see them.

use crate::bed::{Bed, CHIEF};
use reqwest::Method;
use serde_json::{Value, json};

/// An agent that turns the order of what it gets around.
const RANKER: [(&str, &str); 2] = [
    ("assistants/ranker/package.yao", r#"{"name": "Ranker"}"#),
    (
        "assistants/ranker/src/index.ts",
        "export function Create(ctx: any, messages: any) {
            const { items, top_n } = JSON.parse(messages[0].content);
            return { metadata: { order: items.slice(0, top_n + 1).reverse().map((item: any) => item.citation_id) } };
        }
        export function Next(ctx: any) { return { data: { order: ctx.metadata.order } }; }",
    ),
];

/// A server with two documents about trains, of which the first fits best.
async fn bed(files: &[(&str, &str)]) -> Bed {
    let bed = Bed::of(files).await;
    let collection = json!({"id": "c"});
    let made = bed.send(CHIEF, Method::POST, "/kb/collections", &collection);
    assert_eq!(made.await.status, 201);
    for (id, text) in [
        ("best", "Trains, trains!"),
        ("other", "Lamps in some trains."),
    ] {
        let document = json!({"doc_id": id, "text": text});
        let path = "/kb/collections/c/documents/text";
        let added = bed.send(CHIEF, Method::POST, path, &document).await;
        assert_eq!(added.status, 200, "{}", added.text);
    }
    bed
}

async fn found(bed: &Bed, rerank: Value) -> Vec<String> {
    let asked = json!({"query": "trains", "rerank": rerank});
    let found = bed.send(CHIEF, Method::POST, "/kb/search", &asked).await;
    assert_eq!(found.status, 200, "{}", found.text);
    let found = found.json();
    let items = found["items"].as_array().unwrap();
    assert_eq!(found["total"], items.len());
    let ids = items.iter().map(|item| item["document_id"].as_str());
    ids.map(|id| id.unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_is_found_is_put_in_order_once_more() {
    let plain = bed(&[]).await;
    assert_eq!(found(&plain, Value::Null).await, ["best", "other"]);
    assert_eq!(found(&plain, json!({})).await, ["best", "other"]);
    assert_eq!(found(&plain, json!({"top_n": 1})).await, ["best"]);
    let mut files = vec![("agent/agent.yml", "uses: {rerank: ranker}\n")];
    files.extend(RANKER);
    let ranked = bed(&files).await;
    assert_eq!(found(&ranked, json!({})).await, ["other", "best"]);
    assert_eq!(found(&ranked, json!({"top_n": 1})).await, ["other"]);
}
