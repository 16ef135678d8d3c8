//! Secrets stay where they are.

use crate::support::{environment, fixture, load, load_with, texts};
use ambit_runtime::app::App;

const CANARIES: &[&str] = &[
    "canary-of-the-env-file",
    "canary-of-a-store",
    "canary-of-an-issuer",
    "canary-given",
];

fn is_silent(text: &str) {
    for canary in CANARIES {
        assert!(!text.contains(canary), "{canary} is shown in {text}");
    }
}

#[test]
fn g072_no_part_of_an_app_shows_a_secret_when_it_is_printed() {
    let given = environment(&[("MODEL_HOST", "canary-given")]);
    let app = App::load(fixture(), &given).unwrap();
    assert_eq!(
        app.connector("gpt").unwrap().options.provider.key,
        "canary-of-the-env-file",
        "the secret is there"
    );
    is_silent(&format!("{app:?} {app:#?}"));
    is_silent(&format!("{:?}", app.variables));
    is_silent(&format!("{:?}", app.access));
    is_silent(&format!(
        "{:?} {:?} {:?}",
        app.connectors, app.servers, app.stores
    ));
    is_silent(&format!("{:?} {:?}", app.agents, app.problems));
}

#[test]
fn g072_no_problem_of_a_file_shows_a_value() {
    let secret = "canary-given";
    let files: &[(&str, &str)] = &[
        (
            "connectors/a.conn.yao",
            "{ \"type\": \"openai\", \"options\": { \"key\": [\"canary-given\"] } }",
        ),
        (
            "connectors/b.conn.yao",
            "{ \"type\": \"openai\", \"options\": { \"key\": \"canary-given\" \"x\" } }",
        ),
        (
            "connectors/c.conn.yao",
            "type: openai\noptions: { timeout: canary-given }",
        ),
        (
            "connectors/d.conn.yao",
            "type: openai\noptions: { key: *canary-given",
        ),
        (
            "connectors/e.conn.yao",
            "type: openai\noptions: { capabilities: { vision: $ENV.SECRET } }",
        ),
        ("connectors/f.conn.yao", "type: $ENV.SECRET"),
        (
            "connectors/g.conn.yao",
            "type: openai\noptions: { max_tokens: $ENV.SECRET }",
        ),
        (
            "connectors/h.conn.yao",
            "type: openai\noptions:\n  key: \"canary-given",
        ),
        (
            "connectors/i.conn.yao",
            "type: openai\noptions:\n  key: canary-given: x",
        ),
        (
            "connectors/j.conn.yao",
            "type: scripted\noptions: { rules: [{ match: { system: \"(canary-given\" } }] }",
        ),
        (
            "mcps/m.mcp.yao",
            "transport: canary-given\nheaders: { Authorization: [canary-given] }",
        ),
        (".env", "canary-given\nA=\"canary-given\ncanary-given=1"),
    ];
    let app = load_with(files, &[("SECRET", secret)]);
    let told = texts(&app.problems);
    assert!(
        told.len() >= files.len(),
        "every file is told about: {told:#?}"
    );
    is_silent(&told.join("\n"));
    for name in app.connectors.keys() {
        if let Err(error) = app.model(name) {
            is_silent(&error.message);
        }
    }
    is_silent(&format!("{:?}", load(&[]).variables));
}
