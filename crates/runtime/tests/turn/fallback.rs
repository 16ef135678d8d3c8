//! Connectors that stand in for one that fails, and the limit of a whole turn.

use crate::place::{
    Place, agent, ask, borrowed, end, history, mirrored, place_with, remembered, request, said,
    session, shown, traced,
};
use crate::toolbox::Tools;
use ambit_runtime::chat::ChatContent;
use ambit_runtime::event::BeforeResponse;
use ambit_storage::event::{EngineError, EventBus, MessageAdded, UsageRecorded, Verdict};
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What listeners have heard, in order.
pub type Heard = Arc<Mutex<Vec<String>>>;

/// Options of a connector that follows these rules.
fn rules(rules: &Value) -> Value {
    json!({"rules": rules})
}

/// Options of a connector that always fails so.
pub fn failing(status: u16) -> Value {
    rules(&json!([{"error": {"status": status, "message": "no"}}]))
}

/// Options of a connector that always says this and counts tokens.
pub fn saying(text: &str) -> Value {
    json!({"rules": [{"reply": text}], "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
}

/// An agent whose connector is the first of these, the others standing in for it in order.
async fn line(connectors: &[(&str, Value)]) -> (Place, Heard) {
    set_up(&json!({}), &json!({}), connectors).await
}

/// The same with these limits of the app and this truncation of the agent.
pub async fn set_up(
    limits: &Value,
    truncation: &Value,
    connectors: &[(&str, Value)],
) -> (Place, Heard) {
    let mut package = json!({"connector": connectors[0].0, "mcp": {"servers": ["s"]}});
    package["context"] = json!({"truncation": truncation});
    let mut files = agent(&package, "");
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"limits": limits}});
    files.push(("app.yao".to_owned(), app.to_string()));
    let others: Vec<&str> = connectors[1..].iter().map(|(name, _)| *name).collect();
    for (at, (name, options)) in connectors.iter().enumerate() {
        let mut options = options.clone();
        options["model"] = format!("{name}-model").into();
        if at == 0 {
            options["fallback"] = json!(others);
        }
        let file = json!({"type": "scripted", "options": options});
        files.push((format!("connectors/{name}.conn.yao"), file.to_string()));
    }
    let heard = Heard::default();
    let own = heard.clone();
    let place = place_with(&borrowed(&files), |settings| {
        settings.tools = Some(Arc::new(Tools::usual()));
        listen(&settings.listeners, &own);
    })
    .await;
    (place, heard)
}

fn listen(bus: &EventBus, heard: &Heard) {
    let note = |heard: &Heard| {
        let heard = heard.clone();
        move |text: String| heard.lock().unwrap().push(text)
    };
    let (added, failed, used, asked) = (note(heard), note(heard), note(heard), note(heard));
    bus.after(move |event: Arc<MessageAdded>| {
        let message: Value = event.message.to().unwrap();
        added(format!("added {}", message["role"].as_str().unwrap()));
        async { Ok(()) }.boxed()
    });
    bus.after(move |event: Arc<EngineError>| {
        failed(format!("failed, retried: {}", event.retried));
        async { Ok(()) }.boxed()
    });
    bus.after(move |event: Arc<UsageRecorded>| {
        let record: Value = event.record.to().unwrap();
        used(format!("used {}", record["model_name"].as_str().unwrap()));
        async { Ok(()) }.boxed()
    });
    bus.before(move |_: &mut BeforeResponse| {
        asked("asked".to_owned());
        async { Ok(Verdict::Continue) }.boxed()
    });
}

pub fn texts(frames: &[ambit_runtime::Frame]) -> Vec<(String, Value)> {
    shown(frames)
}

pub fn text(of: &str) -> (String, Value) {
    ("text".to_owned(), of.into())
}

