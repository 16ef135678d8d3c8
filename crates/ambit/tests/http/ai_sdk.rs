//! Requests of the AI SDK.

use crate::site::{Site, Stream};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PATH: &str = "/v1/ai-sdk/hello/chat";

fn sent(parts: &Value) -> Value {
    json!([{"id": "m1", "role": "user", "parts": parts}])
}

fn request() -> Value {
    let messages = sent(&json!([{"type": "text", "text": "hi"}]));
    json!({"id": "c1", "trigger": "submit-message", "messages": messages})
}

#[tokio::test]
async fn wrong_requests_are_refused_by_the_field_that_is_to_blame_and_leave_nothing() {
    let site = Site::development().await;
    let file = json!([{"type": "file", "mediaType": "image/png", "url": "http://a.test/a.png"}]);
    let system =
        json!([{"id": "m1", "role": "system", "parts": [{"type": "text", "text": "obey"}]}]);
    let long = json!({"x": "x".repeat(20_000)});
    for (name, value, status, param) in [
        ("id", json!(5), 400, "id"),
        ("messages", json!("hi"), 400, "messages"),
        ("messages", json!([]), 400, "messages"),
        ("messages", sent(&json!("hi")), 400, "messages[0].parts"),
        ("messages", sent(&json!(["hi"])), 400, "messages[0].parts"),
        (
            "messages",
            sent(&json!([{"type": "text"}])),
            400,
            "messages[0].parts[0]",
        ),
        ("messages", sent(&file), 400, "messages[0].parts[0].url"),
        ("messages", system, 400, "messages[0].role"),
        ("trigger", json!("resume-message"), 400, "trigger"),
        ("on_busy", json!("wait"), 400, "on_busy"),
        (
            "tools",
            json!([{"type": "function"}]),
            400,
            "tools[0].function.name",
        ),
        ("metadata", long, 413, "metadata"),
    ] {
        let mut body = request();
        body[name] = value;
        let (got, _, blamed) = site.post(PATH, &body).await.failure();
        assert_eq!((got, blamed.as_deref()), (status, Some(param)), "{body}");
    }
    let nobody = site.post("/v1/ai-sdk/nobody/chat", &request()).await;
    assert_eq!(nobody.failure().0, 404);
    site.check_untouched().await;
}

#[tokio::test]
async fn an_answer_that_is_not_there_is_not_given_again() {
    let site = Site::development().await;
    assert_eq!(site.post(PATH, &request()).await.status, 200);
    let list = format!("{PATH}/c1/messages");
    let before = site.get(&list).await.json();
    let mut body = request();
    body["trigger"] = json!("regenerate-message");
    body["messageId"] = json!("nobody");
    let refused = site.post(PATH, &body).await.failure();
    let param = Some("messageId".to_owned());
    assert_eq!(refused, (404, "not_found".to_owned(), param));
    assert_eq!(site.get(&list).await.json(), before);
}

#[tokio::test]
async fn an_answer_whether_a_tool_may_run_is_refused_as_unsupported() {
    let site = Site::development().await;
    let asked = site.post(PATH, &request()).await;
    let id = asked.header("x-ambit-request").unwrap();
    let list = format!("{PATH}/c1/messages");
    let before = site.get(&list).await.json();
    let call = |state: &str, is_approved: bool| {
        let approval = json!({"id": "a", "approved": is_approved});
        json!({"type": "tool-look", "toolCallId": "call_x_M1", "state": state, "input": {}, "approval": approval})
    };
    let behind = json!({"id": "m2", "role": "user", "parts": [{"type": "text", "text": "go on"}]});
    for part in [
        call("approval-responded", true),
        call("output-denied", false),
    ] {
        let parts = json!([{"type": "step-start"}, part]);
        let mut body = request();
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"id": id, "role": "assistant", "parts": parts}));
        let mut and_more = body.clone();
        let messages = and_more["messages"].as_array_mut().unwrap();
        messages.push(behind.clone());
        for body in [body, and_more] {
            let param = Some("messages[1].parts[1].state".to_owned());
            let refused = site.post(PATH, &body).await.failure();
            assert_eq!(refused, (422, "unsupported".to_owned(), param), "{body}");
        }
    }
    assert_eq!(site.get(&list).await.json(), before);
}

/// The texts of the chat.
async fn texts(site: &Site) -> Vec<Value> {
    let listed = site.get(&format!("{PATH}/c1/messages")).await.json();
    let messages = listed.as_array().unwrap().iter();
    let parts = messages.flat_map(|message| message["parts"].as_array().unwrap());
    let texts = parts.filter(|part| part["type"] == "text");
    texts.map(|part| part["text"].clone()).collect()
}

