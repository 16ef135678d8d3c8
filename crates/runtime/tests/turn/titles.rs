//! Titles of chats, as an agent writes them behind the first turn.

use crate::manifests::manifests;
use crate::place::{
    Place, agent, ann, ask, borrowed, end, left, model, named, place, request, session,
};
use crate::retention::id;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::chats::{self, ChatName};
use ambit_runtime::inspect::calls;
use ambit_runtime::manifest::ModelCallStatus;
use serde_json::{Value, json};
use std::time::Duration;

/// How often is looked for what nothing announces.
const LOOK: Duration = Duration::from_millis(5);

/// An agent, and another one that writes titles as this model does.
async fn app(rules: &Value, hooks: &str) -> Place {
    let mut files = agent(&json!({}), "");
    files.extend(named("namer", &json!({"connector": "naming"}), hooks));
    files.push(model("naming", rules));
    let defaults = json!({"uses": {"title": "namer"}}).to_string();
    files.push(("agent/agent.yml".to_owned(), defaults));
    place(&borrowed(&files)).await
}

async fn title(place: &Place) -> String {
    let ambit = place.runtime.contexts(&ann());
    let name = ChatName {
        chat_id: "chat-1",
        assistant_id: Some("hello"),
        context: None,
    };
    chats::get(&ambit, &ann(), name).await.unwrap().title
}

/// Waits until the chat is called so.
async fn until(place: &Place, expected: &str) {
    while title(place).await != expected {
        tokio::time::sleep(LOOK).await;
    }
}

async fn records(place: &Place) -> usize {
    let session = session(place, "hello").await;
    session.context().usage().records().await.unwrap().len()
}

#[tokio::test]
async fn an_agent_writes_the_title_of_a_new_chat_beside_its_turn() {
    let rules = json!([{"match": {"times": 1}, "reply": "\"On {{last_user}}\""}, {"reply": "Another title"}]);
    let place = app(&rules, "").await;
    let frames = ask(&place, request("hello", "cats and dogs")).await;
    assert_eq!(end(&frames)["status"], "completed");
    until(
        &place,
        "On user: cats and dogs assistant: echo: cats and dogs",
    )
    .await;
    // The title's tokens are booked, and nothing of it is in the conversation.
    while records(&place).await < 2 {
        tokio::time::sleep(LOOK).await;
    }
    assert_eq!(crate::place::history(&place, "hello").await.len(), 2);
    // Later turns leave the title as it is.
    ask(&place, request("hello", "mice")).await;
    place.runtime.close(Duration::ZERO).await.unwrap();
    assert_eq!(
        title(&place).await,
        "On user: cats and dogs assistant: echo: cats and dogs"
    );
}

#[tokio::test]
async fn a_title_that_cannot_be_written_is_the_beginning_of_the_first_message() {
    let failing = json!([{"error": {"status": 400, "message": "no"}}]);
    for (rules, next) in [
        (failing, ""),
        (json!([{"reply": "x"}]), "throw new Error('no');"),
        (json!([{"reply": " "}]), ""),
    ] {
        let hooks =
            format!("export function Next(ctx) {{ ctx.memory.user.Set('was', 'asked'); {next} }}");
        let place = app(&rules, &hooks).await;
        let frames = ask(&place, request("hello", "cats")).await;
        assert_eq!(end(&frames)["status"], "completed");
        while left(&place, "was").await != "asked" {
            tokio::time::sleep(LOOK).await;
        }
        place.runtime.close(Duration::ZERO).await.unwrap();
        assert_eq!(title(&place).await, "cats");
    }
}

