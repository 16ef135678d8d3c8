//! Where requests may come from, and what is said to those without credentials.

use super::{SERVED, SLOW, post};
use crate::auth::token;
use crate::mcp_requests::{result, stateless};
use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};

/// The tool server, to those with tokens.
async fn guarded(files: &[(&str, &str)]) -> Site {
    Site::of(&[&[SERVED, TOKENS], SLOW, files].concat()).await
}

async fn listed(site: &Site, header: &str, value: &str) -> Answer {
    let request = stateless(post(site), "tools/list", json!({}));
    let request = request.bearer_auth(token(&json!({"sub": "ann"})));
    Answer::of(request.header(header, value)).await
}

#[tokio::test]
async fn g172_a_page_of_another_site_is_refused() {
    let site = guarded(&[]).await;
    let own = site.url.clone();
    for (origin, status) in [
        ("https://evil.test", 403),
        ("null", 403),
        ("http://127.0.0.1:1", 403),
        ("https://app.test", 200),
        (own.as_str(), 200),
    ] {
        let answer = listed(&site, "origin", origin).await;
        assert_eq!(answer.status, status, "{origin}: {}", answer.text);
        assert_eq!(answer.header("www-authenticate"), None, "{origin}");
    }
}

#[tokio::test]
async fn g172_a_name_that_is_not_this_machine_s_is_refused_on_loopback() {
    let site = guarded(&[]).await;
    for (host, status) in [
        ("evil.test", 403),
        ("evil.test:80", 403),
        ("127.0.0.1.evil.test", 403),
        ("localhost", 200),
        ("[::1]:80", 200),
    ] {
        let answer = listed(&site, "host", host).await;
        assert_eq!(answer.status, status, "{host}: {}", answer.text);
    }
    let public =
        r#"{"ambit": {"public_url": "https://ambit.test", "mcp_server": {"enabled": true}}}"#;
    let site = guarded(&[("app.yao", public)]).await;
    let answer = listed(&site, "host", "ambit.test").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn g172_a_page_s_own_name_for_the_server_is_no_name_of_the_server() {
    let site = guarded(&[]).await.everywhere().await;
    let own = site.url.clone();
    let public = "http://ambit.test";
    for (host, origin, status) in [
        // A name that a page has made to lead here.
        ("evil.test", "http://evil.test", 403),
        ("evil.test:80", "https://evil.test:80", 403),
        ("ambit.test", public, 403),
        ("evil.test", "https://app.test", 200),
        (own.trim_start_matches("http://"), own.as_str(), 200),
    ] {
        let request = stateless(post(&site), "tools/list", json!({}));
        let request = request.bearer_auth(token(&json!({"sub": "ann"})));
        let answer = Answer::of(request.header("host", host).header("origin", origin)).await;
        assert_eq!(answer.status, status, "{origin}: {}", answer.text);
    }
}

#[tokio::test]
async fn who_has_no_credentials_is_told_where_they_are_had() {
    let site = guarded(&[]).await;
    let list = || stateless(post(&site), "tools/list", json!({}));
    let metadata = format!("{}/.well-known/oauth-protected-resource/v1/mcp", site.url);
    let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"mcp:use:own\"");
    let refused = Answer::of(list()).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), Some(challenge.as_str()));
    let missing = json!({"sub": "ann", "scope": "chat:read:own"});
    let denied = Answer::of(list().bearer_auth(token(&missing))).await;
    let challenge = format!(
        "Bearer error=\"insufficient_scope\", resource_metadata=\"{metadata}\", scope=\"mcp:use:own\""
    );
    assert_eq!(denied.status, 403);
    assert_eq!(denied.header("www-authenticate"), Some(challenge.as_str()));
    let elsewhere = json!({"sub": "ann", "aud": "another"});
    let refused = Answer::of(list().bearer_auth(token(&elsewhere))).await;
    assert_eq!(refused.status, 401, "{}", refused.text);
    let told = site
        .get("/.well-known/oauth-protected-resource/v1/mcp")
        .await;
    let scopes = ["own", "team", "default", "all"].map(|level| format!("mcp:use:{level}"));
    let expected = json!({
        "resource": format!("{}/v1/mcp", site.url),
        "authorization_servers": ["https://id.test"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": scopes,
    });
    assert_eq!(told.json(), expected);
    let root = site.get("/.well-known/oauth-protected-resource").await;
    assert_eq!(root.json(), expected);
    let other = site
        .get("/.well-known/oauth-protected-resource/v1/models")
        .await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn without_issuers_there_is_nothing_to_tell() {
    let keys = ("openapi/openapi.yao", r#"{"auth": {"api_keys": true}}"#);
    let site = Site::of(&[SERVED, keys]).await;
    let refused = Answer::of(stateless(post(&site), "tools/list", json!({}))).await;
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let told = site.get("/.well-known/oauth-protected-resource").await;
    assert_eq!(told.status, 404);
}

#[tokio::test]
async fn g171_credentials_with_a_scope_list_what_the_scope_is_for() {
    let site = guarded(&[]).await;
    for (scope, expected) in [
        ("mcp:use:own", vec![]),
        (
            "mcp:use:own memory:read:own",
            vec!["memory_get", "memory_keys"],
        ),
        (
            "mcp:use:own chat:read:own kb:read:own",
            vec!["chat_list", "chat_messages", "kb_search"],
        ),
        (
            "mcp:use:own chat:write:own",
            vec!["agent_hello", "agent_slow"],
        ),
    ] {
        let token = token(&json!({"sub": "ann", "scope": scope}));
        let list = stateless(post(&site), "tools/list", json!({}));
        let listed = result(&Answer::of(list.bearer_auth(&token)).await);
        let tools = listed["tools"].as_array().unwrap().iter();
        let names: Vec<&Value> = tools.map(|tool| &tool["name"]).collect();
        assert_eq!(names, expected, "{scope}");
        let params = json!({"name": "memory_delete", "arguments": {"space": "user", "key": "k"}});
        let call = stateless(post(&site), "tools/call", params);
        let unknown = Answer::of(call.bearer_auth(&token)).await.json();
        assert_eq!(unknown["error"]["code"], json!(-32602), "{scope}");
    }
}

#[tokio::test]
async fn a_host_that_names_no_server_is_not_repeated() {
    let site = guarded(&[]).await.everywhere().await;
    for none in ["a\"b<c", "ann@server"] {
        for path in [
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/v1/mcp",
        ] {
            let request = site.request(Method::GET, path).header("host", none);
            let expected = (400, "invalid_argument".to_owned(), Some("host".to_owned()));
            assert_eq!(Answer::of(request).await.failure(), expected, "{path}");
        }
        let list = stateless(post(&site), "tools/list", json!({}));
        let refused = Answer::of(list.header("host", none)).await;
        assert_eq!(
            (refused.status, refused.header("www-authenticate")),
            (401, Some("Bearer"))
        );
    }
}
