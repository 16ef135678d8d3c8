//! `options.fallback` of connectors: what stands in for what, and what is said about wrong lists.

use crate::support::{load, load_with, texts};
use ambit_runtime::app::App;

/// The connectors that are asked for one, in order.
fn line(app: &App, id: &str) -> Vec<String> {
    let (model, others) = app.models(id).unwrap();
    let all = [model].into_iter().chain(others);
    all.map(|model| model.id.clone()).collect()
}

/// A connector file of this list.
fn list(of: &str) -> String {
    format!("type: scripted\noptions:\n  fallback: {of}\n")
}

#[test]
fn fallbacks_are_asked_in_order_each_with_its_own_behind_it_and_once() {
    let app = load(&[
        ("connectors/a.conn.yao", &list("[b, d]")),
        ("connectors/b.conn.yao", &list("[c.one]")),
        ("connectors/c/one.conn.yao", &list("[d]")),
        ("connectors/d.conn.yao", "type: openai"),
    ]);
    assert_eq!(texts(&app.problems), [""; 0]);
    assert_eq!(line(&app, "a"), ["a", "b", "c.one", "d"]);
    assert_eq!(line(&app, "c.one"), ["c.one", "d"]);
    assert_eq!(line(&app, "d"), ["d"]);
}

#[test]
fn every_provider_takes_a_list_and_so_does_a_role() {
    for kind in ["openai", "anthropic", "gemini", "ollama", "scripted"] {
        let file = list("[b]").replace("scripted", kind);
        let app = load(&[
            ("agent/agent.yml", "system: { default: a }"),
            ("connectors/a.conn.yao", &file),
            ("connectors/b.conn.yao", "type: scripted"),
        ]);
        assert_eq!(texts(&app.problems), [""; 0]);
        assert_eq!(line(&app, ""), ["a", "b"], "{kind}");
    }
}

#[test]
fn g146_a_wrong_list_is_told_with_its_place_and_the_nearest_connector() {
    let cases: &[(&str, &str)] = &[
        (
            "[b, backup.two]",
            "3:17: \"options.fallback[1]\" names \"backup.two\", and there is no such connector; did you mean \"backup.too\"?",
        ),
        (
            "[nowhere]",
            "3:14: \"options.fallback[0]\" names \"nowhere\", and there is no such connector",
        ),
        (
            "[\"\"]",
            "3:14: \"options.fallback[0]\" names \"\", and there is no such connector",
        ),
        (
            "[a]",
            "3:14: \"options.fallback[0]\" names its own connector, which cannot stand in for itself",
        ),
        (
            "[b, db]",
            "3:17: \"options.fallback[1]\" names \"db\", which is no model: its type is \"redis\" and not one of openai, \
         anthropic, gemini, ollama, scripted",
        ),
        (
            "b",
            "3:13: \"options.fallback\" must be a list, not a string",
        ),
    ];
    for (named, expected) in cases {
        let app = load(&[
            ("connectors/a.conn.yao", &list(named)),
            ("connectors/b.conn.yao", "type: scripted"),
            ("connectors/backup/too.conn.yao", "type: scripted"),
            ("connectors/db.conn.yao", "type: redis"),
        ]);
        let expected = format!("connectors/a.conn.yao:{expected}");
        assert_eq!(texts(&app.problems), [format!("Error {expected}")]);
        let error = app.models("a").expect_err("its list is wrong");
        let told = format!("connector \"a\" cannot be used: {expected}");
        assert_eq!((error.code.as_str(), error.message), ("config_error", told));
        assert_eq!(line(&app, "b"), ["b"]);
    }
}

#[test]
fn lists_that_lead_in_a_circle_are_told_at_each_of_its_connectors() {
    let app = load(&[
        ("connectors/a.conn.yao", &list("[x, b]")),
        ("connectors/b.conn.yao", &list("[c]")),
        ("connectors/c.conn.yao", &list("[x, a]")),
        ("connectors/first.conn.yao", &list("[x, a]")),
        ("connectors/x.conn.yao", "type: scripted"),
    ]);
    let end = "take one of them out of its list";
    assert_eq!(
        texts(&app.problems),
        [
            format!(
                "Error connectors/a.conn.yao:3:17: \"options.fallback[1]\" leads back to its own connector: a → b → c → a; {end}"
            ),
            format!(
                "Error connectors/b.conn.yao:3:14: \"options.fallback[0]\" leads back to its own connector: b → c → a → b; {end}"
            ),
            format!(
                "Error connectors/c.conn.yao:3:17: \"options.fallback[1]\" leads back to its own connector: c → a → b → c; {end}"
            ),
            "Warning connectors/first.conn.yao:3:17: \"options.fallback[1]\" is left out: connector \"a\" cannot be used"
                .to_owned(),
        ]
    );
    assert_eq!(line(&app, "first"), ["first", "x"]);
}

#[test]
fn a_fallback_that_cannot_be_used_is_left_out_and_told() {
    let app = load(&[
        ("connectors/a.conn.yao", &list("[b, c]")),
        (
            "connectors/b.conn.yao",
            "type: openai\noptions: { model: [x] }",
        ),
        ("connectors/c.conn.yao", "type: scripted"),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Warning connectors/a.conn.yao:3:14: \"options.fallback[0]\" is left out: connector \"b\" cannot be used",
            "Error connectors/b.conn.yao:2:19: \"options.model\" must be a string, not a list",
        ]
    );
    assert_eq!(line(&app, "a"), ["a", "c"]);
}

#[test]
fn g072_what_a_variable_stands_for_is_not_shown() {
    let file = list("[$ENV.SPARE]");
    let files = [("connectors/a.conn.yao", file.as_str())];
    let app = load_with(&files, &[("SPARE", "sk-canary-1234567890")]);
    let expected = "Error connectors/a.conn.yao:3:14: \"options.fallback[0]\" names \"$ENV.SPARE\", and there is no such connector";
    assert_eq!(texts(&app.problems), [expected]);
    let files = [files[0], ("connectors/b.conn.yao", "type: scripted")];
    let app = load_with(&files, &[("SPARE", "b")]);
    assert_eq!(line(&app, "a"), ["a", "b"]);
}
