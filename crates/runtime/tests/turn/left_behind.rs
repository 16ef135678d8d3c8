//! Turns that their node has left, and the node that comes next.

use crate::place::{ECHO, Place, ann, ask, place, request};
use crate::retention::{DAY, HELLO, id, logs, over, pass};
use ambit_runtime::{Runtime, TurnStatus};
use ambit_storage::lease::OnBusy;
use std::time::Duration;

/// What the agent is told; without it no model is called.
pub const PROMPTS: (&str, &str) = (
    "assistants/hello/prompts.yml",
    "- role: system\n  content: Be kind.\n",
);

/// The connector of tests that says nothing for a minute where that is wanted.
pub const SLOW: (&str, &str) = (
    ECHO.0,
    r#"{"type": "scripted", "label": "Echo", "options": {"model": "echo", "rules": [
        {"match": {"last_user": "^slow"}, "reply": "a b c", "delay": "60s"},
        {"reply": "at once"}]}}"#,
);

/// A turn that its node has left, and whose lease has ended.
pub async fn left_turn(place: &Place) -> String {
    let started = place.runtime.start(request("hello", "slow")).await.unwrap();
    place.runtime.close(Duration::ZERO).await.unwrap();
    pass(place, Duration::from_secs(60));
    started.request_id
}

/// Another node over the same stores.
pub async fn next_node(place: Place) -> Place {
    let stores = place.runtime.stores().clone();
    Place {
        runtime: Runtime::open(over(&place, stores)).await.unwrap(),
        app: place.app,
    }
}

#[tokio::test]
async fn a_turn_that_was_left_and_is_closed_by_the_next_one_goes_with_its_time() {
    let place = place(&[HELLO, PROMPTS, SLOW]).await;
    let left = left_turn(&place).await;
    // The next turn of the conversation begins before anybody takes the old one up.
    let next = next_node(place).await;
    let mut quick = request("hello", "quick");
    quick.on_busy = OnBusy::Interrupt;
    let quick = id(&ask(&next, quick).await);
    for id in [&left, &quick] {
        assert_ne!(
            next.runtime.turn(&ann(), id).await.unwrap().status,
            TurnStatus::Running
        );
    }
    pass(&next, DAY);
    assert_eq!(next.runtime.drop_expired().await, 2);
    let expected = [left, quick].map(|id| format!("turn/{id}/trace"));
    assert_eq!(logs(&next.runtime).await, expected);
}
