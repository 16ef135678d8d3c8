//! What is written as it must be, and cannot do what it is for.

use crate::support::{environment, folder, load, load_with, texts};
use ambit_runtime::check;
use std::collections::BTreeMap;
use std::fs;

#[test]
fn connectors_whose_calls_would_fail_are_warned_of() {
    let app = load(&[
        (
            "connectors/bare.conn.yao",
            "type: openai\noptions: { model: m, host: api.example.com }",
        ),
        (
            "connectors/port.conn.yao",
            "type: anthropic\noptions: { model: m, proxy: \"localhost:8080\" }",
        ),
        (
            "connectors/right.conn.yao",
            "type: openai\noptions: { model: m, host: \"http://localhost:8080\" }",
        ),
        (
            "connectors/store.conn.yao",
            "type: redis\noptions: { host: localhost }",
        ),
        ("connectors/type.conn.yao", "type: openia"),
        ("connectors/yao.conn.yao", "type: mongo"),
    ]);
    let types = "nothing can use this connector: its type is none of openai, anthropic, gemini, ollama, scripted, redis, sqlite3, postgres";
    let expected = [
        "Warning connectors/bare.conn.yao:2:28: \"options.host\" is no address such as https://host/v1"
            .to_owned(),
        "Warning connectors/port.conn.yao:2:29: \"options.proxy\" is no address such as https://host/v1"
            .to_owned(),
        format!("Warning connectors/type.conn.yao:1:7: {types}; did you mean \"openai\"?"),
        format!("Notice connectors/yao.conn.yao:1:7: {types}"),
    ];
    assert_eq!(texts(&app.problems), expected);
    assert!(app.connectors.values().all(Result::is_ok));
}

