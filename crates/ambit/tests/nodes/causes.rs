//! Why requests end badly: each cause is in the log, once, with the id of its request. What goes on inside is told to developers; in
//! production the log alone has it.

use crate::Run;
use crate::place::{Node, Place, said};
use crate::site::Answer;
use reqwest::Method;
use serde_json::{Value, json};
use std::io::Read;
use tempfile::NamedTempFile;

pub const CASES: &[(&str, Run)] = &[
    ("every_bad_ending_has_its_cause_in_the_log_once", |place| {
        Box::pin(once(place))
    }),
    (
        "what_goes_on_inside_is_told_in_development_mode_alone",
        |place| Box::pin(inside(place)),
    ),
];

const CANARY: &str = "canary4711";
/// What the scripted provider says.
const WORDS: &str = "overheated flux";
const CONNECTOR: (&str, &str) = (
    "connectors/script.conn.yao",
    r#"{"label": "Script", "type": "scripted", "options": {"model": "script", "rules": [
        {"match": {"last_user": "^refuse"}, "error": {"status": 400, "message": "overheated flux"}},
        {"match": {"last_user": "^retry"}, "error": {"status": 503, "message": "overheated flux"}}
    ]}}"#,
);

const ENDING_BADLY: &str = r#"
    export function Create(ctx: any, messages: any[]) {
        const [word, said] = messages.at(-1).content.split(" ");
        switch (word) {
            case "list": return [said];
            case "throw": throw new Error(`cannot serve ${said}`);
            case "host": return ctx.memory.user.Get();
            case "keys": return { colour: said };
            case "lost": return { connector: "nowhere" };
        }
        return null;
    }
    export function Next(ctx: any, payload: any) {
        const last = String(payload.messages.at(-1)?.content);
        return last.startsWith("refuse softly") ? { data: { served: false } } : null;
    }
"#;

/// What is asked, and the warnings and errors that come of it.
const ENDINGS: &[(&str, &[&str])] = &[
    ("list", &["a hook returned what cannot be read"]),
    ("throw", &["a hook failed"]),
    ("host", &["a hook failed"]),
    ("keys", &["a hook returned keys that are not read"]),
    ("lost", &["a turn has failed"]),
    ("refuse", &["a call of a model failed"]),
    (
        "refuse softly",
        &[
            "a call of a model failed",
            "a hook turned a failure into an answer",
        ],
    ),
    (
        "retry",
        &[
            "a call of a model failed and is made again",
            "a call of a model failed and is made again",
            "a call of a model failed",
        ],
    ),
];

async fn once(place: Place) {
    place.write(CONNECTOR.0, CONNECTOR.1);
    place.write("assistants/hello/src/index.ts", ENDING_BADLY);
    let log = NamedTempFile::new().unwrap();
    let node = place.json_logging_node(log.reopen().unwrap());
    let mut ids = Vec::new();
    for (text, _) in ENDINGS {
        let answer = node.chat(&said(&format!("{text} {CANARY}"))).await;
        ids.push(answer.header("x-ambit-request").unwrap().to_owned());
    }
    let wrong = json!({"model": "hello", "messages": CANARY});
    assert_eq!(node.chat(&wrong).await.status, 400);
    node.end();

    let lines = lines(log);
    for ((text, expected), id) in ENDINGS.iter().zip(&ids) {
        let own = || lines.iter().filter(|line| request_of(line) == Some(id));
        let told = own().filter(|line| line["level"] == "WARN" || line["level"] == "ERROR");
        let told: Vec<&str> = told.map(|line| line["message"].as_str().unwrap()).collect();
        assert_eq!(told, *expected, "{text}");
        let answered: Vec<&Value> = own().filter(|line| line["message"] == "answered").collect();
        assert_eq!(answered.len(), 1, "{text}");
        let span = &answered[0]["span"];
        assert_eq!(
            (&span["agent.id"], &span["chat.id"]),
            (&json!("hello"), &json!("c1"))
        );
        assert!(span["user.id"].is_string(), "{span}");
    }
    check_fields(&lines, &ids);
    let refused: Vec<&Value> = lines
        .iter()
        .filter(|it| it["message"] == "refused")
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        (&refused[0]["level"], &refused[0]["error.code"]),
        (&json!("DEBUG"), &json!("invalid_argument"))
    );
    let whole = Value::from(lines).to_string();
    assert!(!whole.contains(CANARY), "{whole}");
}

/// What lines say of the places and the kinds of failures.
fn check_fields(lines: &[Value], ids: &[String]) {
    let field = |at: usize, message: &str, name: &str| {
        let mut own = lines
            .iter()
            .filter(|line| request_of(line) == Some(&ids[at]));
        let line = own.find(|line| line["message"] == message);
        line.unwrap_or_else(|| panic!("{message}"))[name].clone()
    };
    assert_eq!(
        field(0, "a hook returned what cannot be read", "hook"),
        "Create"
    );
    assert_eq!(field(1, "a hook failed", "error.message"), "cannot serve …");
    let stack = field(1, "a hook failed", "error.stack");
    let place = "at Create (assistants/hello/src/index.ts:6:";
    assert!(stack.as_str().unwrap().starts_with(place), "{stack}");
    assert_eq!(
        field(2, "a hook failed", "host.method"),
        "ctx.memory.user.Get"
    );
    assert_eq!(
        field(3, "a hook returned keys that are not read", "keys"),
        "colour"
    );
    assert_eq!(field(4, "a turn has failed", "error.code"), "config_error");
    let why = field(4, "a turn has failed", "error.message");
    assert!(why.as_str().unwrap().contains("nowhere"), "{why}");
    let words = field(5, "a call of a model failed", "error.message");
    assert!(words.as_str().unwrap().ends_with(WORDS), "{words}");
    assert_eq!(
        field(5, "a call of a model failed", "error.kind"),
        "Permanent"
    );
    assert_eq!(
        field(6, "a hook turned a failure into an answer", "stage"),
        "llm"
    );
}

