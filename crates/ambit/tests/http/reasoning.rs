//! What a provider wants back of its model's reasoning, brought along again by clients of OpenAI's Responses.

use crate::site::Site;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// What Anthropic's API has sent once: a thought, one that is hidden, and a text.
const ANSWER: &str = include_str!("../../../runtime/tests/llm/recorded/anthropic/reasoning.sse");

/// A provider that always thinks the same, and what it was asked.
struct Provider {
    site: Site,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Provider {
    /// A site with two agents that have connectors of their own to it.
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let answer = async move |Json(request): Json<Value>| {
            seen.lock().unwrap().push(request);
            ([("content-type", "text/event-stream")], ANSWER)
        };
        let service = Router::new().route("/v1/messages", post(answer));
        tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
        let options = json!({"model": "claude", "key": "k", "host": host, "max_tokens": 100});
        let connector = json!({"type": "anthropic", "label": "Claude", "options": options});
        let connector = connector.to_string();
        let package = |connector: &str| {
            let roles = json!({"roles": ["assistant", "tool"]});
            json!({"name": "Thinker", "public": true, "connector": connector, "client": roles})
                .to_string()
        };
        let prompts = "- role: system\n  content: Think.\n";
        let site = Site::of(&[
            ("connectors/one.conn.yao", &connector),
            ("connectors/two.conn.yao", &connector),
            ("assistants/one/package.yao", &package("one")),
            ("assistants/one/prompts.yml", prompts),
            ("assistants/two/package.yao", &package("two")),
            ("assistants/two/prompts.yml", prompts),
        ])
        .await;
        Self { site, asked }
    }

    /// The Response to these items.
    async fn response(&self, agent: &str, input: &[Value], more: Value) -> Value {
        let mut body = json!({"model": agent, "input": input});
        let Value::Object(more) = more else {
            panic!("{more}");
        };
        body.as_object_mut().unwrap().extend(more);
        let answer = self.site.post("/v1/responses", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// What the model was told the assistant had said, in its last request.
    fn told(&self) -> Value {
        let asked = self.asked.lock().unwrap();
        let messages = asked.last().unwrap()["messages"].as_array().unwrap();
        let said = messages.iter().find(|said| said["role"] == "assistant");
        said.unwrap()["content"].clone()
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A request that keeps its conversation itself, with its reasoning.
fn stateless() -> Value {
    json!({"store": false, "include": ["reasoning.encrypted_content"]})
}

#[tokio::test]
async fn reasoning_goes_back_to_the_provider_through_a_client_that_keeps_the_conversation() {
    let provider = Provider::start().await;
    let first = provider.response("one", &[user("hi")], stateless()).await;
    let output = first["output"].as_array().unwrap();
    let kinds: Vec<&Value> = output.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["reasoning", "message"]);
    assert!(output[0]["encrypted_content"].is_string(), "{first}");

    let mut input = vec![user("hi")];
    input.extend(output.iter().cloned());
    input.push(user("go on"));
    provider.response("one", &input, stateless()).await;
    let thought = json!({"type": "thinking", "thinking": "9.11 is smaller.",
        "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"});
    let hidden = json!({"type": "redacted_thinking",
        "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP"});
    let text = json!({"type": "text", "text": "9.8"});
    assert_eq!(provider.told(), json!([thought, hidden, text]));

    // Another connector's model would refuse it, and what was made by somebody else is nobody's.
    provider.response("two", &input, stateless()).await;
    assert_eq!(provider.told(), json!([text]));
    input[1]["encrypted_content"] = json!("gAAAAABo");
    provider.response("one", &input, stateless()).await;
    assert_eq!(provider.told(), json!([text]));
}

#[tokio::test]
async fn reasoning_is_told_with_what_the_provider_wants_back_only_where_that_is_asked_for() {
    let provider = Provider::start().await;
    let plain = provider.response("one", &[user("hi")], json!({})).await;
    assert_eq!(plain["output"][0]["encrypted_content"], Value::Null);

    let include = json!({"include": ["reasoning.encrypted_content"]});
    let asked = provider.response("one", &[user("hi")], include).await;
    assert!(asked["output"][0]["encrypted_content"].is_string());
    let id = asked["id"].as_str().unwrap();
    let again = provider.site.get(&format!("/v1/responses/{id}")).await;
    assert_eq!(again.json(), asked);

    // It is stored with the answer, and outlives the stream.
    let turn = id.strip_prefix("resp_").unwrap();
    provider.site.outlive_stream(turn).await;
    let again = provider.site.get(&format!("/v1/responses/{id}")).await;
    assert_eq!(again.json()["output"], asked["output"]);
    let plain_id = plain["id"].as_str().unwrap();
    let again = provider
        .site
        .get(&format!("/v1/responses/{plain_id}"))
        .await;
    assert_eq!(again.json()["output"], plain["output"]);
}

#[tokio::test]
async fn reasoning_that_a_response_holds_is_told_to_no_other_client() {
    let provider = Provider::start().await;
    let include = json!({"include": ["reasoning.encrypted_content"]});
    let asked = provider.response("one", &[user("hi")], include).await;
    let id = asked["id"].as_str().unwrap();
    // Clients of other protocols that follow the same turn are not told.
    let turn = id.strip_prefix("resp_").unwrap();
    let mut stream = provider.site.resume(turn, 0).await;
    let told = stream.rest().await;
    assert!(told.len() > 3);
    let signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds";
    assert!(
        told.iter()
            .all(|event| !event.data.to_string().contains(signature))
    );
}
