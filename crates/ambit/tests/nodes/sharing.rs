//! Nodes that have to do with each other's turns.

use crate::Run;
use crate::place::{Node, Place, is_text, said, whole};
use crate::run_tally::RunTally;
use crate::site::Answer;
use crate::stopwatch::Stopwatch;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

pub const CASES: &[(&str, Run)] = &[
    (
        "g109_a_turn_is_stopped_within_a_second_through_another_node",
        |place| Box::pin(stopped(place)),
    ),
    (
        "g004_a_second_request_is_refused_and_told_which_turn_runs_elsewhere",
        |place| Box::pin(refused(place)),
    ),
    (
        "g004_a_queued_request_waits_for_a_turn_elsewhere",
        |place| Box::pin(queued(place)),
    ),
    (
        "g004_an_interrupting_request_ends_a_turn_elsewhere",
        |place| Box::pin(interrupting(place)),
    ),
    (
        "g123_events_of_one_node_are_followed_at_another_and_a_feed_ends_with_its_node",
        |place| Box::pin(followed(place)),
    ),
    ("one_idempotency_key_is_one_turn_on_all_nodes", |place| {
        Box::pin(repeated(place))
    }),
];

fn with(text: &str, on_busy: &str) -> Value {
    let mut body = said(text);
    body["on_busy"] = json!(on_busy);
    body
}

/// What was answered to a request that was not refused.
fn content(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["choices"][0]["message"]["content"].take()
}

async fn stopped(place: Place) {
    let (first, second) = (place.node(), place.node());
    let mut runs = RunTally::new();
    // That others keep the server of the store waiting is not seen here.
    while runs.is_open() {
        let mut stream = first.stream("never ends").await;
        let path = format!("/chat/requests/{}", stream.request_id());
        let mut events = stream.until(is_text).await;
        let began = Stopwatch::start(&[first.id(), second.id()]);
        let cancel = second.request(Method::POST, &format!("{path}/cancel"));
        assert_eq!(Answer::of(cancel).await.status, 202);
        events.extend(stream.rest().await);
        let took = began.elapsed();
        assert_eq!(whole(&events), "cancelled");
        for node in [&first, &second] {
            assert_eq!(node.get(&path).await.json()["status"], json!("cancelled"));
        }
        runs.count(took, took < Duration::from_secs(1));
    }
    let partial = second.messages().await.pop().unwrap();
    assert!(
        partial.1.starts_with('0') && partial.2 == "partial",
        "{partial:?}"
    );
}

async fn refused(place: Place) {
    let (first, second) = (place.node(), place.node());
    let mut running = first.stream("never ends").await;
    running.until(is_text).await;
    for body in [said("hi"), with("hi", "reject")] {
        let answer = second.chat(&body).await;
        assert_eq!(answer.failure(), (409, "chat_busy".to_owned(), None));
        let details = answer.json()["error"]["details"].take();
        assert_eq!(details, json!({"request_id": running.request_id()}));
    }
}

async fn queued(place: Place) {
    let (first, second) = (place.node(), place.node());
    let mut running = first.stream("go on").await;
    let mut events = running.until(is_text).await;
    let body = with("hi", "queue");
    let (queued, rest) = tokio::join!(second.chat(&body), running.rest());
    events.extend(rest);
    assert_eq!(whole(&events), "completed");
    assert_eq!(content(&queued), json!("echo: hi"));
}

async fn interrupting(place: Place) {
    let (first, second) = (place.node(), place.node());
    let mut running = first.stream("never ends").await;
    let mut events = running.until(is_text).await;
    let body = with("hi", "interrupt");
    let (next, rest) = tokio::join!(second.chat(&body), running.rest());
    events.extend(rest);
    assert_eq!(whole(&events), "cancelled");
    assert_eq!(content(&next), json!("echo: hi"));
}

async fn repeated(place: Place) {
    let (first, second) = (place.node(), place.node());
    let ask = async |node: &Node| {
        let request = node.asked(&said("go on"));
        Answer::of(request.header("idempotency-key", "k1")).await
    };
    let (one, other) = tokio::join!(ask(&first), ask(&second));
    assert_eq!(content(&one), content(&other));
    assert_eq!(
        one.header("x-ambit-request"),
        other.header("x-ambit-request")
    );
    assert_eq!(ask(&second).await.json(), one.json());
    assert_eq!(second.messages().await.len(), 2);
    let unlike = second.asked(&said("hi")).header("idempotency-key", "k1");
    let unlike = Answer::of(unlike).await;
    let param = Some("idempotency-key".to_owned());
    assert_eq!(unlike.failure(), (409, "conflict".to_owned(), param));
}

async fn followed(place: Place) {
    let (first, second) = (place.node(), place.node());
    let mut early = second.follow("").await;
    let hi = said("hi");
    // The other node hears of its first follower when it looks for one.
    loop {
        tokio::select! {
            event = early.next() => break drop(event.unwrap()),
            _ = first.chat(&hi) => {}
        }
    }
    let (mut here, mut there) = (
        first.follow("?chat=c2").await,
        second.follow("?chat=c2").await,
    );
    let mut body = said("hi");
    body["chat_id"] = json!("c2");
    assert_eq!(content(&first.chat(&body).await), json!("echo: hi"));
    let events = here.turn().await;
    assert_eq!(events, there.turn().await);
    assert_eq!(events.first().unwrap().name, "ContextCreated");
    first.terminate();
    assert_eq!(here.next().await, None);
    assert!(first.wait().success());
    body["messages"][0]["content"] = json!("hello");
    assert_eq!(content(&second.chat(&body).await), json!("echo: hello"));
    assert_eq!(
        there.turn().await.last().unwrap().data["status"],
        "completed"
    );
}
