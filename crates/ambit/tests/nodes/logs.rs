//! What a node's log holds back at every level, whichever library writes it.

use crate::Run;
use crate::place::{Place, said};
use crate::site::Answer;
use reqwest::Method;
use serde_json::json;
use std::io::Read;

pub const CASES: &[(&str, Run)] = &[
    ("no_line_of_the_log_has_what_people_say", |place| {
        Box::pin(silent(place))
    }),
    (
        "no_script_writes_lines_that_look_like_the_servers",
        |place| Box::pin(forged(place)),
    ),
    (
        "no_line_of_a_title_that_fails_has_what_people_say",
        |place| Box::pin(untitled(place)),
    ),
    (
        "no_line_of_what_a_listener_stops_has_what_people_say",
        |place| Box::pin(stopped(place)),
    ),
];

const CANARY: &str = "canary4711";

/// Begins a line as those of the server begin, and clears the one before it.
const FORGED: &str = "plain\\n2026-01-01T00:00:00.000000Z ERROR ambit: stolen\\u001b[2K";

/// Keeps what is said everywhere that a hook can.
const KEEPING: &str = r#"
    export function Create(ctx, messages) {
        const text = messages.at(-1).content;
        ctx.memory.user.Set(text, text);
        ctx.memory.chat.Set("said", messages);
        ctx.trace.Info(text);
        ctx.Send(text);
        return { messages };
    }
    export function Next(ctx, payload) {
        return { data: { said: ctx.memory.chat.Get("said") } };
    }
"#;

async fn silent(place: Place) {
    place.write("assistants/hello/src/index.ts", KEEPING);
    let mut log = tempfile::NamedTempFile::new().unwrap();
    let node = place.logging_node(log.reopen().unwrap());
    for text in ["hi", "refuse"] {
        let answer = node.chat(&said(&format!("{text} {CANARY}"))).await;
        let id = answer.header("x-ambit-request").unwrap().to_owned();
        let trace = format!("/trace/traces/{id}/events");
        assert!(node.get(&trace).await.text.contains(CANARY));
    }
    let wrong = json!({"model": "hello", "messages": {CANARY: CANARY}, "metadata": CANARY});
    assert_eq!(node.chat(&wrong).await.status, 400);
    for path in [
        "/chat/sessions",
        "/chat/sessions/c1/messages",
        "/memory/user",
        "/contexts",
    ] {
        assert_eq!(node.get(path).await.status, 200, "{path}");
    }
    let search = node.request(Method::GET, &format!("/chat/sessions?q={CANARY}"));
    assert!(Answer::of(search).await.text.contains(CANARY));
    node.end();
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(text.contains("answered"), "nothing was logged: {text}");
    let lines: Vec<&str> = text.lines().filter(|it| it.contains(CANARY)).collect();
    assert_eq!(lines, Vec::<&str>::new());
}

async fn forged(place: Place) {
    let hook = format!(
        "export function Create() {{ console.log('{FORGED}'); log.Warn('{FORGED}'); throw new Error('{FORGED}'); }}"
    );
    place.write("assistants/hello/src/index.ts", &hook);
    let mut log = tempfile::NamedTempFile::new().unwrap();
    let node = place.logging_node(log.reopen().unwrap());
    node.chat(&said("hi")).await;
    node.end();
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    let told: Vec<&str> = text.lines().filter(|it| it.contains("stolen")).collect();
    assert_eq!(told.len(), 3, "{text}");
    for line in told {
        assert!(
            !line.starts_with("2026-01-01") && !line.contains('\x1b'),
            "{line:?}"
        );
        assert!(line.contains("plain\\n2026-01-01"), "{line:?}");
    }
}

async fn untitled(place: Place) {
    let naming = r#"{"name": "Namer", "connector": "script"}"#;
    let hook = "export function Create(ctx, messages) { throw new Error('cannot name ' + messages.at(-1).content); }";
    place.write("agent/agent.yml", r#"{"uses": {"title": "namer"}}"#);
    place.write("assistants/namer/package.yao", naming);
    place.write("assistants/namer/src/index.ts", hook);
    let log = tempfile::NamedTempFile::new().unwrap();
    let node = place.logging_node(log.reopen().unwrap());
    node.chat(&said(&format!("hi {CANARY}"))).await;
    // Titles are written behind the answer.
    let text = loop {
        let text = std::fs::read_to_string(log.path()).unwrap();
        if text.contains("a chat keeps the beginning of its first message") {
            break text;
        }
        assert_eq!(node.get("/chat/sessions").await.status, 200);
    };
    assert!(text.contains("cannot name "), "{text}");
    assert!(!text.contains(CANARY), "{text}");
}

/// Stops what a person says, in words of theirs.
const STOPPING: &str = r#"
    export function BeforeSend(event) {
        const said = event.message.content;
        if (said.startsWith("throw")) throw new Error("cannot take " + said);
        return { veto: "not here: " + said };
    }
"#;

async fn stopped(place: Place) {
    place.write("assistants/hello/src/events.ts", STOPPING);
    let log = tempfile::NamedTempFile::new().unwrap();
    let node = place.logging_node(log.reopen().unwrap());
    let vetoed = node.chat(&said(&format!("say {CANARY}"))).await;
    assert_eq!(vetoed.status, 403);
    // Why is for whoever asked.
    assert!(vetoed.text.contains(CANARY), "{}", vetoed.text);
    let failed = node.chat(&said(&format!("throw {CANARY}"))).await;
    assert_eq!(failed.status, 500);
    node.end();
    let text = std::fs::read_to_string(log.path()).unwrap();
    for told in ["a listener vetoed", "BeforeSend: cannot take "] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!text.contains(CANARY), "{text}");
}
