//! Turns that end before their time: stopped, vetoed, failing, or with a model that breaks off.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, frames, history, model, place, place_of_tools,
    remembered, request, shown, traced, until,
};
use crate::stopwatch::Stopwatch;
use crate::toolbox::Tools;
use ambit_runtime::Frame;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{StartedTurn, TurnInterrupt};
use serde_json::{Value, json};
use std::time::Duration;

/// Reads until a frame says this, and stops the turn; the answer is all frames, and how long the end took.
async fn stopped_at(
    place: &Place,
    mut started: StartedTurn,
    is_it: impl Fn(&Frame) -> bool,
) -> (Vec<Frame>, Duration) {
    let id = started.request_id.clone();
    until(&mut started, is_it).await;
    let begun = Stopwatch::start(&[]);
    place.runtime.cancel(&ann(), &id).await.unwrap();
    started.stream = place.runtime.stream(&ann(), &id, 0).await.unwrap();
    let all = frames(started).await;
    (all, begun.elapsed())
}

fn slow(words: &str) -> (String, String) {
    let rules = json!([{"match": {"last_user": "slow"}, "reply": words, "delay": "30ms"}]);
    model("slow", &rules)
}

#[tokio::test]
async fn g109_stopping_ends_the_model_call_at_once_and_keeps_what_it_said() {
    let mut files = agent(&json!({"connector": "slow"}), "");
    files.push(slow(&"word ".repeat(10_000)));
    let place = place(&borrowed(&files)).await;
    let started = place.runtime.start(request("hello", "slow")).await.unwrap();
    let (all, took) = stopped_at(&place, started, |frame| frame.kind == "text").await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(end(&all)["status"], "cancelled");
    let said = shown(&all)[0].1.as_str().unwrap().to_owned();
    assert!(said.starts_with("word "), "{said}");
    let stored = history(&place, "hello").await;
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[1].extras["status"], "partial");
    let kept = stored[1]
        .extras
        .get("props")
        .map_or_else(|| stored[1].text().into(), |props| props["content"].clone());
    assert_eq!(kept, said);
    // And the conversation goes on.
    assert_eq!(
        end(&ask(&place, request("hello", "next")).await)["status"],
        "completed"
    );
}

#[tokio::test]
async fn g110_every_end_closes_what_was_open() {
    let open = "const id = ctx.SendStream({type: 'text', props: {content: 'open'}}, 'B7');";
    let hooks = |rest: &str| format!("export function Create(ctx) {{ {open} {rest} }}");
    // `frames` checks that there is one end and that everything begun is ended.
    for (rest, connector, status, message) in [
        ("", "echo", "completed", "completed"),
        ("throw new Error('no');", "echo", "error", "partial"),
        ("", "failing", "error", "partial"),
        ("return {messages: 7};", "echo", "error", "partial"),
    ] {
        let mut files = agent(&json!({"connector": connector}), &hooks(rest));
        files.push(model(
            "failing",
            &json!([{"error": {"status": 400, "message": "no"}}]),
        ));
        let place = place(&borrowed(&files)).await;
        let all = ask(&place, request("hello", "hi")).await;
        assert_eq!(end(&all)["status"], status, "{rest} {connector}");
        let stored = history(&place, "hello").await;
        assert_eq!(stored[1].extras["status"], message, "{rest} {connector}");
        // What a turn that went well has left open is marked, and named in the trace.
        let ends = all
            .iter()
            .filter(|frame| frame.event_name() == Some("message_end"));
        let is_marked = ends.filter_map(Frame::event_data).any(|data| {
            data.get("extra")
                .is_some_and(|extra| extra["auto_ended"] == true)
        });
        assert_eq!(is_marked, status == "completed", "{rest} {connector}");
    }
    let mut files = agent(&json!({"connector": "slow"}), &hooks(""));
    files.push(slow(&"word ".repeat(10_000)));
    let place = place(&borrowed(&files)).await;
    let started = place.runtime.start(request("hello", "slow")).await.unwrap();
    let (all, _) = stopped_at(&place, started, |frame| {
        frame
            .props
            .get("content")
            .is_some_and(|it| it.as_str().unwrap().starts_with("word"))
    })
    .await;
    assert_eq!(end(&all)["status"], "cancelled");
}

#[tokio::test]
async fn g036_a_turn_stopped_in_a_tool_leaves_its_call_with_a_marked_result_for_the_next() {
    let rules = json!([
        {"match": {"last_user": "hang"}, "tool_calls": [{"id": "c1", "name": "s__hang"}, {"id": "c2", "name": "s__show"}]},
        {"reply": "{{request}}"},
    ]);
    let mut files = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
        "",
    );
    files.push(model("calling", &rules));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let started = place.runtime.start(request("hello", "hang")).await.unwrap();
    let is_settled = |frame: &Frame| {
        frame.delta
            && frame
                .props
                .get("status")
                .is_some_and(|it| it == "completed")
    };
    let (all, took) = stopped_at(&place, started, is_settled).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(end(&all)["status"], "cancelled");
    let sent = crate::place::mirrored(&ask(&place, request("hello", "go on")).await);
    assert_eq!(
        crate::place::said(&sent["messages"]),
        [
            "system: Be kind.",
            "user: hang",
            "assistant: null",
            "tool: cancelled",
            "tool: {}",
            "user: go on"
        ]
    );
}

