//! The app as a tool server.

mod callers;
mod calls;
mod cancelled;
mod eras;
mod pages;
mod resources;
mod source;
mod tasks;

use crate::mcp_requests::{handshake, result, stateless};
use crate::site::{Answer, Site};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

/// An app whose tool server is on.
pub const SERVED: (&str, &str) = (
    "app.yao",
    r#"{"name": "Tests", "ambit": {"mcp_server": {"enabled": true, "instructions": "Ask the agents.", "task_after": "100ms",
        "origins": ["https://app.test"]}}}"#,
);
/// An agent that takes its time and calls a tool.
const SLOW: &[(&str, &str)] = &[
    (
        "assistants/slow/package.yao",
        "{\"name\": \"Slow\", \"description\": \"Takes its time.\", \"public\": true, \"connector\": \"slow\", \"mcp\": {\"servers\": [\"notes\"]},
          \"options\": {\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"of_the_client\", \"parameters\": {\"type\": \"object\"}}}]}}",
    ),
    ("assistants/slow/prompts.yml", "- {role: system, content: Be slow.}\n"),
    (
        "connectors/slow.conn.yao",
        r#"{"label": "Slow", "type": "scripted", "options": {"rules": [
            {"match": {"last_user": "^work", "has_tool_result": true}, "reply": "one two three four five six", "delay": "250ms"},
            {"match": {"last_user": "^work"}, "tool_calls": [{"name": "notes__add", "arguments": {"text": "x"}}]},
            {"match": {"last_user": "^tools"}, "reply": "{{tool_names}}"},
            {"match": {"last_user": "^request"}, "reply": "{{request}}"}
        ]}}"#,
    ),
    (
        "mcps/notes.mcp.yao",
        r#"{"transport": "process", "tools": {"add": "utils.str.UUID"}}"#,
    ),
    (
        "mcps/mapping/notes/schemes/add.in.yao",
        r#"{"type": "object", "description": "Notes.", "properties": {"text": {"type": "string"}}, "x-process-args": []}"#,
    ),
];

/// A server whose developer everybody is.
async fn served() -> Site {
    Site::of(&[&[SERVED], SLOW].concat()).await
}

fn post(site: &Site) -> RequestBuilder {
    site.request(Method::POST, "/v1/mcp")
}

/// What a request of 2026-07-28 is answered.
async fn ask(site: &Site, method: &str, params: Value) -> Answer {
    Answer::of(stateless(post(site), method, params)).await
}

/// What a request of the versions before is answered.
async fn ask_older(site: &Site, method: &str, params: &Value) -> Answer {
    Answer::of(handshake(post(site), method, params)).await
}

/// The value that a call of a tool gives, and whether it is a failure.
async fn call(site: &Site, tool: &str, arguments: Value) -> (Value, bool) {
    let params = json!({"name": tool, "arguments": arguments});
    let mut result = result(&ask(site, "tools/call", params).await);
    let is_error = result["isError"].as_bool().unwrap();
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(result["structuredContent"], text);
    (result["structuredContent"].take(), is_error)
}
