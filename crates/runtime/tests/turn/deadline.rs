//! How long a turn may last.

use crate::fallback::{failing, saying, set_up, text, texts};
use crate::place::{ask, end, remembered, request, traced};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_begin_is_not_waited_for_longer_than_a_turn_may_last() {
    let slow = json!({"delay": "20m", "rules": [{"reply": "late"}]});
    let (place, _) = set_up(&json!({"turn": "10m"}), &json!({}), &[("slow", slow)]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let ended = end(&frames);
    assert_eq!(
        (&ended["status"], &ended["code"], &ended["error"]),
        (
            &json!("error"),
            &json!("timeout"),
            &json!(
                "the turn took longer than the limit \"turn\" allows; ambit.limits in app.yao sets it"
            )
        )
    );
    assert_eq!(remembered(&place, "hello").await, ["user: hi"]);
}

#[tokio::test(start_paused = true)]
async fn g132_no_pause_goes_beyond_the_turns_deadline() {
    let (limits, none) = (json!({"turn": "400ms"}), json!({}));
    let (place, _) = set_up(&limits, &none, &[("first", failing(503))]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let message = "connector \"first\": the provider answered 503: no";
    assert_eq!(end(&frames)["error"], message);
    let trace = traced(&place, &frames).await;
    assert!(!trace.contains("call 1 of the model failed"), "{trace}");

    let (place, _) = set_up(
        &limits,
        &none,
        &[("first", failing(503)), ("second", saying("ok"))],
    )
    .await;
    assert_eq!(
        texts(&ask(&place, request("hello", "hi")).await),
        [text("ok")]
    );
}
