//! A second request to a conversation whose turn is running.

use crate::responses::post;
use crate::site::{Answer, Site};
use crate::turns::{is_text, said, shown, status, streamed};
use reqwest::Method;
use serde_json::{Value, json};

fn with(mut body: Value, on_busy: &str) -> Value {
    body["on_busy"] = json!(on_busy);
    body
}

#[tokio::test]
async fn g004_a_second_request_is_refused_and_told_which_turn_runs() {
    let site = Site::development().await;
    let other = site.beside().await;
    let mut running = site.stream(&streamed("never ends")).await;
    running.until(is_text).await;
    for node in [&site, &other] {
        for body in [said("hi"), with(said("hi"), "reject")] {
            let answer = node.post("/v1/chat/completions", &body).await;
            assert_eq!(answer.failure(), (409, "chat_busy".to_owned(), None));
            let error = answer.json()["error"].take();
            assert_eq!(error["type"], json!("conflict_error"));
            assert_eq!(error["details"]["request_id"], json!(running.request_id()));
        }
    }
}

#[tokio::test]
async fn g004_a_queued_request_waits_for_the_turn_that_runs() {
    let site = Site::development().await;
    let other = site.beside().await;
    for node in [&site, &other] {
        let mut running = site.stream(&streamed("go on")).await;
        let mut events = running.until(is_text).await;
        let body = with(said("hi"), "queue");
        let (queued, rest) = tokio::join!(node.post("/v1/chat/completions", &body), running.rest());
        events.extend(rest);
        assert_eq!(status(&events), json!("completed"));
        let message = queued.json()["choices"][0]["message"]["content"].clone();
        assert_eq!(message, json!("echo: hi"), "{}", queued.text);
    }
}

#[tokio::test]
async fn g004_an_interrupting_request_ends_the_turn_that_runs() {
    let site = Site::development().await;
    let other = site.beside().await;
    for node in [&site, &other] {
        let mut running = site.stream(&streamed("never ends")).await;
        let mut events = running.until(is_text).await;
        let body = with(said("hi"), "interrupt");
        let (second, rest) = tokio::join!(node.post("/v1/chat/completions", &body), running.rest());
        events.extend(rest);
        assert_eq!(status(&events), json!("cancelled"));
        assert!(shown(&events).starts_with('0'));
        assert_eq!(second.status, 200, "{}", second.text);
    }
}

#[tokio::test]
async fn g004_a_request_for_a_response_waits_or_interrupts_where_it_says_so() {
    let site = Site::development().await;
    for (on_busy, input, expected) in [
        ("queue", "go on", "completed"),
        ("interrupt", "never ends", "cancelled"),
    ] {
        let talk = post(&site, "/v1/conversations", &json!({})).await;
        let mut body = json!({"model": "hello", "input": input, "conversation": talk["id"]});
        body["background"] = json!(true);
        let running = post(&site, "/v1/responses", &body).await;
        let body = json!({"model": "hello", "input": "hi", "conversation": talk["id"]});
        if on_busy == "interrupt" {
            let refused = site.post("/v1/responses", &body).await;
            assert_eq!(refused.failure(), (409, "chat_busy".to_owned(), None));
        }
        let second = post(&site, "/v1/responses", &with(body, on_busy)).await;
        assert_eq!(second["output"][0]["content"][0]["text"], "echo: hi");
        let path = format!("/v1/responses/{}", running["id"].as_str().unwrap());
        assert_eq!(site.get(&path).await.json()["status"], expected);
    }
}

#[tokio::test]
async fn g004_a_chat_is_not_removed_under_its_turn_and_the_turn_is_named() {
    let site = Site::development().await;
    let other = site.beside().await;
    let mut running = site.stream(&streamed("never ends")).await;
    let events = running.until(is_text).await;
    let chat = &events[0].data["props"]["data"]["chat_id"];
    let path = format!("/v1/chat/sessions/{}", chat.as_str().unwrap());
    for node in [&site, &other] {
        let answer = Answer::of(node.request(Method::DELETE, &path)).await;
        assert_eq!(answer.failure(), (409, "chat_busy".to_owned(), None));
        let error = answer.json()["error"].take();
        assert_eq!(
            error["message"],
            "a turn of this chat is running; cancel it or wait for its end, then repeat the request"
        );
        assert_eq!(error["details"]["request_id"], json!(running.request_id()));
    }
}

#[tokio::test]
async fn g004_what_cannot_be_removed_now_says_so_without_places_in_stores() {
    let site = Site::development().await;
    let mut running = site.stream(&streamed("never ends")).await;
    running.until(is_text).await;
    let filter = json!({"scope": "chatHistory"});
    let report = site.post("/v1/contexts/remove", &filter).await.json();
    let failed = report["failed"].as_array().unwrap();
    let reasons: Vec<&Value> = failed.iter().map(|left| &left["reason"]).collect();
    let expected = "something else is at work on this; repeat the request when that has ended";
    assert_eq!(reasons, [expected], "{report}");
}
