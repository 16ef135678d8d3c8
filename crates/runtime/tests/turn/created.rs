//! Each field that `Create` may return, and what may stand in the request beside it.

use crate::place::{
    agent, ann, ask, borrowed, end, mirror, mirrored, model, named, place, place_of_tools,
    remembered, request, said, shown, traced,
};
use crate::toolbox::Tools;
use ambit_runtime::SearchChoice;
use ambit_runtime::{ErrorCode, TurnRequest};
use serde_json::{Value, json};

/// What the model gets where `Create` returns this, asked like that.
async fn sent(returned: &str, package: &Value, change: impl FnOnce(&mut TurnRequest)) -> Value {
    let hooks = format!("export function Create(ctx, messages, options) {{ return {returned}; }}");
    let mut package = package.clone();
    package["connector"] = "mirror".into();
    let mut files = agent(&package, &hooks);
    files.extend([
        mirror(),
        model("other", &json!([{"reply": "{{request}}"}])),
        (
            "assistants/hello/prompts/calm.yml".to_owned(),
            "- role: system\n  content: Be calm in $CTX.LOCALE.\n".to_owned(),
        ),
        (
            "agent/prompts.yml".to_owned(),
            "- role: system\n  content: Global.\n".to_owned(),
        ),
    ]);
    let place = place(&borrowed(&files)).await;
    let mut asked = request("hello", "hi");
    asked.origin.locale = "en-us".to_owned();
    change(&mut asked);
    mirrored(&ask(&place, asked).await)
}

#[tokio::test]
async fn each_field_changes_what_the_model_gets() {
    let usual = ["system: Global.", "system: Be kind.", "user: hi"];
    let cases: &[(&str, &[&str], Value)] = &[
        ("null", &usual, json!({})),
        ("undefined", &usual, json!({})),
        ("{}", &usual, json!({})),
        ("ctx", &usual, json!({})),
        ("{messages: []}", &usual, json!({})),
        (
            "{messages: [{role: 'user', content: 'new'}]}",
            &["system: Global.", "system: Be kind.", "user: new"],
            json!({}),
        ),
        (
            "{temperature: 0.25, max_tokens: 7}",
            &usual,
            json!({"temperature": 0.25, "max_tokens": 7}),
        ),
        (
            "{max_completion_tokens: 9}",
            &usual,
            json!({"max_completion_tokens": 9}),
        ),
        (
            "{prompt_preset: 'calm'}",
            &["system: Global.", "system: Be calm in en-us.", "user: hi"],
            json!({}),
        ),
        (
            "{prompt_preset: 'calm', locale: 'de-DE'}",
            &["system: Global.", "system: Be calm in de-de.", "user: hi"],
            json!({}),
        ),
        ("{prompt_preset: 'none such'}", &usual, json!({})),
        (
            "{disable_global_prompts: true}",
            &["system: Be kind.", "user: hi"],
            json!({}),
        ),
        ("{mcp_servers: []}", &usual, json!({})),
    ];
    for (returned, messages, options) in cases {
        let got = sent(returned, &json!({}), |_| {}).await;
        assert_eq!(said(&got["messages"]), *messages, "{returned}");
        assert_eq!(got["options"], *options, "{returned}");
    }
}

#[tokio::test]
async fn create_counts_before_the_request_and_the_request_before_the_package() {
    let package = json!({"options": {"temperature": 0.1, "top_p": 0.2, "seed": 1}});
    let got = sent("{temperature: 0.9}", &package, |asked| {
        let options = json!({"temperature": 0.5, "top_p": 0.6});
        asked.call.generation = serde_json::from_value(options).unwrap();
    })
    .await;
    assert_eq!(
        got["options"],
        json!({"temperature": 0.9, "top_p": 0.6, "seed": 1})
    );
    let choosing = json!({"connector_options": {"optional": true, "connectors": ["other"]}});
    for (returned, chosen, answered) in [
        ("null", None, "mirror"),
        ("null", Some("other"), "other"),
        ("{connector: 'mirror'}", Some("other"), "mirror"),
    ] {
        let hooks = format!(
            "export function Create() {{ return {returned}; }}\n\
             export function Next(ctx, payload) {{ return {{ data: payload.completion.model }}; }}"
        );
        let mut package = choosing.clone();
        package["connector"] = "mirror".into();
        let mut files = agent(&package, &hooks);
        files.extend([mirror(), model("other", &json!([]))]);
        let place = place(&borrowed(&files)).await;
        let mut asked = request("hello", "hi");
        asked.call.connector = chosen.map(str::to_owned);
        assert_eq!(
            end(&ask(&place, asked).await)["next"],
            answered,
            "{returned}"
        );
    }
}

