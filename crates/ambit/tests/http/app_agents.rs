//! What operators see of the app's agents.

use crate::site::{Site, write};
use serde_json::{Value, json};
use std::path::Path;

const APP: (&str, &str) = (
    "app.yao",
    r#"{"name": "Tests", "ambit": {"limits": {"cpu": "2s", "timers": 10}}}"#,
);
const VARIABLES: (&str, &str) = (".env", "MODEL=canary-model\nNAME=canary-name\n");
const DEFAULTS: (&str, &str) = (
    "agent/agent.yml",
    "system: {default: script}\nuses: {vision: disabled}\nstore: {max_size: 7}\n",
);
const CONNECTOR: (&str, &str) = (
    "connectors/script.conn.yao",
    r#"{"type": "scripted", "options": {"model": "$ENV.MODEL", "capabilities": {"tool_calls": true}}}"#,
);
const PACKAGE: (&str, &str) = (
    "assistants/hello/package.yao",
    r#"{
        "name": "$ENV.NAME", "public": true, "mcp": {"servers": ["shop", {"server_id": "notes", "tools": ["a"]}]},
        "runtime": {"limits": {"cpu": "5s", "timers": 5}}
    }"#,
);
const HOOKS: (&str, &str) = (
    "assistants/hello/src/index.ts",
    "// Words.\nexport function Create() {}\n\nexport const helper = () => 1;\n",
);
const INNER: (&str, &str) = (
    "assistants/hello/inner/package.yao",
    r#"{"name": "Inner", "type": "worker"}"#,
);
const BROKEN: (&str, &str) = ("assistants/broken/package.yao", r#"{"name": ["x"]}"#);

async fn site() -> Site {
    let files = [
        APP, VARIABLES, DEFAULTS, CONNECTOR, PACKAGE, HOOKS, INNER, BROKEN,
    ];
    Site::of(&files).await
}

fn texts<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap().iter();
    list.map(|item| item[name].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_agent_is_shown_with_where_each_setting_is_said() {
    let site = site().await;
    let answer = site.get("/v1/app/agents/hello").await;
    assert!(!answer.text.contains("canary"), "{}", answer.text);
    let agent = answer.json();
    assert_eq!(agent["type"], json!("assistant"));
    for (name, value, from) in [
        ("name", json!("$ENV.NAME"), PACKAGE.0),
        ("connector", json!("script"), DEFAULTS.0),
        ("uses.vision", json!("disabled"), DEFAULTS.0),
        ("options.history_size", json!(7), DEFAULTS.0),
        // A package only lowers limits.
        ("runtime.limits.cpu", json!("2s"), APP.0),
        ("runtime.limits.timers", json!(5), PACKAGE.0),
        ("mcp.options.max_turn", json!(5), "default"),
    ] {
        let expected = json!({"value": value, "from": from});
        assert_eq!(agent["settings"][name], expected, "{name}");
    }
    let expected = json!({
        "id": "script", "type": "scripted", "model": "$ENV.MODEL", "capabilities": ["tool_calls", "json", "streaming"],
    });
    assert_eq!(agent["connector"], expected);
    assert_eq!(agent["servers"], json!(["shop", "notes"]));
    let expected = json!([
        {"name": "Create", "file": HOOKS.0, "line": 2},
        {"name": "helper", "file": HOOKS.0, "line": 4},
    ]);
    assert_eq!(agent["hooks"], expected);
    let expected = ["package.yao", "prompts.yml", "src/index.ts"];
    assert_eq!(texts(&agent["files"], "path"), expected);
    assert_eq!(agent["files"][2]["bytes"], json!(HOOKS.1.len()));
    let version = agent["files"][2]["version"].as_str().unwrap();
    assert_eq!(version.len(), 22, "{version}");
    // Neither server is there.
    assert_eq!(texts(&agent["problems"], "file"), [PACKAGE.0, PACKAGE.0]);
}

#[tokio::test]
async fn workers_and_agents_that_cannot_be_used_are_listed() {
    let site = site().await;
    let listed = site.get("/v1/app/agents").await.json()["items"].take();
    let ids = texts(&listed, "assistant_id");
    assert_eq!(ids, ["broken", "hello", "hello.inner"]);
    let kinds = texts(&listed, "type");
    assert_eq!(kinds, ["assistant", "assistant", "worker"]);
    let broken = &listed[0];
    assert_eq!(
        (&broken["settings"], &broken["connector"], &broken["hooks"]),
        (&json!({}), &Value::Null, &json!([]))
    );
    assert_eq!(texts(&broken["files"], "path"), ["package.yao"]);
    assert_eq!(texts(&broken["problems"], "severity"), ["error"]);
    let failure = site.get("/v1/app/agents/none").await.failure();
    assert_eq!(failure, (404, "not_found".to_owned(), None));
}

#[tokio::test]
async fn the_version_of_a_file_is_that_of_the_app_until_it_is_loaded_anew() {
    let site = site().await;
    let version = async || {
        let agent = site.get("/v1/app/agents/hello").await.json();
        agent["files"][2]["version"].clone()
    };
    let before = version().await;
    write(&site.folder().join(HOOKS.0), "export function Next() {}\n");
    assert_eq!(version().await, before);
    site.runtime.reload().await.unwrap();
    assert_ne!(version().await, before);
}

#[tokio::test]
async fn the_text_of_a_file_is_as_it_is_written() {
    let site = site().await;
    let answer = site.get("/v1/app/agents/hello/files/package.yao").await;
    assert_eq!((answer.status, answer.text.as_str()), (200, PACKAGE.1));
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    // Slashes may stand as they are, or as clients write them that follow the document.
    for path in ["src/index.ts", "src%2Findex.ts"] {
        let file = format!("/v1/app/agents/hello/files/{path}");
        assert_eq!(site.get(&file).await.text, HOOKS.1, "{path}");
    }
    let picture = site.folder().join("assistants/hello/assets/x.png");
    write(&picture, "");
    std::fs::write(&picture, b"\xff\xfe").unwrap();
    site.runtime.reload().await.unwrap();
    let answer = site.get("/v1/app/agents/hello/files/assets/x.png").await;
    let expected = (422, "unsupported".to_owned(), Some("path".to_owned()));
    assert_eq!(answer.failure(), expected);
}

/// Makes a link where the tests run on a system that has them.
fn link(to: &Path, place: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(to, place).unwrap();
    #[cfg(not(unix))]
    write(place, &to.display().to_string());
}

#[tokio::test]
async fn no_path_and_no_link_leads_out_of_the_folder_of_an_agent() {
    let site = site().await;
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("secret.txt"), "canary");
    let own = site.folder().join("assistants/hello");
    write(&own.join(".hidden.txt"), "canary");
    write(&own.join("words.txt"), "words");
    link(&outside.path().join("secret.txt"), &own.join("outside.txt"));
    link(&site.folder().join(".env"), &own.join("variables.txt"));
    link(&own.join(".hidden.txt"), &own.join("shown.txt"));
    link(&site.folder().join("openapi"), &own.join("rules"));
    write(&site.folder().join("openapi/notes.txt"), "canary");
    site.runtime.reload().await.unwrap();
    let agent = site.get("/v1/app/agents/hello").await.json();
    let expected = ["package.yao", "prompts.yml", "src/index.ts", "words.txt"];
    assert_eq!(texts(&agent["files"], "path"), expected);
    for path in [
        "outside.txt",
        "variables.txt",
        "shown.txt",
        "rules/notes.txt",
        ".hidden.txt",
        "inner/package.yao",
        "..%2F..%2F.env",
        "src%2F..%2F..%2F..%2F.env",
        "..%5C..%5C.env",
        "%2Fetc%2Fpasswd",
        "/etc/passwd",
        "./words.txt%00",
        "src",
        "",
    ] {
        let file = format!("/v1/app/agents/hello/files/{path}");
        let answer = site.get(&file).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
        assert!(!answer.text.contains("canary"), "{path}: {}", answer.text);
    }
}

/// Prompts for all agents and of a preset, and variables that they may show.
const PROMPTED: &[(&str, &str)] = &[
    (
        "app.yao",
        r#"{"name": "Tests", "ambit": {"capabilities": {"prompt_env": ["NAME"]}}}"#,
    ),
    VARIABLES,
    (
        "agent/prompts.yml",
        "- {role: system, content: \"For $CTX.USER_ID in $CTX.LOCALE\"}\n",
    ),
    (
        "assistants/hello/prompts/chat/friendly.yml",
        "- {role: system, content: \"Hi $CTX.tone, $ENV.NAME, $ENV.OTHER.\"}\n- {role: user, content: \"{{ hello }}\"}\n",
    ),
    ("assistants/hello/locales/zh-cn.yml", "hello: 你好\n"),
];

/// A message as it is rendered, without its tokens.
fn rendered(role: &str, content: &str, kind: &str, file: &str, index: usize) -> Value {
    let source = json!({"file": file, "index": index});
    json!({"role": role, "content": content, "kind": kind, "source": source})
}

/// Takes the counts of tokens out, and which version of its file each has and what was filled in.
fn counts(messages: &mut Value) -> Vec<u64> {
    let messages = messages.as_array_mut().unwrap().iter_mut();
    let counts = messages.map(|message| {
        let source = message["source"].as_object_mut().unwrap();
        assert!(source.remove("version").is_some_and(|it| it.is_string()));
        source.remove("variables");
        let count = message.as_object_mut().unwrap().remove("tokens");
        count.unwrap().as_u64().unwrap()
    });
    counts.collect()
}

#[tokio::test]
async fn prompts_are_shown_as_the_model_would_get_them() {
    let site = Site::of(PROMPTED).await;
    let path = "/v1/app/agents/hello/prompts";
    let mut told = site.post(path, &json!({})).await.json();
    assert!(counts(&mut told["messages"]).iter().all(|count| *count > 0));
    let global = "agent/prompts.yml";
    let expected = json!({"messages": [
        rendered("system", "For dev in en-us", "global", global, 0),
        rendered("system", "Be kind.", "prompt", "assistants/hello/prompts.yml", 0),
    ], "warnings": []});
    assert_eq!(told, expected);
    let asked = json!({"preset": "chat.friendly", "locale": "zh-cn", "metadata": {"tone": "you"}});
    let answer = site.post(path, &asked).await;
    assert!(!answer.text.contains("canary"), "{}", answer.text);
    let mut told = answer.json();
    counts(&mut told["messages"]);
    let file = "assistants/hello/prompts/chat/friendly.yml";
    let expected = json!([
        rendered("system", "For dev in zh-cn", "global", global, 0),
        rendered("system", "Hi you, $ENV.NAME, .", "preset", file, 0),
        rendered("user", "你好", "preset", file, 1),
    ]);
    assert_eq!(told["messages"], expected);
    let warning = told["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("$ENV.OTHER is empty"), "{warning}");
    let mut told = site
        .post(path, &json!({"mode": "chat.friendly"}))
        .await
        .json();
    assert_eq!(told["messages"][1]["kind"].take(), json!("preset"));
    let told = site
        .post(path, &json!({"preset": "chat.frendly"}))
        .await
        .json();
    let warning = told["warnings"][0].as_str().unwrap();
    assert!(warning.contains("chat.friendly"), "{warning}");
    site.check_untouched().await;
    let failure = site.post(path, &json!({"presets": "chat"})).await.failure();
    assert_eq!((failure.0, failure.2.as_deref()), (400, Some("presets")));
    let nothing = json!({});
    let none = site.post("/v1/app/agents/none/prompts", &nothing).await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn prompts_show_the_name_of_their_agent_as_it_is_written() {
    let prompt = (
        "assistants/hello/prompts.yml",
        "- {role: system, content: \"I am $CTX.ASSISTANT_NAME.\"}\n",
    );
    let site = Site::of(&[APP, VARIABLES, DEFAULTS, CONNECTOR, PACKAGE, prompt]).await;
    let nothing = json!({});
    let told = site.post("/v1/app/agents/hello/prompts", &nothing).await;
    let told = told.json();
    assert_eq!(told["messages"][0]["content"], "I am $ENV.NAME.");
}

#[tokio::test]
async fn tools_name_their_server_as_it_is_written() {
    let site = Site::of(&[
        (
            "assistants/hello/package.yao",
            r#"{"name": "Hello", "public": true, "connector": "script", "mcp": {"servers": ["$ENV.NAME"]}}"#,
        ),
        VARIABLES,
        (
            "mcps/canary-name.mcp.yao",
            r#"{"transport": "process", "tools": {"add": "utils.str.UUID"}}"#,
        ),
        (
            "mcps/mapping/canary-name/schemes/add.in.yao",
            r#"{"type": "object", "description": "Notes.", "x-process-args": []}"#,
        ),
    ])
    .await;
    let told = site.get("/v1/app/agents/hello/tools").await.json();
    assert_eq!(told["items"][0]["tool"], "add");
    assert_eq!(told["items"][0]["server"], "$ENV.NAME");
}

#[tokio::test]
async fn tools_are_listed_with_how_their_servers_are() {
    let site = Site::of(&[
        (
            "assistants/hello/package.yao",
            r#"{"name": "Hello", "public": true, "connector": "script", "mcp": {"servers": ["notes", "shop", "$ENV.NAME"]}}"#,
        ),
        VARIABLES,
        (
            "mcps/notes.mcp.yao",
            r#"{"transport": "process", "tools": {"add": "utils.str.UUID"}}"#,
        ),
        (
            "mcps/mapping/notes/schemes/add.in.yao",
            r#"{"type": "object", "description": "Notes.", "properties": {"text": {"type": "string"}}, "x-process-args": []}"#,
        ),
    ])
    .await;
    let answer = site.get("/v1/app/agents/hello/tools").await;
    assert!(!answer.text.contains("canary"), "{}", answer.text);
    let mut told = answer.json();
    let tool = told["items"][0].take();
    assert_eq!(
        (&tool["name"], &tool["server"], &tool["tool"]),
        (&json!("notes__add"), &json!("notes"), &json!("add"))
    );
    assert_eq!(tool["parameters"]["properties"]["text"]["type"], "string");
    assert!(tool["tokens"].as_u64().unwrap() > 0);
    for (at, name) in [(1, "shop"), (2, "$ENV.NAME")] {
        let error = told["servers"][at]["error"].take();
        let expected = format!("unknown MCP server \"{name}\"");
        assert!(error.as_str().unwrap().starts_with(&expected), "{error}");
    }
    let expected = json!({"items": [null], "servers": [
        {"id": "notes", "transport": "process", "state": "ready", "error": null},
        {"id": "shop", "transport": "unknown", "state": "error", "error": null},
        {"id": "$ENV.NAME", "transport": "unknown", "state": "error", "error": null},
    ]});
    assert_eq!(told, expected);
}
