//! Wrong files and what is said about them, word for word.

use crate::support::{folder, load, texts};
use ambit_runtime::ErrorCode;
use ambit_runtime::app::App;
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn a_broken_app_file_or_access_rule_leaves_no_app() {
    let cases = [
        (
            "app.yao",
            "{ \"ambit\": { \"visibilty\": \"private\" } }",
            "Error app.yao:1:14: unknown key \"ambit.visibilty\"; did you mean \"visibility\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"capabilites\": { \"process\": [] } } }",
            "Error app.yao:1:14: unknown key \"ambit.capabilites\"; did you mean \"capabilities\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"capabilities\": { \"proces\": [] } } }",
            "Error app.yao:1:32: unknown key \"ambit.capabilities.proces\"; did you mean \"process\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"mcp_server\": { \"agent\": [\"a\"] } } }",
            "Error app.yao:1:30: unknown key \"ambit.mcp_server.agent\"; did you mean \"agents\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"mcp_server\": { \"tool\": [\"kb\"] } } }",
            "Error app.yao:1:30: unknown key \"ambit.mcp_server.tool\"; did you mean \"tools\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"visibility\": \"pubic\" } }",
            "Error app.yao:1:28: \"ambit.visibility\" must be \"private\" or \"public\"; did you mean \"public\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"memory\": { \"default_ttl\": { \"chat\": \"soon\" } } } }",
            "Error app.yao:1:51: \"ambit.memory.default_ttl.chat\" is no duration: \"30s\" would be one; units are ms, s, m, h and d",
        ),
        (
            "openapi/roles.yml",
            "- a list\n",
            "Error openapi/roles.yml:1:1: the file must hold an object, not a list",
        ),
        (
            "openapi/scopes/chat.yml",
            "a: 1\na: 2\n",
            "Error openapi/scopes/chat.yml:2:1: \"a\" is given twice, first on line 1",
        ),
    ];
    for (file, text, expected) in cases {
        let root = folder(&[(file, text)]);
        let problems = App::load(root.path(), &BTreeMap::new()).expect_err(file);
        assert_eq!(texts(&problems), [expected]);
    }
}

#[test]
fn a_folder_without_an_app_file_is_no_app() {
    let root = tempfile::tempdir().unwrap();
    let problems = App::load(root.path(), &BTreeMap::new()).expect_err("no app");
    assert_eq!(
        texts(&problems),
        ["Error app.yao: the file is not there, so the folder is no app"]
    );
}

#[test]
fn a_broken_agent_disables_itself_alone() {
    let app = load(&[
        ("assistants/good/package.yao", "name: Good"),
        ("assistants/bad/package.yao", "name: Bad\nconnector: [x]"),
        ("assistants/worse/package.yao", "name: Worse"),
        (
            "assistants/worse/prompts/chat.yml",
            "- role: nobody\n  content: x",
        ),
    ]);
    app.agent("good").unwrap();
    let error = app.agent("bad").expect_err("it is broken");
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            ErrorCode::ConfigError,
            "agent \"bad\" cannot be used: assistants/bad/package.yao:2:12: \"connector\" must be a string, not a list"
        )
    );
    let error = app.agent("worse").expect_err("its preset is broken");
    assert_eq!(
        error.message,
        "agent \"worse\" cannot be used: assistants/worse/prompts/chat.yml:1:9: \"[0].role\" must be \"system\", \"developer\", \"user\" or \"assistant\""
    );
}

