//! Chats are never guessed.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn asked(site: &Site, user: &str) -> String {
    let body = json!({"model": "hello", "messages": [{"role": "user", "content": "Hello there"}]});
    let request = site.request(Method::POST, "/v1/chat/completions");
    let token = token(&json!({"sub": user}));
    let answer = Answer::of(request.bearer_auth(token).json(&body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("x-ambit-chat").unwrap().to_owned()
}

async fn chats(site: &Site, user: &str) -> BTreeSet<String> {
    let request = site.request(Method::GET, "/v1/chat/sessions");
    let token = token(&json!({"sub": user}));
    let list = Answer::of(request.bearer_auth(token)).await.json();
    let id = |chat: &Value| chat["chat_id"].as_str().unwrap().to_owned();
    list["data"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn g062_the_same_opening_text_begins_a_chat_of_its_own_each_time() {
    let site = Site::of(&[TOKENS]).await;
    let ann = BTreeSet::from([asked(&site, "ann").await, asked(&site, "ann").await]);
    let bob = BTreeSet::from([asked(&site, "bob").await, asked(&site, "bob").await]);
    assert_eq!((ann.len(), bob.len()), (2, 2));
    assert!(ann.is_disjoint(&bob), "{ann:?} {bob:?}");
    assert_eq!(chats(&site, "ann").await, ann);
    assert_eq!(chats(&site, "bob").await, bob);
}
