//! The messages of a chat: what a stored history is shown as.

use crate::bed::{Bed, ann};
use crate::chats::named;
use ambit_runtime::chats::{self, ChatMessagePage, ChatMessageView, MessageFilter};
use ambit_storage::LiveAgent;
use ambit_storage::storage::{Message, ToolCall};
use futures::FutureExt;
use serde_json::{Value, json};

pub const CASES: &[(&str, crate::Run)] = &[
    (
        "a_message_of_a_person_and_of_a_hook_is_shown_whole",
        |bed| whole(bed).boxed(),
    ),
    (
        "an_answer_is_shown_as_its_parts_with_the_results_of_its_calls",
        |bed| parts(bed).boxed(),
    ),
    ("a_changed_message_stays_where_it_was", |bed| {
        amended(bed).boxed()
    }),
    ("an_answer_that_was_imported_is_shown_too", |bed| {
        imported(bed).boxed()
    }),
    ("an_answer_that_is_given_again_is_hidden", |bed| {
        superseded(bed).boxed()
    }),
    ("an_erased_message_is_not_shown", |bed| erased(bed).boxed()),
    ("what_a_model_no_longer_sees_is_still_shown", |bed| {
        replaced(bed).boxed()
    }),
];

pub async fn chat(bed: &Bed) -> LiveAgent {
    let opened = chats::open(&bed.ambit, &ann(), "support", Some("c")).await;
    opened.unwrap()
}

/// Stores messages of a turn as they are given.
pub async fn store(live: &LiveAgent, turn: &str, messages: impl IntoIterator<Item = Message>) {
    for message in messages {
        let turn_id = Some(turn.to_owned()).filter(|turn| !turn.is_empty());
        let message = Message {
            turn_id,
            created_at: 5,
            ..message
        };
        live.history().add_message(message).await.unwrap();
    }
    live.context().save().await.unwrap();
}

fn with(message: Message, extras: &Value) -> Message {
    let extras = extras.as_object().unwrap().clone();
    Message { extras, ..message }
}

pub async fn page(bed: &Bed, filter: &MessageFilter) -> ChatMessagePage {
    let found = chats::messages(&bed.ambit, &ann(), named("c"), filter).await;
    found.unwrap()
}

pub fn first(limit: usize) -> MessageFilter {
    MessageFilter {
        limit,
        ..MessageFilter::default()
    }
}

pub async fn all(bed: &Bed) -> Vec<ChatMessageView> {
    page(bed, &first(1_000)).await.items
}

/// Id, type and props.
fn short(shown: &[ChatMessageView]) -> Vec<(&str, &str, Value)> {
    let short = shown.iter();
    let short = short.map(|shown| (shown.id.as_str(), shown.kind.as_str(), json!(shown.props)));
    short.collect()
}

async fn whole(bed: Bed) {
    let live = chat(&bed).await;
    let said = with(
        Message::user("Hello"),
        &json!({"type": "user_input", "message_id": "U1", "name": "Ann"}),
    );
    let props = json!({"rows": [1]});
    let sent = json!({
        "message_id": "M1", "type": "table", "props": props, "block_id": "B1", "thread_id": "T1",
        "status": "partial", "assistant_id": "sales", "amended": true,
    });
    let hidden = Message::system("be kind");
    store(
        &live,
        "r1",
        [hidden, said, with(Message::assistant(""), &sent)],
    )
    .await;
    let user = ChatMessageView {
        id: "r1.U1".to_owned(),
        chat_id: "c".to_owned(),
        request_id: "r1".to_owned(),
        message_id: "U1".to_owned(),
        client_id: None,
        role: "user",
        kind: "user_input".to_owned(),
        props: json!({"content": "Hello", "role": "user", "name": "Ann"})
            .as_object()
            .unwrap()
            .clone(),
        block_id: None,
        thread_id: None,
        assistant_id: "support".to_owned(),
        sequence: 2_000,
        status: "completed".to_owned(),
        amended: false,
        metadata: None,
        created_at: 5,
        superseded_by: None,
    };
    let table = ChatMessageView {
        id: "r1.M1".to_owned(),
        message_id: "M1".to_owned(),
        role: "assistant",
        kind: "table".to_owned(),
        props: props.as_object().unwrap().clone(),
        block_id: Some("B1".to_owned()),
        thread_id: Some("T1".to_owned()),
        assistant_id: "sales".to_owned(),
        sequence: 3_000,
        status: "partial".to_owned(),
        amended: true,
        ..user.clone()
    };
    assert_eq!(all(&bed).await, [user, table]);
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "weather", "{\"city\":\"Rome\"}")
}

