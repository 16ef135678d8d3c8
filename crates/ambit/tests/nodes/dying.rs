//! A node that ends in the middle of a turn.

use crate::Run;
use crate::place::{Node, Place, is_text, last_words, said, whole};
use crate::site::Answer;
use serde_json::json;

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
        "a_node_that_is_told_to_stop_ends_its_turns_first",
        |place| Box::pin(told(place)),
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

/// What is answered so slowly that a node ends in the middle of it, on a busy machine too.
pub const SLOWLY: &str = "go on slowly";
const ALL: &str = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";

async fn killed(place: Place) {
    let (first, second) = (place.node(), place.node());
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

async fn out_of_grace(place: Place) {
    let (first, second) = (place.node_with(&["--grace", "0"]), place.node());
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
    let first = place.node();
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
    let (first, second) = (place.node(), place.node());
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
