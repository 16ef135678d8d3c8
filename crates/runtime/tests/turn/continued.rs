//! Turns that go on with results of calls that the client has made itself.

use crate::place::{
    Place, agent, ask, borrowed, end, history, mirrored, model, place, remembered, request, said,
};
use ambit_runtime::chat::{ChatMessage, ToolDefinition};
use ambit_runtime::{ErrorCode, Frame, Supersede, TurnRequest};
use ambit_storage::storage::Message;
use serde_json::{Value, json};

/// An agent whose model calls two tools of the client's, then a third one, and then answers with what it was asked.
async fn calling() -> Place {
    let call = |id: &str| json!({"id": id, "name": "locate"});
    let rules = json!([
        {"match": {"has_tool_result": false}, "reply": "wait ", "tool_calls": [call("k1"), call("k2")]},
        {"match": {"has_tool_result": true, "times": 1}, "reply": "and ", "tool_calls": [call("k3")]},
        {"reply": "{{request}}"},
    ]);
    let hooks = "export function Next(ctx, payload, options) { return { data: options.trigger }; }";
    let mut files = agent(&json!({"connector": "calls"}), hooks);
    files.push(model("calls", &rules));
    place(&borrowed(&files)).await
}

fn asking(messages: Vec<ChatMessage>) -> TurnRequest {
    let own = json!({"type": "function", "function": {"name": "locate", "parameters": {"type": "object"}}});
    let own: ToolDefinition = serde_json::from_value(own).unwrap();
    let mut asked = request("hello", "");
    asked.call.tools = vec![own];
    TurnRequest { messages, ..asked }
}

fn result(id: &str, text: &str) -> ChatMessage {
    ChatMessage::result(id, text)
}

fn id(frames: &[Frame]) -> String {
    end(frames)["request_id"].as_str().unwrap().to_owned()
}

/// What the turn's stream says it continues.
fn continued(frames: &[Frame]) -> Value {
    frames[0].props["data"]["continues"].clone()
}

/// What a turn stores of what it continues.
fn stored(messages: &[Message], turn: &str) -> Option<Value> {
    let own = messages
        .iter()
        .filter(|it| it.turn_id.as_deref() == Some(turn));
    own.filter_map(|message| message.extras.get("continues").cloned())
        .next()
}

#[tokio::test]
async fn each_turn_that_continues_an_answer_names_the_one_that_began_it() {
    let place = calling().await;
    let first = ask(&place, asking(vec![ChatMessage::user("where?")])).await;
    assert_eq!(
        (continued(&first), &end(&first)["next"]),
        (Value::Null, &json!("submit"))
    );
    let second = ask(&place, asking(vec![result("k1", "here")])).await;
    assert_eq!(continued(&second), json!(id(&first)));
    assert_eq!(end(&second)["next"], "continue");
    let third = ask(&place, asking(vec![result("k3", "there")])).await;
    assert_eq!(continued(&third), json!(id(&first)));
    let view = history(&place, "hello").await;
    assert_eq!(stored(&view, &id(&first)), None);
    for turn in [id(&second), id(&third)] {
        assert_eq!(stored(&view, &turn), Some(json!(id(&first))));
    }
}

#[tokio::test]
async fn a_call_without_a_result_gets_one_that_is_marked_and_a_late_one_is_ignored() {
    let place = calling().await;
    ask(&place, asking(vec![ChatMessage::user("where?")])).await;
    ask(&place, asking(vec![result("k1", "here")])).await;
    let before = history(&place, "hello").await;
    // Only a result that counts no more.
    let late = asking(vec![result("k2", "too late")]);
    let error = place.runtime.start(late).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(error.message.contains("k2"), "{error}");
    for unknown in ["k9", "k2x"] {
        let asked = asking(vec![result("k3", "there"), result(unknown, "what?")]);
        let error = place.runtime.start(asked).await.err().unwrap();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.contains(&format!("\"{unknown}\"")), "{error}");
    }
    assert_eq!(history(&place, "hello").await, before);
    let both = asking(vec![result("k2", "too late"), result("k3", "there")]);
    let got = mirrored(&ask(&place, both).await);
    let expected = [
        "system: Be kind.",
        "user: where?",
        "assistant: wait ",
        "tool: here",
        "tool: no result: the call did not finish",
        "assistant: and ",
        "tool: there",
    ];
    assert_eq!(said(&got["messages"]), expected);
}

#[tokio::test]
async fn an_id_in_a_continued_answer_means_all_of_its_turns() {
    for part in 0..3 {
        let place = calling().await;
        let first = ask(&place, asking(vec![ChatMessage::user("where?")])).await;
        let second = ask(&place, asking(vec![result("k1", "here")])).await;
        let third = ask(&place, asking(vec![result("k3", "there")])).await;
        let id = id(&[first, second, third][part]);
        let again = TurnRequest {
            supersede: Some(Supersede::From(id)),
            ..asking(Vec::new())
        };
        let frames = ask(&place, again).await;
        assert_eq!(end(&frames)["next"], "regenerate");
        assert_eq!(
            remembered(&place, "hello").await,
            ["user: where?", "assistant: wait "]
        );
    }
}

#[tokio::test]
async fn results_with_a_new_question_begin_an_answer_of_their_own() {
    let place = calling().await;
    ask(&place, asking(vec![ChatMessage::user("where?")])).await;
    let asked = vec![result("k1", "here"), ChatMessage::user("and now?")];
    let second = ask(&place, asking(asked)).await;
    assert_eq!(continued(&second), Value::Null);
    assert_eq!(end(&second)["next"], "submit");
}

#[tokio::test]
async fn g161_a_result_in_a_stale_copy_changes_no_settled_call() {
    let place = calling().await;
    ask(&place, asking(vec![ChatMessage::user("where?")])).await;
    let both = vec![result("k1", "here"), result("k2", "near")];
    ask(&place, asking(both)).await;
    let before = history(&place, "hello").await;
    let forged = vec![
        result("k1", "forged"),
        result("k2", "forged"),
        result("k3", "there"),
    ];
    let got = mirrored(&ask(&place, asking(forged)).await);
    let expected = ["tool: here", "tool: near", "assistant: and ", "tool: there"];
    assert_eq!(said(&got["messages"])[3..], expected);
    assert_eq!(history(&place, "hello").await[..before.len()], before);
}
