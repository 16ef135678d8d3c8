//! Apps of the shapes that the reference's own apps have: they start as they are, and each agent answers or says what is not here.

use crate::conversation::converse;
use crate::place::{Place, Ran, Serving};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The app that people of the reference start from.
const STARTER: &str = "starter";
/// The app in which the reference tries itself.
const DEMO: &str = "demo";

fn app(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/apps")
        .join(name)
}

/// What is said of an app: severities and lines.
fn judged(name: &str) -> Ran {
    Place::new().run_as(&["check", app(name).to_str().unwrap()])
}

/// What an agent answers.
fn answer(app_name: &str, agent: &str, text: &str) -> String {
    let (place, folder) = (Place::new(), app(app_name));
    let mut chat = place.command(&[
        "--data",
        "data",
        "chat",
        agent,
        "--app",
        folder.to_str().unwrap(),
    ]);
    let ended = converse(&mut chat, &format!("{text}\n"));
    let out = String::from_utf8(ended.stdout).unwrap();
    let err = String::from_utf8_lossy(&ended.stderr);
    format!("{}{err}", out.replace("\n\n", "\n"))
}

#[test]
fn apps_of_the_reference_start_as_they_are() {
    for name in [STARTER, DEMO] {
        let said = judged(name);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            said.out.contains("\nnothing is broken: 0 errors, "),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn apps_of_the_reference_are_served_with_their_own_access_rules() {
    drop(rustls::crypto::ring::default_provider().install_default());
    for (name, agent) in [(STARTER, "host"), (DEMO, "experts.writer")] {
        let (place, folder) = (Place::new(), app(name));
        let listen = ["--listen", "127.0.0.1:0", "--log", "error"];
        let serve = ["--data", "data", "serve", folder.to_str().unwrap()];
        let server = Serving::of(place.command(&[&serve[..], &listen].concat()));
        let message = json!({"role": "user", "content": "hello"});
        let body = json!({"model": agent, "messages": [message]});
        let asked = reqwest::Client::new().post(format!("{}/chat/completions", server.base));
        let answer = asked.json(&body).send().await.unwrap();
        let answer: Value = answer.error_for_status().unwrap().json().await.unwrap();
        let said = &answer["choices"][0]["message"]["content"];
        assert_eq!(said, "heard: hello", "{name}");
    }
}

#[test]
fn what_the_starter_app_has_and_ambit_has_not_is_told_by_name() {
    let said = judged(STARTER).out;
    for line in [
        "agent/agent.yml:3:10: \"uses.title\": the app has no agent \"__yao.title\" (warning)",
        "charts: the folder is not read by Ambit (notice)",
        "connectors/ollama/coder.yao: the file is not read: nothing of this name has a meaning here (notice)",
        "models/admin/user.mod.yao: column \"mobile\" is encrypted, which needs a key: set AMBIT_MODEL_KEY (warning)",
        "openapi/user: no access rules are read from here: they are openapi.yao, roles.yml and scopes/ (notice)",
    ] {
        assert!(said.lines().any(|it| it == line), "{line}\n{said}");
    }
    let absent = "\"__yao:all\" names scopes that are not there, which grant nothing: __yao:yao:execute:all (warning)";
    assert!(said.contains(absent), "{said}");
}

#[test]
fn what_the_demo_app_has_and_ambit_has_not_is_told_by_name() {
    let said = judged(DEMO).out;
    for line in [
        "assistants/experts/reader/package.yao:14:3: \"hooks\" has no effect: hooks are found in src/index.ts only (notice)",
        "assistants/tests/boxed/sandbox.yao: the file has no effect: Ambit has no sandboxes (notice)",
        "assistants/tests/full/package.yao:13:3: \"workflow\" has no effect in Ambit (notice)",
        "assistants/tests/router/src/index.ts: nothing calls \"Done\", \"Retry\", which are hooks of an older Yao; \
         hooks are \"Create\" and \"Next\", and get `ctx` as their first argument (notice)",
        "mcps/test.mcp.yao:10:3: \"enable_sampling\" has no effect in Ambit (notice)",
        "openapi/signin: no access rules are read from here: they are openapi.yao, roles.yml and scopes/ (notice)",
    ] {
        assert!(said.lines().any(|it| it == line), "{line}\n{said}");
    }
}

#[test]
fn every_agent_of_the_starter_app_answers() {
    let answers = [
        ("host", "hello", "heard: hello\n"),
        ("plain", "hello", "heard: hello\n"),
        ("notes", "hello", "# Notes\nsay **act**\n"),
    ];
    for (agent, text, expected) in answers {
        assert_eq!(answer(STARTER, agent, text), expected, "{agent}");
    }
}

#[test]
fn every_agent_of_the_demo_app_answers_or_says_what_is_not_here() {
    let answers = [
        ("experts.writer", "hello", "heard: hello\n"),
        ("experts.reader", "hello", "heard: hello\n"),
        (
            "experts.reader",
            "read https://example.com/",
            "heard: No page at https://example.com/: host \"example.com\" is not allowed\n",
        ),
        (
            "robot.desk",
            "walk",
            "process not found: robot.Get\nheard: walk\n",
        ),
        ("tests.full", "hello", "heard: hello\n"),
        ("tests.create", "null", "heard: null\n"),
        ("tests.create", "undefined", "heard: undefined\n"),
        ("tests.create", "full", "heard: Hello!\n"),
        ("tests.create", "process", "heard: Roles: 0\n"),
        ("tests.boxed", "hello", "There is no sandbox.\n"),
    ];
    for (agent, text, expected) in answers {
        assert_eq!(answer(DEMO, agent, text), expected, "{agent}: {text}");
    }
    let older = answer(DEMO, "tests.router", "hello");
    assert!(
        older.contains("assistants/tests/router/src/index.ts:7:3"),
        "{older}"
    );
}
