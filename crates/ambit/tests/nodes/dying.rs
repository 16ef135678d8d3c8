//! A node that ends in the middle of a turn.

use crate::Run;
use crate::place::{Node, Place, SLOWLY, is_text, last_words, said, whole};
use crate::site::Answer;
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use reqwest::Method;
use serde_json::json;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};
use tokio::task::yield_now;

pub const CASES: &[(&str, Run)] = &[
    (
        "g108_the_stream_of_a_killed_node_goes_on_at_another_without_gap_or_repetition",
        |place| Box::pin(killed(place)),
    ),
    (
        "g042_a_request_whose_node_dies_before_its_answer_is_answered_under_its_key_by_another",
        |place| Box::pin(repeated(place)),
    ),
    (
        "g042_a_request_whose_node_dies_before_its_turn_is_soon_answered_under_its_key_by_another",
        |place| Box::pin(claimed(place)),
    ),
    (
        "a_node_that_is_told_to_stop_ends_its_turns_first",
        |place| Box::pin(told(place)),
    ),
    (
        "a_node_that_is_told_to_stop_is_not_ready_and_still_answers",
        |place| Box::pin(draining(place)),
    ),
    (
        "a_client_that_sends_nothing_does_not_hold_up_the_end",
        |place| Box::pin(held_up(place)),
    ),
    (
        "a_service_manager_is_told_when_a_node_is_ready_and_when_it_stops",
        |place| Box::pin(managed(place)),
    ),
    (
        "g108_a_turn_that_outlasts_its_node_s_grace_goes_on_at_another",
        |place| Box::pin(out_of_grace(place)),
    ),
    (
        "g108_a_node_that_starts_again_goes_on_with_its_own_turns",
        |place| Box::pin(restarted(place)),
    ),
];

const ALL: &str = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";

async fn killed(place: Place) {
    let (first, second) = (place.slow_node(&[]), place.node());
    let mut stream = first.stream(SLOWLY).await;
    let id = stream.request_id();
    let mut events = stream.until(is_text).await;
    first.kill();
    events.extend(last_words(&mut stream).await);
    let last = events.last().unwrap().id.unwrap();
    let rest = second.resume(&id, last).await.rest().await;
    events.extend(rest);
    assert_eq!(whole(&events), "completed");
    assert_eq!(second.resume(&id, 0).await.rest().await, events);
    check_story(&second.messages().await);
    let next = second.chat(&said("hi")).await.json();
    assert_eq!(
        next["choices"][0]["message"]["content"],
        json!("echo: hi"),
        "{next}"
    );
    let third = place.node();
    let messages = third.messages().await;
    let newest = messages.iter().rev().take(2);
    let newest: Vec<&str> = newest.map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(newest, ["echo: hi", "hi"]);
}

/// The question, what had been said until the node ended, and the answer.
pub fn check_story(messages: &[(String, String, String)]) {
    let [question, partial, answer] = messages else {
        panic!("{messages:?}");
    };
    assert_eq!((&*question.0, &*question.1), ("user", SLOWLY));
    assert!(
        ALL.starts_with(&partial.1) && partial.2 == "partial",
        "{messages:?}"
    );
    let whole = ("assistant", ALL, "completed");
    assert_eq!((&*answer.0, &*answer.1, &*answer.2), whole);
}

async fn told(place: Place) {
    let first = place.node();
    let mut stream = first.stream("go on").await;
    let mut events = stream.until(is_text).await;
    first.terminate();
    events.extend(stream.rest().await);
    assert_eq!(whole(&events), "completed");
    assert!(first.wait().success());
    let answer = (
        "assistant".to_owned(),
        ALL.to_owned(),
        "completed".to_owned(),
    );
    assert_eq!(place.node().messages().await.pop(), Some(answer));
}

async fn draining(place: Place) {
    let node = place.node_with(&["--drain", "50", "--grace", "60"]);
    assert_eq!(node.operation("/readyz").await.status, 200);
    node.terminate();
    while node.operation("/readyz").await.status == 200 {}
    let refused = node.operation("/readyz").await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(node.operation("/healthz").await.status, 200);
    assert_eq!(node.chat(&said("hi")).await.status, 200);
    let short = place.node_with(&["--drain", "1"]);
    short.terminate();
    assert!(short.wait().success());
}

