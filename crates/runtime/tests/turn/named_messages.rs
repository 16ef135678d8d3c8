//! Requests whose messages have ids: what is stored is not new, wherever it stands.

use crate::place::{Place, agent, ask, borrowed, end, model, place, remembered, request};
use ambit_runtime::chat::{ChatMessage, ClientMessageFields, role_named};
use ambit_runtime::{ErrorCode, TurnRequest};
use serde_json::{Value, json};

/// An agent that says how each turn came about.
async fn telling() -> Place {
    let hooks = "export function Next(ctx, payload, options) { return { data: options.trigger }; }";
    let mut files = agent(&json!({"connector": "short"}), hooks);
    files.push(model("short", &json!([{"reply": "to {{last_user}}"}])));
    place(&borrowed(&files)).await
}

fn named(role: &str, id: &str, text: &str) -> ChatMessage {
    ChatMessage {
        client: Some(Box::new(ClientMessageFields::of_id(id))),
        ..ChatMessage::new(role_named(role).unwrap(), text)
    }
}

fn sending(messages: &[ChatMessage]) -> TurnRequest {
    TurnRequest {
        messages: messages.to_vec(),
        has_message_ids: true,
        ..request("hello", "")
    }
}

/// Runs a request to its end; the answer is its id and how it came about.
async fn run(place: &Place, messages: &[ChatMessage]) -> (String, Value) {
    let ended = end(&ask(place, sending(messages)).await);
    assert_eq!(ended["status"], "completed", "{ended}");
    let id = ended["request_id"].as_str().unwrap();
    (id.to_owned(), ended["next"].clone())
}

/// A chat with one exchange, and the list that its client has.
async fn exchange(place: &Place) -> Vec<ChatMessage> {
    let question = named("user", "q1", "one");
    let (id, trigger) = run(place, std::slice::from_ref(&question)).await;
    assert_eq!(trigger, "submit");
    vec![question, named("assistant", &format!("{id}.M1"), "to one")]
}

#[tokio::test]
async fn g162_what_stands_behind_the_last_stored_message_is_new() {
    let place = telling().await;
    let mut list = exchange(&place).await;
    list.push(named("user", "q2", "one"));
    list.push(named("user", "q3", "three"));
    assert_eq!(run(&place, &list).await.1, "submit");
    let said = [
        "user: one",
        "assistant: to one",
        "user: one",
        "user: three",
        "assistant: to three",
    ];
    assert_eq!(remembered(&place, "hello").await, said);
}

#[tokio::test]
async fn g162_the_newest_question_alone_is_answered_again() {
    let place = telling().await;
    let list = exchange(&place).await;
    assert_eq!(run(&place, &list[..1]).await.1, "regenerate");
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: one", "assistant: to one"]
    );
    let newer = [list[0].clone(), named("user", "q2", "two")];
    assert_eq!(run(&place, &newer).await.1, "submit");
    for nothing_new in [&list[..1], &list[..]] {
        let refused = place.runtime.start(sending(nothing_new)).await;
        assert_eq!(refused.err().unwrap().code, ErrorCode::InvalidArgument);
    }
    let said = [
        "user: one",
        "assistant: to one",
        "user: two",
        "assistant: to two",
    ];
    assert_eq!(remembered(&place, "hello").await, said);
}

#[tokio::test]
async fn g161_a_stale_copy_rewrites_nothing() {
    let place = telling().await;
    let list = exchange(&place).await;
    let stale = [
        list[0].clone(),
        named("assistant", "gone.M1", "something else"),
        named("user", "q2", "two"),
    ];
    run(&place, &stale).await;
    let foreign = [
        named("user", "x1", "one"),
        named("assistant", "x2", "what nobody said"),
        named("user", "x3", "three"),
    ];
    run(&place, &foreign).await;
    let said = [
        "user: one",
        "assistant: to one",
        "user: two",
        "assistant: to two",
        "user: three",
        "assistant: to three",
    ];
    assert_eq!(remembered(&place, "hello").await, said);
}
