//! Who has said which option and setting of a model's call.

use crate::manifests::manifests;
use crate::place::{agent, ask, borrowed, model, named, place, place_with, request};
use ambit_runtime::event::BeforeResponse;
use ambit_runtime::{CallOptions, TurnRequest};
use ambit_storage::event::Verdict;
use futures::FutureExt;
use serde_json::json;

#[tokio::test]
async fn g190_settings_and_options_are_told_with_who_has_said_them() {
    let hooks = "export function Create(ctx, messages) {
        return { temperature: 0.1, connector: 'two', locale: 'de-de', prompt_preset: 'short' };
    }";
    let package = json!({"options": {"temperature": 0.7, "top_p": 0.5}});
    let mut files = agent(&package, hooks);
    files.push(model("two", &json!([])));
    let place = place(&borrowed(&files)).await;
    let asked = request("hello", "hi");
    let call = CallOptions {
        mode: Some("task".to_owned()),
        generation: serde_json::from_value(json!({"seed": 3})).unwrap(),
        ..CallOptions::default()
    };
    let frames = ask(&place, TurnRequest { call, ..asked }).await;
    let calls = manifests(&place, &frames).await;
    let expected = json!({
        "connector": {"value": "two", "layer": "create", "over": {"package": "echo"}},
        "mode": {"value": "task", "layer": "request"},
        "preset": {"value": "short", "layer": "create"},
        "servers": {"value": [], "layer": "package"},
        "locale": {"value": "de-de", "layer": "create"},
    });
    assert_eq!(json!(calls[0].settings), expected);
    let expected = json!({
        "temperature": {"value": 0.1, "layer": "create", "over": {"package": 0.7}},
        "top_p": {"value": 0.5, "layer": "package"},
        "seed": {"value": 3, "layer": "request"},
    });
    assert_eq!(json!(calls[0].options), expected);
}

#[tokio::test]
async fn g190_what_agents_and_scripts_say_of_calls_is_told_as_theirs() {
    let hooks = "export function Create(ctx) {
        ctx.llm.Stream('echo', [{ role: 'user', content: 'aside' }], { temperature: 0.3 });
        const messages = [{ role: 'user', content: 'over' }];
        return { delegate: { agent_id: 'other', messages, options: { mode: 'task' } } };
    }";
    let mut files = agent(&json!({}), hooks);
    files.extend(named("other", &json!({}), ""));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let temperature = json!({"temperature": {"value": 0.3, "layer": "call"}});
    assert_eq!(json!(calls[0].options), temperature);
    let connector = json!({"connector": {"value": "echo", "layer": "call"}});
    assert_eq!(json!(calls[0].settings), connector);
    let mode = json!({"value": "task", "layer": "call"});
    assert_eq!(json!(calls[1].settings["mode"]), mode);
}

#[tokio::test]
async fn g190_an_option_that_a_listener_has_changed_is_the_listeners() {
    let package = json!({"options": {"seed": 3}});
    let place = place_with(&borrowed(&agent(&package, "")), |settings| {
        settings.listeners.before(|event: &mut BeforeResponse| {
            event.request.options.set("seed", 9.into());
            async { Ok(Verdict::Continue) }.boxed()
        });
    })
    .await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let seed = json!({"seed": {"value": 9, "layer": "listener", "over": {"package": 3}}});
    assert_eq!(json!(calls[0].options), seed);
}