#[tokio::test]
async fn a_chat_that_begins_with_a_picture_is_called_by_its_text() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let text = json!({"type": "text", "text": "What is this?"});
    for (content, expected) in [
        (json!([picture, text]), "What is this?"),
        (json!([picture]), "Image"),
    ] {
        let place = place(&borrowed(&agent(&json!({}), ""))).await;
        let message = json!({"role": "user", "content": content});
        let mut asked = request("hello", "");
        asked.messages = vec![ChatMessage::read("messages[0]", message).unwrap()];
        ask(&place, asked).await;
        assert_eq!(title(&place).await, expected);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_title_and_a_runtime_that_is_closed_stops_it() {
    let place = app(&json!([{"reply": "never to the end", "delay": "60s"}]), "").await;
    let frames = ask(&place, request("hello", "cats")).await;
    assert_eq!(end(&frames)["status"], "completed");
    let next = ask(&place, request("hello", "dogs")).await;
    assert_eq!(end(&next)["status"], "completed");
    place.runtime.close(Duration::ZERO).await.unwrap();
    assert_eq!(title(&place).await, "cats");
}

#[tokio::test]
async fn what_the_agent_of_a_title_calls_is_booked_and_leaves_nothing() {
    let hooks = "export function Create(ctx) {
        ctx.agent.Call('echo', [{ role: 'user', content: 'a word' }], { skip: { output: true } });
    }";
    let mut files = agent(&json!({}), "");
    files.extend(named("namer", &json!({"connector": "naming"}), hooks));
    files.extend(named("echo", &json!({}), ""));
    files.push(model("naming", &json!([{"reply": "A word"}])));
    let defaults = json!({"uses": {"title": "namer"}}).to_string();
    files.push(("agent/agent.yml".to_owned(), defaults));
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "cats")).await;
    until(&place, "A word").await;
    assert_eq!(records(&place).await, 3);
    let session = session(&place, "hello").await;
    let (space, driver) = session.context().place();
    let logs = driver.logs(&space).await.unwrap();
    let kept = logs.iter().filter(|name| name.ends_with("/calls"));
    assert_eq!(kept.count(), 0, "{logs:?}");
}

#[tokio::test]
async fn what_the_tool_of_a_title_asks_is_booked() {
    let script = "export function Title(ctx) {
        const asked = ctx.llm.Stream('echo', [{ role: 'user', content: 'a word' }], { skip: { output: true } });
        return { title: asked.content };
    }";
    let mut files = agent(&json!({}), "");
    let server = json!({"transport": "process", "tools": {"title": "scripts.titles.Title"}});
    let scheme = json!({"type": "object", "x-process-args": []});
    let defaults = json!({"uses": {"title": "mcp:names"}});
    for (file, text) in [
        ("mcps/names.mcp.yao", server.to_string()),
        (
            "mcps/mapping/names/schemes/title.in.yao",
            scheme.to_string(),
        ),
        ("scripts/titles.ts", script.to_owned()),
        ("agent/agent.yml", defaults.to_string()),
    ] {
        files.push((file.to_owned(), text));
    }
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "cats")).await;
    until(&place, "echo: a word").await;
    assert_eq!(records(&place).await, 2);
}

#[tokio::test]
async fn g190_the_call_that_writes_a_title_is_one_of_the_turn() {
    let place = app(&json!([{"reply": "A title"}]), "").await;
    let frames = ask(&place, request("hello", "cats")).await;
    until(&place, "A title").await;
    let calls = manifests(&place, &frames).await;
    let agents: Vec<(&str, ModelCallStatus)> = calls
        .iter()
        .map(|call| (call.agent.as_str(), call.end.status))
        .collect();
    let expected = ["hello", "namer"].map(|agent| (agent, ModelCallStatus::Completed));
    assert_eq!(agents, expected);
}

#[tokio::test]
async fn g190_a_title_that_failed_is_a_call_of_the_turn_too() {
    let failing = json!([{"error": {"status": 400, "message": "no"}}]);
    let place = app(&failing, "").await;
    let frames = ask(&place, request("hello", "cats")).await;
    // It is stored behind the turn.
    let failed = loop {
        let mut calls = manifests(&place, &frames).await;
        if calls.len() == 2 {
            break calls.remove(1);
        }
        tokio::time::sleep(LOOK).await;
    };
    assert_eq!(
        (failed.agent.as_str(), failed.end.status),
        ("namer", ModelCallStatus::Error)
    );
    assert_eq!(title(&place).await, "cats");
}

#[tokio::test]
async fn g190_a_title_that_was_broken_off_leaves_the_calls_of_its_turn() {
    let place = app(&json!([{"reply": "never to the end", "delay": "60s"}]), "").await;
    let frames = ask(&place, request("hello", "cats")).await;
    place.runtime.close(Duration::ZERO).await.unwrap();
    let ambit = place.runtime.contexts(&ann());
    let kept = calls::of_request(&ambit, &ann(), &id(&frames))
        .await
        .unwrap();
    let agents = kept.manifests.iter().map(|call| call.agent.as_str());
    assert_eq!(agents.collect::<Vec<_>>(), ["hello"]);
}