pub fn answer() -> Message {
    let shown = json!({"reasoning_content": "Hm.", "shown": [
        {"message_id": "M1", "type": "thinking"},
        {"message_id": "M2", "type": "text", "status": "partial"},
        {"message_id": "M3", "type": "tool_call", "call": "k1"},
        {"message_id": "M4", "type": "tool_call", "call": 1},
    ]});
    let mut answer = with(Message::assistant("Let me look."), &shown);
    answer.tool_calls = vec![call("k1"), call("k2")];
    answer
}

fn failed(id: &str) -> Message {
    let mut failed = Message::result(id, "no such city");
    if let Some(result) = &mut failed.tool_result {
        result.is_error = true;
    }
    failed
}

fn called(id: &str, end: &Value) -> Value {
    let mut props = json!({"id": id, "name": "weather", "arguments": "{\"city\":\"Rome\"}"});
    let end = end.as_object().unwrap().clone();
    props.as_object_mut().unwrap().extend(end);
    props
}

async fn parts(bed: Bed) {
    let live = chat(&bed).await;
    store(&live, "r1", [answer()]).await;
    let open = json!({"status": "pending"});
    let shown = all(&bed).await;
    assert_eq!(
        short(&shown),
        [
            ("r1.M1", "thinking", json!({"content": "Hm."})),
            ("r1.M2", "text", json!({"content": "Let me look."})),
            ("r1.M3", "tool_call", called("k1", &open)),
            ("r1.M4", "tool_call", called("k2", &open)),
        ]
    );
    assert_eq!(shown[1].status, "partial");
    let sequences: Vec<u64> = shown.iter().map(|shown| shown.sequence).collect();
    assert_eq!(sequences, [1_000, 1_001, 1_002, 1_003]);
    // The same ids of calls come again in a later turn.
    let mut sunny = Message::result("k1", "sunny");
    let run_by = json!({"server": "sky", "tool": "look"});
    if let Some(result) = &mut sunny.tool_result {
        result.extras = run_by.as_object().unwrap().clone();
    }
    store(&live, "r1", [sunny, failed("k2")]).await;
    store(&live, "r2", [answer(), Message::result("k1", "rainy")]).await;
    let shown = all(&bed).await;
    let calls: Vec<&ChatMessageView> = shown
        .iter()
        .filter(|shown| shown.kind == "tool_call")
        .collect();
    let ends: Vec<Value> = calls.iter().map(|shown| json!(shown.props)).collect();
    assert_eq!(
        ends,
        [
            called(
                "k1",
                &json!({"server": "sky", "tool": "look", "status": "completed", "result": "sunny"})
            ),
            called("k2", &json!({"status": "error", "error": "no such city"})),
            called("k1", &json!({"status": "completed", "result": "rainy"})),
            called("k2", &open),
        ]
    );
    assert_eq!(shown.len(), 8);
}

