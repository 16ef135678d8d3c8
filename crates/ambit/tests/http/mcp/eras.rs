//! Versions of the protocol, and what is no message of any.

use super::{ask, ask_older, post, served};
use crate::mcp_requests::{failure, reply, result, stateless};
use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn an_app_that_does_not_say_so_is_no_tool_server() {
    let site = Site::development().await;
    let answer = ask(&site, "server/discover", json!({})).await;
    let expected = (404, "not_found".to_owned(), None);
    assert_eq!(answer.failure(), expected);
    let metadata = site.get("/.well-known/oauth-protected-resource").await;
    assert_eq!(metadata.failure(), expected);
}

#[tokio::test]
async fn the_newest_version_is_spoken_without_a_handshake() {
    let site = served().await;
    let told = result(&ask(&site, "server/discover", json!({})).await);
    let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18"]);
    assert_eq!(told["supportedVersions"], versions);
    assert_eq!(told["instructions"], json!("Ask the agents."));
    let capabilities =
        json!({"tools": {}, "resources": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    assert_eq!(told["capabilities"], capabilities);
    assert_eq!(told["resultType"], json!("complete"));
    let listed = result(&ask(&site, "tools/list", json!({})).await);
    let hints = (&listed["ttlMs"], &listed["cacheScope"]);
    assert_eq!(hints, (&json!(60000), &json!("private")));
    let server = &listed["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], json!("ambit"));
    for method in ["initialize", "ping", "logging/setLevel", "prompts/list"] {
        let refused = ask(&site, method, json!({})).await;
        assert_eq!(failure(&refused), (404, -32601), "{method}");
        assert_eq!(reply(&refused)["id"], json!(7));
    }
}

#[tokio::test]
async fn the_versions_before_begin_with_a_handshake() {
    let site = served().await;
    for (wanted, spoken) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
    ] {
        let begun = ask_older(&site, "initialize", &json!({"protocolVersion": wanted})).await;
        let session = begun.header("mcp-session-id").unwrap();
        assert!(session.len() >= 20, "{session}");
        let told = result(&begun);
        assert_eq!(told["protocolVersion"], json!(spoken));
        assert_eq!(told["serverInfo"]["name"], json!("ambit"));
        assert_eq!(told["instructions"], json!("Ask the agents."));
        assert!(told.get("_meta").is_none() && told.get("resultType").is_none());
    }
    let listed = result(&ask_older(&site, "tools/list", &json!({})).await);
    assert!(listed.get("ttlMs").is_none() && listed["tools"].is_array());
    assert_eq!(
        result(&ask_older(&site, "ping", &json!({})).await),
        json!({})
    );
    let unknown = ask_older(&site, "tasks/get", &json!({"taskId": "x"})).await;
    assert_eq!(failure(&unknown), (200, -32601));
}

#[tokio::test]
async fn a_version_that_is_not_spoken_is_refused_with_those_that_are() {
    let site = served().await;
    let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": params});
    let request = post(&site).header("mcp-method", "tools/list");
    let request = request.header("mcp-protocol-version", "2030-01-01");
    let refused = Answer::of(request.json(&body)).await;
    assert_eq!(failure(&refused), (400, -32022));
    let expected =
        json!({"supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "2030-01-01"});
    assert_eq!(reply(&refused)["error"]["data"], expected);
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let site = served().await;
    for (body, expected) in [
        ("{", (400, -32700)),
        ("[]", (400, -32600)),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            (400, -32600),
        ),
        (r#"{"id":1,"method":"ping"}"#, (400, -32600)),
    ] {
        let refused = Answer::of(post(&site).body(body)).await;
        assert_eq!(failure(&refused), expected, "{body}");
        assert_eq!(reply(&refused)["id"], Value::Null);
    }
    let large = Answer::of(post(&site).body(" ".repeat((4 << 20) + 1))).await;
    assert_eq!(failure(&large), (413, -32600));
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let taken = Answer::of(post(&site).body(notification)).await;
    assert_eq!((taken.status, taken.text.as_str()), (202, ""));
}

#[tokio::test]
async fn there_is_one_method_of_http() {
    let site = served().await;
    for method in [Method::GET, Method::DELETE] {
        let refused = Answer::of(site.request(method, "/v1/mcp")).await;
        assert_eq!(refused.status, 405);
    }
}

#[tokio::test]
async fn g172_a_header_that_contradicts_the_body_is_refused_before_a_tool_runs() {
    let site = served().await;
    let arguments = json!({"space": "user", "key": "k", "value": 1});
    let params = json!({"name": "memory_set", "arguments": arguments});
    let request = stateless(post(&site), "tools/call", params);
    let refused = Answer::of(request.header("mcp-name", "memory_get")).await;
    assert_eq!(failure(&refused), (400, -32020));
    let kept = site.get("/v1/memory/user/keys/k").await;
    assert_eq!(kept.status, 404, "{}", kept.text);
}
