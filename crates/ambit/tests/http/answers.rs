//! Results of tools that clients run themselves.

use crate::site::{Answer, Site};
use serde_json::{Value, json};

/// A model that calls a client's tool, and says what it was shown when it has a result.
pub const CALLING: (&str, &str) = (
    "connectors/script.conn.yao",
    r#"{
        "label": "Script",
        "type": "scripted",
        "options": {
            "model": "script",
            "rules": [
                {"match": {"has_tool_result": true}, "reply": "{{last_tool_result}} of {{message_count}}"},
                {"match": {"last_user": "^look"}, "tool_calls": [{"name": "look", "arguments": {}}]}
            ]
        }
    }"#,
);

async fn ask(site: &Site, messages: Value) -> Answer {
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let body = json!({"model": "hello", "chat_id": "c1", "messages": messages, "tools": tools});
    site.post("/v1/chat/completions", &body).await
}

fn message(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["choices"][0]["message"].take()
}

fn result(call: &Value, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": call, "content": text})
}

/// A conversation in which a client's tool is called: its two messages.
async fn called(site: &Site) -> [Value; 2] {
    let question = json!({"role": "user", "content": "look there"});
    let calling = message(&ask(site, json!([question])).await);
    [question, calling]
}

#[tokio::test]
async fn a_client_s_result_reaches_the_model_as_the_only_one_of_its_call() {
    let site = Site::of(&[CALLING]).await;
    let [_, calling] = called(&site).await;
    let result = result(&calling["tool_calls"][0]["id"], "blue");
    let answer = ask(&site, json!([result])).await;
    // Prompt, question, call and result.
    assert_eq!(message(&answer)["content"], "blue of 4");
    let site = Site::of(&[CALLING]).await;
    let [question, calling] = called(&site).await;
    // Asked again by a client that heard no answer, the model sees the first answer, the call and the result too.
    for expected in ["blue of 4", "blue of 7"] {
        let answer = ask(&site, json!([question, calling, result])).await;
        assert_eq!(message(&answer)["content"], expected);
    }
}

#[tokio::test]
async fn g151_a_result_that_answers_no_open_call_is_refused() {
    let site = Site::of(&[CALLING]).await;
    let refused = |at: usize| {
        let param = format!("messages[{at}].tool_call_id");
        (400, "invalid_argument".to_owned(), Some(param))
    };
    let [question, calling] = called(&site).await;
    let call = &calling["tool_calls"][0]["id"];
    let forged = result(&json!("call_of_somebody"), "red");
    assert_eq!(ask(&site, json!([forged])).await.failure(), refused(0));
    let both = json!([question, calling, result(call, "blue"), forged]);
    assert_eq!(ask(&site, both).await.failure(), refused(3));
    let twice = json!([result(call, "blue"), result(call, "red")]);
    assert_eq!(ask(&site, twice).await.failure(), refused(1));
    message(&ask(&site, json!([result(call, "blue")])).await);
    let late = ask(&site, json!([result(call, "red")])).await;
    assert_eq!(late.failure(), refused(0));
}

#[tokio::test]
async fn tools_of_a_package_are_the_client_s_where_a_request_declares_none() {
    let package = r#"{"name": "Hello", "public": true, "connector": "script", "options": {"tools": [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]}}"#;
    let connector = r#"{"type": "scripted", "label": "Script", "options": {"model": "script", "rules": [
        {"match": {"tools": ["look"]}, "tool_calls": [{"name": "look", "arguments": {"at": "the sky"}}]},
        {"match": {"tools": ["listen"]}, "tool_calls": [{"name": "listen", "arguments": {}}]}]}}"#;
    let site = Site::of(&[
        ("assistants/hello/package.yao", package),
        ("connectors/script.conn.yao", connector),
    ])
    .await;
    let body = json!({"model": "hello", "messages": [{"role": "user", "content": "well?"}]});
    let answer = site.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["choices"][0]["finish_reason"], "tool_calls");
    let call = message(&answer)["tool_calls"][0]["function"].take();
    assert_eq!(
        call,
        json!({"name": "look", "arguments": r#"{"at":"the sky"}"#})
    );
    let mut own = body.clone();
    own["tools"] = json!([{"type": "function", "function": {"name": "listen"}}]);
    let answer = site.post("/v1/chat/completions", &own).await;
    let called = message(&answer)["tool_calls"].take();
    assert_eq!(called[0]["function"]["name"], "listen");
    assert_eq!(called.as_array().unwrap().len(), 1);
}
