//! Anthropic's Messages over HTTP.

use crate::auth::token;
use crate::site::{Answer, Event, HELLO, Site, Stream, TOKENS, write};
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, open};
use reqwest::Method;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
        (said("refuse"), 502, "api_error"),
    ];
    for (body, status, kind) in cases {
        for path in [PATH, "/v1/messages/count_tokens"] {
            let answer = site.post(path, &body).await;
            // To count is to ask no model.
            if status == 502 && path != PATH {
                continue;
            }
            let (got, named, message) = failure(&answer);
            assert_eq!((got, named.as_str()), (status, kind), "{body} {message}");
        }
    }
    let no_json = site.request(Method::POST, PATH).body("{");
    assert_eq!(failure(&Answer::of(no_json).await).0, 400);
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

#[tokio::test]
async fn a_tool_of_the_client_is_called_and_its_result_goes_on_the_conversation() {
    let site = Site::of(MIRROR).await;
    let mut body = said("weather");
    body["model"] = json!("mirror");
    body["tools"] =
        json!([{"type": "custom", "name": "get_weather", "input_schema": {"type": "object"}}]);
    let answer = site.post(PATH, &body).await.json();
    assert_eq!(answer["stop_reason"], "tool_use");
    let content = &answer["content"];
    let id = content[1]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("call_") && id.len() <= 64, "{id}");
    let call =
        json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Oslo"}});
    assert_eq!(
        *content,
        json!([{"type": "text", "text": "Let me look."}, call])
    );
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": content}));
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let result = json!({"type": "tool_result", "tool_use_id": id, "is_error": true,
        "content": [{"type": "text", "text": "sunny"}, picture]});
    messages
        .push(json!({"role": "user", "content": [result, {"type": "text", "text": "and then?"}]}));
    let got = mirrored(&site, body).await;
    let got = got["messages"].as_array().unwrap();
    assert_eq!(got[2]["tool_calls"][0]["id"], *id);
    assert_eq!(got[3]["role"], "tool");
    assert_eq!(got[3]["tool_call_id"], *id);
    assert_eq!(
        got[3]["content"],
        "Error: sunny\n(what the tool shows follows the results)"
    );
    let shown = &got[4]["content"];
    assert_eq!(shown[1]["image_url"]["url"], "data:image/png;base64,AAAA");
    assert_eq!(shown[2]["text"], "and then?");
}

#[tokio::test]
async fn what_a_request_says_reaches_the_model() {
    let site = Site::of(MIRROR).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let sources = [
        json!({"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}),
        json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "inner"}]}}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
    ];
    let mut content = vec![text("look")];
    content.extend(sources);
    let body = json!({
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": [text("a"), text("b")]},
            {"role": "system", "content": "from now on"},
            {"role": "user", "content": content},
        ],
        "system": [text("one"), text("two")], "max_tokens": 7, "temperature": 0.5, "top_p": 0.25, "top_k": 3,
        "stop_sequences": ["x"], "thinking": {"type": "enabled", "budget_tokens": 1024}, "output_config": {"effort": "max"},
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}, "metadata": {"user_id": "u"},
    });
    let got = mirrored(&site, body).await;
    let messages = got["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "system", "user", "assistant", "system", "user"]
    );
    assert_eq!(messages[1]["content"], "one\n\ntwo");
    assert_eq!(messages[3]["content"], "ab");
    let parts = messages[5]["content"].as_array().unwrap();
    let kinds: Vec<&str> = parts
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "file", "text", "image_url"]);
    assert_eq!(parts[1]["file"]["filename"], "a.pdf");
    assert_eq!(
        parts[1]["file"]["file_data"],
        "data:application/pdf;base64,AAAA"
    );
    let options = json!({"temperature": 0.5, "top_p": 0.25, "max_tokens": 7, "stop": ["x"], "reasoning_effort": "xhigh",
        "tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": false});
    assert_eq!(got["options"], options);
    assert_eq!(
        got["tools"][0]["function"],
        json!({"name": "f", "description": "d", "parameters": {"type": "object"}})
    );
}

#[tokio::test]
async fn g170_no_instruction_reaches_a_model_past_the_roles_of_clients() {
    let closed =
        r#"{"name": "Closed", "public": true, "connector": "mirror", "client": {"roles": []}}"#;
    let mut files = MIRROR.to_vec();
    files.push(("assistants/closed/package.yao", closed));
    files.push((
        "assistants/closed/prompts.yml",
        "- role: system\n  content: x\n",
    ));
    let site = Site::of(&files).await;
    let text = json!([{"type": "text", "text": "obey"}]);
    let user = json!({"role": "user", "content": "hi"});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}]});
    let ask = async |agent: &str, system: Value, messages: Value| {
        let body = json!({"model": agent, "system": system, "messages": messages});
        let body = match system.is_null() {
            true => json!({"model": agent, "messages": messages}),
            false => body,
        };
        site.post(PATH, &body).await
    };
    for agent in ["hello", "closed"] {
        for (system, messages) in [
            (json!("obey"), json!([user])),
            (text.clone(), json!([user])),
            (
                Value::Null,
                json!([{"role": "system", "content": "obey"}, user]),
            ),
            (
                Value::Null,
                json!([user, {"role": "system", "content": text}]),
            ),
            (
                Value::Null,
                json!([{"role": "developer", "content": "obey"}]),
            ),
        ] {
            let refused = ask(agent, system, messages).await;
            assert_eq!(failure(&refused).0, 400, "{agent}");
        }
    }
    let refused = ask("closed", Value::Null, json!([user, call, result])).await;
    assert_eq!(failure(&refused).0, 400);
    let allowed = ask("mirror", json!("obey"), json!([user, call, result])).await;
    assert_eq!(allowed.status, 200, "{}", allowed.text);
}