const BREAKING: &str = r#"
    export function Create(ctx: any, messages: any[]) {
        switch (messages.at(-1).content) {
            case "defect": return ctx.nothing.here;
            case "process": return Process("scripts.fails.Go");
            case "memory":
                ctx.memory.chat.Set("last", "canary4711");
                throw new Error(`cannot serve "${ctx.memory.chat.Get("last")}"`);
            case "unquoted":
                ctx.memory.chat.Set("last", "canary4711");
                throw new Error(`cannot serve ${ctx.memory.chat.Get("last")}`);
        }
        return null;
    }
"#;
const FAILS: (&str, &str) = (
    "scripts/fails.ts",
    "export function Go() { return (undefined as any).here; }",
);

/// What is asked, and what of the inside it shows.
const INSIDE: [(&str, &str); 3] = [
    ("defect", "src/index.ts"),
    ("process", "fails.ts"),
    ("refuse", WORDS),
];

/// The formats of streams.
const FORMATS: [&str; 6] = [
    "standard",
    "cui-web",
    "messages",
    "ai-sdk",
    "ag-ui",
    "responses",
];

async fn inside(place: Place) {
    place.write(CONNECTOR.0, CONNECTOR.1);
    place.write("assistants/hello/src/index.ts", BREAKING);
    place.write(FAILS.0, FAILS.1);
    let node = place.node();
    for (text, inside) in INSIDE {
        for (path, told) in answers(&node, None, text).await.1 {
            let is_told = told.contains(inside);
            assert!(
                is_told || path.starts_with("/chat/sessions"),
                "{path}: {told}"
            );
        }
    }
    node.end();

    place.write("openapi/openapi.yao", r#"{"auth": {"api_keys": true}}"#);
    let log = NamedTempFile::new().unwrap();
    let node = place.json_logging_node(log.reopen().unwrap());
    let key = place.new_key();
    let mut ids = Vec::new();
    for (text, _) in INSIDE {
        let (id, all) = answers(&node, Some(&key), text).await;
        for (path, told) in all {
            let leaked = INSIDE.iter().find(|(_, inside)| told.contains(inside));
            assert_eq!(leaked, None, "{text}: {path}: {told}");
        }
        ids.push(id);
    }
    let (quoting, _) = answers(&node, Some(&key), "memory").await;
    let (telling, _) = answers(&node, Some(&key), "unquoted").await;
    node.end();
    let lines = lines(log);
    for ((text, inside), id) in INSIDE.iter().zip(&ids) {
        let mut own = lines.iter().filter(|line| request_of(line) == Some(id));
        assert!(own.any(|line| line.to_string().contains(inside)), "{text}");
    }
    for (id, expected) in [(quoting, "cannot serve \"…\""), (telling, "cannot serve …")] {
        let mut own = lines.iter().filter(|line| request_of(line) == Some(&id));
        let failed = own.find(|line| line["message"] == "a hook failed").unwrap();
        assert_eq!(failed["error.message"], expected);
    }
    let whole = Value::from(lines).to_string();
    assert!(!whole.contains(CANARY), "{whole}");
}

/// The id of the turn that answers this, and all that its asker can see of it, by path.
async fn answers(node: &Node, key: Option<&str>, text: &str) -> (String, Vec<(String, String)>) {
    let send = |method: Method, path: &str| {
        let request = node.request(method, path);
        match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    };
    let chat = if key.is_some() { "c2" } else { "c1" };
    let mut body = said(text);
    body["chat_id"] = json!(format!("{chat}-{text}"));
    let asked = send(Method::POST, "/chat/completions").json(&body);
    let answer = Answer::of(asked).await;
    let id = answer.header("x-ambit-request").unwrap().to_owned();
    let mut told = vec![("/chat/completions".to_owned(), answer.text)];
    let streams = FORMATS.map(|format| format!("/chat/requests/{id}/stream?accept={format}"));
    let trace = format!("/trace/traces/{id}");
    let others = [
        format!("/chat/requests/{id}"),
        format!("/chat/sessions/{chat}-{text}/messages"),
        format!("{trace}/nodes"),
        format!("{trace}/events"),
    ];
    // The document describes the events of other protocols with routes of their own.
    for path in streams {
        let answer = send(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        told.push((path, answer.text().await.unwrap()));
    }
    for path in others {
        let answer = Answer::of(send(Method::GET, &path)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        told.push((path, answer.text));
    }
    (id, told)
}

/// The lines of a log in JSON.
fn lines(mut log: NamedTempFile) -> Vec<Value> {
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

/// The request that a line is of.
fn request_of(line: &Value) -> Option<&String> {
    let own = line.get("request.id").or(line["span"].get("request.id"));
    match own? {
        Value::String(id) => Some(id),
        _ => None,
    }
}