#[test]
fn items_with_keys_that_are_not_known_work_without_them() {
    let app = load(&[
        (
            "app.yao",
            "{ \"name\": \"test\", \"ambit\": { \"telemtry\": {}, \"new\": 1 } }",
        ),
        (
            "agent/agent.yml",
            "usess: {}\nuses: { default: a, vison: a }",
        ),
        ("agent/search.yml", "kb: { max_result: 3, max_results: 4 }"),
        ("assistants/a/package.yao", "name: A\nconector: x\ndb: [m]"),
        (
            "connectors/c.conn.yao",
            "type: scripted\nnew: 1\noptions: { rules: [{ reply: hi, replies: 1 }] }",
        ),
        ("mcps/s.mcp.yao", "transport: stdio\ncommand: x\ncomand: y"),
        (
            "models/m.mod.yao",
            "columns: [{ name: id, type: ID, lenght: 3 }]\nindexes: [{ columns: [id], type: fulltext }]\noption: { soft_delete: true }",
        ),
        ("stores/s.store.yao", "optoin: {}\noption: { ttl: 1m }"),
    ]);
    let expected = [
        "Warning agent/agent.yml:1:1: unknown key \"usess\"; did you mean \"uses\"?",
        "Warning agent/agent.yml:2:21: unknown key \"uses.vison\"; did you mean \"vision\"?",
        "Warning agent/search.yml:1:7: unknown key \"kb.max_result\"; did you mean \"max_results\"?",
        "Warning app.yao:1:30: unknown key \"ambit.telemtry\"; did you mean \"telemetry\"?",
        "Warning app.yao:1:46: unknown key \"ambit.new\"",
        "Warning assistants/a/package.yao:2:1: unknown key \"conector\"; did you mean \"connector\"?",
        "Warning assistants/a/package.yao:3:5: \"db\" must be an object, not a list: it is left out",
        "Warning connectors/c.conn.yao:2:1: unknown key \"new\"; there are label, type, options",
        "Warning connectors/c.conn.yao:3:33: unknown key \"options.rules[0].replies\"",
        "Warning mcps/s.mcp.yao:3:1: unknown key \"comand\"; did you mean \"command\"?",
        "Warning models/m.mod.yao:1:33: unknown key \"columns[0].lenght\"; did you mean \"length\"?",
        "Warning models/m.mod.yao:2:11: index \"id\" is left out: Ambit has no index of its type",
        "Warning models/m.mod.yao:2:34: \"indexes[0].type\" must be \"index\" or \"unique\": it is left out",
        "Warning models/m.mod.yao:3:11: unknown key \"option.soft_delete\"; did you mean \"soft_deletes\"?",
        "Warning stores/s.store.yao:1:1: unknown key \"optoin\"; did you mean \"option\"?",
    ];
    assert_eq!(texts(&app.problems), expected);
    assert_eq!(app.agent("a").unwrap().package.name, "A");
    assert_eq!(app.search.whole().kb.max_results, 4);
    assert_eq!(app.connector("c").unwrap().options.scripted.rules.len(), 1);
    assert!(app.servers["s"].is_ok());
    assert!(app.models["m"].as_ref().unwrap().indexes.is_empty());
    let life = app.stores["s"].as_ref().unwrap().file.option.ttl;
    assert_eq!(life, Some(Duration::from_secs(60)));
}

#[test]
fn a_connector_of_an_agent_that_is_not_there_is_an_error_where_it_is_named() {
    let connector = r#"{"label": "Words", "type": "scripted", "options": {"model": "m"}}"#;
    let app = load(&[
        ("connectors/words.conn.yao", connector),
        (
            "assistants/a/package.yao",
            "name: A\npublic: true\nconnector: wrods",
        ),
        ("assistants/b/package.yao", "name: B\nconnector: use::light"),
        ("assistants/c/package.yao", "name: C\nconnector: $ENV.OTHER"),
        ("assistants/d/package.yao", "name: D\nconnector: words"),
        (".env", "OTHER=none"),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Error assistants/a/package.yao:3:12: \"connector\": the app has no connector \"wrods\"; did you mean \"words\"?"
        ]
    );
    // Its hooks may choose another.
    assert!(app.agents["a"].is_ok());
}

