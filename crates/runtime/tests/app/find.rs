//! Finding agents, connectors and processes.

use crate::support::{load, load_with};
use ambit_runtime::ErrorCode;

#[test]
fn a_connector_is_found_by_id_by_role_or_as_the_default() {
    let app = load(&[
        (
            "agent/agent.yml",
            "system: { default: one, light: two, gone: three }",
        ),
        ("connectors/one.conn.yao", "type: openai"),
        ("connectors/two.conn.yao", "type: scripted"),
    ]);
    let id = |name: &str| app.connector(name).map(|connector| connector.id.clone());
    assert_eq!(id("one").unwrap(), "one");
    assert_eq!(id("use::light").unwrap(), "two");
    assert_eq!(id("").unwrap(), "one");
    let told = |name: &str| {
        id(name)
            .map_err(|error| (error.code, error.message))
            .expect_err(name)
    };
    assert_eq!(
        told("twoo"),
        (
            ErrorCode::NotFound,
            "connector \"twoo\" not found (did you mean \"two\"?)".to_owned()
        )
    );
    assert_eq!(
        told("use::gone"),
        (
            ErrorCode::NotFound,
            "connector \"three\" not found".to_owned()
        )
    );
    assert_eq!(
        told("use::lihgt"),
        (
            ErrorCode::ConfigError,
            "no connector has the role \"lihgt\": set system.lihgt in agent/agent.yml (did you mean \"light\"?)".to_owned()
        )
    );
}

#[test]
fn a_connector_is_used_for_what_it_is() {
    let app = load_with(
        &[
            ("connectors/kept.conn.yao", "type: redis"),
            (
                "connectors/asked.conn.yao",
                "type: $ENV.KIND\noptions: { model: m }",
            ),
            ("connectors/neither.conn.yao", "type: mongo"),
        ],
        &[("KIND", "openai")],
    );
    assert_eq!(app.model("asked").unwrap().kind, "openai");
    assert_eq!(app.storage("kept").unwrap().kind, "redis");
    assert_eq!(
        app.model("kept").expect_err("no model").message,
        "connector \"kept\" is no model: its type is not one of openai, anthropic, gemini, ollama, scripted"
    );
    assert_eq!(
        app.storage("neither").expect_err("no store").message,
        "connector \"neither\" keeps no data: its type is not one of redis, sqlite3, postgres"
    );
}

#[test]
fn a_process_is_a_public_function_of_a_known_script() {
    let app = load(&[
        ("scripts/a/b.ts", ""),
        ("scripts/index.ts", ""),
        ("scripts/types.d.ts", ""),
        ("assistants/x/y/package.yao", "name: Y"),
        ("assistants/x/y/src/z.ts", ""),
        ("assistants/x/y/src/index.ts", ""),
        ("assistants/x/y/src/z_test.ts", ""),
    ]);
    let file = |name: &str| {
        app.process(name)
            .map(|process| (process.source.file, process.function))
    };
    let found = |file: &str, function: &str| Some((file.to_owned(), function.to_owned()));
    assert_eq!(file("scripts.a.b.Add"), found("scripts/a/b.ts", "Add"));
    assert_eq!(file("scripts.index.Add"), found("scripts/index.ts", "Add"));
    assert_eq!(
        file("agents.x.y.z.List"),
        found("assistants/x/y/src/z.ts", "List")
    );
    let unknown = [
        "scripts.a.b._private",
        "scripts.a.b.",
        "scripts.a.c.Add",
        "scripts",
        "",
        "scripts.types.d.F",
        "agents.x.y.index.Create",
        "agents.x.y.z_test.F",
    ];
    for name in unknown {
        assert_eq!(file(name), None, "{name}");
    }
}

#[test]
fn an_unknown_agent_is_not_found_and_the_nearest_is_named() {
    let app = load(&[("assistants/hello/package.yao", "name: Hello")]);
    let error = app.agent("helo").expect_err("unknown");
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            ErrorCode::NotFound,
            "agent \"helo\" not found (did you mean \"hello\"?)"
        )
    );
}

#[test]
fn an_agents_own_server_comes_before_the_apps() {
    let app = load(&[
        ("mcps/notes.mcp.yao", "transport: process"),
        ("assistants/a/package.yao", "name: A"),
        ("assistants/a/mcps/notes.mcp.yao", "transport: process"),
    ]);
    assert_eq!(app.server("a", "notes").unwrap().id, "agents.a.notes");
    assert_eq!(app.server("b", "notes").unwrap().id, "notes");
    assert_eq!(
        app.server("b", "agents.a.notes").unwrap().id,
        "agents.a.notes"
    );
}

#[test]
fn a_package_inside_another_agents_sources_is_no_agent() {
    let app = load(&[
        ("assistants/a/package.yao", "name: A"),
        ("assistants/a/src/vendored/package.yao", "name: not one"),
        ("assistants/a/inner/package.yao", "name: Inner"),
    ]);
    let agents: Vec<&str> = app.agents.keys().map(String::as_str).collect();
    assert_eq!(agents, ["a", "a.inner"]);
}
