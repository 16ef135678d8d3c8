//! Tools that the client runs.

use crate::place::{
    agent, ask, borrowed, end, mirrored, model, place_of_tools, remembered, request, said, shown,
};
use crate::toolbox::Tools;
use crate::tools::calling;
use ambit_runtime::chat::{ChatMessage, ToolDefinition};
use serde_json::json;

#[tokio::test]
async fn tools_of_the_client_end_the_turn_and_their_results_come_with_the_next_request() {
    let own = json!({"type": "function", "function": {"name": "locate", "parameters": {"type": "object"}}});
    let own: ToolDefinition = serde_json::from_value(own).unwrap();
    let rules = json!([
        {"match": {"has_tool_result": false}, "reply": "wait ", "tool_calls": [{"id": "k1", "name": "locate"}]},
        {"reply": "{{request}}"},
    ]);
    let mut files = agent(&json!({"connector": "mine"}), "");
    files.push(model("mine", &rules));
    // What the client sends: only the result, or everything again.
    let whole = json!([
        {"role": "user", "content": "where?"},
        {"role": "assistant", "content": "wait ", "tool_calls": [{"id": "k1", "type": "function", "function": {"name": "locate", "arguments": "{}"}}]},
    ]);
    let result = json!({"role": "tool", "tool_call_id": "k1", "content": "here"});
    for before in [json!([]), whole] {
        let place = crate::place::place(&borrowed(&files)).await;
        let mut first = request("hello", "where?");
        first.call.tools = vec![own.clone()];
        let frames = ask(&place, first).await;
        let ended = end(&frames);
        assert_eq!(
            (&ended["status"], &ended["finish_reason"]),
            (&json!("completed"), &json!("tool_calls"))
        );
        let mut second = request("hello", "");
        second.call.tools = vec![own.clone()];
        let all = before.as_array().unwrap().iter().chain([&result]);
        second.messages = serde_json::from_value(all.cloned().collect()).unwrap();
        let got = mirrored(&ask(&place, second).await);
        assert_eq!(
            said(&got["messages"]),
            [
                "system: Be kind.",
                "user: where?",
                "assistant: wait ",
                "tool: here"
            ]
        );
        assert_eq!(remembered(&place, "hello").await.len(), 4);
    }
}

#[tokio::test]
async fn tools_of_the_server_run_beside_those_of_the_client() {
    let own = json!({"type": "function", "function": {"name": "locate", "parameters": {"type": "object"}}});
    let own: ToolDefinition = serde_json::from_value(own).unwrap();
    let calls = json!([{"id": "k1", "name": "locate"}, {"id": "c1", "name": "s__show", "arguments": "{\"a\": [1,"}]);
    let mut files = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
        "",
    );
    files.push(calling(&calls));
    let tools = Tools::usual();
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let mut asked = request("hello", "hi");
    asked.call.tools = vec![own.clone()];
    let ended = end(&ask(&place, asked.clone()).await);
    assert_eq!(
        (&ended["status"], &ended["finish_reason"]),
        (&json!("completed"), &json!("tool_calls"))
    );
    // What the model left open in its arguments was closed.
    assert_eq!(
        *tools.called.lock().unwrap(),
        [("show".to_owned(), json!({"a": [1]}))]
    );
    asked.messages = vec![ChatMessage::result("k1", "here")];
    let frames = ask(&place, asked).await;
    assert_eq!(shown(&frames).last().unwrap().1, "told: {\"a\":[1]}");
}
