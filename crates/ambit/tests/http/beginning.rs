//! What a client of OpenAI's shape is told before the model has said anything.

use crate::site::{Event, Site};
use crate::turns::said;
use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const RULES: &str = r#"{
    "label": "Script",
    "type": "scripted",
    "options": {
        "model": "script",
        "rules": [
            {"match": {"last_user": "^silent"}, "reply": "never said", "delay": "1h"},
            {"match": {"last_user": "^late"}, "error": {"status": 400, "message": "no such model"}, "delay": "20ms"},
            {"match": {"last_user": "^break"}, "reply": "one two three four", "cut_after": 2}
        ]
    }
}"#;

async fn site(wait: Duration) -> Site {
    let rules = ("connectors/script.conn.yao", RULES);
    Site::set(&[rules], |settings| settings.status_wait = wait).await
}

/// A site that waits for its model for a moment, and what the model needs before it fails.
async fn failing() -> (Site, Arc<Semaphore>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let may_fail = Arc::new(Semaphore::new(0));
    let asked = may_fail.clone();
    let answer = move || {
        let asked = asked.clone();
        async move {
            drop(asked.acquire().await);
            StatusCode::BAD_REQUEST
        }
    };
    let service = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    let options = json!({"model": "late", "key": "k", "host": host});
    let connector = json!({"type": "openai", "label": "Late", "options": options}).to_string();
    let files = [("connectors/script.conn.yao", connector.as_str())];
    let wait = Duration::from_millis(10);
    let site = Site::set(&files, |settings| settings.status_wait = wait).await;
    (site, may_fail)
}

fn streamed(text: &str) -> Value {
    let mut body = said(text);
    body["stream"] = json!(true);
    body
}

/// What the chunks say, one after the other: the role, text, an error's code, the reason to finish, the end.
fn told(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let data = &event.data;
        let choice = &data["choices"][0];
        text(&data["error"]["code"])
            .or_else(|| text(&choice["finish_reason"]))
            .or_else(|| text(&choice["delta"]["role"]))
            .or_else(|| text(&choice["delta"]["content"]))
            .or_else(|| text(data))
    };
    events.iter().filter_map(one).collect()
}

#[tokio::test]
async fn the_headers_of_a_silent_model_name_the_turn_so_that_it_can_be_stopped() {
    let site = site(Duration::from_millis(10)).await;
    let mut stream = site.stream(&streamed("silent")).await;
    let id = stream.request_id();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(told(&[first]), ["assistant"]);
    let path = format!("/v1/chat/requests/{id}/cancel");
    assert_eq!(site.post(&path, &json!({})).await.status, 202);
    assert_eq!(told(&stream.rest().await).last().unwrap(), "[DONE]");
}

#[tokio::test]
async fn g114_a_failure_behind_the_headers_is_an_event_of_the_stream() {
    let (site, may_fail) = failing().await;
    let mut stream = site.stream(&streamed("late")).await;
    may_fail.add_permits(1);
    let events = stream.rest().await;
    assert_eq!(told(&events), ["assistant", "llm_error", "stop", "[DONE]"]);
}

#[tokio::test]
async fn a_failure_before_the_headers_is_their_status() {
    let site = site(Duration::from_secs(60)).await;
    let answer = site.post("/v1/chat/completions", &streamed("late")).await;
    assert_eq!(answer.failure(), (502, "llm_error".to_owned(), None));
}

#[tokio::test]
async fn g114_a_break_right_behind_the_first_words_keeps_them() {
    let site = site(Duration::from_secs(60)).await;
    let events = site.stream(&streamed("break")).await.rest().await;
    let told = told(&events);
    let ends = ["llm_error", "stop", "[DONE]"];
    assert_eq!(told[0], "assistant");
    assert_eq!(told[told.len() - 3..], ends);
    assert_eq!(told[1..told.len() - 3].concat(), "one two ");
}