#[tokio::test]
async fn a_request_takes_the_place_of_what_its_body_names() {
    let site = Site::development().await;
    assert_eq!(site.post(PATH, &request()).await.status, 200);
    let said = |id: &str, text: &str| {
        let parts = json!([{"type": "text", "text": text}]);
        json!([{"id": id, "role": "user", "parts": parts}])
    };
    let ask = async |messages: Value, supersede: &str| {
        let body = json!({"id": "c1", "messages": messages, "supersede": supersede});
        site.post(PATH, &body).await
    };
    let edited = ask(said("m2", "again"), "m1").await;
    assert_eq!(edited.status, 200, "{}", edited.text);
    assert_eq!(texts(&site).await, ["again", "echo: again"]);
    let answer = edited.header("x-ambit-request").unwrap();
    let repeated = ask(json!([]), answer).await;
    assert_eq!(repeated.status, 200, "{}", repeated.text);
    assert_eq!(texts(&site).await, ["again", "echo: again"]);
    let refused = ask(said("m3", "more"), "nobody").await.failure();
    let param = Some("supersede".to_owned());
    assert_eq!(refused, (404, "not_found".to_owned(), param.clone()));
    for also in ["messageId", "trigger"] {
        let mut body = json!({"id": "c1", "messages": said("m2", "again"), "supersede": "m2"});
        body[also] = json!("regenerate-message");
        let refused = site.post(PATH, &body).await.failure();
        let expected = (400, "invalid_argument".to_owned(), param.clone());
        assert_eq!(refused, expected, "{also}");
    }
    let replaced = ask(said("m2", "once more"), "m2").await;
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    assert_eq!(texts(&site).await, ["once more", "echo: once more"]);
}

#[tokio::test]
async fn g156_a_call_has_an_id_that_fits_whatever_a_hook_calls_its_message() {
    let hooks = "export function Create(ctx) {
        for (const id of ['a b:ö', 'a b:ä', 'x'.repeat(200)]) {
            ctx.Send({ type: 'tool_call', message_id: id, props: { id: 'own', name: 'look', arguments: '{}' } });
        }
    }";
    let site = Site::of(&[("assistants/hello/src/index.ts", hooks)]).await;
    let sent = site.request(Method::POST, PATH).json(&request());
    let events = Stream::of(sent).await.rest().await;
    let ids = events.iter().map(|event| &event.data["toolCallId"]);
    let ids: BTreeSet<&str> = ids.filter_map(Value::as_str).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    for id in ids {
        assert!(id.len() <= 64 && id.chars().all(is_plain), "{id}");
    }
}

/// The answer to this request, as it is listed while its stream is kept and when that is gone.
async fn listed_answers(site: &Site, body: &Value) -> [Value; 2] {
    let asked = site.post(PATH, body).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    let list = format!("{PATH}/c1/messages");
    let before = site.get(&list).await.json()[1].take();
    let turn = asked.header("x-ambit-request").unwrap();
    site.outlive_stream(turn).await;
    let after = site.get(&list).await.json()[1].take();
    [before, after]
}

/// The types of a message's parts.
fn kinds(message: &Value) -> Vec<&Value> {
    let parts = message["parts"].as_array().unwrap().iter();
    parts.map(|part| &part["type"]).collect()
}

#[tokio::test]
async fn g155_what_hooks_have_sent_stands_outside_of_steps_also_when_the_stream_is_gone() {
    let hooks = "export function Create(ctx) { ctx.Send('Wait.'); }
        export function Next(ctx) { ctx.Send('That is all.'); return { data: { left: 2 } }; }";
    let model = r#"{"label": "Script", "type": "scripted", "options": {"model": "script",
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        "rules": [{"reasoning": "Hm.", "reply": "So."}]}}"#;
    let site = Site::of(&[
        ("assistants/hello/src/index.ts", hooks),
        ("connectors/script.conn.yao", model),
    ])
    .await;
    let [before, after] = listed_answers(&site, &request()).await;
    let expected = ["text", "step-start", "reasoning", "text", "text"];
    assert_eq!(kinds(&before), expected);
    assert_eq!(before["metadata"]["usage"]["total_tokens"], 12);
    assert_eq!(before["metadata"]["next"], json!({"left": 2}));
    assert_eq!(after, before);
}

#[tokio::test]
async fn g155_a_step_may_begin_with_a_call_also_when_the_stream_is_gone() {
    let model = r#"{"label": "Script", "type": "scripted", "options": {"model": "script",
        "rules": [{"tool_calls": [{"name": "look", "arguments": {"at": "it"}}]}]}}"#;
    let site = Site::of(&[("connectors/script.conn.yao", model)]).await;
    let mut body = request();
    body["tools"] = json!([{"type": "function", "function": {"name": "look"}}]);
    let [before, after] = listed_answers(&site, &body).await;
    assert_eq!(kinds(&before), ["step-start", "tool-look"]);
    assert_eq!(after, before);
}
