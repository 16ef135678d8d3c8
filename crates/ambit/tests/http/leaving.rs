//! Clients that leave and turns that are stopped.

use crate::site::{Answer, Site};
use crate::stopwatch::Stopwatch;
use crate::turns::{is_text, said, shown, status, streamed};
use reqwest::Method;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn g026_a_client_that_leaves_does_not_stop_its_turn() {
    let site = Site::development().await;
    let mut stream = site.stream(&streamed("go on")).await;
    let id = stream.request_id();
    stream.until(is_text).await;
    drop(stream);
    let events = site.resume(&id, 0).await.rest().await;
    assert_eq!(status(&events), json!("completed"));
    let expected: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    assert_eq!(shown(&events), expected.join(" "));
    let known = site.get(&format!("/v1/chat/requests/{id}")).await.json();
    assert_eq!(
        (&known["status"], &known["chat_id"]),
        (&json!("completed"), &json!("c1"))
    );
}

#[tokio::test]
async fn g026_a_client_that_does_not_wait_for_its_answer_does_not_stop_its_turn() {
    let site = Site::development().await;
    let mut body = said("go on");
    body["chat_id"] = json!("left");
    let asked = site.post("/v1/chat/completions", &body);
    let left = tokio::time::timeout(Duration::from_millis(200), asked).await;
    assert!(left.is_err());
    // The conversation is busy until the turn has ended, and then holds it.
    let mut next = said("hi");
    next["chat_id"] = json!("left");
    next["on_busy"] = json!("queue");
    assert_eq!(site.post("/v1/chat/completions", &next).await.status, 200);
    let mut count = said("hi");
    count["chat_id"] = json!("left");
    let answer = site.post("/v1/chat/completions", &count).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn cancel_on_disconnect_ends_the_turn_of_a_client_that_leaves() {
    let site = Site::development().await;
    let mut body = streamed("never ends");
    body["cancel_on_disconnect"] = json!(true);
    let mut stream = site.stream(&body).await;
    let id = stream.request_id();
    stream.until(is_text).await;
    drop(stream);
    let path = format!("/v1/chat/requests/{id}");
    let began = Instant::now();
    while site.get(&path).await.json()["status"] == json!("running") {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the turn goes on"
        );
    }
    assert_eq!(site.get(&path).await.json()["status"], json!("cancelled"));
}

#[tokio::test]
async fn cancel_on_disconnect_ends_the_turn_of_a_client_that_left_before_it_began() {
    let site = Site::development().await;
    let mut running = site.stream(&streamed("never ends")).await;
    running.until(is_text).await;
    let mut queued = streamed("never ends");
    queued["on_busy"] = json!("queue");
    queued["cancel_on_disconnect"] = json!(true);
    let asked = site.stream(&queued);
    let left = tokio::time::timeout(Duration::from_millis(200), asked).await;
    assert!(left.is_err());
    let mut next = said("hi");
    next["chat_id"] = json!("c1");
    next["on_busy"] = json!("queue");
    let path = format!("/v1/chat/requests/{}", running.request_id());
    let stop = Answer::of(site.request(Method::DELETE, &path));
    let (answer, _) = tokio::join!(site.post("/v1/chat/completions", &next), stop);
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn g109_a_turn_is_stopped_within_a_second_also_from_another_node() {
    let site = Site::development().await;
    let other = site.beside().await;
    for (node, method, end) in [
        (&site, Method::POST, "/cancel"),
        (&other, Method::POST, "/cancel"),
        (&site, Method::DELETE, ""),
        (&other, Method::DELETE, ""),
    ] {
        let mut stream = site.stream(&streamed("never ends")).await;
        let id = stream.request_id();
        let turn = format!("/v1/chat/requests/{id}");
        let mut events = stream.until(is_text).await;
        let began = Stopwatch::start(&[]);
        let stop = || Answer::of(node.request(method.clone(), &format!("{turn}{end}")));
        assert_eq!(stop().await.status, 202);
        events.extend(stream.rest().await);
        let took = began.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert_eq!(status(&events), json!("cancelled"));
        assert_eq!(stop().await.status, 202);
        let known = node.get(&turn).await.json();
        assert_eq!(known["status"], json!("cancelled"));
        let rows = node.get("/v1/chat/sessions/c1/messages").await.json();
        let kept = rows["items"].as_array().unwrap().last().unwrap();
        let kept = json!([kept["request_id"], kept["props"]["content"], kept["status"]]);
        assert_eq!(kept, json!([id, shown(&events), "partial"]));
    }
}
