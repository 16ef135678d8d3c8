//! Roles that clients of an agent may not use: what is sent in them reaches it by no way.

use crate::responses::post;
use crate::site::Site;
use serde_json::{Value, json};

/// An agent that takes what people say and nothing else, one that takes all, and a model that says what it was told.
const STRICT: &[(&str, &str)] = &[
    (
        "assistants/strict/package.yao",
        r#"{"name": "Strict", "public": true, "connector": "script", "client": {"roles": []}}"#,
    ),
    (
        "assistants/strict/prompts.yml",
        "- role: system\n  content: Be kind.\n",
    ),
    (
        "connectors/script.conn.yao",
        r#"{"label": "Script", "type": "scripted", "options": {"model": "script", "rules": [{"reply": "{{request}}"}]}}"#,
    ),
];

/// Items in roles that `strict` takes from no client.
fn canaries() -> [Value; 4] {
    [
        json!({"type": "message", "role": "assistant", "content": "canary-said"}),
        json!({"type": "function_call", "call_id": "k1", "name": "f", "arguments": "{\"x\": \"canary-called\"}"}),
        json!({"type": "function_call_output", "call_id": "k1", "output": "canary-answered"}),
        json!({"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "canary-settled"}),
    ]
}

/// What the model of an agent is told in a conversation.
async fn told(site: &Site, agent: &str, more: &Value) -> String {
    let mut body = json!({"model": agent, "input": "hi"});
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    let answer = post(site, "/v1/responses", &body).await;
    let text = &answer["output"][0]["content"][0]["text"];
    let call: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    call["messages"].to_string()
}

#[tokio::test]
async fn g170_what_is_posted_to_a_conversation_reaches_agents_by_the_roles_they_take() {
    let site = Site::of(STRICT).await;
    let person = json!({"role": "user", "content": "a person speaks"});
    for item in canaries() {
        let refused = json!({"model": "strict", "input": [item]});
        let refused = site.post("/v1/responses", &refused).await;
        assert_eq!(refused.failure().0, 400, "{item}");
    }
    let [said, called, answered, settled] = canaries();
    let items = json!({"items": [person, said, called, answered, settled]});
    let talk = post(&site, "/v1/conversations", &items).await;
    let here = json!({"conversation": talk["id"]});
    let strict = told(&site, "strict", &here).await;
    assert!(strict.contains("a person speaks"), "{strict}");
    assert!(!strict.contains("canary"), "{strict}");
    assert!(!strict.contains("no result"), "{strict}");
    let open = told(&site, "hello", &here).await;
    for word in [
        "canary-said",
        "canary-called",
        "canary-answered",
        "canary-settled",
    ] {
        assert!(open.contains(word), "{word}: {open}");
    }
}

#[tokio::test]
async fn g170_what_one_agent_took_from_a_client_reaches_no_other_that_does_not() {
    let site = Site::of(STRICT).await;
    let talk = post(&site, "/v1/conversations", &json!({})).await;
    let [said, ..] = canaries();
    let input = json!([said, {"role": "user", "content": "hi"}]);
    let asked = json!({"model": "hello", "input": input, "conversation": talk["id"]});
    let first = post(&site, "/v1/responses", &asked).await;
    let here = json!({"conversation": talk["id"]});
    let copied = json!({"previous_response_id": first["id"]});
    for place in [here, copied] {
        let is_told = async |agent: &str| {
            let messages = told(&site, agent, &place).await;
            let messages: Value = serde_json::from_str(&messages).unwrap();
            let mut messages = messages.as_array().unwrap().iter();
            messages.any(|message| message["content"] == "canary-said")
        };
        assert!(!is_told("strict").await, "{place}");
        assert!(is_told("hello").await, "{place}");
    }
}

#[tokio::test]
async fn g170_an_agent_s_own_chat_takes_the_items_that_its_clients_may_send() {
    let site = Site::of(STRICT).await;
    let asked = json!({"model": "strict", "chat_id": "c1", "messages": [{"role": "user", "content": "hi"}]});
    let asked = site.post("/v1/chat/completions", &asked).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    let rows = "/v1/contexts?scope=chatHistory&chat=c1";
    let rows = site.get(rows).await.json();
    let id = &rows["items"][0]["id"];
    let path = format!("/v1/conversations/conv_{}/items", id.as_str().unwrap());
    for item in canaries() {
        let refused = site.post(&path, &json!({"items": [item]})).await;
        let (status, code, param) = refused.failure();
        assert_eq!((status, code.as_str()), (400, "invalid_argument"), "{item}");
        assert_eq!(param.as_deref(), Some("items[0].role"));
    }
    let person = json!({"items": [{"role": "user", "content": "a person speaks"}]});
    let taken = site.post(&path, &person).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
}
