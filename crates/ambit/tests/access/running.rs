//! Who reads and who stops the answer that is being given in a conversation.

use crate::bed::Person;
use crate::routes::{ANN, Words, people};
use crate::site::Answer;
use reqwest::{Method, Response};
use serde_json::json;

/// The routes of the AI SDK that know a conversation by its chat alone.
const PATHS: [&str; 2] = [
    "/ai-sdk/chat/anns-chat/stream",
    "/ai-sdk/hello/chat/anns-chat/stream",
];

/// Begins a turn of Ann's that does not end by itself; its stream, and its id.
async fn begin(words: &Words) -> (Response, String) {
    let messages = json!([{"role": "user", "content": "never ends"}]);
    let body =
        json!({"model": "hello", "chat_id": "anns-chat", "stream": true, "messages": messages});
    let site = &words.bed.site;
    let request = site.request(Method::POST, "/v1/chat/completions");
    let request = request.bearer_auth(ANN.token()).json(&body);
    let stream = request.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let id = stream.headers()["x-ambit-request"].to_str().unwrap();
    let id = id.to_owned();
    (stream, id)
}

/// The status of a request whose answer may have no end.
async fn status(words: &Words, who: Person, method: Method, path: &str) -> u16 {
    let request = words.bed.site.request(method, &format!("/v1{path}"));
    let answer = request.bearer_auth(who.token()).send().await.unwrap();
    answer.status().as_u16()
}

/// How a turn of Ann's stands.
async fn turn(words: &Words, id: &str) -> Answer {
    words.bed.get(ANN, &format!("/chat/requests/{id}")).await
}

async fn check(is_shared: bool) {
    let words = Words::new(is_shared).await;
    let (mut stream, mut id) = begin(&words).await;
    for who in people() {
        let is_open = words.is_open_to(who);
        for path in PATHS {
            let what = format!("{path} by {who:?}, shared: {is_shared}");
            let read = status(&words, who, Method::GET, path).await;
            assert_eq!(read, if is_open { 200 } else { 204 }, "{what}");
            let stopped = status(&words, who, Method::DELETE, path).await;
            assert_eq!(stopped, if is_open { 202 } else { 204 }, "{what}");
            if is_open {
                while stream.chunk().await.unwrap().is_some() {}
                let ended = turn(&words, &id).await.json();
                assert_eq!(ended["status"], "cancelled", "{what}");
                (stream, id) = begin(&words).await;
            }
        }
        let running = turn(&words, &id).await.json();
        assert_eq!(running["status"], "running", "{who:?}");
    }
}

#[tokio::test]
async fn g059_an_answer_is_read_and_stopped_by_those_who_may_use_its_conversation() {
    check(false).await;
    check(true).await;
}
