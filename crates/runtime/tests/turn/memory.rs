//! What is loaded, what is stored, and what never is stored twice.

use crate::place::{
    Place, agent, ask, borrowed, end, history, mirror, mirrored, model, place, place_of_tools,
    remembered, request, said, session, shown,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::chats::{self, ChatName};
use ambit_storage::storage::{Message, ToolCall};
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

async fn mirroring(package: Value) -> Place {
    let mut package = package;
    package["connector"] = "mirror".into();
    let mut files = agent(&package, "");
    files.push(mirror());
    place(&borrowed(&files)).await
}

/// Puts messages into the conversation, as an import does.
async fn import(place: &Place, messages: impl IntoIterator<Item = Message>) {
    let session = session(place, "hello").await;
    for message in messages {
        session.history().add_message(message).await.unwrap();
    }
    session.context().save().await.unwrap();
}

#[tokio::test]
async fn the_last_messages_are_loaded_and_calls_are_not_parted_from_results() {
    let exchange = |at: usize| {
        let id = format!("c{at}");
        [
            Message::user(format!("ask {at}")),
            Message::calling([ToolCall::new(&id, "f", "{}")]),
            Message::result(&id, format!("result {at}")),
            Message::assistant(format!("answer {at}")),
        ]
    };
    for (package, expected) in [
        (
            json!({"options": {"history_size": 4}}),
            vec!["ask 9", "call", "result 9", "answer 9"],
        ),
        (json!({"options": {"history_size": 2}}), vec!["answer 9"]),
        (json!({"options": {"history_size": 1}}), vec!["answer 9"]),
        (
            json!({"options": {"history_size": 5}}),
            vec!["answer 8", "ask 9", "call", "result 9", "answer 9"],
        ),
    ] {
        let place = mirroring(package.clone()).await;
        import(&place, (0..10).flat_map(exchange)).await;
        let got = mirrored(&ask(&place, request("hello", "new")).await);
        let messages = got["messages"].as_array().unwrap();
        let texts =
            messages[1..messages.len() - 1]
                .iter()
                .map(|message| match &message["content"] {
                    Value::String(text) => text.clone(),
                    _ => "call".to_owned(),
                });
        assert_eq!(texts.collect::<Vec<_>>(), expected, "{package}");
    }
    let place = mirroring(json!({})).await;
    import(&place, (0..10).flat_map(exchange)).await;
    let got = mirrored(&ask(&place, request("hello", "new")).await);
    assert_eq!(got["messages"].as_array().unwrap().len(), 1 + 20 + 1);
}

#[tokio::test]
async fn g037_no_stored_history_stops_a_turn_and_the_archive_stays_as_it_was() {
    let call = |id: &str| Message::calling([ToolCall::new(id, "f", "{}")]);
    let histories = [
        vec![Message::result("orphan", "r")],
        vec![Message::user("q"), call("open")],
        vec![
            call("a"),
            call("b"),
            Message::result("b", "2"),
            Message::result("a", "1"),
        ],
        vec![
            call("a"),
            Message::result("a", "1"),
            Message::result("a", "again"),
            call("a"),
        ],
        vec![Message::result("late", "r"), call("late")],
        vec![
            Message::assistant(""),
            Message::user(""),
            Message::user("q"),
            Message::user("q"),
        ],
    ];
    for (case, messages) in histories.into_iter().enumerate() {
        let place = mirroring(json!({})).await;
        import(&place, messages).await;
        let before = history(&place, "hello").await;
        let frames = ask(&place, request("hello", "go on")).await;
        assert_eq!(end(&frames)["status"], "completed", "case {case}");
        let sent = mirrored(&frames)["messages"].as_array().unwrap().clone();
        let mut open: Vec<String> = Vec::new();
        for message in &sent {
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().unwrap();
                assert_eq!(open.first().map(String::as_str), Some(id), "case {case}");
                open.remove(0);
                continue;
            }
            assert!(open.is_empty(), "case {case}: {sent:?}");
            let calls = message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            open = calls
                .iter()
                .map(|call| call["id"].as_str().unwrap().to_owned())
                .collect();
        }
        assert!(open.is_empty(), "case {case}");
        assert_eq!(
            history(&place, "hello").await[..before.len()],
            before,
            "case {case}"
        );
    }
}

#[tokio::test]
async fn g042_what_the_request_repeats_is_not_stored_again() {
    let place = mirroring(json!({})).await;
    ask(&place, request("hello", "one")).await;
    let answer = history(&place, "hello").await[1].text();
    let mut asked = request("hello", "");
    asked.messages = vec![
        ChatMessage::user("one"),
        ChatMessage::assistant(answer),
        ChatMessage::user("two"),
    ];
    let got = mirrored(&ask(&place, asked).await);
    assert_eq!(said(&got["messages"]).len(), 4);
    let stored = history(&place, "hello").await;
    let texts: Vec<String> = stored
        .iter()
        .map(Message::text)
        .filter(|text| text.len() < 4)
        .collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(stored.len(), 4);
}

