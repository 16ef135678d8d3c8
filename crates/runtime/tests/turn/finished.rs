//! What a client sees of the tools that run.

use crate::place::{agent, ask, borrowed, history, named, place_of_tools, request};
use crate::toolbox::Tools;
use crate::tools::calling;
use ambit_runtime::Frame;
use ambit_runtime::frame::{OutputMessage, OutputMessages, apply};
use serde_json::{Map, Value, json};

/// The calls that a client shows.
fn calls(frames: &[Frame]) -> Vec<OutputMessage> {
    let mut state = OutputMessages::default();
    for frame in frames {
        apply(&mut state, frame).unwrap();
    }
    let messages = state.messages().iter();
    let calls = messages.filter(|message| message.kind == "tool_call");
    calls.cloned().collect()
}

/// Their states.
pub fn states(frames: &[Frame]) -> Vec<Value> {
    let calls = calls(frames);
    let states = calls.iter().map(|call| call.props["status"].clone());
    states.collect()
}

#[tokio::test]
async fn what_became_of_a_call_is_shown_also_where_nothing_is_stored() {
    let calls = json!([{"name": "s__show"}, {"name": "s__fail"}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.extend(named(
        "outer",
        &json!({}),
        "export function Create(ctx) { ctx.agent.Call('hello', [{ role: 'user', content: 'hi' }]); }",
    ));
    files.push(calling(&calls));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    for (agent, skips) in [("hello", false), ("hello", true), ("outer", false)] {
        let mut asked = request(agent, "hi");
        asked.skip.history = skips;
        let frames = ask(&place, asked).await;
        assert_eq!(states(&frames), ["completed", "error"], "{agent} {skips}");
    }
}

#[tokio::test]
async fn a_call_that_has_run_names_its_server_and_its_tool() {
    let asked = json!([{"id": "c1", "name": "s__show"}, {"id": "c2", "name": "s__fail"}, {"id": "c3", "name": "s__nothing"}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling(&asked));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let run_by = |id: &Value, fields: &Map<String, Value>| {
        json!([id, fields.get("server"), fields.get("tool")])
    };
    let shown: Vec<Value> = calls(&frames)
        .iter()
        .map(|call| run_by(&call.props["id"], &call.props))
        .collect();
    let expected = [
        json!(["c1", "s", "show"]),
        json!(["c2", "s", "fail"]),
        json!(["c3", null, null]),
    ];
    assert_eq!(shown, expected);
    // They are stored in the order in which they have ended.
    let stored = history(&place, "hello").await;
    let results = stored.iter().filter_map(|it| it.tool_result.as_ref());
    let mut results: Vec<Value> = results
        .map(|result| run_by(&json!(result.call_id), &result.extras))
        .collect();
    results.sort_by_key(Value::to_string);
    assert_eq!(results, expected);
}
