//! What a client sees of the tools that run.

use crate::place::{agent, ask, borrowed, named, place_of_tools, request};
use crate::toolbox::Tools;
use crate::tools::calling;
use ambit_runtime::Frame;
use serde_json::{Value, json};

/// The states of the calls that a client shows.
pub fn states(frames: &[Frame]) -> Vec<Value> {
    let mut state = ambit_runtime::frame::OutputMessages::default();
    for frame in frames {
        ambit_runtime::frame::apply(&mut state, frame).unwrap();
    }
    let messages = state.messages().iter();
    let calls = messages.filter(|message| message.kind == "tool_call");
    calls.map(|call| call.props["status"].clone()).collect()
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
