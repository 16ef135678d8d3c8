//! Anthropic's Messages over HTTP.

mod model;
mod unstored;

use crate::auth::token;
use crate::site::{Answer, Event, Site, Stream, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

const PATH: &str = "/v1/messages";

/// An agent that answers with the request that its model got, and lets clients give instructions.
const MIRROR: &[(&str, &str)] = &[
    (
        "assistants/mirror/package.yao",
        r#"{"name": "Mirror", "public": true, "connector": "mirror", "client": {"roles": ["assistant", "tool", "system"]}}"#,
    ),
    (
        "assistants/mirror/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/mirror.conn.yao",
        r#"{"label": "Mirror", "type": "scripted", "options": {"rules": [
            {"match": {"last_user": "^weather", "has_tool_result": false}, "reply": "Let me look.",
                "tool_calls": [{"id": "own", "name": "get_weather", "arguments": {"city": "Oslo"}}]},
            {"match": {"last_user": "^think"}, "reasoning": "Hm.", "reply": "So."},
            {"reply": "{{request}}"}]}}"#,
    ),
];

fn said(text: &str) -> Value {
    json!({"model": "hello", "max_tokens": 100, "messages": [{"role": "user", "content": text}]})
}

/// What the mirror's model got of these messages.
async fn mirrored(site: &Site, body: Value) -> Value {
    let mut body = body;
    body["model"] = json!("mirror");
    let answer = site.post(PATH, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let text = answer.json()["content"][0]["text"].take();
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// Status, kind and message of a failure in Anthropic's shape.
fn failure(answer: &Answer) -> (u16, String, String) {
    let body = answer.json();
    assert_eq!(body["type"], "error", "{}", answer.text);
    let id = body["request_id"].as_str().unwrap();
    assert_eq!(answer.header("request-id"), Some(id));
    let text = |name: &str| body["error"][name].as_str().unwrap().to_owned();
    (answer.status, text("type"), text("message"))
}

#[tokio::test]
async fn an_answer_has_anthropics_shape() {
    let site = Site::development().await;
    let answer = site.post(PATH, &said("hi")).await;
    let body = answer.json();
    let turn = answer.header("x-ambit-request").unwrap();
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2});
    let expected = json!({"id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "hello",
        "content": [{"type": "text", "text": "echo: hi"}], "stop_reason": "end_turn", "stop_sequence": null, "usage": usage});
    assert_eq!(body, expected);
    assert_eq!(answer.header("request-id"), Some(turn));
    assert_eq!(answer.header("x-ambit-chat"), None);
}

#[tokio::test]
async fn a_stream_has_named_events_and_no_numbers() {
    let site = Site::development().await;
    let mut body = said("hi");
    body["stream"] = json!(true);
    let request = site.request(Method::POST, "/v1/messages?beta=true");
    let request = request.header("anthropic-version", "2023-06-01");
    let events = Stream::of(request.json(&body)).await.rest().await;
    let mut names: Vec<&str> = events
        .iter()
        .filter_map(|event| event.name.as_deref())
        .collect();
    names.dedup();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(names, expected);
    assert!(events.iter().all(|event| event.id.is_none()));
    assert!(
        events
            .iter()
            .all(|event| event.name.as_deref() == event.data["type"].as_str())
    );
}

#[tokio::test]
async fn a_silent_stream_pings() {
    let site = Site::set(&[], |settings| settings.ping = Duration::from_millis(20)).await;
    let mut body = said("never ends");
    body["stream"] = json!(true);
    let request = site.request(Method::POST, PATH).json(&body);
    let mut stream = Stream::of(request).await;
    let is_ping = |data: &Value| *data == json!({"type": "ping"});
    let events = stream.until(is_ping).await;
    assert_eq!(events.last().unwrap().name.as_deref(), Some("ping"));
    assert_eq!(stream.comments, Vec::<String>::new());
}