async fn amended(bed: Bed) {
    let live = chat(&bed).await;
    let sent = |id: &str, text: &str| {
        let extras = json!({"message_id": id, "type": "text"});
        with(Message::assistant(text), &extras)
    };
    store(
        &live,
        "r1",
        [sent("M1", "one"), sent("M2", "two"), sent("M1", "three")],
    )
    .await;
    store(&live, "r2", [sent("M1", "another turn's")]).await;
    let shown = all(&bed).await;
    let expected = [
        ("r1.M1", "text", json!({"content": "three"})),
        ("r1.M2", "text", json!({"content": "two"})),
        ("r2.M1", "text", json!({"content": "another turn's"})),
    ];
    assert_eq!(short(&shown), expected);
    let seen: Vec<(u64, bool)> = shown
        .iter()
        .map(|shown| (shown.sequence, shown.amended))
        .collect();
    assert_eq!(seen, [(1_000, true), (2_000, false), (4_000, false)]);
}

async fn imported(bed: Bed) {
    let live = chat(&bed).await;
    let mut said = Message::assistant("Hello");
    said.id = "m1".to_owned();
    let mut picture = Message::user("Look");
    picture
        .parts
        .push(json!({"type": "image_url", "image_url": {"url": "u"}}));
    picture.id = "m2".to_owned();
    let parts = json!(picture.parts);
    let mut both = Message::assistant("And");
    both.tool_calls = vec![call("k")];
    both.id = "m3".to_owned();
    store(&live, "", [said, picture, both]).await;
    let shown = all(&bed).await;
    assert_eq!(
        short(&shown),
        [
            ("m1", "text", json!({"content": "Hello"})),
            (
                "m2",
                "user_input",
                json!({"content": parts, "role": "user"})
            ),
            ("m3.1", "text", json!({"content": "And"})),
            (
                "m3.2",
                "tool_call",
                called("k", &json!({"status": "pending"}))
            ),
        ]
    );
}

async fn superseded(bed: Bed) {
    let live = chat(&bed).await;
    store(&live, "r1", [Message::user("a"), Message::assistant("b")]).await;
    supersede(&live, 2, "r2").await;
    store(&live, "r2", [Message::assistant("c")]).await;
    let shown = all(&bed).await;
    let texts: Vec<&Value> = shown.iter().map(|shown| &shown.props["content"]).collect();
    assert_eq!(texts, ["a", "c"]);
    let filter = MessageFilter {
        superseded: true,
        ..first(10)
    };
    let shown = page(&bed, &filter).await.items;
    let whole: Vec<(&Value, Option<&str>)> = shown
        .iter()
        .map(|shown| (&shown.props["content"], shown.superseded_by.as_deref()))
        .collect();
    let texts = ["a", "b", "c"].map(Value::from);
    let by = [None, Some("r2"), None];
    assert_eq!(whole, texts.iter().zip(by).collect::<Vec<_>>());
}

/// Has a turn take the place of all from this entry on.
pub async fn supersede(live: &LiveAgent, first: u64, by: &str) {
    let tail = live.history().supersedable().await.unwrap();
    tail.supersede(first, by).unwrap().stage();
    live.context().save().await.unwrap();
}

async fn erased(bed: Bed) {
    let live = chat(&bed).await;
    let mut secret = Message::assistant("secret");
    secret.id = "m1".to_owned();
    store(
        &live,
        "r1",
        [Message::user("a"), secret, Message::assistant("b")],
    )
    .await;
    assert_eq!(live.history().erase(&["m1"]).await.unwrap(), 1);
    let shown = all(&bed).await;
    assert!(!format!("{shown:?}").contains("secret"));
    assert_eq!(shown.len(), 2);
}

async fn replaced(bed: Bed) {
    let live = chat(&bed).await;
    store(&live, "r1", [Message::user("a"), Message::assistant("b")]).await;
    let last = live.history().last_message().await.unwrap().unwrap();
    assert!(live.history().remove_message(&last.id).await.unwrap());
    live.context().save().await.unwrap();
    assert_eq!(live.history().count().await.unwrap(), 1);
    assert_eq!(all(&bed).await.len(), 2);
}