#[tokio::test]
async fn g115_a_model_that_breaks_off_fails_the_turn_and_nothing_is_seen_twice() {
    let mut files = agent(&json!({"connector": "cut"}), "");
    files.push(model(
        "cut",
        &json!([{"match": {"times": 1}, "reply": "one two three", "cut_after": 2}]),
    ));
    let place = place(&borrowed(&files)).await;
    let all = ask(&place, request("hello", "hi")).await;
    let ended = end(&all);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("llm_error"))
    );
    let texts: Vec<(String, Value)> = shown(&all);
    assert_eq!(texts[0], ("text".to_owned(), json!("one two ")));
    assert_eq!(texts.len(), 2);
    assert_eq!(remembered(&place, "hello").await[1], "assistant: one two ");
    assert_eq!(
        end(&ask(&place, request("hello", "again")).await)["status"],
        "completed"
    );
}

#[tokio::test]
async fn g040_a_model_that_fails_at_first_leaves_one_message_and_no_tool_runs_twice() {
    let rules = json!([
        {"match": {"times": 2}, "error": {"status": 503, "message": "busy"}},
        {"match": {"round": 0}, "tool_calls": [{"name": "s__show", "arguments": {"a": 1}}]},
        {"reply": "{{request}}"},
    ]);
    let mut files = agent(
        &json!({"connector": "shaky", "mcp": {"servers": ["s"]}}),
        "",
    );
    files.push(model("shaky", &rules));
    let tools = Tools::usual();
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let all = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&all)["status"], "completed");
    assert_eq!(tools.names(), ["show"]);
    let sent = crate::place::mirrored(&all);
    assert_eq!(
        crate::place::said(&sent["messages"]),
        [
            "system: Be kind.",
            "user: hi",
            "assistant: null",
            "tool: {\"a\":1}"
        ]
    );
    assert_eq!(remembered(&place, "hello").await.len(), 4);
    let trace = traced(&place, &all).await;
    assert!(trace.contains("call 2 of the model failed"), "{trace}");
}

#[tokio::test]
async fn g132_all_tries_failing_raise_the_last_error_and_the_next_turn_begins_anew() {
    let rules = json!([{"match": {"times": 3}, "error": {"status": 429, "message": "slow down"}}]);
    let mut files = agent(&json!({"connector": "limited"}), "");
    files.push(model("limited", &rules));
    let place = place(&borrowed(&files)).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(ended["code"], "llm_rate_limited");
    assert!(
        ended["error"].as_str().unwrap().contains("slow down"),
        "{ended}"
    );
    assert_eq!(
        end(&ask(&place, request("hello", "hi")).await)["status"],
        "completed"
    );
}

#[tokio::test]
async fn messages_that_no_step_takes_in_stay_in_the_conversation() {
    let rules = json!([{"match": {"last_user": "hang"}, "tool_calls": [{"id": "c1", "name": "s__hang"}]}, {"reply": "{{request}}"}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(model("calling", &rules));
    let tools = Tools::usual();
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let mut started = place.runtime.start(request("hello", "hang")).await.unwrap();
    let id = started.request_id.clone();
    until(&mut started, |frame| frame.kind == "tool_call").await;
    let added = TurnInterrupt {
        messages: vec![ChatMessage::user("and this")],
        ..TurnInterrupt::default()
    };
    let stop = TurnInterrupt {
        is_forced: true,
        ..TurnInterrupt::default()
    };
    for interrupt in [added, stop] {
        place
            .runtime
            .interrupt(&ann(), &id, interrupt)
            .await
            .unwrap();
    }
    let mut events = Vec::new();
    while let Some(entries) = started.stream.next().await.unwrap() {
        for entry in entries {
            let frame: Frame = serde_json::from_str(&entry.text).unwrap();
            events.extend(
                frame
                    .event_name()
                    .map(|name| (name.to_owned(), frame.event_data().cloned())),
            );
        }
    }
    let interrupts: Vec<_> = events
        .iter()
        .filter(|(name, _)| name == "interrupt")
        .collect();
    let kinds: Vec<_> = interrupts
        .iter()
        .map(|(_, data)| data.as_ref().unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds, ["graceful", "force"]);
    let told: Vec<Option<&Value>> = interrupts
        .iter()
        .map(|(_, data)| data.as_ref().unwrap().get("messages"))
        .collect();
    let stored = crate::place::history(&place, "hello").await;
    let added = stored.iter().find(|message| message.text() == "and this");
    let added = json!([{"message_id": added.unwrap().id, "content": "and this", "role": "user"}]);
    assert_eq!(told, [Some(&added), None]);
    let sent = crate::place::mirrored(&ask(&place, request("hello", "go on")).await);
    let said = crate::place::said(&sent["messages"]);
    assert!(said.contains(&"user: and this".to_owned()), "{said:?}");
}