/// The connectors that were called, in order.
fn called(frames: &[ambit_runtime::Frame]) -> Vec<String> {
    let steps = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("step_start"));
    let ids = steps.map(|frame| {
        frame.props["data"]["connector"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    ids.collect()
}

#[tokio::test(start_paused = true)]
async fn g132_the_next_connector_answers_where_the_first_fails_three_times() {
    let (place, heard) = line(&[("first", failing(503)), ("second", saying("from second"))]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let ended = end(&frames);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["usage"]["total_tokens"], 12);
    assert_eq!(texts(&frames), [text("from second")]);
    assert_eq!(called(&frames), ["first", "second"]);
    let ends = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("step_end"));
    let retried: Vec<&Value> = ends.map(|frame| &frame.props["data"]["retried"]).collect();
    assert_eq!(retried, [&json!(true), &Value::Null]);
    let expected = ["user: hi", "assistant: from second"];
    assert_eq!(remembered(&place, "hello").await, expected);
    let expected = [
        "added user",
        "asked",
        "failed, retried: true",
        "failed, retried: true",
        "failed, retried: true",
        "asked",
        "used second-model",
        "added assistant",
    ];
    assert_eq!(*heard.lock().unwrap(), expected);
    let trace = traced(&place, &frames).await;
    let no = "connector \\\"first\\\": the provider answered 503: no";
    for told in [
        format!("call 1 of the model failed: {no}"),
        format!("call 2 of the model failed: {no}"),
        format!("{no}; connector \\\"second\\\" is asked instead"),
    ] {
        assert_eq!(trace.matches(&told).count(), 1, "{told} in {trace}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_connector_and_not_with_the_call_is_answered_by_the_next() {
    let cut = rules(&json!([{"reply": "one two", "cut_after": 0}]));
    for (first, falls_back) in [
        (failing(401), true),
        (failing(402), true),
        (failing(403), true),
        (failing(404), true),
        (failing(408), true),
        (failing(429), true),
        (failing(500), true),
        (cut, true),
        (failing(400), false),
        (failing(413), false),
        (failing(422), false),
    ] {
        let (place, _) = line(&[("first", first.clone()), ("second", saying("ok"))]).await;
        let frames = ask(&place, request("hello", "hi")).await;
        let expected = if falls_back { "completed" } else { "error" };
        assert_eq!(end(&frames)["status"], expected, "{first}");
        assert_eq!(called(&frames).len(), 1 + usize::from(falls_back));
    }
}

#[tokio::test(start_paused = true)]
async fn g132_where_all_fail_the_last_error_is_the_turns() {
    let (place, heard) = line(&[
        ("a", failing(503)),
        ("b", failing(401)),
        ("c", failing(429)),
    ])
    .await;
    let frames = ask(&place, request("hello", "hi")).await;
    let ended = end(&frames);
    assert_eq!(
        (&ended["status"], &ended["code"], &ended["error"]),
        (
            &json!("error"),
            &json!("llm_rate_limited"),
            &json!("connector \"c\": the provider answered 429: no")
        )
    );
    assert_eq!(called(&frames), ["a", "b", "c"]);
    let heard = heard.lock().unwrap();
    let failed = heard.iter().filter(|event| event.starts_with("failed"));
    let retried: Vec<bool> = failed.map(|event| event.ends_with("true")).collect();
    assert_eq!(retried, [true, true, true, true, true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn g132_the_next_turn_starts_with_the_first_again() {
    let first = rules(&json!([
        {"match": {"times": 3}, "error": {"status": 503, "message": "no"}},
        {"reply": "first"},
    ]));
    let (place, _) = line(&[("first", first), ("second", saying("second"))]).await;
    for (asked, answered) in [(&["first", "second"][..], "second"), (&["first"], "first")] {
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(texts(&frames), [text(answered)]);
        assert_eq!(called(&frames), asked);
    }
}

#[tokio::test(start_paused = true)]
async fn g040_failing_connectors_repeat_no_message_and_no_tool() {
    let calling = json!([
        {"match": {"has_tool_result": false}, "tool_calls": [{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]},
        {"error": {"status": 503, "message": "no"}},
    ]);
    let last = json!([{"match": {"round": 1}, "tool_calls": [{"id": "c2", "name": "s__show"}]}, {"reply": "{{request}}"}]);
    for fails in 1..4 {
        let mut connectors = vec![("a", rules(&calling))];
        connectors.extend(["b", "c"].map(|name| (name, failing(503))));
        connectors.truncate(fails);
        connectors.push(("last", rules(&last)));
        let (place, _) = line(&connectors).await;
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
        // The one that has answered is asked on.
        let mut expected = vec!["a"];
        expected.extend(connectors.iter().map(|(name, _)| *name));
        expected.push("last");
        assert_eq!(called(&frames), expected);
        let sent = mirrored(&frames);
        let rounds = [
            "assistant: null",
            "tool: {\"a\":1}",
            "assistant: null",
            "tool: {}",
        ];
        let seen = [&["system: Be kind.", "user: hi"][..], &rounds].concat();
        assert_eq!(said(&sent["messages"]), seen);
        let stored = history(&place, "hello").await;
        let roles: Vec<String> = stored.iter().map(|one| format!("{:?}", one.role)).collect();
        let expected = [
            "User",
            "Assistant",
            "Tool",
            "Assistant",
            "Tool",
            "Assistant",
        ];
        assert_eq!(roles, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn g115_an_answer_that_has_begun_is_not_begun_again_by_another() {
    let cut = rules(&json!([{"reply": "one two", "cut_after": 1}]));
    let (place, _) = line(&[("first", cut), ("second", saying("second"))]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let ended = end(&frames);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("llm_error"))
    );
    assert_eq!(called(&frames), ["first"]);
    assert_eq!(texts(&frames)[0], text("one "));
    assert_eq!(remembered(&place, "hello").await[1], "assistant: one ");
}

/// The options with these capabilities.
fn able(mut options: Value, capabilities: Value) -> Value {
    options["capabilities"] = capabilities;
    options
}

#[tokio::test(start_paused = true)]
async fn g048_a_fallback_with_too_small_a_window_is_passed_over() {
    let small = || able(saying("small"), json!({"max_input_tokens": 60}));
    let long = "word ".repeat(100);
    let (place, _) = line(&[
        ("first", failing(503)),
        ("small", small()),
        ("large", saying("large")),
    ])
    .await;
    let frames = ask(&place, request("hello", &long)).await;
    assert_eq!(texts(&frames), [text("large")]);
    assert_eq!(called(&frames), ["first", "large"]);

    let (place, _) = line(&[("first", failing(503)), ("small", small())]).await;
    let frames = ask(&place, request("hello", &long)).await;
    let ended = end(&frames);
    assert_eq!(ended["code"], "limit_exceeded", "{ended}");
    assert_eq!(called(&frames), ["first"]);
    // The agent's own connector is not passed over: its window is what the agent was made for.
    let (place, _) = line(&[("small", small()), ("large", saying("large"))]).await;
    let frames = ask(&place, request("hello", &long)).await;
    assert_eq!(end(&frames)["code"], "limit_exceeded");
    assert_eq!(called(&frames), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn g048_a_long_conversation_is_made_shorter_for_a_fallback() {
    let first = rules(&json!([
        {"match": {"last_user": "down"}, "error": {"status": 503, "message": "no"}},
        {"reply": "c c c c c"},
    ]));
    let small = able(
        rules(&json!([{"reply": "small"}])),
        json!({"max_input_tokens": 120}),
    );
    let truncation = json!({"strategy": "simple", "threshold": 100_000});
    let connectors = [("first", first), ("small", small)];
    let (place, _) = set_up(&json!({}), &truncation, &connectors).await;
    for turn in 0..6 {
        let text = format!("{turn} {}", "a ".repeat(20));
        ask(&place, request("hello", &text)).await;
    }
    let frames = ask(&place, request("hello", "down")).await;
    assert_eq!(texts(&frames), [text("small")]);
    let session = session(&place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    let counted: Vec<i64> = records.iter().map(|record| record.prompt_tokens).collect();
    assert!(counted[5] > 120, "{counted:?}");
    assert!((20..=120).contains(&counted[6]), "{counted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_asked_for_what_it_can_do() {
    let mirror = rules(&json!([{"reply": "{{request}}"}]));
    let mute = able(mirror, json!({"tool_calls": false}));
    let (place, _) = line(&[("first", failing(503)), ("mute", mute.clone())]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(mirrored(&frames)["tools"], json!([]));
    let trace = traced(&place, &frames).await;
    let told = "connector \\\"mute\\\" has no capability tool_calls: 4 tools are not offered";
    assert!(trace.contains(told), "{trace}");

    let mut picture = request("hello", "");
    let part = json!({"type": "image_url", "image_url": {"url": "http://x/y.png"}});
    picture.messages[0].content = ChatContent::Parts(vec![part.into()]);
    let (place, _) = line(&[
        ("first", failing(503)),
        ("mute", mute),
        ("seeing", saying("I see")),
    ])
    .await;
    let frames = ask(&place, picture).await;
    assert_eq!(texts(&frames), [text("I see")]);
    assert_eq!(called(&frames), ["first", "seeing"]);
}

#[tokio::test(start_paused = true)]
async fn usage_is_booked_for_the_connector_that_answered() {
    let (place, _) = line(&[("first", failing(503)), ("second", saying("ok"))]).await;
    ask(&place, request("hello", "hi")).await;
    let session = session(&place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    let booked: Vec<_> = records
        .iter()
        .map(|one| (one.model_name.as_deref(), one.total_tokens))
        .collect();
    assert_eq!(booked, [(Some("second-model"), Some(12))]);
}