#[tokio::test]
async fn a_connector_that_cannot_be_chosen_fails_the_turn_before_any_call() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    let mut asked = request("hello", "hi");
    asked.call.connector = Some("echo".to_owned());
    let frames = ask(&place, asked).await;
    assert_eq!(end(&frames)["code"], "connector_not_allowed");
    assert_eq!(end(&frames)["usage"]["total_tokens"], 0);
}

#[tokio::test]
async fn modes_choose_prompts_and_a_preset_counts_before_them() {
    let with_mode = |asked: &mut TurnRequest| asked.call.mode = Some("calm".to_owned());
    let got = sent("null", &json!({"modes": ["calm"]}), with_mode).await;
    assert_eq!(said(&got["messages"])[1], "system: Be calm in en-us.");
    let got = sent(
        "null",
        &json!({"modes": ["calm"], "default_mode": "calm"}),
        |_| {},
    )
    .await;
    assert_eq!(said(&got["messages"])[1], "system: Be calm in en-us.");
    let got = sent("null", &json!({}), |asked| {
        asked.call.disable_global_prompts = Some(true);
    })
    .await;
    assert_eq!(said(&got["messages"]), ["system: Be kind.", "user: hi"]);
}

#[tokio::test]
async fn wrong_returns_fail_the_turn_by_name() {
    for (returned, message) in [
        ("7", "Create must return an object or null"),
        ("'text'", "Create must return an object or null"),
        ("[]", "Create must return an object or null"),
        (
            "{messages: [{role: 'robot', content: 'x'}]}",
            "Create returned messages[0] with the unknown role \"robot\"; known are system, developer, user, assistant, tool",
        ),
        (
            "{temperature: 'hot'}",
            "Create returned temperature, which must be a number",
        ),
        (
            "{mcp_servers: [7]}",
            "Create returned mcp_servers[0], which must be an id or {server_id, tools?, resources?}",
        ),
    ] {
        let hooks = format!("export function Create() {{ return {returned}; }}");
        let place = place(&borrowed(&agent(&json!({}), &hooks))).await;
        let ended = end(&ask(&place, request("hello", "hi")).await);
        assert_eq!(
            (&ended["status"], &ended["code"], &ended["error"]),
            (&json!("error"), &json!("hook_error"), &json!(message)),
            "{returned}"
        );
    }
}

#[tokio::test]
async fn unread_keys_and_unknown_presets_are_named_in_the_trace() {
    let hooks = "export function Create(ctx) { return { colour: 1, prompt_preset: 'nope' }; }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    let trace = traced(&place, &ask(&place, request("hello", "hi")).await).await;
    assert!(
        trace.contains("Create returned keys that are not read: colour"),
        "{trace}"
    );
    assert!(trace.contains("has no prompt preset"), "{trace}");
}

#[tokio::test]
async fn locale_theme_route_and_metadata_are_written_to_the_context() {
    let hooks = "
        export function Create(ctx, messages, options) {
            ctx.metadata.own = 'a write to ctx is not read';
            return { locale: 'DE_de', theme: 'dark', route: '/x', metadata: { b: 2, c: options.metadata.a } };
        }
        export function Next(ctx) {
            return { data: { locale: ctx.locale, theme: ctx.theme, route: ctx.route, metadata: ctx.metadata } };
        }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    let mut asked = request("hello", "hi");
    asked.metadata = json!({"a": 1, "b": 1}).as_object().unwrap().clone();
    let next = end(&ask(&place, asked).await)["next"].clone();
    assert_eq!(
        next,
        json!({"locale": "de-de", "theme": "dark", "route": "/x", "metadata": {"a": 1, "b": 2, "c": 1}})
    );
}

