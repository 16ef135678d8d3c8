//! What a person says while a turn runs, as clients of the AI SDK hold it.

use crate::site::{Site, Stream};
use reqwest::Method;
use serde_json::{Value, json};

/// The chat of clients of this version.
fn chat(version: &str) -> String {
    format!("c{}", version.replace('.', "-"))
}

/// What is told of the message, for clients of this version, and the id of the turn.
async fn told(site: &Site, version: &str) -> (Value, String) {
    let message =
        json!({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go on slowly"}]});
    let path = format!("/v1/ai-sdk/hello/chat?v={version}");
    let request = site.request(Method::POST, &path);
    let body = json!({"id": chat(version), "message": message});
    let mut stream = Stream::of(request.json(&body)).await;
    let context = stream.response.headers()["x-ambit-context"].clone();
    stream.until(|chunk| chunk["type"] == "text-delta").await;
    let path = format!("/v1/chat/completions/{}/append", context.to_str().unwrap());
    let more = json!({"type": "graceful", "messages": [{"role": "user", "content": "and more"}]});
    assert_eq!(site.post(&path, &more).await.status, 202);
    let chunks = stream.rest().await;
    let kinds = ["steering-message", "data-user_input"];
    let mut told = chunks
        .iter()
        .filter(|chunk| kinds.iter().any(|kind| chunk.data["type"] == *kind));
    let message = told.next().unwrap().data.clone();
    assert_eq!(told.next(), None);
    (message, stream.request_id())
}

/// The parts of the answer, as they are listed.
async fn parts(site: &Site, version: &str) -> Value {
    let chat = chat(version);
    let path = format!("/v1/ai-sdk/hello/chat/{chat}/messages?v={version}");
    let mut list = site.get(&path).await.json();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    list[1]["parts"].take()
}

#[tokio::test]
async fn g155_what_is_said_meanwhile_is_part_of_the_answer() {
    let site = Site::development().await;
    for version in ["7", "7.0.91", "6"] {
        let (message, turn) = told(&site, version).await;
        let id = message["id"].as_str().unwrap();
        assert!(id.starts_with(&format!("{turn}.")), "{id}");
        let expected = match version {
            "7" => json!({"type": "steering-message", "id": id,
                "parts": [{"type": "text", "text": "and more"}]}),
            _ => json!({"type": "data-user_input", "id": id,
                "data": {"content": "and more", "role": "user"}}),
        };
        assert_eq!(message, expected);
        let listed = parts(&site, version).await;
        let kinds: Vec<&Value> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|part| &part["type"])
            .collect();
        let own = message["type"].as_str().unwrap();
        assert_eq!(kinds, ["step-start", "text", own, "step-start", "text"]);
        assert_eq!(listed[2], message);
        assert_eq!(listed[4]["text"], "echo: and more");
        site.outlive_stream(&turn).await;
        assert_eq!(parts(&site, version).await, listed);
    }
}