#[tokio::test]
async fn thoughts_are_shown_unless_the_client_wants_none() {
    let site = Site::of(MIRROR).await;
    let mut body = said("think");
    body["model"] = json!("mirror");
    let content = site.post(PATH, &body).await.json()["content"].take();
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": ""});
    let text = json!({"type": "text", "text": "So."});
    assert_eq!(content, json!([thought, text]));
    body["thinking"] = json!({"type": "disabled"});
    let content = site.post(PATH, &body).await.json()["content"].take();
    assert_eq!(content, json!([text]));
}

/// The counted turns of `hello` that ended like this.
async fn ended(site: &Site, status: &str) -> usize {
    let metrics = site.get("/metrics").await.text;
    let name = format!("ambit_turns_total{{agent=\"hello\",status=\"{status}\"}} ");
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name.as_str()));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn g169_a_turn_ends_within_a_second_after_its_client_has_left() {
    let site = Site::development().await;
    for (expected, streams) in [(1, true), (2, false)] {
        let mut body = said("never ends");
        body["stream"] = json!(streams);
        let request = site.request(Method::POST, PATH).json(&body);
        if streams {
            let mut stream = Stream::of(request).await;
            stream
                .until(|data| data["type"] == "content_block_delta")
                .await;
        } else {
            let left = tokio::time::timeout(Duration::from_millis(1_500), request.send()).await;
            assert!(left.is_err());
        }
        let began = Instant::now();
        while ended(&site, "cancelled").await < expected {
            assert!(began.elapsed() < Duration::from_secs(1), "it goes on");
        }
    }
}

#[tokio::test]
async fn nothing_of_a_conversation_can_be_found_later() {
    let site = Site::development().await;
    let answer = site.post(PATH, &said("hi")).await;
    let id = answer.header("x-ambit-request").unwrap();
    for path in [
        format!("/v1/chat/requests/{id}"),
        format!("/v1/chat/requests/{id}/stream"),
        format!("/v1/trace/traces/{id}/info"),
    ] {
        assert_eq!(site.get(&path).await.status, 404, "{path}");
    }
    let chats = site.get("/v1/chat/sessions").await.json();
    assert_eq!(chats["total"], 0);
    let used = site.get("/v1/usage?group_by=agent").await.text;
    assert!(used.contains("\"total_tokens\":12"), "{used}");
}

/// The files below a folder that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let mut parts = bytes.windows(text.len());
        if parts.any(|part| part == text.as_bytes()) {
            found.push(path);
        }
    }
    found
}

/// A server whose stores are one that lasts, temporary conversations included.
async fn lasting(url: &str) -> Site {
    let app = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(MIRROR) {
        write(&app.path().join(name), text);
    }
    let options = DriverOptions::default();
    let driver = open(url, options.clone()).await.unwrap();
    let stores = Stores::builder(options).driver("kept", driver);
    let stores = stores.temporary_drivers(&["kept"]).build().unwrap();
    Site::over(Arc::new(stores), Arc::new(app), |_| {}).await
}

#[tokio::test]
async fn g169_a_request_leaves_no_byte_of_its_messages_in_any_store() {
    const CANARY: &str = "canary-7d41e9";
    for scheme in ["sqlite", "file"] {
        let folder = tempfile::tempdir().unwrap();
        let site = lasting(&format!("{scheme}:{}/store", folder.path().display())).await;
        let body = json!({"model": "mirror", "system": CANARY, "messages": [
            {"role": "user", "content": CANARY}, {"role": "assistant", "content": CANARY},
            {"role": "user", "content": CANARY},
        ]});
        let answer = site.post(PATH, &body).await;
        assert_eq!(answer.text.matches(CANARY).count(), 4, "{}", answer.text);
        let mut running = body.clone();
        running["stream"] = json!(true);
        running["model"] = json!("hello");
        running.as_object_mut().unwrap().remove("system");
        running["messages"][2]["content"] = json!(format!("never ends {CANARY}"));
        let mut stream = Stream::of(site.request(Method::POST, PATH).json(&running)).await;
        stream
            .until(|data| data["type"] == "content_block_delta")
            .await;
        // Who is killed now leaves what is there now.
        assert_eq!(holding(folder.path(), CANARY), Vec::<PathBuf>::new());
        drop(stream);
        let mut stored = said(CANARY);
        stored["chat_id"] = json!("kept");
        assert_eq!(site.post("/v1/chat/completions", &stored).await.status, 200);
        assert_ne!(holding(folder.path(), CANARY), Vec::<PathBuf>::new());
    }
}
