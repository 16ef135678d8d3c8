//! `tool_error: "fail"`: a server that fails ends the step, and what its siblings did is not lost.

use crate::place::{
    agent, ann, ask, borrowed, end, model, node, place_of_tools, remembered, request, until,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::{Error, ErrorCode};
use ambit_storage::driver::{self, DriverOptions};
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const GIVEN_UP: &str = "no result: the round ended when another of its calls failed";

/// An agent whose model calls these tools at first, and whose step fails with a server.
fn list(options: &Value, names: &[&str], hooks: &str) -> Vec<(String, String)> {
    let calls: Vec<Value> = names
        .iter()
        .map(|name| json!({"id": name, "name": format!("s__{name}")}))
        .collect();
    let rules = json!([{"match": {"times": 1}, "tool_calls": calls}, {"reply": "done"}]);
    let mut all = json!({"tool_error": "fail"});
    for (name, value) in options.as_object().unwrap() {
        all[name] = value.clone();
    }
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"], "options": all}});
    let mut files = agent(&package, hooks);
    files.push(model("calling", &rules));
    files
}

/// `slow` ends when `broken` has failed, and `hang` never.
fn tools(failed: &Arc<Notify>) -> Tools {
    let failed = failed.clone();
    let names = ["slow", "broken", "show", "hang"];
    Tools::new(&names, move |name, arguments| {
        let failed = failed.clone();
        async move {
            match name.as_str() {
                "slow" => failed.notified().await,
                "broken" => {
                    failed.notify_one();
                    return Err(Error::new(ErrorCode::McpError, "MCP server \"s\": gone"));
                }
                "hang" => std::future::pending().await,
                _ => {}
            }
            Ok(outcome(arguments))
        }
        .boxed()
    })
}

const TURNS_IT_AROUND: &str = "export function Next(ctx, payload) {
    return { data: { error: payload.error, tools: payload.tools.map(it => [it.tool, it.result, it.error]) } };
}";

#[tokio::test]
async fn siblings_of_a_call_that_fails_the_step_come_to_their_end_and_no_other_begins() {
    for (options, names, called) in [
        (
            json!({}),
            ["slow", "broken", "show"],
            ["slow", "broken", "show"].as_slice(),
        ),
        (
            json!({"parallel": false}),
            ["show", "broken", "slow"],
            &["show", "broken"],
        ),
    ] {
        let tools = tools(&Arc::default());
        let files = list(&options, &names, TURNS_IT_AROUND);
        let place = place_of_tools(&borrowed(&files), tools.clone()).await;
        let ended = end(&ask(&place, request("hello", "hi")).await);
        assert_eq!(tools.names(), called, "{options}");
        let came_to = |name: &&str| match *name {
            "broken" => (Value::Null, Some("MCP server \"s\": gone")),
            name if called.contains(&name) => (json!({}), None),
            _ => (Value::Null, Some(GIVEN_UP)),
        };
        let of_payload: Vec<Value> = names
            .iter()
            .map(|name| (name, came_to(name)))
            .map(|(name, (result, error))| json!([name, result, error]))
            .collect();
        let next = json!({"error": "MCP server \"s\": gone", "tools": of_payload});
        assert_eq!(ended["next"], next, "{options}");
        let mut stored = vec!["user: hi".to_owned(), "assistant: ".to_owned()];
        let mut results: Vec<String> = names
            .iter()
            .map(|name| match came_to(name).1 {
                Some(why) => format!("tool: {}", why.to_lowercase()),
                None => "tool: {}".to_owned(),
            })
            .collect();
        let mut kept = remembered(&place, "hello").await;
        // In the order in which they came.
        results.sort();
        kept[2..].sort();
        stored.extend(results);
        assert_eq!(kept, stored, "{options}");
    }
}

#[tokio::test]
async fn a_step_that_has_failed_stays_so_on_the_node_that_goes_on() {
    let store = driver::open("memory://", DriverOptions::default())
        .await
        .unwrap();
    let failed = Arc::new(Notify::new());
    let list = list(&json!({}), &["broken", "hang"], "");
    let first = node(&borrowed(&list), &store, tools(&failed)).await;
    let mut started = first.runtime.start(request("hello", "hi")).await.unwrap();
    // Shown is stored.
    until(&mut started, |frame| {
        frame.props.get("status") == Some(&json!("error"))
    })
    .await;
    first.runtime.close(Duration::ZERO).await.unwrap();
    let others = tools(&failed);
    let second = node(&borrowed(&list), &store, others.clone()).await;
    let id = started.request_id.as_str();
    let mut stream = second.runtime.stream(&ann(), id, 0).await.unwrap();
    while stream.next().await.unwrap().is_some() {}
    assert_eq!(others.names(), Vec::<String>::new());
    let info = second.runtime.turn(&ann(), id).await.unwrap();
    let error = serde_json::to_value(info.error).unwrap();
    assert_eq!(error["code"], "mcp_error");
    assert_eq!(
        remembered(&second, "hello").await,
        [
            "user: hi",
            "assistant: ",
            "tool: mcp server \"s\": gone",
            &format!("tool: {GIVEN_UP}")
        ]
    );
}

#[tokio::test]
async fn calls_behind_a_listener_that_fails_have_a_result_that_says_so() {
    let tools = tools(&Arc::default());
    let mut files = list(&json!({}), &["show", "slow"], TURNS_IT_AROUND);
    let events =
        "export function BeforeToolExecution(event) { throw new Error('no rule for this'); }";
    files.push((
        "assistants/hello/src/events.ts".to_owned(),
        events.to_owned(),
    ));
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(tools.names(), Vec::<String>::new());
    let given_up = |name: &str| json!([name, null, GIVEN_UP]);
    assert_eq!(
        ended["next"]["tools"],
        json!([given_up("show"), given_up("slow")])
    );
    let error = ended["next"]["error"].as_str().unwrap();
    assert!(error.contains("no rule for this"), "{error}");
    let result = format!("tool: {GIVEN_UP}");
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: hi", "assistant: ", &result, &result]
    );
}
