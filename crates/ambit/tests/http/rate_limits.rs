//! Callers who do more than the app allows.

use crate::auth::token;
use crate::mcp::SERVED;
use crate::mcp_requests::{failure, stateless};
use crate::site::{Answer, Site, Stream, TOKENS};
use crate::slow::unread;
use crate::turns::{said, streamed};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// A server whose app has these limits.
async fn limited(limits: &str) -> Site {
    let file = format!("{{\"limits\": {limits}, ");
    let file = TOKENS.1.replacen('{', &file, 1);
    Site::set(&[(TOKENS.0, &file)], |settings| {
        settings.has_public_metrics = true;
    })
    .await
}

fn person(user: &str, tenant: &str) -> String {
    token(&json!({"sub": user, "tenant_id": tenant}))
}

fn asked(site: &Site, who: &str, body: &Value) -> RequestBuilder {
    let request = site.request(Method::POST, "/v1/chat/completions");
    request.bearer_auth(who).json(body)
}

async fn chat(site: &Site, who: &str) -> Answer {
    Answer::of(asked(site, who, &said("hi"))).await
}

/// Fails unless a request was refused for this limit, and counted.
async fn check_refused(site: &Site, answer: &Answer, by: &str, limit: &str) {
    let failure = (429, "limit_exceeded".to_owned(), None);
    assert_eq!(answer.failure(), failure, "{}", answer.text);
    let error = answer.json()["error"].take();
    assert_eq!(error["type"], json!("rate_limit_error"));
    let details = &error["details"];
    assert_eq!(
        (&details["by"], &details["limit"]),
        (&json!(by), &json!(limit))
    );
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=120).contains(&wait), "{wait}");
    let metrics = site.get("/metrics").await.text;
    let line = format!("ambit_limit_refusals_total{{by=\"{by}\",limit=\"{limit}\"}} ");
    assert!(metrics.contains(&line), "{metrics}");
}

