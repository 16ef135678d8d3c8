//! Calls that are stopped, by a client that leaves or by its notification.

use super::{post, served};
use crate::mcp_requests::{STATELESS, failure, handshake, result, stateless};
use crate::site::{Answer, Site};
use serde_json::{Value, json};

async fn end_of(site: &Site, request_id: &str) -> Value {
    site.resume(request_id, 0).await.rest().await;
    let turn = site.get(&format!("/v1/chat/requests/{request_id}")).await;
    turn.json()["status"].take()
}

/// The turn that has begun in a chat.
async fn running(site: &Site, chat: &str) -> String {
    let path = format!("/v1/chat/sessions/{chat}/messages");
    loop {
        let answer = site.get(&path).await;
        if answer.status == 200
            && let Some(id) = answer.json()["items"][0]["request_id"].as_str()
        {
            return id.to_owned();
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_stops_its_call_in_the_newest_version_alone() {
    let site = served().await;
    for (chat, is_newest, expected) in [("c1", true, "cancelled"), ("c2", false, "completed")] {
        let message = if is_newest { "never ends" } else { "go on" };
        let params =
            json!({"name": "agent_hello", "arguments": {"message": message, "chat_id": chat}});
        let request = match is_newest {
            true => stateless(post(&site), "tools/call", params),
            false => handshake(post(&site), "tools/call", &params),
        };
        let call = tokio::spawn(request.send());
        let id = running(&site, chat).await;
        call.abort();
        drop(call);
        assert_eq!(end_of(&site, &id).await, json!(expected));
    }
}

/// How a call of the session `s1` ends, while which a node is notified that this session cancels it.
async fn end_of_cancelled(site: &Site, message: &str, node: &Site, session: &str) -> Value {
    let params = json!({"name": "agent_hello", "arguments": {"message": message, "chat_id": "c1"}});
    let request = handshake(post(site), "tools/call", &params).header("mcp-session-id", "s1");
    let call = tokio::spawn(Answer::of(request));
    running(site, "c1").await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let notify = post(node)
        .json(&cancelled)
        .header("mcp-session-id", session);
    assert_eq!(Answer::of(notify).await.status, 202);
    result(&call.await.unwrap())["structuredContent"]["status"].clone()
}

#[tokio::test]
async fn a_notification_stops_a_call_of_its_session_on_any_node() {
    let site = served().await;
    let other = site.beside().await;
    let end = end_of_cancelled(&site, "never ends", &other, "s1").await;
    assert_eq!(end, json!("cancelled"));
}

#[tokio::test]
async fn a_notification_of_another_session_stops_nothing() {
    let site = served().await;
    let end = end_of_cancelled(&site, "go on", &site, "s2").await;
    assert_eq!(end, json!("completed"));
}

#[tokio::test]
async fn g172_a_notification_that_contradicts_itself_is_refused_and_stops_nothing() {
    const CANCELLED: &str = "notifications/cancelled";
    let site = served().await;
    let params = json!({"name": "agent_hello", "arguments": {"message": "go on", "chat_id": "c1"}});
    let request = handshake(post(&site), "tools/call", &params).header("mcp-session-id", "s1");
    let call = tokio::spawn(Answer::of(request));
    running(&site, "c1").await;
    let notify = async |version: Option<&str>, headers: &[(&str, &str)]| {
        let mut body = json!({"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": 7}});
        if let Some(version) = version {
            body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.into();
        }
        let mut request = post(&site).json(&body).header("mcp-session-id", "s1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request).await
    };
    let (method, version) = (("mcp-method", CANCELLED), "mcp-protocol-version");
    let other = ("mcp-method", "notifications/initialized");
    let (newest, unknown) = ((version, STATELESS), (version, "2030-01-01"));
    for (of_body, headers, expected) in [
        (None, vec![other], -32020),
        (None, vec![unknown], -32600),
        (None, vec![newest], -32020),
        (Some(STATELESS), vec![method], -32020),
        (Some(STATELESS), vec![newest, other], -32020),
        (Some("2030-01-01"), vec![unknown, method], -32022),
    ] {
        let refused = notify(of_body, &headers[..]).await;
        assert_eq!(failure(&refused), (400, expected), "{headers:?}");
    }
    // Without a handshake, calls are stopped in other ways.
    for of_body in [None, Some(STATELESS)] {
        let taken = notify(of_body, &[newest, method][..]).await;
        assert_eq!(taken.status, 202);
    }
    let end = result(&call.await.unwrap());
    assert_eq!(end["structuredContent"]["status"], "completed");
}
