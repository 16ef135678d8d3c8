//! Agents that hand over to each other.

use crate::place::{
    agent, ann, ask, borrowed, end, named, place, place_of_tools, place_over, remembered, request,
    session, shown, traced,
};
use crate::toolbox::{Tools, outcome};
use crate::tools::calling;
use ambit_storage::driver::DriverOptions;
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::{Context, Stores};
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;

/// Two agents: `hello` hands over with these options, `other` answers with what it sees.
async fn handed(options: &str) -> Value {
    let first = format!(
        "export function Create(ctx) {{
            ctx.memory.context.Set('from', ctx.assistant_id);
            return {{ locale: 'fr-fr', delegate: {{ agent_id: 'other', messages: [{{role: 'user', content: 'over'}}], options: {options} }} }};
        }}"
    );
    let second = "
        export function Create(ctx, messages, options) { ctx.memory.context.Set('seen', { messages, options }); }
        export function Next(ctx, payload) {
            const { request_id, context_id, chat_id } = ctx;
            return { data: {
                ...ctx.memory.context.Get('seen'), from: ctx.memory.context.Get('from'), agent: ctx.assistant_id,
                referer: ctx.referer, locale: ctx.locale, same: request_id + context_id + chat_id, metadata: ctx.metadata,
            } };
        }";
    let mut files = agent(&json!({}), &first);
    files.extend(named("other", &json!({}), second));
    let place = place(&borrowed(&files)).await;
    let mut asked = request("hello", "hi");
    asked.metadata = json!({"m": 1}).as_object().unwrap().clone();
    let ended = end(&ask(&place, asked).await);
    let text = |name: &str| ended[name].as_str().unwrap().to_owned();
    let same = text("request_id") + &text("context_id") + &text("chat_id");
    assert_eq!(ended["next"]["same"], same);
    ended["next"].clone()
}

#[tokio::test]
async fn a_delegate_runs_in_the_same_context_with_its_own_messages_and_options() {
    let seen = handed("{ own: 7, metadata: { d: 1 }, mode: 'm', skip: { trace: true } }").await;
    assert_eq!(
        seen["messages"],
        json!([{"role": "user", "content": "over"}])
    );
    assert_eq!(
        (&seen["agent"], &seen["from"]),
        (&json!("other"), &json!("hello"))
    );
    assert_eq!(
        (&seen["referer"], &seen["locale"]),
        (&json!("agent"), &json!("fr-fr"))
    );
    assert_eq!(seen["metadata"], json!({"m": 1, "d": 1}));
    let options = &seen["options"];
    assert_eq!(
        (&options["own"], &options["mode"]),
        (&json!(7), &json!("m"))
    );
    assert_eq!(options["metadata"], json!({"m": 1, "d": 1}));
    assert_eq!(
        (&options["skip"]["trace"], &options["skip"]["output"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn what_a_delegate_says_is_of_the_same_chat_unless_it_leaves_history_out() {
    for (skip, expected) in [
        (
            "{}",
            vec![
                "user: hi",
                "assistant: first",
                "assistant: echo: over",
                "assistant: last",
            ],
        ),
        ("{history: true}", vec!["user: hi", "assistant: first"]),
    ] {
        let first = format!(
            "export function Create(ctx) {{ ctx.Send('first'); return {{ delegate: {{ agent_id: 'other',
                messages: [{{role: 'user', content: 'over'}}], options: {{ skip: {skip} }} }} }}; }}"
        );
        let mut files = agent(&json!({}), &first);
        let second = "export function Next(ctx) { ctx.Send('last'); }";
        files.extend(named("other", &json!({}), second));
        let place = place(&borrowed(&files)).await;
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(shown(&frames).len(), 3);
        assert_eq!(remembered(&place, "hello").await, expected, "{skip}");
    }
}

#[tokio::test]
async fn a_delegate_that_leaves_history_out_leaves_its_tool_calls_out_and_so_do_those_behind_it() {
    let hands = |to: &str, options: &str| {
        format!(
            "return {{ delegate: {{ agent_id: '{to}', messages: [{{role: 'user', content: 'over'}}], options: {options} }} }};"
        )
    };
    let skips = hands("second", "{ skip: { history: true } }");
    let first = format!("export function Create() {{ {skips} }}");
    let mut files = agent(&json!({}), &first);
    let calling_tools = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let second = format!("export function Next() {{ {} }}", hands("third", "{}"));
    files.extend(named("second", &calling_tools, &second));
    files.extend(named("third", &calling_tools, ""));
    files.push(calling(&json!([{"name": "s__show"}])));
    let tools = Tools::new(&["show"], |_, arguments| {
        async move { Ok(outcome(arguments)) }.boxed()
    });
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(tools.names(), ["show", "show"]);
    assert_eq!(remembered(&place, "hello").await, ["user: hi"]);
}

#[tokio::test]
async fn the_index_finds_a_chat_by_the_agent_that_it_was_handed_to() {
    let hooks = "export function Create() {
        return { delegate: { agent_id: 'other', messages: [{role: 'user', content: 'over'}] } };
    }";
    // The index is in the first store.
    for store in ["main", "apart"] {
        let package = json!({"context": {"history": {"drivers": [store]}}});
        let mut files = agent(&package, hooks);
        files.extend(named("other", &json!({}), ""));
        let options = DriverOptions::default();
        let memory = || Arc::new(MemoryDriver::new(options.clone()));
        let stores = Stores::builder(options.clone())
            .driver("main", memory())
            .driver("apart", memory());
        let place = place_over(&borrowed(&files), stores.build().unwrap()).await;
        ask(&place, request("hello", "hi")).await;
        let ambit = place.runtime.contexts(&ann());
        let found = Context::of(ambit, "other").unwrap().first().await.unwrap();
        let chat = session(&place, "hello").await.history().identity().clone();
        assert_eq!(found, Some(chat), "{store}");
    }
}

#[tokio::test]
async fn ten_delegations_are_allowed_and_circles_are_warned_of() {
    let hooks = "export function Create(ctx, messages, options) {
        const left = options.left ?? LEFT;
        if (left === 0) return null;
        const agent_id = ctx.assistant_id === 'a' ? 'b' : 'a';
        return { delegate: { agent_id, messages: [{role: 'user', content: 'round'}], options: { left: left - 1 } } };
    }";
    for (left, code) in [("10", Value::Null), ("11", json!("delegate_depth"))] {
        let hooks = hooks.replace("LEFT", left);
        let mut files = named("a", &json!({}), &hooks);
        files.extend(named("b", &json!({}), &hooks));
        let place = place(&borrowed(&files)).await;
        let frames = ask(&place, request("a", "hi")).await;
        let ended = end(&frames);
        assert_eq!(ended["code"], code);
        if code.is_string() {
            let chain = "a → b → a → b → a → b → a → b → a → b → a → b";
            assert_eq!(
                ended["error"],
                format!("delegate depth limit 10 exceeded: {chain}")
            );
        }
        let trace = traced(&place, &frames).await;
        assert!(
            trace.contains("agents go in a circle: a → b → a\""),
            "{trace}"
        );
    }
}

#[tokio::test]
async fn an_unknown_target_fails_the_turn_by_name() {
    let hooks =
        "export function Create() { return { delegate: { agent_id: 'nobody', messages: [] } }; }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(ended["error"], "unknown agent \"nobody\"");
    assert_eq!(ended["code"], "not_found");
}