#[test]
fn tool_servers_that_are_not_there_are_warned_of_where_they_are_named() {
    let server = r#"{"transport": "stdio", "command": "notes"}"#;
    let app = load(&[
        ("mcps/notes.mcp.yao", server),
        ("assistants/a/mcps/own.mcp.yao", server),
        (
            "assistants/a/package.yao",
            r#"{"name": "A", "mcp": {"servers": ["notes", "own", {"server_id": "nots"}, {"owm": ["x"]}]}}"#,
        ),
        (
            "assistants/b/package.yao",
            r#"{"name": "B", "mcp": {"servers": ["own", "agents.a.own", "$ENV.OTHER"]}}"#,
        ),
        (".env", "OTHER=none"),
    ]);
    let expected = [
        "Warning assistants/a/package.yao:1:51: \"mcp.servers\": the app has no tool server \"nots\"; did you mean \"notes\"?",
        "Warning assistants/a/package.yao:1:74: \"mcp.servers\": the app has no tool server \"owm\"; did you mean \"own\"?",
        "Warning assistants/b/package.yao:1:35: \"mcp.servers\": the app has no tool server \"own\"",
    ];
    assert_eq!(texts(&app.problems), expected);
}

#[test]
fn broken_defaults_disable_every_agent_that_needs_them() {
    let agents = [
        ("assistants/plain/package.yao", "name: Plain"),
        (
            "assistants/own/package.yao",
            "name: Own\ndisable_global_prompts: true",
        ),
    ];
    let prompts = ("agent/prompts.yml", "- role: x\n  content: x");
    let app = load(&[agents[0], agents[1], prompts]);
    assert!(app.agents["plain"].is_err());
    assert!(app.agents["own"].is_ok());
    let app = load(&[agents[0], agents[1], ("agent/agent.yml", "uses: []")]);
    assert!(app.agents["plain"].is_err());
    assert!(app.agents["own"].is_err());
    assert_eq!(
        app.connector("").expect_err("roles are unknown").message,
        "role \"default\" cannot be used: agent/agent.yml:1:7: \"uses\" must be an object, not a list"
    );
}

#[test]
fn two_files_of_one_id_are_both_named_and_neither_is_used() {
    let app = load(&[
        ("assistants/a.b/package.yao", "name: One"),
        ("assistants/a/b/package.yao", "name: Other"),
        ("connectors/x.y.conn.yao", "type: openai"),
        ("connectors/x/y.conn.yao", "type: openai"),
        ("scripts/s.ts", "export function F() {}"),
        ("scripts/s.js", "export function F() {}"),
        ("assistants/c/package.yao", "name: C"),
        ("assistants/c/src/index.js", ""),
        ("assistants/c/src/index.ts", ""),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Error assistants/a/b/package.yao: its id \"a.b\" is also that of assistants/a.b/package.yao; rename one of them",
            "Error assistants/c/src/index.js: assistants/c/src/index.ts has the same meaning; keep one of them",
            "Error connectors/x/y.conn.yao: its id \"x.y\" is also that of connectors/x.y.conn.yao; rename one of them",
            "Error scripts/s.js: its id \"scripts.s\" is also that of scripts/s.ts; rename one of them",
        ]
    );
    assert!(app.agents["a.b"].is_err());
    assert!(app.agents["c"].is_err());
    assert!(app.connectors["x.y"].is_err());
    assert!(app.processes.is_empty());
}

#[test]
fn a_link_out_of_the_app_is_refused() {
    let outside = folder(&[("secret.yml", "a: b")]);
    let root = folder(&[("agent/agent.yml", "uses: {}")]);
    std::os::unix::fs::symlink(outside.path(), root.path().join("agent/locales")).unwrap();
    let app = App::load(root.path(), &BTreeMap::new()).unwrap();
    assert_eq!(
        texts(&app.problems),
        ["Error agent/locales: the link leads out of the app's folder"]
    );
}

#[test]
fn access_rules_that_cannot_be_read_leave_no_app() {
    let outside = folder(&[("chat.yml", "a: b")]);
    let root = folder(&[("openapi/roles.yml", "a: b")]);
    std::os::unix::fs::symlink(outside.path(), root.path().join("openapi/scopes")).unwrap();
    let problems = App::load(root.path(), &BTreeMap::new()).expect_err("a rule is missing");
    assert_eq!(
        texts(&problems),
        ["Error openapi/scopes: the link leads out of the app's folder"]
    );
}

#[test]
fn a_file_that_is_not_utf_8_is_told() {
    let root = folder(&[]);
    crate::support::write(root.path(), "agent/agent.yml", [0xff, 0xfe, 0x00]);
    let app = App::load(root.path(), &BTreeMap::new()).unwrap();
    assert_eq!(
        texts(&app.problems),
        ["Error agent/agent.yml: the file is not UTF-8"]
    );
}

