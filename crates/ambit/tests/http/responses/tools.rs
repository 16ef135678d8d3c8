//! Tools of a request for a Response that are OpenAI's own, or nobody's here.

use super::post;
use crate::site::Site;
use serde_json::{Value, json};

/// An agent that searches the web beside one that does not; a model that says which tools it has and what it was told.
const SEARCHING: &[(&str, &str)] = &[
    (
        "assistants/searching/package.yao",
        r#"{"name": "Searching", "public": true, "connector": "script", "search": {"web": {"provider": "scripted",
            "results": [{"items": [{"title": "Rust", "url": "https://rust.test", "content": "A language."}]}]}}}"#,
    ),
    (
        "assistants/searching/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/script.conn.yao",
        r#"{"label": "Script", "type": "scripted", "options": {"model": "script", "rules": [
            {"match": {"system": "(A language)"}, "reply": "{{system_match}}: {{tool_names}}"},
            {"reply": "tools: {{tool_names}}"}
        ]}}"#,
    ),
];

fn function() -> Value {
    json!({"type": "function", "name": "get_weather", "parameters": {"type": "object"}})
}

/// What is answered to a request with these tools, and what the turn's trace warns of tools.
async fn asked(site: &Site, agent: &str, tools: &Value) -> (String, Vec<String>) {
    let body = json!({"model": agent, "input": "What is Rust?", "tools": tools});
    let answer = post(site, "/v1/responses", &body).await;
    let turn = answer["id"].as_str().unwrap().replace("resp_", "");
    let lines = site.get(&format!("/v1/trace/traces/{turn}/logs")).await;
    let lines = lines.json()["data"].take();
    let lines = lines.as_array().unwrap().iter();
    let lines = lines.filter(|line| line["level"] == "warn");
    let lines = lines.map(|line| line["message"].as_str().unwrap().to_owned());
    let warnings = lines.filter(|text| text.starts_with("a tool "));
    let mut items = answer["output"].as_array().unwrap().iter();
    let said = items.rfind(|item| item["type"] == "message").unwrap();
    let text = said["content"][0]["text"].as_str().unwrap();
    (text.to_owned(), warnings.collect())
}

fn left_out(kind: &str) -> String {
    format!("a tool of type \"{kind}\" is left out: nothing here does what it does")
}

#[tokio::test]
async fn tools_that_openai_runs_are_refused_by_their_place() {
    let site = Site::development().await;
    for kind in [
        "file_search",
        "code_interpreter",
        "image_generation",
        "computer_use_preview",
        "computer",
        "mcp",
    ] {
        let tools = json!([function(), {"type": kind}]);
        let body = json!({"model": "hello", "input": "hi", "tools": tools});
        let refused = site.post("/v1/responses", &body).await;
        let param = Some("tools[1].type".to_owned());
        assert_eq!(refused.failure(), (422, "unsupported".to_owned(), param));
    }
    site.check_untouched().await;
}

#[tokio::test]
async fn tools_that_nobody_has_are_left_out_and_the_trace_says_so() {
    let site = Site::of(SEARCHING).await;
    let read = json!({"type": "function", "name": "read", "parameters": {"type": "object"}});
    let inner = json!([read, {"type": "other"}]);
    let namespace = json!({"type": "namespace", "name": "files", "tools": inner});
    let tools = json!([function(), {"type": "local_shell"}, namespace, {"type": "web_search"}]);
    let warnings = ["local_shell", "other", "web_search"].map(left_out);
    let expected = "tools: get_weather, files__read".to_owned();
    assert_eq!(
        asked(&site, "hello", &tools).await,
        (expected, warnings.into())
    );
}

#[tokio::test]
async fn the_web_is_searched_by_an_agent_that_can_and_no_warning_is_given() {
    let site = Site::of(SEARCHING).await;
    for kind in ["web_search", "web_search_preview"] {
        let tools = json!([function(), {"type": kind}]);
        let expected = ("A language: get_weather".to_owned(), Vec::new());
        assert_eq!(asked(&site, "searching", &tools).await, expected, "{kind}");
    }
}

#[tokio::test]
async fn a_tool_that_is_left_out_cannot_be_chosen() {
    let site = Site::development().await;
    let tools = json!([function(), {"type": "local_shell"}]);
    for choice in [
        json!({"type": "local_shell"}),
        json!({"type": "function", "name": "other"}),
        json!({"type": "web_search"}),
        json!("shell"),
    ] {
        let body = json!({"model": "hello", "input": "hi", "tools": tools, "tool_choice": choice});
        let refused = site.post("/v1/responses", &body).await;
        let param = Some("tool_choice".to_owned());
        assert_eq!(
            refused.failure(),
            (400, "invalid_argument".to_owned(), param)
        );
    }
    site.check_untouched().await;
}
