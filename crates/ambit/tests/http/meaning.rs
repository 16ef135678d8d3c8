//! Conversations and memories that are found by meaning, with a service that makes the vectors.

use crate::site::{Answer, Site};
use axum::routing::post;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What an embedding service answers that knows what a couch is.
async fn embeddings(Json(request): Json<Value>) -> Json<Value> {
    assert_eq!(request["model"], "m");
    let texts = request["input"].as_array().unwrap();
    let vector = |text: &Value| {
        let text = text.as_str().unwrap();
        let is_seat = ["couch", "sofa"].iter().any(|word| text.contains(word));
        if is_seat { [1.0, 0.0] } else { [0.0, 1.0] }
    };
    let data = texts.iter().enumerate();
    let data = data.map(|(at, text)| json!({"index": at, "embedding": vector(text)}));
    let data: Vec<Value> = data.collect();
    Json(
        json!({"data": data, "usage": {"prompt_tokens": texts.len(), "total_tokens": texts.len()}}),
    )
}

/// A server whose conversations and memories get vectors of such a service, with one more file.
async fn site(path: &str, text: &str) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let service = Router::new().route("/v1/embeddings", post(embeddings));
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    let options = json!({"model": "m", "key": "k", "host": host});
    let connector = json!({"type": "openai", "label": "E5", "options": options});
    let search = json!({"recall": {"embedding": "e5"}, "values": {"embedding": "e5"}});
    let app = json!({"name": "Tests", "ambit": {"search": search}});
    Site::of(&[
        ("app.yao", &app.to_string()),
        ("connectors/e5.conn.yao", &connector.to_string()),
        (path, text),
    ])
    .await
}

/// Searches memories by meaning when it is tried; a turn has no `Next` without a payload like that.
const HOOK: (&str, &str) = (
    "assistants/hello/src/index.ts",
    r#"
export function Next(ctx, payload) {
  return payload.text ? { data: ctx.memory.user.Search(payload.text) } : null;
}
"#,
);

/// How many things a path lists, once it lists any.
async fn listed(site: &Site, path: &str, list: &str) -> usize {
    loop {
        let found = site.get(path).await.json();
        match found[list].as_array().unwrap().len() {
            0 => {}
            count => return count,
        }
    }
}

async fn keep_seat(site: &Site) {
    let key = site.request(Method::PUT, "/v1/memory/user/keys/seat");
    let key = key.json(&json!({"value": "a red couch"}));
    assert_eq!(Answer::of(key).await.status, 204);
}

/// The agents on which something was booked.
async fn booked_agents(site: &Site) -> Vec<String> {
    let usage = site.get("/v1/usage?group_by=agent").await.json();
    let agents = usage["items"].as_array().unwrap().iter();
    agents
        .map(|it| it["value"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn g206_vectors_of_conversations_and_memories_follow_by_themselves_and_are_booked() {
    let site = site(HOOK.0, HOOK.1).await;
    let said = json!({"model": "hello", "messages": [{"role": "user", "content": "a red couch"}]});
    assert_eq!(site.chat(said.to_string()).await.status, 200);
    keep_seat(&site).await;
    for (by, list) in [
        ("/v1/chat/sessions?q=", "data"),
        ("/v1/memory/user/search?q=", "items"),
    ] {
        let words = site.get(&format!("{by}couch")).await.json();
        assert_eq!(words[list].as_array().unwrap().len(), 1, "{words}");
        assert_eq!(listed(&site, &format!("{by}sofa"), list).await, 1);
    }
    // What was used is booked behind the commit that it was used for.
    loop {
        let agents = booked_agents(&site).await;
        if ["recall", "memory"]
            .iter()
            .all(|it| agents.iter().any(|agent| agent == it))
        {
            break;
        }
    }
}

#[tokio::test]
async fn vectors_of_queries_that_a_trial_asks_for_are_booked_on_who_tries() {
    let site = site(HOOK.0, HOOK.1).await;
    keep_seat(&site).await;
    let found = "/v1/memory/user/search?q=sofa";
    assert_eq!(listed(&site, found, "items").await, 1);
    let is_booked = async || booked_agents(&site).await.contains(&"hello".to_owned());
    assert!(!is_booked().await);
    let asked = json!({"payload": {"text": "an old sofa"}, "memory": "real"});
    let tried = site.post("/v1/app/agents/hello/hooks/Next", &asked).await;
    let told = tried.json();
    assert_eq!(told["result"]["data"][0]["key"], "seat", "{told}");
    assert!(is_booked().await);
}
