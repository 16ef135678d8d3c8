//! What callers cannot do to each other, and what nobody asks of them.

use super::{SERVED, SLOW, call, post};
use crate::auth::token;
use crate::mcp_requests::{handshake, result};
use crate::site::{Answer, Site, TOKENS};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use serde_json::json;

/// Waits until a turn is open.
async fn has_begun(site: &Site) {
    let scan = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
    loop {
        let open = site.store.scan(&Space::turns(), &scan).await.unwrap();
        if !open.is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn who_is_nobody_stops_no_call_by_its_id_alone() {
    let site = Site::of(&[&[SERVED, TOKENS], SLOW].concat()).await;
    let nobody = token(&json!({}));
    let params = json!({"name": "agent_slow", "arguments": {"message": "work"}});
    let request = handshake(post(&site), "tools/call", &params).bearer_auth(&nobody);
    let call = tokio::spawn(Answer::of(request));
    has_begun(&site).await;
    // Somebody else without a name has a request of the same id.
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let notify = post(&site).bearer_auth(&nobody).json(&cancelled);
    assert_eq!(Answer::of(notify).await.status, 202);
    let ended = result(&call.await.unwrap());
    assert_eq!(ended["structuredContent"]["status"], json!("completed"));
}

#[tokio::test]
async fn agents_that_are_called_from_inside_are_offered_no_tools_of_the_client() {
    let outer = [
        (
            "assistants/outer/package.yao",
            r#"{"name": "Outer", "public": true, "connector": "script"}"#,
        ),
        (
            "assistants/outer/src/index.ts",
            "export function Create(ctx) {
                const asked = [{ role: 'user', content: 'tools' }];
                const inner = ctx.agent.Call('slow', asked);
                return { messages: [{ role: 'user', content: inner.content }] };
            }",
        ),
        (
            "assistants/handing/package.yao",
            r#"{"name": "Handing", "public": true, "connector": "script"}"#,
        ),
        (
            "assistants/handing/src/index.ts",
            "export function Create(ctx, messages) { return { delegate: { agent_id: 'slow', messages } }; }",
        ),
    ];
    let site = Site::of(&[&[SERVED], SLOW, &outer].concat()).await;
    let (answer, _) = call(&site, "agent_outer", json!({"message": "hi"})).await;
    assert_eq!(answer["text"], json!("notes__add"));
    let (answer, _) = call(&site, "agent_handing", json!({"message": "tools"})).await;
    assert_eq!(answer["text"], json!("notes__add"));
}