#[test]
fn placeholders_of_the_scripted_model_that_are_not_there_are_warned_of() {
    let rules = "type: scripted
options:
  rules:
    - { match: { round: 0 }, reply: \"{{ last_user }} {{request}} {{lastuser}} {{name}}\" }
    - { reply: \"{{ 1 + 1 }} {{}} {{\" }
    - { reply: $ENV.REPLY }";
    let variables = [("REPLY", "{{canary}}")];
    let app = load_with(&[("connectors/c.conn.yao", rules)], &variables);
    let place =
        "Warning connectors/c.conn.yao:4:37: \"options.rules[0].reply\": nothing is put in for";
    let expected = [
        format!("{place} {{{{lastuser}}}}; did you mean \"last_user\"?"),
        format!("{place} {{{{name}}}}"),
    ];
    assert_eq!(texts(&app.problems), expected);
}

#[test]
fn an_agent_whose_connector_is_no_model_is_told() {
    let app = load(&[
        ("connectors/kept.conn.yao", "type: redis"),
        ("connectors/asked.conn.yao", "type: scripted"),
        ("assistants/a/package.yao", "name: A\nconnector: kept"),
        ("assistants/b/package.yao", "name: B\nconnector: asked"),
    ]);
    let expected = [
        "Error assistants/a/package.yao: \"connector\": \"kept\" is no model: its type is \"redis\"",
    ];
    assert_eq!(texts(&app.problems), expected);
}

#[test]
fn programs_of_tool_servers_that_are_not_there_are_warned_of() {
    let programs = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::write(programs.path().join("found"), "").unwrap();
    fs::write(other.path().join("own"), "").unwrap();
    let path = format!("/nowhere:{}", programs.path().display());
    let own = format!(
        "transport: stdio\ncommand: own\nenv: {{ PATH: {} }}",
        other.path().display()
    );
    let files = [
        ("bin/server", ""),
        ("mcps/found.mcp.yao", "transport: stdio\ncommand: found"),
        (
            "mcps/gone.mcp.yao",
            "transport: stdio\ncommand: no-such-program",
        ),
        (
            "mcps/off.mcp.yao",
            "transport: stdio\nenabled: false\ncommand: no-such-program",
        ),
        ("mcps/own.mcp.yao", own.as_str()),
        (
            "mcps/within.mcp.yao",
            "transport: stdio\ncommand: bin/server",
        ),
        (
            "mcps/without.mcp.yao",
            "transport: stdio\ncommand: bin/gone",
        ),
    ];
    let app = load_with(&files, &[("PATH", path.as_str())]);
    let what = "2:10: \"command\": there is no such program; is it installed and on the PATH?";
    let expected = [
        format!("Warning mcps/gone.mcp.yao:{what}"),
        format!("Warning mcps/without.mcp.yao:{what}"),
    ];
    assert_eq!(texts(&app.problems), expected);
    // Where no path is known, nothing is said of what may be on it.
    let told = texts(&load(&files).problems);
    assert_eq!(told, expected[1..]);
}

#[test]
fn agents_and_tool_servers_of_uses_that_are_not_there_are_warned_of() {
    let server = "transport: stdio\ncommand: x";
    let app = load(&[
        (
            "agent/agent.yml",
            "uses: { default: b, title: titel, vision: \"mcp:own.see\", web: tavily, fetch: $ENV.FETCH }",
        ),
        (".env", "FETCH=none"),
        ("mcps/shop.v2.mcp.yao", server),
        ("assistants/title/package.yao", "name: T"),
        ("assistants/a/mcps/own.mcp.yao", server),
        (
            "assistants/a/package.yao",
            "name: A\nuses: { vision: \"mcp:own\", audio: \"mcp:shop.v2.hear\", web: tavli, rerank: \"agent:titel\", keyword: disabled }",
        ),
        (
            "assistants/b/package.yao",
            "name: B\nuses: { vision: \"mcp:own\", audio: \"mcp:agents.a.own\", search: builtin }",
        ),
    ]);
    let expected = [
        "Warning agent/agent.yml:1:28: \"uses.title\": the app has no agent \"titel\"; did you mean \"title\"?",
        "Warning assistants/a/package.yao:2:60: \"uses.web\": the app has no agent \"tavli\"",
        "Warning assistants/a/package.yao:2:75: \"uses.rerank\": the app has no agent \"titel\"; did you mean \"title\"?",
        "Warning assistants/b/package.yao:2:17: \"uses.vision\": the app has no tool server of \"own\"",
    ];
    assert_eq!(texts(&app.problems), expected);
}

#[tokio::test]
async fn fields_of_a_tool_that_its_schema_does_not_have_are_warned_of() {
    let listed = r#"{"type": "object", "properties": {"number": {}}, "x-process-args": ["$args.numbr", "$args.number.x"]}"#;
    let open = r#"{"type": "object", "x-process-args": ["$args.numbr"]}"#;
    let root = folder(&[
        (
            "mcps/orders.mcp.yao",
            "transport: process\ntools: { find: scripts.orders.Find, open: scripts.orders.Find }",
        ),
        ("mcps/mapping/orders/schemes/find.in.yao", listed),
        ("mcps/mapping/orders/schemes/open.in.yao", open),
        ("scripts/orders.ts", "export function Find() {}\n"),
    ]);
    let told = check(root.path(), &BTreeMap::new()).unwrap();
    let expected = [
        "Warning mcps/mapping/orders/schemes/find.in.yao:1:68: \"x-process-args\" names \"$args.numbr\", and \
         \"properties\" has no \"numbr\"; did you mean \"number\"?",
    ];
    assert_eq!(texts(&told), expected);
}

#[test]
fn keys_that_are_nearly_those_of_a_tool_are_warned_of() {
    let file = "mcps/mapping/box/schemes/add.in.yao";
    let cases = [
        ("x-proces-args", true),
        ("x_process_args", true),
        ("process-args", true),
        ("x-process-arguments", true),
        ("x-process-args", false),
        ("x-order", false),
    ];
    for (key, is_told) in cases {
        let scheme = format!("type: object\n{key}: []");
        let app = load(&[
            (
                "mcps/box.mcp.yao",
                "transport: process\ntools: { add: scripts.box.Add }",
            ),
            (file, scheme.as_str()),
            ("scripts/box.ts", "export function Add() {}\n"),
        ]);
        let told =
            format!("Warning {file}:2:1: unknown key \"{key}\"; did you mean \"x-process-args\"?");
        let expected: Vec<String> = is_told.then_some(told).into_iter().collect();
        assert_eq!(texts(&app.problems), expected, "{key}");
    }
}

#[tokio::test]
async fn encrypted_columns_without_a_key_are_warned_of() {
    let model = "columns: [{ name: id, type: ID }, { name: card, type: string, crypt: AES }]";
    let root = folder(&[("models/m.mod.yao", model)]);
    let told = check(root.path(), &BTreeMap::new()).unwrap();
    let expected = [
        "Warning models/m.mod.yao: column \"card\" is encrypted, which needs a key: set AMBIT_MODEL_KEY",
    ];
    assert_eq!(texts(&told), expected);
    let key = environment(&[("AMBIT_MODEL_KEY", "a secret of at least 32 characters")]);
    assert!(check(root.path(), &key).unwrap().is_empty());
    let short = environment(&[("AMBIT_MODEL_KEY", "short")]);
    let expected = [
        "Error models/m.mod.yao: column \"card\" is encrypted, and AMBIT_MODEL_KEY is too short: it must have at least 32 characters; \
         `openssl rand -hex 32` makes some",
    ];
    assert_eq!(texts(&check(root.path(), &short).unwrap()), expected);
}
