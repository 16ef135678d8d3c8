//! The value of a conversation's memory that clients share.

use crate::place::{agent, ask, borrowed, end, named, place, request, session};
use ambit_runtime::{Frame, TurnRequest};
use serde_json::{Value, json};

/// What the stream tells of the state.
fn told(frames: &[Frame]) -> Vec<Value> {
    let events = frames.iter();
    let events = events.filter(|frame| frame.event_name() == Some("state"));
    events.map(|frame| json!(frame.event_data())).collect()
}

fn sharing() -> Value {
    json!({"client": {"state": "board"}})
}

#[tokio::test]
async fn a_turn_begins_with_the_state_and_tells_each_change_of_it() {
    let hooks = "
        export function Create(ctx) {
            ctx.memory.chat.Set('other', 1);
            ctx.memory.chat.Set('board', { items: [1], 'a/b': null });
            ctx.memory.chat.Set('board', { items: [1], 'a/b': null });
            ctx.agent.Call('inner', [{ role: 'user', content: 'x' }], { skip: { output: true } });
        }
        export function Next(ctx) { ctx.memory.chat.Del('board'); }";
    let inner = "export function Create(ctx) {
        const board = ctx.memory.chat.Get('board');
        ctx.memory.chat.Set('board', { ...board, items: [...board.items, 2] });
    }";
    let mut files = agent(&sharing(), hooks);
    files.extend(named("inner", &json!({}), inner));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let expected = [
        json!({"snapshot": {}}),
        json!({"delta": [
            {"op": "add", "path": "/items", "value": [1]},
            {"op": "add", "path": "/a~1b", "value": null},
        ]}),
        json!({"delta": [{"op": "add", "path": "/items/-", "value": 2}]}),
        json!({"delta": [
            {"op": "remove", "path": "/items"},
            {"op": "remove", "path": "/a~1b"},
        ]}),
    ];
    assert_eq!(told(&frames), expected);
    assert_eq!(frames[1].event_name(), Some("state"));
}

#[tokio::test]
async fn what_the_client_sends_takes_the_place_of_the_state_before_create() {
    let hooks = "export function Create(ctx) {
        const board = ctx.memory.chat.Get('board');
        ctx.memory.chat.Set('board', { ...board, seen: board.mine });
    }";
    let place = place(&borrowed(&agent(&sharing(), hooks))).await;
    let sent = TurnRequest {
        state: Some(json!({"mine": 1})),
        ..request("hello", "hi")
    };
    let frames = ask(&place, sent).await;
    let expected = [
        json!({"snapshot": {"mine": 1}}),
        json!({"delta": [{"op": "add", "path": "/seen", "value": 1}]}),
    ];
    assert_eq!(told(&frames), expected);
    let memory = session(&place, "hello").await.context().memory().unwrap();
    let board: Value = memory.get("board").await.unwrap().unwrap().to().unwrap();
    assert_eq!(board, json!({"mine": 1, "seen": 1}));
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(told(&frames), [json!({"snapshot": board})]);
}

#[tokio::test]
async fn an_agent_that_shares_nothing_tells_nothing_and_takes_nothing() {
    let hooks = "
        export function Create(ctx) { ctx.memory.chat.Set('board', 1); }
        export function Next(ctx) { return { data: ctx.memory.chat.Get('board') }; }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    let sent = TurnRequest {
        state: Some(json!({"mine": 1})),
        ..request("hello", "hi")
    };
    let frames = ask(&place, sent).await;
    assert_eq!(told(&frames), Vec::<Value>::new());
    assert_eq!(end(&frames)["next"], 1);
}