async fn held_up(place: Place) {
    let node = place.node_with(&["--grace", "3"]);
    let mut silent = node.connect();
    let head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{";
    silent.write_all(head).unwrap();
    // It is answered behind the other, so that one has arrived.
    assert_eq!(node.operation("/healthz").await.status, 200);
    node.terminate();
    let began = Instant::now();
    assert!(node.wait().success());
    let took = began.elapsed();
    // It would be waited for for a minute; what is above three seconds is for a busy machine.
    assert!(took < Duration::from_secs(30), "{took:?}");
}

async fn managed(place: Place) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let hear = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let socket = path.to_str().unwrap();
    let node = place.node_with_environment(&[("NOTIFY_SOCKET", socket)]);
    assert_eq!(hear(), "READY=1");
    node.terminate();
    assert_eq!(hear(), "STOPPING=1");
    assert!(node.wait().success());
}

async fn out_of_grace(place: Place) {
    let (first, second) = (place.slow_node(&["--grace", "0"]), place.node());
    let mut stream = first.stream(SLOWLY).await;
    let id = stream.request_id();
    let mut events = stream.until(is_text).await;
    first.terminate();
    events.extend(last_words(&mut stream).await);
    let last = events.last().unwrap().id.unwrap();
    events.extend(second.resume(&id, last).await.rest().await);
    assert_eq!(whole(&events), "completed");
    assert!(first.wait().success());
    check_story(&second.messages().await);
}

async fn restarted(place: Place) {
    let first = place.slow_node(&[]);
    let mut stream = first.stream(SLOWLY).await;
    let id = stream.request_id();
    let mut events = stream.until(is_text).await;
    first.kill();
    events.extend(last_words(&mut stream).await);
    let last = events.last().unwrap().id.unwrap();
    let again = place.node();
    events.extend(again.resume(&id, last).await.rest().await);
    assert_eq!(whole(&events), "completed");
    check_story(&again.messages().await);
}

async fn repeated(place: Place) {
    let (first, second) = (place.slow_node(&[]), place.node());
    let ask = |node: &Node| {
        let request = node.asked(&said(SLOWLY));
        request.header("idempotency-key", "k1")
    };
    let unanswered = tokio::spawn(ask(&first).send());
    // It is taken on as soon as its chat is there.
    while second.get("/chat/sessions/c1").await.status != 200 {}
    first.kill();
    assert!(unanswered.await.unwrap().is_err());
    let answer = Answer::of(ask(&second)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let again = Answer::of(ask(&place.node())).await;
    assert_eq!(again.json(), answer.json());
    let messages = second.messages().await;
    let questions = messages.iter().filter(|(role, ..)| role == "user");
    assert_eq!(questions.count(), 1, "{messages:?}");
    let (role, text, status) = messages.last().unwrap();
    assert_eq!(
        (&**role, &**text, &**status),
        ("assistant", ALL, "completed")
    );
}

async fn claimed(place: Place) {
    let (first, second, store) = (place.node(), place.node(), place.driver().await);
    let mut running = second.stream("never ends").await;
    running.until(is_text).await;
    let ask = |node: &Node| {
        let mut body = said("hi");
        body["on_busy"] = json!("queue");
        node.asked(&body).header("idempotency-key", "k1")
    };
    let unanswered = tokio::spawn(ask(&first).send());
    let (keys, any) = (
        Space::repeats(DEFAULT_TENANT),
        ValueScan::first(Pattern::all(), 1, ValuePart::Nothing),
    );
    while store.scan(&keys, &any).await.unwrap().is_empty() {
        // SQLite is read where it is called, without a wait in which the request could be sent.
        yield_now().await;
    }
    first.kill();
    assert!(unanswered.await.unwrap().is_err());
    let path = format!("/chat/requests/{}/cancel", running.request_id());
    Answer::of(second.request(Method::POST, &path)).await;
    let killed = Instant::now();
    let answer = Answer::of(ask(&second)).await;
    let took = killed.elapsed();
    assert_eq!(answer.status, 200, "{}", answer.text);
    // The claim lives for 9 s; the rest is for a busy machine.
    assert!(took < Duration::from_secs(40), "{took:?}");
    let again = Answer::of(ask(&place.node())).await;
    assert_eq!(again.json(), answer.json());
    let messages = second.messages().await;
    let asked = messages.iter().filter(|(_, text, _)| text == "hi");
    assert_eq!(asked.count(), 1, "{messages:?}");
}
