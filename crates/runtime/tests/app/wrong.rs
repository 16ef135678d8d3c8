//! Wrong files and what is said about them, word for word.

use crate::support::{folder, load, texts};
use ambit_runtime::app::App;
use ambit_runtime::error::Code;
use std::collections::BTreeMap;

/// A file, its text, and all that is said about the app that has it.
struct Case(&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    Case(
        "assistants/a/package.yao",
        "{\n  \"name\": \"A\",\n  \"conector\": \"x\"\n}",
        &[
            "Error assistants/a/package.yao:3:3: unknown key \"conector\"; did you mean \"connector\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"options\": { \"temprature\": 1 } }",
        &[
            "Error assistants/a/package.yao:1:29: unknown key \"options.temprature\"; did you mean \"temperature\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"nothing_like_it\": 1 }",
        &["Error assistants/a/package.yao:1:16: unknown key \"nothing_like_it\""],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"options\": { \"temperature\": \"warm\" } }",
        &[
            "Error assistants/a/package.yao:1:44: \"options.temperature\" must be a number, not a string",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nname: B\n",
        &["Error assistants/a/package.yao:2:1: \"name\" is given twice, first on line 1"],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\", \"uses\": { \"web\": \"a\", \"web\": \"b\" } }",
        &["Error assistants/a/package.yao:1:38: \"web\" is given twice, first on line 1"],
    ),
    Case(
        "assistants/a/package.yao",
        "description: nameless\n",
        &["Error assistants/a/package.yao:1:1: \"name\" is missing"],
    ),
    Case(
        "assistants/a/package.yao",
        "",
        &["Error assistants/a/package.yao:1:1: \"name\" is missing"],
    ),
    Case(
        "assistants/a/package.yao",
        "- name: A\n",
        &["Error assistants/a/package.yao:1:1: the file must hold an object, not a list"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\ntype: asistant\n",
        &[
            "Error assistants/a/package.yao:2:7: \"type\" must be \"assistant\" or \"worker\"; did you mean \"assistant\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\ntags: [x, 1, ]\n",
        &["Error assistants/a/package.yao:2:11: \"tags[1]\" must be a string, not a number"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { servers: [{ server_id: x, tool: [] }] }\n",
        &[
            "Error assistants/a/package.yao:2:34: unknown key \"mcp.servers[0].tool\"; did you mean \"tools\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { servers: [{ x: tool }] }\n",
        &[
            "Error assistants/a/package.yao:2:23: \"mcp.servers[0].x\" must be a list or an object, not a string",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nmcp: { options: { timeout: soon } }\n",
        &[
            "Error assistants/a/package.yao:2:28: \"mcp.options.timeout\" must be a duration such as \"30s\", not a string",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\nruntime: { limits: { heap: 64 megs, cpus: 1 } }\n",
        &[
            "Error assistants/a/package.yao:2:28: \"runtime.limits.heap\" must be a size such as \"64MiB\", not a string",
            "Error assistants/a/package.yao:2:37: unknown key \"runtime.limits.cpus\"; did you mean \"cpu\"?",
        ],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": \"A\" \"type\": \"worker\" }",
        &["Error assistants/a/package.yao:1:14: expected comma"],
    ),
    Case(
        "assistants/a/package.yao",
        "{ \"name\": 'A' }",
        &["Error assistants/a/package.yao:1:11: single-quoted strings are not allowed"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: [A\n",
        &["Error assistants/a/package.yao:1:7: unclosed bracket '['"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\n\tsort: 1\n",
        &["Error assistants/a/package.yao:1:7: while scanning a plain scalar, found a tab"],
    ),
    Case(
        "assistants/a/package.yao",
        "name: A\noptions: { seed: 1e999 }\n",
        &["Error assistants/a/package.yao:2:18: the number is out of range"],
    ),
    Case(
        "connectors/c.conn.yao",
        "{ \"type\": \"openai\", \"options\": { \"modle\": \"x\" } }",
        &[
            "Error connectors/c.conn.yao:1:34: unknown key \"options.modle\"; did you mean \"model\"?",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "{ \"options\": {} }",
        &["Error connectors/c.conn.yao:1:1: \"type\" is missing"],
    ),
    Case(
        "connectors/c.conn.yao",
        "{ \"type\": \"opnai\" }",
        &[
            "Notice connectors/c.conn.yao: nothing can use this connector: its type is none of openai, anthropic, gemini, \
         ollama, scripted, redis, sqlite3, postgres; did you mean \"openai\"?",
        ],
    ),
    Case(
        "connectors/c.conn.yao",
        "type: scripted\noptions: { rules: [{ match: { last_user: \"(\" } }] }\n",
        &[
            "Error connectors/c.conn.yao:2:42: \"options.rules[0].match.last_user\" is no regular expression: unclosed group",
        ],
    ),
    Case(
        "connectors/c.yao",
        "type: openai\n",
        &["Notice connectors/c.yao: the file is not read: nothing of this name has a meaning here"],
    ),
    Case(
        "stores/s.lru.yao",
        "{ \"option\": { \"size\": -1 } }",
        &[
            "Error stores/s.lru.yao:1:23: \"option.size\" must be a whole number from 0 on, not a number",
        ],
    ),
    Case(
        "stores/s.lru.yao",
        "{ \"optoin\": {} }",
        &["Error stores/s.lru.yao:1:3: unknown key \"optoin\"; did you mean \"option\"?"],
    ),
    Case(
        "stores/s.xun.yao",
        "name: S\nconnector: cache\n",
        &["Error stores/s.xun.yao:2:12: there is no connector \"cache\""],
    ),
    Case(
        "stores/s.redis.yao",
        "{}",
        &["Error stores/s.redis.yao:1:1: a store in Redis needs \"connector\""],
    ),
    Case(
        "stores/s.lru.yao",
        "{ \"connector\": \"c\" }",
        &[
            "Error stores/s.lru.yao:1:16: a store in memory has no connector: leave \"connector\" or the kind \"lru\" out",
        ],
    ),
    Case(
        "stores/__yao/session.lru.yao",
        "{}",
        &[
            "Error stores/__yao/session.lru.yao:1:1: names that begin with \"__yao.\" are not the app's; rename the file",
        ],
    ),
    Case(
        "mcps/m.mcp.yao",
        "transport: pipe\n",
        &[
            "Error mcps/m.mcp.yao:1:12: \"transport\" must be \"process\", \"stdio\", \"http\" or \"sse\"",
        ],
    ),
    Case(
        "agent/agent.yml",
        "usess: {}\n",
        &["Error agent/agent.yml:1:1: unknown key \"usess\"; did you mean \"uses\"?"],
    ),
    Case(
        "agent/agent.yaml",
        "uses: {}\n",
        &["Notice agent/agent.yaml: the file is not read: nothing of this name has a meaning here"],
    ),
    Case(
        "agent/prompts.yml",
        "- role: sistem\n  content: x\n- content: y\n",
        &[
            "Error agent/prompts.yml:1:9: \"[0].role\" must be \"system\", \"developer\", \"user\" or \"assistant\"; \
         did you mean \"system\"?",
            "Error agent/prompts.yml:3:3: \"[1].role\" is missing",
        ],
    ),
    Case(
        "agent/prompts.yml",
        "- role: system\n  content: See @assets/rules.md.\n",
        &[
            "Error agent/prompts.yml:2:12: @assets/rules.md is not there: agent/assets has no such file",
        ],
    ),
    Case(
        "agent/prompts.yml",
        "- role: system\n  content: See @assets/../agent.yml\n",
        &[
            "Error agent/prompts.yml:2:12: @assets/../agent.yml is not there: agent/assets/.. has no such file",
        ],
    ),
    Case(
        "agent/locales/en-us.yml",
        "- a\n",
        &["Error agent/locales/en-us.yml:1:1: the file must hold an object, not a list"],
    ),
    Case(
        ".env",
        "A=1\nno value\n2B=1\nC=\"open\n",
        &[
            "Error .env:2: a line must be NAME=value, a comment or empty",
            "Error .env:3: the name before = must be letters, digits and _",
            "Error .env:4: the quotes around the value are not closed",
        ],
    ),
    Case(
        "asistants/a/package.yao",
        "name: A\n",
        &["Notice asistants: the folder is not read; did you mean \"assistants\"?"],
    ),
];

#[test]
fn g146_a_wrong_file_is_told_with_its_place_and_the_nearest_known_key() {
    let mut wrong = Vec::new();
    for Case(file, text, expected) in CASES {
        let told = texts(&load(&[(file, text)]).problems);
        if told != *expected {
            wrong.push(format!(
                "{file}: {text}\n  told: {told:#?}\n  expected: {expected:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_broken_app_file_or_access_rule_leaves_no_app() {
    let cases = [
        (
            "app.yao",
            "{ \"ambit\": { \"visibilty\": \"public\" } }",
            "Error app.yao:1:14: unknown key \"ambit.visibilty\"; did you mean \"visibility\"?",
        ),
        (
            "app.yao",
            "{ \"ambit\": { \"memory\": { \"default_ttl\": { \"chats\": 1 } } } }",
            "Error app.yao:1:43: unknown key \"ambit.memory.default_ttl.chats\"; did you mean \"chat\"?",
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
        ("assistants/bad/package.yao", "name: Bad\nconector: x"),
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
            Code::ConfigError,
            "agent \"bad\" cannot be used: assistants/bad/package.yao:2:1: unknown key \"conector\"; did you mean \"connector\"?"
        )
    );
    let error = app.agent("worse").expect_err("its preset is broken");
    assert_eq!(
        error.message,
        "agent \"worse\" cannot be used: assistants/worse/prompts/chat.yml:1:9: \"[0].role\" must be \"system\", \"developer\", \"user\" or \"assistant\""
    );
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
    let app = load(&[agents[0], agents[1], ("agent/agent.yml", "usess: {}")]);
    assert!(app.agents["plain"].is_err());
    assert!(app.agents["own"].is_err());
    assert_eq!(
        app.connector("").expect_err("roles are unknown").message,
        "role \"default\" cannot be used: agent/agent.yml:1:1: unknown key \"usess\"; did you mean \"uses\"?"
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
                .map(|agent| agent.name.clone())
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