#[tokio::test]
async fn create_sees_how_the_agent_was_called() {
    let hooks =
        "export function Create(ctx, messages, options) { ctx.memory.context.Set('o', options); }
        export function Next(ctx) { return { data: ctx.memory.context.Get('o') }; }";
    let place = place(&borrowed(&agent(&json!({"modes": ["calm"]}), hooks))).await;
    let mut asked = request("hello", "hi");
    asked.call.mode = Some("calm".to_owned());
    asked.call.search = Some(SearchChoice::Flag(false));
    asked.skip.search = true;
    asked.call.disable_global_prompts = Some(true);
    asked.metadata = json!({"m": 1}).as_object().unwrap().clone();
    asked.further = json!({"own": [1]}).as_object().unwrap().clone();
    let next = end(&ask(&place, asked).await)["next"].clone();
    let expected = json!({
        "connector": null, "mode": "calm", "search": false, "disable_global_prompts": true, "metadata": {"m": 1}, "own": [1], "trigger": "submit",
        "skip": {"history": false, "trace": false, "output": false, "search": true, "keyword": false, "content_parsing": false},
    });
    assert_eq!(next, expected);
}

#[tokio::test]
async fn without_prompts_and_tools_there_is_no_model_call_and_next_runs() {
    let hooks = "export function Next(ctx, payload) { return { data: payload }; }";
    let mut files = agent(&json!({}), hooks);
    files.retain(|(name, _)| !name.ends_with("prompts.yml"));
    files.push((
        "agent/prompts.yml".to_owned(),
        "- role: system\n  content: Global.\n".to_owned(),
    ));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let next = &end(&frames)["next"];
    assert_eq!(
        (&next["completion"], &next["error"], &next["tools"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert_eq!(said(&next["messages"]), ["system: Global.", "user: hi"]);
    assert_eq!(shown(&frames), []);
}

#[tokio::test]
async fn servers_of_create_replace_those_of_the_package() {
    let package = json!({"connector": "mirror", "mcp": {"servers": ["s"]}});
    for (returned, tools) in [
        ("null", 4),
        ("{mcp_servers: []}", 0),
        ("{mcp_servers: ['s']}", 4),
    ] {
        let hooks = format!("export function Create() {{ return {returned}; }}");
        let mut files = agent(&package, &hooks);
        files.push(mirror());
        let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
        let got = mirrored(&ask(&place, request("hello", "hi")).await);
        assert_eq!(got["tools"].as_array().unwrap().len(), tools, "{returned}");
    }
}

#[tokio::test]
async fn what_the_person_said_is_stored_though_create_replaced_it() {
    let hooks = "export function Create() { return { messages: [{role: 'user', content: 'something else'}] }; }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    ask(&place, request("hello", "my words")).await;
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: my words", "assistant: echo: something else"]
    );
}

#[tokio::test]
async fn skipping_leaves_out_history_output_or_trace() {
    let hooks = "export function Create(ctx) { ctx.Send('from a hook'); return null; }";
    let place = place(&borrowed(&named("hello", &json!({}), hooks))).await;
    ask(&place, request("hello", "first")).await;
    let before = remembered(&place, "hello").await;
    let mut asked = request("hello", "second");
    asked.skip.history = true;
    let frames = ask(&place, asked).await;
    assert_eq!(remembered(&place, "hello").await, before);
    assert_eq!(shown(&frames).len(), 2);
    let mut asked = request("hello", "third");
    asked.skip.output = true;
    asked.skip.trace = true;
    let frames = ask(&place, asked).await;
    assert_eq!(shown(&frames), []);
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let ambit = place.runtime.contexts(&ann());
    let untraced = ambit_runtime::inspect::traces::open(&ambit, &ann(), &id).await;
    assert_eq!(untraced.err().unwrap().code, ErrorCode::NotFound);
}
