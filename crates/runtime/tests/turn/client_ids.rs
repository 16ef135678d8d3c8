//! Ids as clients know them: those that Ambit gives to calls, and those that clients give to their messages.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, history, mirrored, model, place, remembered, request,
    said,
};
use ambit_runtime::chat::{ChatMessage, ClientMessageFields, ToolDefinition};
use ambit_runtime::chats::{self, ChatName, MessageFilter};
use ambit_runtime::public_id::call_id;
use ambit_runtime::{Error, ErrorCode, Frame, Supersede, TurnRequest};
use ambit_storage::storage::Message;
use serde_json::{Value, json};

/// An agent whose model calls the client's tool for each question, always by the same id, and answers a result with what it
/// was asked.
async fn repeating() -> Place {
    let call = json!({"id": "k1", "name": "locate"});
    let rules = json!([
        {"match": {"has_tool_result": true}, "reply": "{{request}}"},
        {"match": {"last_user": "where"}, "reply": "wait ", "tool_calls": [call]},
        {"reply": "{{request}}"},
    ]);
    let mut files = agent(&json!({"connector": "calls"}), "");
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

/// The id of the call that a turn has shown, as clients know it.
fn shown_call(frames: &[Frame]) -> String {
    let starts = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("message_start"));
    let mut data = starts.filter_map(Frame::event_data);
    let start = data.find(|data| data["type"] == "tool_call").unwrap();
    let turn = end(frames)["request_id"].as_str().unwrap().to_owned();
    call_id(&turn, start["message_id"].as_str().unwrap())
}

async fn refused(place: &Place, messages: Vec<ChatMessage>) -> Error {
    let before = history(place, "hello").await;
    let error = place.runtime.start(asking(messages)).await.err().unwrap();
    assert_eq!(history(place, "hello").await, before);
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    error
}

/// The ids of the results that are stored, as their provider gave them.
fn results(stored: &[Message]) -> Vec<String> {
    let results = stored.iter().filter_map(|it| it.tool_result.as_ref());
    results.map(|result| result.call_id.clone()).collect()
}

#[tokio::test]
async fn g156_a_result_reaches_the_call_that_it_names_where_a_provider_repeats_its_ids() {
    let place = repeating().await;
    let first = ask(&place, asking(vec![ChatMessage::user("where is it?")])).await;
    let second = ask(&place, asking(vec![ChatMessage::user("where now?")])).await;
    let (old, new) = (shown_call(&first), shown_call(&second));
    assert_ne!(old, new);
    // Nobody waits for the first call any more, although its provider's id is waited for.
    let error = refused(&place, vec![ChatMessage::result(&old, "there")]).await;
    assert!(error.message.contains(&old), "{error}");
    let both = vec![
        ChatMessage::result(&old, "there"),
        ChatMessage::result(&new, "here"),
    ];
    let got = mirrored(&ask(&place, asking(both)).await);
    let expected = [
        "user: where is it?",
        "assistant: wait ",
        "tool: no result: the call did not finish",
        "user: where now?",
        "assistant: wait ",
        "tool: here",
    ];
    assert_eq!(said(&got["messages"])[1..], expected);
    // No two calls of one request may share an id: the later one has got its own for models, and its result with it.
    let stored = history(&place, "hello").await;
    let calls = stored.iter().flat_map(|message| &message.tool_calls);
    let calls: Vec<&str> = calls.map(|call| call.id.as_str()).collect();
    let [first, second] = calls[..] else {
        panic!("{calls:?}");
    };
    assert_eq!(first, "k1");
    assert_ne!(second, "k1");
    assert_eq!(results(&stored), [second]);
}

#[tokio::test]
async fn a_result_that_names_its_call_as_clients_do_continues_its_answer() {
    let place = repeating().await;
    let first = ask(&place, asking(vec![ChatMessage::user("where is it?")])).await;
    let id = shown_call(&first);
    let second = ask(&place, asking(vec![ChatMessage::result(&id, "here")])).await;
    let continued = second[0].event_data().unwrap()["continues"].clone();
    assert_eq!(continued, end(&first)["request_id"]);
    let error = refused(&place, vec![ChatMessage::result(&id, "there")]).await;
    assert!(error.message.contains(&id), "{error}");
}

