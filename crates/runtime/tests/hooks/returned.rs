//! What hooks return, and what becomes of it.

use crate::support::Stage;
use ambit_runtime::ErrorCode;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::hook::{CreateResult, Delegate, NextOutcome, NextResult};
use ambit_runtime::tool::ServerSelection;
use ambit_runtime::{CallOptions, SearchChoice};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

async fn created(expression: &str) -> Option<CreateResult> {
    let text = format!("export function Create(ctx, messages, options) {{ return {expression}; }}");
    Stage::new().create(&text).await.expect("the hook runs")
}

async fn refused(hook: &str, expression: &str) -> String {
    let text = format!("export function {hook}(ctx, messages) {{ return {expression}; }}");
    let stage = Stage::new();
    let error = match hook {
        "Create" => stage.create(&text).await.expect_err("it is refused"),
        _ => stage.next(&text).await.expect_err("it is refused"),
    };
    assert_eq!(error.code, ErrorCode::HookError);
    error.message
}

#[tokio::test]
async fn create_is_given_messages_and_options() {
    let stage = Stage::new();
    let hooks = stage
        .hooks("export async function Create(ctx, messages, options) { return { metadata: { messages, options, count: arguments.length } }; }")
        .unwrap();
    let messages = [ChatMessage::user("Hi")];
    let options = json!({"connector": "c", "skip": {"trace": true}, "own": [1]});
    let found = hooks
        .create(&stage.scope(), &messages, options.clone())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        found.metadata,
        map(json!({"messages": messages, "options": options, "count": 3}))
    );
}

#[tokio::test]
async fn nothing_changes_nothing() {
    for expression in ["null", "undefined", "{}", "Promise.resolve(null)"] {
        assert_eq!(created(expression).await, None, "{expression}");
    }
    for expression in [
        "{messages: []}",
        "{messages: null, connector: '', metadata: null, search: null}",
    ] {
        assert_eq!(
            created(expression).await,
            Some(CreateResult::default()),
            "{expression}"
        );
    }
}

#[tokio::test]
async fn every_field_of_create_is_read() {
    let found = created(
        "{ messages, temperature: 0.7, max_tokens: 10, max_completion_tokens: 20, audio: { voice: 'v', format: 'mp3' },
           mcp_servers: ['a', { server_id: 'b', tools: ['t'] }], prompt_preset: 'p.q', connector: 'c', locale: 'zh_CN', theme: 'light',
           route: '/x', metadata: { a: 1 }, uses: { search: 'disabled', web: null }, force_uses: true,
           search: { need_search: true, types: ['web'] }, disable_global_prompts: true,
           delegate: { agent_id: 'other', messages: [{ role: 'user', content: 'x' }], options: { own: 1 } } }",
    )
    .await;
    let expected = CreateResult {
        messages: Some(vec![ChatMessage::user("Hello")]),
        call: CallOptions {
            generation: map(
                json!({"temperature": 0.7, "max_tokens": 10, "max_completion_tokens": 20, "audio": {"voice": "v", "format": "mp3"}}),
            )
            .into(),
            mcp_servers: Some(vec![
                ServerSelection::Whole("a".to_owned()),
                ServerSelection::Parts {
                    server_id: "b".to_owned(),
                    tools: Some(vec!["t".to_owned()]),
                    resources: None,
                },
            ]),
            prompt_preset: Some("p.q".to_owned()),
            connector: Some("c".to_owned()),
            uses: BTreeMap::from([("search".to_owned(), "disabled".to_owned())]),
            force_uses: Some(true),
            search: Some(SearchChoice::Intent(map(
                json!({"need_search": true, "types": ["web"]}),
            ))),
            disable_global_prompts: Some(true),
            ..CallOptions::default()
        },
        locale: Some("zh-cn".to_owned()),
        theme: Some("light".to_owned()),
        route: Some("/x".to_owned()),
        metadata: map(json!({"a": 1})),
        delegate: Some(Delegate {
            agent_id: "other".to_owned(),
            messages: vec![ChatMessage::user("x")],
            options: map(json!({"own": 1})).into(),
        }),
    };
    assert_eq!(found, Some(expected));
    assert_eq!(
        created("{mcp_servers: []}").await.unwrap().call.mcp_servers,
        Some(vec![])
    );
    assert_eq!(
        created("{search: false}").await.unwrap().call.search,
        Some(SearchChoice::Flag(false))
    );
}

#[tokio::test]
async fn returning_ctx_itself_works() {
    let stage = Stage::new();
    let found = stage.create("export const Create = ctx => { ctx.locale = 'de-de'; ctx.metadata.a = 1; return ctx; }").await;
    let expected = CreateResult {
        locale: Some("de-de".to_owned()),
        theme: Some("dark".to_owned()),
        route: Some("/pets".to_owned()),
        metadata: map(json!({"a": 1})),
        ..CreateResult::default()
    };
    assert_eq!(found.unwrap(), Some(expected));
    let log = stage.tree().logs.remove(0);
    assert!(
        log.message
            .starts_with("Create returned keys that are not read: chat_id, assistant_id, "),
        "{}",
        log.message
    );
}

