//! When the servers of agents begin and end.

use super::{calling, place};
use crate::bed::{Witness, load, stdio};
use crate::place::{agent, ask, end, request};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn g085_a_server_of_one_user_ends_when_nobody_has_used_it_for_a_while() {
    let mut witness = Witness::new().await;
    let package = json!({"connector": "calling", "mcp": {"servers": ["notes"]}});
    let mut list = agent(&package, "");
    let call = json!([{"name": "notes__echo", "arguments": {"text": "x"}}]);
    list.push(calling(&call));
    let server = stdio(&witness, &json!({"WHO": "$CTX.USER_ID"})).to_string();
    list.push(("mcps/notes.mcp.yao".to_owned(), server));
    let place = place(&list).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["status"], "completed");
    witness.hear("call echo").await;
    // The turn lets go of the server behind the end of its stream.
    let is_running = || {
        let text = place.runtime.metrics_text();
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("ambit_turns_running") && !line.ends_with(" 0"))
    };
    while is_running() {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(301)).await;
    // Those who tidy up look once a minute, a second at a time.
    for _ in 0..70 {
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
    witness.hear("leaves").await;
    witness.hear("gone").await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_or_is_not_there_fails_the_step() {
    for (server, message) in [
        (
            Some(json!({"transport": "stdio", "command": "no-such-program"})),
            "MCP server \"s\": its command \"no-such-program\" cannot be started",
        ),
        (None, "unknown MCP server \"s\""),
        (
            Some(json!({"transport": "stdio", "command": "x", "enabled": false})),
            "MCP server \"s\" is switched off: set enabled to true",
        ),
    ] {
        let package = json!({"mcp": {"servers": ["s"]}});
        let hooks = "export function Next(ctx, payload) { return { data: [payload.error, payload.error_stage] }; }";
        let mut list = agent(&package, hooks);
        list.extend(server.map(|it| ("mcps/s.mcp.yao".to_owned(), it.to_string())));
        let place = place(&list).await;
        let frames = ask(&place, request("hello", "hi")).await;
        let next = &end(&frames)["next"];
        assert!(next[0].as_str().unwrap().starts_with(message), "{next}");
        assert_eq!(next[1], "build");
    }
}

#[tokio::test]
async fn a_reload_keeps_servers_that_did_not_change_and_replaces_the_others() {
    let mut witness = Witness::new().await;
    let list = [
        ("mcps/a.mcp.yao", stdio(&witness, &json!({})).to_string()),
        ("mcps/b.mcp.yao", stdio(&witness, &json!({})).to_string()),
    ];
    let bed = crate::bed::Bed::of(&list);
    let names = ["a", "b"].map(|id| ServerSelection::Whole(id.to_owned()));
    use ambit_runtime::tool::{ServerSelection, Toolbox};
    bed.servers.list(&names, &bed.caller).await.unwrap();
    let changed = stdio(&witness, &json!({"X": "1"})).to_string();
    std::fs::write(bed.root.path().join("mcps/b.mcp.yao"), changed).unwrap();
    let newer = bed.pool.servers(&load(&bed.root));
    drop(bed.servers);
    witness.hear("gone").await;
    newer.list(&names, &bed.caller).await.unwrap();
    drop(newer);
    let told = witness.until("gone").await;
    assert_eq!(
        told.iter().filter(|line| *line == "initialize").count(),
        1,
        "{told:?}"
    );
}
