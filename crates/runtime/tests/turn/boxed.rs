//! Tools that are processes of the app, within a turn.

use crate::place::{Place, agent, ask, borrowed, end, model, named, place, request, shown, tree};
use ambit_runtime::Frame;
use ambit_runtime::trace::{NodeView, TraceStatus};
use serde_json::{Value, json};

const TOOLS: &str = "
    export function Add(a, b) { return a + b; }
    export function Look(what, ctx) { ctx.trace.Add({ what }, { label: 'looking' }); return 'seen'; }
    export function Ask(given, ctx) { return ctx.agent.Call('echo', [{ role: 'user', content: 'psst' }]).content; }
    export function Fail() { throw new Error('no luck'); }";

/// An agent with the server `box`, one of whose tools asks the agent `echo`; its model makes these calls and says what it was told.
async fn turn(calls: &Value, hooks: &str) -> (Place, Vec<Frame>) {
    let mut files = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["box"]}}),
        hooks,
    );
    let rules = json!([
        {"match": {"has_tool_result": false}, "tool_calls": calls},
        {"reply": "told: {{last_tool_result}}"},
    ]);
    files.push(model("calling", &rules));
    files.extend(named("echo", &json!({}), ""));
    let server = json!({"transport": "process",
        "tools": {"add": "scripts.box.Add", "look": "scripts.box.Look", "ask": "scripts.box.Ask",
            "fail": "scripts.box.Fail"}});
    let number = |default: i64| json!({"type": "integer", "default": default});
    let add = json!({"type": "object", "required": ["a", "b"], "properties": {"a": number(1), "b": number(5)},
        "x-process-args": ["$args.a", "$args.b"]});
    for (file, text) in [
        ("mcps/box.mcp.yao", server),
        ("mcps/mapping/box/schemes/add.in.yao", add),
        (
            "mcps/mapping/box/schemes/look.in.yao",
            json!({"type": "object", "x-process-args": ["$args.what"]}),
        ),
        (
            "mcps/mapping/box/schemes/ask.in.yao",
            json!({"type": "object"}),
        ),
        (
            "mcps/mapping/box/schemes/fail.in.yao",
            json!({"type": "object"}),
        ),
    ] {
        files.push((file.to_owned(), text.to_string()));
    }
    files.push(("scripts/box.ts".to_owned(), TOOLS.to_owned()));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    (place, frames)
}

#[tokio::test]
async fn defaults_are_filled_in_before_arguments_are_checked() {
    let hooks = "export function Next(ctx, payload) {
        return { data: [payload.tools[0].arguments, ctx.mcp.CallTool('box', 'add', { a: 2 }).data, ctx.mcp.CallTool('box', 'add').data,
            ctx.mcp.CallTool('box', 'add', { a: 'x' }).isError] };
    }";
    let calls = json!([{"name": "box__add", "arguments": {"a": 3}}]);
    let (_, frames) = turn(&calls, hooks).await;
    assert_eq!(shown(&frames).last().unwrap().1, "told: 8");
    assert_eq!(end(&frames)["next"], json!([{"a": 3, "b": 5}, 7, 6, true]));
}

#[tokio::test]
async fn the_thread_of_an_agent_that_a_tool_calls_names_the_tools_call() {
    let calls = json!([{"name": "box__ask"}]);
    let (_, frames) = turn(&calls, "").await;
    let begun = |name: &str| -> Value {
        let mut events = frames
            .iter()
            .filter(|frame| frame.event_name() == Some(name));
        events.next().unwrap().props["data"].clone()
    };
    let (call, thread) = (begun("message_start"), begun("thread_start"));
    assert_eq!(call["tool_call"]["name"], "box__ask");
    assert_eq!(thread["call_message_id"], call["message_id"]);
    assert_eq!(shown(&frames).last().unwrap().1, "told: echo: psst");
}

#[tokio::test]
async fn g128_tools_have_nodes_with_what_came_of_them_and_with_those_of_their_scripts() {
    let calls = json!([{"name": "box__look", "arguments": {"what": "cat"}}, {"name": "box__fail"}]);
    let (place, frames) = turn(&calls, "").await;
    let tree = tree(&place, &frames).await;
    let node = |label: &str| -> NodeView {
        let mut nodes = tree.nodes.iter();
        nodes.find(|node| node.label == label).unwrap().clone()
    };
    let (look, fail, own) = (node("box__look"), node("box__fail"), node("looking"));
    assert_eq!(own.parent_ids, std::slice::from_ref(&look.id));
    assert_eq!(
        (look.kind.as_str(), look.status, &look.input, &look.output),
        (
            "tool",
            TraceStatus::Completed,
            &json!({"what": "cat"}),
            &json!("seen")
        )
    );
    assert_eq!(fail.status, TraceStatus::Failed);
    assert_eq!(
        fail.error.as_deref(),
        Some("Error executing tool fail: no luck")
    );
}
