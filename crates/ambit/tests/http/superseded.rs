//! Requests that take the place of what was said before.

use crate::site::{Answer, Site};
use crate::turns::said;
use reqwest::Method;
use serde_json::{Value, json};

async fn ask(site: &Site, text: &str) -> String {
    let answer = site.post("/v1/chat/completions", &said(text)).await;
    assert_eq!(answer.status, 200);
    answer.header("x-ambit-request").unwrap().to_owned()
}

fn editing(id: &str, text: &str) -> Value {
    let mut body = said(text);
    body["supersede"] = json!(id);
    if text.is_empty() {
        body["messages"] = json!([]);
    }
    body
}

/// The texts of the chat, each with what has taken its place.
async fn listed(site: &Site, query: &str) -> Vec<(String, Value)> {
    let answer = site
        .get(&format!("/v1/chat/sessions/c1/messages{query}"))
        .await;
    assert_eq!(answer.status, 200);
    let rows = answer.json()["items"].take();
    let row = |row: &Value| {
        let text = row["props"]["content"].as_str().unwrap().to_owned();
        (text, row["superseded_by"].clone())
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

#[tokio::test]
async fn a_message_is_edited_and_an_answer_given_again() {
    let site = Site::development().await;
    let first = ask(&site, "one").await;
    let edit = editing(&format!("{first}.U1"), "two");
    let edited = site.post("/v1/chat/completions", &edit).await;
    assert_eq!(edited.status, 200);
    let second = json!(edited.header("x-ambit-request").unwrap());
    let again = editing(second.as_str().unwrap(), "");
    let again = site.post("/v1/agents/hello/chat/completions", &again).await;
    let body = again.json();
    assert_eq!(body["choices"][0]["message"]["content"], "echo: two");
    let third = json!(again.header("x-ambit-request").unwrap());
    let now = ["two", "echo: two"].map(|text| (text.to_owned(), Value::Null));
    assert_eq!(listed(&site, "").await, now);
    let all = [
        ("one", second.clone()),
        ("echo: one", second),
        ("two", Value::Null),
        ("echo: two", third),
        ("echo: two", Value::Null),
    ];
    let all = all.map(|(text, by)| (text.to_owned(), by));
    assert_eq!(listed(&site, "?superseded=true").await, all);
}

#[tokio::test]
async fn what_cannot_be_superseded_is_refused() {
    let site = Site::development().await;
    let first = ask(&site, "one").await;
    for (body, status, code, param) in [
        (editing("nobody", "two"), 404, "not_found", "supersede"),
        (editing("", "two"), 400, "invalid_argument", "supersede"),
        (
            editing(&format!("{first}.U1"), ""),
            400,
            "invalid_argument",
            "messages",
        ),
    ] {
        let answer = site.post("/v1/chat/completions", &body).await;
        let expected = (status, code.to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected);
    }
    let request = site.request(Method::POST, "/v1/chat/completions");
    let mut none = said("");
    none["messages"] = json!([]);
    assert_eq!(Answer::of(request.json(&none)).await.status, 400);
    assert_eq!(listed(&site, "?superseded=true").await.len(), 2);
}