#[tokio::test]
async fn g010_what_others_append_during_a_turn_is_seen_by_its_next_model_call() {
    let rules = json!([
        {"match": {"times": 1}, "tool_calls": [{"name": "s__show"}]},
        {"reply": "{{request}}"},
    ]);
    let place: Arc<Mutex<Option<Place>>> = Arc::default();
    let outside = place.clone();
    let tools = Tools::new(&["show"], move |_, _| {
        let place = outside.lock().unwrap().take().unwrap();
        async move {
            import(&place, [Message::user("by the way")]).await;
            Ok(outcome(json!("shown")))
        }
        .boxed()
    });
    let mut files = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
        "",
    );
    files.push(model("calling", &rules));
    let made = place_of_tools(&borrowed(&files), tools).await;
    let runtime = made.runtime.clone();
    let kept = Place {
        runtime,
        app: tempfile::tempdir().unwrap(),
    };
    *place.lock().unwrap() = Some(kept);
    let frames = ask(&made, request("hello", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed");
    assert_eq!(
        said(&mirrored(&frames)["messages"]),
        [
            "system: Be kind.",
            "user: hi",
            "assistant: null",
            "tool: \"shown\"",
            "user: by the way"
        ]
    );
    let stored = remembered(&made, "hello").await;
    assert_eq!(
        stored
            .iter()
            .filter(|text| *text == "user: by the way")
            .count(),
        1
    );
}

#[tokio::test]
async fn g041_the_same_is_stored_whether_or_not_anybody_reads_the_stream() {
    let hooks = "export function Create(ctx) { const id = ctx.SendStream('a'); ctx.Append(id, 'b'); ctx.Send({type: 'chart', props: {n: [1]}}); }";
    let rules = json!([
        {"match": {"round": 0}, "reply": "let me see ", "reasoning": "hm ", "tool_calls": [{"id": "c", "name": "s__show"}]},
        {"reply": "done"},
    ]);
    let mut stored = Vec::new();
    for is_read in [true, false] {
        let mut files = agent(
            &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
            hooks,
        );
        files.push(model("calling", &rules));
        let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
        let started = place.runtime.start(request("hello", "hi")).await.unwrap();
        if is_read {
            crate::place::frames(started).await;
        } else {
            let id = started.request_id.clone();
            drop(started);
            let again = place.runtime.stream(&crate::place::ann(), &id, 0).await;
            let mut again = again.unwrap();
            while again.next().await.unwrap().is_some() {}
        }
        let mut messages = history(&place, "hello").await;
        for message in &mut messages {
            (message.id, message.created_at, message.turn_id) = (String::new(), 0, None);
        }
        stored.push(messages);
    }
    assert_eq!(stored[0].len(), 6);
    assert_eq!(stored[0], stored[1]);
}

#[tokio::test]
async fn g049_changed_prompts_reach_conversations_that_have_begun() {
    let place = mirroring(json!({})).await;
    ask(&place, request("hello", "one")).await;
    let prompts = place.app.path().join("assistants/hello/prompts.yml");
    std::fs::write(prompts, "- role: system\n  content: Be strict.\n").unwrap();
    place.runtime.reload().await.unwrap();
    let mut asked = request("hello", "two");
    let got = mirrored(&ask(&place, asked.clone()).await);
    assert_eq!(said(&got["messages"])[0], "system: Be strict.");
    asked.messages = vec![
        ChatMessage::user("mine"),
        ChatMessage::assistant("yours"),
        ChatMessage::user("new"),
    ];
    let got = mirrored(&ask(&place, asked).await);
    assert_eq!(said(&got["messages"])[0], "system: Be strict.");
}

#[tokio::test]
async fn g145_any_text_comes_back_as_it_went_in() {
    let texts = [
        "😀 👩‍👩‍👧 e\u{301} \u{5d0}\u{5d1} \u{202e}back",
        "a\u{0}b\u{1}\u{1b}\u{7f}",
        "\u{feff}\u{200b}",
        "line\r\nline\ttab\\ \"quoted\"",
        "</script>${x}`",
        "0",
    ];
    let hooks = "export function Create(ctx, messages) { ctx.Send(messages[messages.length - 1].content); }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    for text in texts {
        let mut asked = request("hello", text);
        asked.chat = Some("chat-1".to_owned());
        let frames = ask(&place, asked).await;
        let expected = [
            ("text".to_owned(), json!(text)),
            ("text".to_owned(), json!(format!("echo: {text}"))),
        ];
        assert_eq!(shown(&frames), expected);
        let stored = history(&place, "hello").await;
        let last: Vec<String> = stored[stored.len() - 3..]
            .iter()
            .map(Message::text)
            .collect();
        assert_eq!(
            last,
            [text.to_owned(), text.to_owned(), format!("echo: {text}")]
        );
    }
}

#[tokio::test]
async fn g144_ids_of_chats_are_refused_by_field_and_zero_is_an_ordinary_one() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    for chat in ["", "a\0b", &"x".repeat(10_000)] {
        let mut asked = request("hello", "hi");
        asked.chat = Some(chat.to_owned());
        let Err(error) = place.runtime.start(asked).await else {
            panic!("{chat:?} was taken");
        };
        assert_eq!(error.code.as_str(), "invalid_argument");
        assert_eq!(error.param.as_deref(), Some("chat_id"), "{error}");
    }
    let mut asked = request("hello", "0");
    asked.chat = Some("0".to_owned());
    assert_eq!(shown(&ask(&place, asked).await)[0].1, "echo: 0");
}

#[tokio::test]
async fn a_chat_is_called_like_its_first_message() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    for text in [
        "  A first\n question, and a long one that goes on and on",
        "second",
    ] {
        ask(&place, request("hello", text)).await;
    }
    let ambit = place.runtime.contexts(&crate::place::ann());
    let name = ChatName {
        chat_id: "chat-1",
        assistant_id: None,
        context: None,
    };
    let chat = chats::get(&ambit, &crate::place::ann(), name)
        .await
        .unwrap();
    assert_eq!(
        chat.title,
        "A first question, and a long one that goes on and "
    );
}