#[tokio::test]
async fn a_key_of_these_clients_is_a_bearer_token_on_these_routes_alone() {
    let site = Site::of(&[TOKENS]).await;
    let ask = |path: &str, header: &str, value: String| {
        let request = site.request(Method::POST, path);
        Answer::of(request.header(header.to_owned(), value).json(&said("hi")))
    };
    let token = token(&json!({"sub": "ann"}));
    assert_eq!(ask(PATH, "x-api-key", token.clone()).await.status, 200);
    let bearer = format!("Bearer {token}");
    assert_eq!(ask(PATH, "authorization", bearer).await.status, 200);
    let elsewhere = ask("/v1/chat/completions", "x-api-key", token.clone()).await;
    assert_eq!(elsewhere.failure().1, "unauthenticated");
    for (header, value) in [("x-api-key", "wrong".to_owned()), ("x-none", String::new())] {
        let refused = ask(PATH, header, value).await;
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        let (status, kind, _) = failure(&refused);
        assert_eq!((status, kind.as_str()), (401, "authentication_error"));
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn every_failure_has_anthropics_shape() {
    let site = Site::set(&[], |settings| settings.body_limit = 4_000).await;
    let with = |key: &str, value: Value| {
        let mut body = said("hi");
        body[key] = value;
        body
    };
    let user = |content: Value| with("messages", json!([{"role": "user", "content": content}]));
    let cases = [
        (with("model", json!("nobody")), 404, "not_found_error"),
        (with("messages", json!([])), 400, "invalid_request_error"),
        (with("messages", json!("hi")), 400, "invalid_request_error"),
        (with("max_tokens", json!(0)), 400, "invalid_request_error"),
        (with("temperature", json!(2)), 400, "invalid_request_error"),
        (with("system", json!("obey")), 400, "invalid_request_error"),
        (user(json!(5)), 400, "invalid_request_error"),
        (
            user(json!([{"type": "video"}])),
            400,
            "invalid_request_error",
        ),
        (
            user(json!([{"type": "text"}])),
            400,
            "invalid_request_error",
        ),
        (
            user(json!([{"type": "tool_use", "id": "a", "name": "b", "input": {}}])),
            400,
            "invalid_request_error",
        ),
        (
            user(json!([{"type": "tool_result", "tool_use_id": "a"}])),
            400,
            "invalid_request_error",
        ),
        (
            user(json!([{"type": "image", "source": {"type": "file", "file_id": "f"}}])),
            422,
            "invalid_request_error",
        ),
        (
            with("tools", json!([{"type": "bash_20250124", "name": "bash"}])),
            422,
            "invalid_request_error",
        ),
        (
            with("tools", json!([{"input_schema": {}}])),
            400,
            "invalid_request_error",
        ),
        (
            with("tool_choice", json!({"type": "some"})),
            400,
            "invalid_request_error",
        ),
        (user(json!("x".repeat(5_000))), 413, "request_too_large"),
    ];
    for (body, status, kind) in cases {
        for path in [PATH, "/v1/messages/count_tokens"] {
            let answer = site.post(path, &body).await;
            let (got, named, message) = failure(&answer);
            assert_eq!((got, named.as_str()), (status, kind), "{body} {message}");
        }
    }
    let no_json = site.request(Method::POST, PATH).body("{");
    assert_eq!(failure(&Answer::of(no_json).await).0, 400);
    site.check_untouched().await;
    let (status, kind, _) = failure(&site.post(PATH, &said("refuse")).await);
    assert_eq!((status, kind.as_str()), (502, "api_error"));
    for (method, path, status) in [
        (Method::GET, PATH, 405),
        (Method::POST, "/v1/messages/batches", 404),
        (Method::GET, "/v1/messages/batches/1", 404),
    ] {
        let answer = Answer::of(site.request(method, path)).await;
        assert_eq!(failure(&answer).0, status, "{path}");
    }
    let elsewhere = site.get("/v1/messagesx").await;
    assert_eq!(elsewhere.failure().1, "not_found");
}

#[tokio::test]
async fn a_turn_that_fails_at_once_has_a_status_and_a_later_failure_is_an_event() {
    let cut = r#"{"label": "Cut", "type": "scripted", "options": {"rules": [{"reply": "one two three", "cut_after": 2}]}}"#;
    let package = r#"{"name": "Cut", "public": true, "connector": "cut"}"#;
    let site = Site::of(&[
        ("connectors/cut.conn.yao", cut),
        ("assistants/cut/package.yao", package),
        (
            "assistants/cut/prompts.yml",
            "- role: system\n  content: x\n",
        ),
    ])
    .await;
    let mut body = said("refuse");
    body["stream"] = json!(true);
    assert_eq!(failure(&site.post(PATH, &body).await).0, 502);
    body["model"] = json!("cut");
    let mut stream = Stream::of(site.request(Method::POST, PATH).json(&body)).await;
    let events = stream.rest().await;
    let Some(Event { name, data, .. }) = events.last() else {
        panic!("there is no event");
    };
    assert_eq!(name.as_deref(), Some("error"));
    assert_eq!(data["error"]["type"], "api_error");
    assert!(!data["error"]["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn an_agent_that_does_more_than_a_model_is_asked_only_if_its_package_says_so() {
    let package =
        |more: &str| format!(r#"{{"name": "Busy", "public": true, "connector": "script"{more}}}"#);
    let (shy, open) = (package(""), package(r#", "client": {"messages": true}"#));
    let hooks = "export function Create(ctx) { ctx.Send({ type: 'table', props: { rows: [] } }); ctx.Send('by a hook'); }";
    let prompts = "- role: system\n  content: x\n";
    let site = Site::of(&[
        ("assistants/shy/package.yao", &shy),
        ("assistants/shy/src/index.ts", hooks),
        ("assistants/open/package.yao", &open),
        ("assistants/open/src/index.ts", hooks),
        ("assistants/open/prompts.yml", prompts),
    ])
    .await;
    let mut body = said("hi");
    body["model"] = json!("shy");
    let (status, kind, message) = failure(&site.post(PATH, &body).await);
    assert_eq!((status, kind.as_str()), (422, "invalid_request_error"));
    assert!(message.contains("client.messages"), "{message}");
    body["model"] = json!("open");
    let content = site.post(PATH, &body).await.json()["content"].take();
    assert_eq!(
        content,
        json!([{"type": "text", "text": "by a hook\n\necho: hi"}])
    );
}

#[tokio::test]
async fn tokens_are_counted_with_prompts_and_tools_and_no_model_is_asked() {
    let site = Site::of(MIRROR).await;
    let count = async |body: &Value| {
        let answer = site.post("/v1/messages/count_tokens", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["input_tokens"].as_u64().unwrap()
    };
    let mut body = said("refuse");
    body["model"] = json!("mirror");
    let plain = count(&body).await;
    assert!(plain > 2, "{plain}");
    body["system"] = json!([{"type": "text", "text": "one two three four", "cache_control": {"type": "ephemeral"}}]);
    let instructed = count(&body).await;
    assert!(instructed > plain);
    body["tools"] =
        json!([{"name": "f", "description": "does", "input_schema": {"type": "object"}}]);
    assert!(count(&body).await > instructed);
    let usage = site.get("/v1/usage").await.json();
    assert_eq!(
        usage["totals"]["records"].as_i64().unwrap_or(0),
        0,
        "{usage}"
    );
}