/// What `Create` returns, and how that is refused.
const REFUSED: &[(&str, &str)] = &[
    ("5", "Create must return an object or null"),
    ("'text'", "Create must return an object or null"),
    ("[]", "Create must return an object or null"),
    ("false", "Create must return an object or null"),
    (
        "{messages: 'x'}",
        "Create returned messages, which must be a list",
    ),
    (
        "{messages: [{role: 'user'}, 'x']}",
        "Create returned messages[1], which must be an object with a role",
    ),
    (
        "{messages: [{role: 'user'}, {role: 'robot'}]}",
        "Create returned messages[1] with the unknown role \"robot\"; known are system, developer, user, assistant, tool",
    ),
    (
        "{temperature: 'hot'}",
        "Create returned temperature, which must be a number",
    ),
    (
        "{max_tokens: true}",
        "Create returned max_tokens, which must be a number",
    ),
    (
        "{audio: 1}",
        "Create returned audio, which must be an object",
    ),
    (
        "{mcp_servers: 'x'}",
        "Create returned mcp_servers, which must be a list",
    ),
    (
        "{mcp_servers: [{}]}",
        "Create returned mcp_servers[0], which must be an id or {server_id, tools?, resources?}",
    ),
    (
        "{mcp_servers: ['a', {server_id: 'b', tools: 'x'}]}",
        "Create returned mcp_servers[1], which must be an id or {server_id, tools?, resources?}",
    ),
    (
        "{connector: 5}",
        "Create returned connector, which must be a string",
    ),
    (
        "{metadata: []}",
        "Create returned metadata, which must be an object",
    ),
    (
        "{uses: {serach: 'x'}}",
        "Create returned uses.serach, which must be one of vision, audio, search, fetch, web, keyword, querydsl, rerank",
    ),
    (
        "{uses: {search: 1}}",
        "Create returned uses.search, which must be a string",
    ),
    (
        "{force_uses: 'yes'}",
        "Create returned force_uses, which must be true or false",
    ),
    (
        "{search: 'web'}",
        "Create returned search, which must be true, false or an object",
    ),
    (
        "{delegate: 'x'}",
        "Create returned delegate, which must be an object",
    ),
    (
        "{delegate: {messages: []}}",
        "Create returned delegate.agent_id, which must be the id of an agent",
    ),
    (
        "{delegate: {agent_id: 'x'}}",
        "Create returned delegate.messages, which must be a list",
    ),
    (
        "{delegate: {agent_id: 'x', messages: [{role: 'robot'}]}}",
        "Create returned delegate.messages[0] with the unknown role \"robot\"; known are system, developer, user, assistant, tool",
    ),
];

#[tokio::test]
async fn what_create_may_not_return_is_refused_by_name() {
    for (expression, message) in REFUSED {
        assert_eq!(
            refused("Create", expression).await,
            *message,
            "{expression}"
        );
    }
}

#[tokio::test]
async fn next_decides_what_the_response_is() {
    let next = async |expression: &str| {
        let text = format!("export function Next(ctx, payload) {{ return {expression}; }}");
        Stage::new().next(&text).await.expect("the hook runs")
    };
    let outcome = |outcome: NextOutcome, metadata: Value| {
        let metadata = map(metadata);
        Some(NextResult { outcome, metadata })
    };
    assert_eq!(next("null").await, None);
    assert_eq!(next("undefined").await, None);
    assert_eq!(
        next("{data: [payload.error, 1]}").await,
        outcome(NextOutcome::Data(json!([null, 1])), json!({}))
    );
    assert_eq!(
        next("{data: 0, metadata: {m: 1}}").await,
        outcome(NextOutcome::Data(json!(0)), json!({"m": 1}))
    );
    assert_eq!(
        next("{}").await,
        outcome(NextOutcome::Object(json!({})), json!({}))
    );
    assert_eq!(
        next("{data: null}").await,
        outcome(NextOutcome::Object(json!({"data": null})), json!({}))
    );
    let only = json!({"metadata": {"m": 1}});
    assert_eq!(
        next("{metadata: {m: 1}}").await,
        outcome(NextOutcome::Object(only), json!({"m": 1}))
    );
    let delegate = Delegate {
        agent_id: "x".to_owned(),
        ..Delegate::default()
    };
    let both = next("{data: 1, delegate: {agent_id: 'x', messages: []}}").await;
    assert_eq!(
        both,
        outcome(NextOutcome::Delegate(Box::new(delegate)), json!({}))
    );
    assert!(both.unwrap().outcome.recovers());
    assert!(!next("{}").await.unwrap().outcome.recovers());
    for expression in ["5", "'done'", "[1]", "true"] {
        assert_eq!(
            refused("Next", expression).await,
            "Next must return an object or null"
        );
    }
}