#[tokio::test]
async fn a_result_of_an_unknown_call_is_refused_by_the_id_that_was_sent() {
    let place = repeating().await;
    ask(&place, asking(vec![ChatMessage::user("where is it?")])).await;
    let other = TurnRequest {
        chat: Some("chat-2".to_owned()),
        ..asking(vec![ChatMessage::user("where is it?")])
    };
    let elsewhere = shown_call(&ask(&place, other).await);
    for id in [elsewhere.as_str(), "call_nobody_M1"] {
        let error = refused(&place, vec![ChatMessage::result(id, "here")]).await;
        assert!(error.message.contains(id), "{error}");
    }
}

#[tokio::test]
async fn the_whole_conversation_with_the_ids_of_clients_is_recognised() {
    let place = repeating().await;
    let first = ask(&place, asking(vec![ChatMessage::user("where is it?")])).await;
    let call = json!({"id": shown_call(&first), "type": "function", "function": {"name": "locate", "arguments": "{}"}});
    let sent = json!([
        {"role": "user", "content": "where is it?"},
        {"role": "assistant", "content": "wait ", "tool_calls": [call]},
        {"role": "tool", "content": "here", "tool_call_id": call["id"]},
    ]);
    let sent = ChatMessage::read_all("messages", sent.as_array().unwrap().clone()).unwrap();
    ask(&place, asking(sent)).await;
    let expected = ["user: where is it?", "assistant: wait ", "tool: here"];
    assert_eq!(remembered(&place, "hello").await[..3], expected);
    assert_eq!(results(&history(&place, "hello").await), ["k1"]);
}

fn named(id: &str, text: &str) -> ChatMessage {
    ChatMessage {
        client: Some(Box::new(ClientMessageFields {
            metadata: Some(json!({"canary": 1})),
            ..ClientMessageFields::of_id(id)
        })),
        ..ChatMessage::user(text)
    }
}

#[tokio::test]
async fn an_id_of_a_clients_own_is_stored_and_listed_and_no_model_sees_it() {
    let place = repeating().await;
    let got = mirrored(&ask(&place, asking(vec![named("mine", "hello")])).await);
    assert!(!got.to_string().contains("canary"), "{got}");
    let chat = ChatName {
        chat_id: "chat-1",
        assistant_id: None,
        context: None,
    };
    let filter = MessageFilter {
        limit: 10,
        ..MessageFilter::default()
    };
    let ambit = place.runtime.contexts(&ann());
    let listed = chats::messages(&ambit, &ann(), chat, &filter)
        .await
        .unwrap();
    let ids: Vec<Option<&str>> = listed
        .items
        .iter()
        .map(|item| item.client_id.as_deref())
        .collect();
    assert_eq!(ids, [Some("mine"), None]);
    let again = TurnRequest {
        supersede: Some(Supersede::From("mine".to_owned())),
        ..asking(vec![named("mine", "goodbye")])
    };
    ask(&place, again).await;
    assert_eq!(remembered(&place, "hello").await[0], "user: goodbye");
    let stored = history(&place, "hello").await;
    assert_eq!(
        stored[0].extras["client"],
        json!({"id": "mine", "metadata": {"canary": 1}})
    );
}

#[tokio::test]
async fn an_id_of_a_clients_own_has_1_to_200_bytes() {
    let place = repeating().await;
    for id in ["", &"i".repeat(201)] {
        let error = refused(&place, vec![named(id, "hello")]).await;
        assert_eq!(error.param.as_deref(), Some("messages[0].id"));
    }
    let longest = vec![named(&"i".repeat(200), "hello")];
    let ended = end(&ask(&place, asking(longest)).await);
    assert_eq!(ended["status"], Value::from("completed"));
}