#[tokio::test]
async fn a_key_may_make_so_many_requests_a_minute_and_other_keys_have_their_own() {
    let site = limited(r#"{"key": {"requests": 2}}"#).await;
    let keys = ApiKeys::new(site.store.clone());
    let make = async || {
        let user_id = Some("ann".to_owned());
        let record = ApiKeyRecord {
            user_id,
            ..ApiKeyRecord::default()
        };
        keys.make(record).await.unwrap()
    };
    let (one, other) = (make().await, make().await);
    let ask = async |key: &str| {
        let request = site.request(Method::GET, "/v1/models").bearer_auth(key);
        Answer::of(request).await
    };
    for _ in 0..2 {
        assert_eq!(ask(&one).await.status, 200);
    }
    check_refused(&site, &ask(&one).await, "key", "requests").await;
    assert_eq!(ask(&other).await.status, 200);
}

#[tokio::test]
async fn a_user_may_begin_so_many_turns_a_minute_and_a_repeated_request_begins_none() {
    let site = limited(r#"{"user": {"turns": 1}}"#).await;
    let (ann, bob) = (person("ann", "t1"), person("bob", "t1"));
    let repeated = async || {
        let request = asked(&site, &ann, &said("hi"));
        Answer::of(request.header("idempotency-key", "k1")).await
    };
    assert_eq!(repeated().await.status, 200);
    assert_eq!(repeated().await.status, 200);
    check_refused(&site, &chat(&site, &ann).await, "user", "turns").await;
    // The user of this name in another tenant is somebody else.
    for other in [bob, person("ann", "t2")] {
        assert_eq!(chat(&site, &other).await.status, 200);
    }
    let models = site.request(Method::GET, "/v1/models").bearer_auth(&ann);
    assert_eq!(Answer::of(models).await.status, 200);
}

#[tokio::test]
async fn a_tenant_that_has_used_its_tokens_begins_no_turn() {
    let site = limited(r#"{"tenant": {"tokens": 12}}"#).await;
    let (ann, bob) = (person("ann", "t1"), person("bob", "t1"));
    assert_eq!(chat(&site, &ann).await.status, 200);
    check_refused(&site, &chat(&site, &bob).await, "tenant", "tokens").await;
    assert_eq!(chat(&site, &person("eve", "t2")).await.status, 200);
}

#[tokio::test]
async fn a_user_has_so_many_streams_open_at_once() {
    let site = limited(r#"{"user": {"streams": 1}}"#).await;
    let (ann, bob) = (person("ann", "t1"), person("bob", "t1"));
    let open = Stream::of(asked(&site, &ann, &streamed("never ends"))).await;
    let mut elsewhere = streamed("hi");
    elsewhere["chat_id"] = json!("c2");
    let again = Answer::of(asked(&site, &ann, &elsewhere)).await;
    check_refused(&site, &again, "user", "streams").await;
    for path in [
        format!("/v1/chat/requests/{}/stream", open.request_id()),
        "/v1/events".to_owned(),
    ] {
        let request = site.request(Method::GET, &path).bearer_auth(&ann);
        check_refused(&site, &Answer::of(request).await, "user", "streams").await;
    }
    // An answer that is no stream has no place.
    let mut whole = said("hi");
    whole["chat_id"] = json!("c3");
    assert_eq!(Answer::of(asked(&site, &ann, &whole)).await.status, 200);
    let others = Answer::of(asked(&site, &bob, &streamed("hi"))).await;
    assert_eq!(others.status, 200, "{}", others.text);
    drop(open);
    let is_free = async { while Answer::of(asked(&site, &ann, &elsewhere)).await.status == 429 {} };
    timeout(Duration::from_secs(60), is_free).await.unwrap();
}

#[tokio::test]
async fn the_doctor_and_agents_as_tools_take_places_of_streams_and_other_tools_none() {
    let limits = r#"{"limits": {"user": {"streams": 1}}, "#;
    let file = TOKENS.1.replacen('{', limits, 1);
    let files = [(TOKENS.0, file.as_str()), SERVED];
    let site = Site::set(&files, |settings| settings.has_public_metrics = true).await;
    let ann = token(&json!({"sub": "ann", "roles": ["admin"]}));
    let tool = |name: &str, arguments: Value| {
        let request = site.request(Method::POST, "/v1/mcp").bearer_auth(&ann);
        let params = json!({"name": name, "arguments": arguments});
        stateless(request, "tools/call", params)
    };
    let agent = |message: &str| tool("agent_hello", json!({"message": message}));
    let feed = async || {
        let request = site.request(Method::GET, "/v1/events");
        Answer::of(request.bearer_auth(&ann)).await
    };
    let running = Stream::of(agent("never ends")).await;
    check_refused(&site, &feed().await, "user", "streams").await;
    for path in ["/v1/system/doctor", "/v1/system/repair"] {
        let request = site.request(Method::POST, path).bearer_auth(&ann);
        check_refused(&site, &Answer::of(request).await, "user", "streams").await;
    }
    let refused = Answer::of(agent("hi")).await;
    assert_eq!(failure(&refused), (429, -32000), "{}", refused.text);
    let listed = Answer::of(tool("chat_list", json!({}))).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    drop(running);
    let is_free = async { while Answer::of(agent("hi")).await.status == 429 {} };
    timeout(Duration::from_secs(60), is_free).await.unwrap();
}

#[tokio::test]
async fn g112_a_user_who_reads_no_answers_gets_so_many_bytes_of_them() {
    let hooks = "export function Create(ctx) { for (let i = 0; i < 100; i++) ctx.Send('x'.repeat(100000)); }";
    let limits = r#"{"limits": {"user": {"answers": "15MiB"}}, "#;
    let limits = TOKENS.1.replacen('{', limits, 1);
    let files = [
        ("assistants/hello/src/index.ts", hooks),
        (TOKENS.0, limits.as_str()),
    ];
    let site = Site::set(&files, |settings| settings.has_public_metrics = true).await;
    let ann = person("ann", "t1");
    let told = Answer::of(asked(&site, &ann, &streamed("hi"))).await;
    assert_eq!(told.status, 200);
    let path = "/v1/chat/sessions/c1/messages?limit=100";
    let request = format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {ann}");
    let (held, head) = unread(&site, &request, "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("\r\ncontent-length: "), "{head}");
    let ask = async |who: &str| {
        let request = site.request(Method::GET, path).bearer_auth(who);
        Answer::of(request).await
    };
    check_refused(&site, &ask(&ann).await, "user", "answers").await;
    assert_eq!(ask(&person("bob", "t1")).await.status, 404);
    drop(held);
    let mut whole = ask(&ann).await;
    while whole.status == 429 {
        whole = ask(&ann).await;
    }
    assert_eq!(whole.status, 200);
    assert!(whole.text.len() > 9_000_000, "{} bytes", whole.text.len());
}

#[tokio::test]
async fn who_reads_no_answers_is_refused_before_anything_is_done() {
    let hooks = "export function Create(ctx) { for (let i = 0; i < 100; i++) ctx.Send('x'.repeat(100000)); }";
    let limits = r#"{"limits": {"user": {"answers": "1MiB"}}, "#;
    let limits = TOKENS.1.replacen('{', limits, 1);
    let files = [
        ("assistants/hello/src/index.ts", hooks),
        (TOKENS.0, limits.as_str()),
    ];
    let site = Site::set(&files, |settings| settings.has_public_metrics = true).await;
    let ann = person("ann", "t1");
    let told = Answer::of(asked(&site, &ann, &streamed("hi"))).await;
    assert_eq!(told.status, 200);
    let path = "/v1/chat/sessions/c1/messages?limit=100";
    let request = format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {ann}");
    let (held, head) = unread(&site, &request, "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let turns = async || {
        let request = site.request(Method::GET, "/v1/chat/requests");
        let answer = Answer::of(request.bearer_auth(&ann)).await;
        answer.json()["items"].as_array().unwrap().len()
    };
    let before = turns().await;
    check_refused(&site, &chat(&site, &ann).await, "user", "answers").await;
    assert_eq!(turns().await, before);
    drop(held);
    while chat(&site, &ann).await.status == 429 {}
    assert_eq!(turns().await, before + 1);
}

#[test]
fn a_limit_whose_variable_says_nothing_stops_the_server() {
    let limits = r#"{"limits": {"user": {"turns": "$ENV.NOT_SET_ANYWHERE"}}, "#;
    let folder = tempfile::tempdir().unwrap();
    crate::site::write(&folder.path().join("app.yao"), "{}");
    let file = TOKENS.1.replacen('{', limits, 1);
    crate::site::write(&folder.path().join(TOKENS.0), &file);
    let app = ambit_runtime::app::App::load(folder.path(), &std::collections::BTreeMap::new());
    let refused = ambit::auth::AuthConfig::of(&app.unwrap()).err().unwrap();
    assert!(
        refused.to_string().contains("\"limits\" names a variable"),
        "{refused}"
    );
}
