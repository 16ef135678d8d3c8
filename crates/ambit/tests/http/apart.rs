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

#[tokio::test]
async fn a_private_agent_stays_private_while_files_are_reloaded_as_they_change() {
    let secret = (
        "assistants/secret/package.yao",
        r#"{"name": "Secret", "connector": "script"}"#,
    );
    let site = Site::set(&[TOKENS, secret], |settings| settings.is_development = true).await;
    let request = site.request(Method::GET, "/v1/models");
    let answer = Answer::of(request.bearer_auth(token(&json!({"sub": "ann"})))).await;
    let data = answer.json()["data"].take();
    let ids: Vec<&Value> = data
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["id"])
        .collect();
    assert_eq!(ids, [&json!("hello")]);
}

#[tokio::test]
async fn a_caller_without_a_user_is_told_why_they_cannot_name_a_chat() {
    let site = Site::of(&[TOKENS]).await;
    let ask = |chat: Option<&str>| {
        let body = json!({"model": "hello", "chat_id": chat, "messages": [{"role": "user", "content": "hi"}]});
        let request = site.request(Method::POST, "/v1/chat/completions");
        Answer::of(request.bearer_auth(token(&json!({}))).json(&body))
    };
    let answer = ask(Some("common")).await;
    let param = Some("chat_id".to_owned());
    assert_eq!(
        answer.failure(),
        (400, "invalid_argument".to_owned(), param)
    );
    assert_eq!(
        answer.json()["error"]["message"],
        "chat_id: only a caller with a user may name a chat; without one, leave it out and go on with the id that is answered"
    );
    let made = ask(None).await;
    let again = ask(made.header("x-ambit-chat")).await;
    assert_eq!(again.status, 200, "{}", again.text);
    assert_eq!(again.header("x-ambit-chat"), made.header("x-ambit-chat"));
}

#[tokio::test]
async fn what_is_not_there_and_what_is_somebody_elses_are_told_alike_with_what_lists_ones_own() {
    let site = Site::of(&[TOKENS]).await;
    let anns = asked(&site, "ann").await;
    for chat in [anns.as_str(), "none"] {
        let session = format!("/chat/sessions/{chat}");
        let requests = "GET /v1/chat/requests lists the requests that you see";
        for (path, expected) in [
            (
                session.as_str(),
                format!(
                    "chat \"{chat}\" not found; GET /v1/chat/sessions lists the chats that you see"
                ),
            ),
            (
                "/contexts/none",
                "context \"none\" not found; GET /v1/contexts lists the contexts that you see"
                    .to_owned(),
            ),
            (
                "/chat/requests/none",
                format!("request \"none\" not found; {requests}"),
            ),
            (
                "/chat/requests/none/calls",
                format!("request \"none\" not found; {requests}"),
            ),
            // Which part of the path is not found is not known here.
            (
                "/conversations/none/items/none",
                "conversation \"none\" not found".to_owned(),
            ),
        ] {
            let request = site.request(Method::GET, &format!("/v1{path}"));
            let answer = Answer::of(request.bearer_auth(token(&json!({"sub": "bob"})))).await;
            assert_eq!(
                answer.failure(),
                (404, "not_found".to_owned(), None),
                "{path}"
            );
            assert_eq!(answer.json()["error"]["message"], json!(expected), "{path}");
        }
    }
}
