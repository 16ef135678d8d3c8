//! The properties of `ctx`.

use crate::support::Stage;
use serde_json::json;

#[tokio::test]
async fn ctx_shows_the_turn_with_every_property() {
    let mut stage = Stage::new();
    stage
        .metadata
        .insert("k".to_owned(), json!([1, {"a": null}]));
    let found = stage
        .value("JSON.parse(JSON.stringify({...ctx, memory: 0, trace: 0, mcp: 0, search: 0, agent: 0, llm: 0, space: 0}))")
        .await;
    let expected = json!({
        "chat_id": "c1", "assistant_id": "pet", "locale": "en-us", "theme": "dark", "route": "/pets",
        "accept": "cui-web", "referer": "api",
        "client": {"type": "web", "user_agent": "Mozilla", "ip": "10.0.0.1"},
        "metadata": {"k": [1, {"a": null}]},
        "authorized": {"user_id": "ann", "team_id": "red"},
        "request_id": "r1", "context_id": "ctx-1",
        "identity": {
            "agent_name": "pet", "chat_name": "c1", "user_id": "ann", "group": null, "scope": null, "key": "pet_ann",
        },
        "memory": 0, "trace": 0, "space": 0, "mcp": 0, "search": 0, "agent": 0, "llm": 0,
    });
    assert_eq!(found, expected);
}