#[test]
fn json_and_yaml_nested_too_deeply_are_refused() {
    let mut files = Vec::new();
    for (open, close) in [("{\"a\":", "}"), ("[", "]")] {
        let (open, close) = (open.repeat(10_000), close.repeat(10_000));
        files.push(format!(
            "{{\"name\": \"A\", \"dependencies\": {open}1{close}}}"
        ));
        files.push(format!("name: A\ndependencies: {open}1{close}\n"));
        files.push(format!("{{\"name\": \"A\", \"dependencies\": {open}"));
    }
    for block in ["- ", "? ", "&a ", "!x ", "a: &a [*a, "] {
        files.push(format!(
            "name: A\ndependencies:\n  {}1\n",
            block.repeat(10_000)
        ));
    }
    for text in files {
        let app = load(&[("assistants/a/package.yao", &text)]);
        assert!(app.agents["a"].is_err(), "{}", &text[..60]);
    }
}

#[test]
fn a_yao_file_is_json_or_yaml_by_its_first_significant_character() {
    let texts = [
        "{ \"name\": \"A\" }",
        "/* a */ // b\n\n{ \"name\": \"A\", }",
        "\u{feff}{ \"name\": \"A\" }",
        "# a comment of YAML\n{ name: A }",
        "name: A\n",
        "---\nname: A\n",
        "\"name\": A",
    ];
    for text in texts {
        let app = load(&[("assistants/a/package.yao", text)]);
        assert_eq!(
            app.agent("a")
                .map(|agent| agent.package.name.clone())
                .ok()
                .as_deref(),
            Some("A"),
            "{text}"
        );
    }
}

#[test]
fn words_of_yaml_that_look_like_booleans_are_texts() {
    let app = load(&[(
        "agent/agent.yml",
        "system: { default: on, light: no, date: 2026-01-01 }",
    )]);
    let roles: Vec<&str> = app.defaults.roles.values().map(String::as_str).collect();
    assert_eq!(roles, ["2026-01-01", "on", "no"]);
}

#[test]
fn a_stores_connector_must_keep_data_and_be_usable() {
    let app = load(&[
        ("connectors/chatgpt.conn.yao", "type: openai\n"),
        (
            "connectors/cache.conn.yao",
            "type: redis\noptions: { port: many }\n",
        ),
        ("connectors/broken.conn.yao", "typ: redis\n"),
        ("stores/a.store.yao", "connector: chatgtp\n"),
        ("stores/b.store.yao", "connector: chatgpt\n"),
        ("stores/c.redis.yao", "connector: cache\n"),
        ("stores/d.redis.yao", "connector: broken\n"),
    ]);
    let mut said = texts(&app.problems);
    said.retain(|text| text.starts_with("Error stores/"));
    assert_eq!(
        said,
        [
            "Error stores/a.store.yao:1:12: there is no connector \"chatgtp\"; did you mean \"chatgpt\"?",
            "Error stores/b.store.yao:1:12: connector \"chatgpt\" keeps no data: its type is openai, not one of redis, sqlite3, postgres",
            "Error stores/c.redis.yao:1:12: connector \"cache\": options.port cannot be used",
            "Error stores/d.redis.yao:1:12: its connector \"broken\" cannot be used; see connectors/broken.conn.yao",
        ]
    );
}

#[test]
fn scripts_of_two_agents_may_not_have_one_name() {
    let app = load(&[
        ("assistants/a/package.yao", "name: A"),
        ("assistants/a/src/b/x.ts", "export function F() {}"),
        ("assistants/a/b/package.yao", "name: B"),
        ("assistants/a/b/src/x.ts", "export function F() {}"),
        ("assistants/a/b/src/y.ts", "export function F() {}"),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Error assistants/a/src/b/x.ts: its id \"agents.a.b.x\" is also that of assistants/a/b/src/x.ts; rename one of them",
        ]
    );
    assert_eq!(app.processes.keys().collect::<Vec<_>>(), ["agents.a.b.y"]);
}
