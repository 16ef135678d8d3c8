//! Calls of the tool server that have become tasks.

use crate::Run;
use crate::mcp_requests::{knows_tasks, result, with_capabilities};
use crate::place::{NOTES, Node, Place, is_text};
use crate::site::Answer;
use reqwest::Method;
use serde_json::{Value, json};

pub const CASES: &[(&str, Run)] = &[
    (
        "g173_a_task_is_found_and_stopped_through_another_node",
        |place| Box::pin(stopped(place)),
    ),
    (
        "g173_a_task_whose_node_is_killed_ends_at_another_and_its_tool_has_run_once",
        |place| Box::pin(killed(place)),
    ),
    ("g173_a_task_is_found_after_a_restart", |place| {
        Box::pin(restarted(place))
    }),
];

const APP: &[(&str, &str)] = &[
    (
        "app.yao",
        r#"{"name": "Tests", "ambit": {"mcp_server": {"enabled": true, "task_after": "100ms"}}}"#,
    ),
    (
        "assistants/slow/package.yao",
        r#"{"name": "Slow", "public": true, "connector": "slow", "mcp": {"servers": ["notes"]}}"#,
    ),
    (
        "assistants/slow/prompts.yml",
        "- {role: system, content: Be slow.}\n",
    ),
    (
        "connectors/slow.conn.yao",
        r#"{"label": "Slow", "type": "scripted", "options": {"rules": [
            {"match": {"has_tool_result": true}, "reply": "1 2 3 4 5 6 7 8 9 10", "delay": "$ENV.PACE"},
            {"match": {"last_user": "^work"}, "tool_calls": [{"name": "notes__add", "arguments": {}}]}
        ]}}"#,
    ),
    (
        "scripts/notes.ts",
        "export function Add(given, ctx) { const n = (ctx.memory.user.Get('runs') ?? 0) + 1; ctx.memory.user.Set('runs', n); return {n}; }",
    ),
];

fn served(place: &Place) {
    for (name, text) in APP.iter().chain(&NOTES) {
        place.write(name, text);
    }
}

async fn ask(node: &Node, method: &str, params: Value) -> Value {
    let request = node.request(Method::POST, "/mcp");
    let request = with_capabilities(request, method, params, knows_tasks());
    result(&Answer::of(request).await)
}

/// A task that is at work.
async fn begin(node: &Node, agent: &str, message: &str) -> String {
    let params = json!({"name": agent, "arguments": {"message": message}});
    let task = ask(node, "tools/call", params).await;
    assert_eq!(task["resultType"], json!("task"), "{task}");
    task["taskId"].as_str().unwrap().to_owned()
}

async fn found(node: &Node, id: &str) -> Value {
    ask(node, "tasks/get", json!({"taskId": id})).await
}

async fn stopped(place: Place) {
    served(&place);
    let (first, second) = (place.node(), place.node());
    let id = begin(&first, "agent_hello", "never ends").await;
    assert_eq!(found(&second, &id).await["status"], json!("working"));
    ask(&second, "tasks/cancel", json!({"taskId": id})).await;
    first.resume(&id, 0).await.rest().await;
    for node in [&first, &second] {
        assert_eq!(found(node, &id).await["status"], json!("cancelled"));
    }
}

async fn killed(place: Place) {
    served(&place);
    let (first, second) = (place.slow_node(&[]), place.node());
    let id = begin(&first, "agent_slow", "work").await;
    // Its tool has run and is settled when the answer begins.
    first.resume(&id, 0).await.until(is_text).await;
    first.kill();
    let working = found(&second, &id).await;
    assert_eq!(working["taskId"], json!(id));
    check_end(&second, &id).await;
}

async fn restarted(place: Place) {
    served(&place);
    let first = place.slow_node(&[]);
    let id = begin(&first, "agent_slow", "work").await;
    first.resume(&id, 0).await.until(is_text).await;
    first.kill();
    let again = place.node();
    check_end(&again, &id).await;
}

/// The task ends with the agent's whole answer, and its tool has run once.
async fn check_end(node: &Node, id: &str) {
    node.resume(id, 0).await.rest().await;
    let done = found(node, id).await;
    assert_eq!(done["status"], json!("completed"), "{done}");
    let text = &done["result"]["structuredContent"]["text"];
    let text = text.as_str().unwrap();
    assert!(text.ends_with("1 2 3 4 5 6 7 8 9 10"), "{done}");
    let runs = node.get("/memory/user/keys/runs").await.json();
    assert_eq!(runs["value"], json!(1));
}
