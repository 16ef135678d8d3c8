//! Rules of access that are not clear, and those that are not there.

use crate::site::{HELLO, TOKENS};
use ambit::auth::Config;
use ambit_runtime::app::App;
use std::collections::BTreeMap;

/// What is said of this `openapi/openapi.yao`.
fn judged(text: &str) -> Result<Config, String> {
    with(&[("openapi/openapi.yao", text)])
}

/// What is said of an app with these files.
fn with(files: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(files) {
        crate::site::write(&folder.path().join(name), text);
    }
    let app = App::load(folder.path(), &BTreeMap::new());
    let app = app.map_err(|problems| problems[0].to_string())?;
    Config::of(&app).map_err(|problem| problem.to_string())
}

/// Files that are not clear, and what is said of them.
fn unclear() -> Vec<(String, &'static str)> {
    let key = r#""secret": "s""#;
    let issuer = |more: &str| {
        format!(r#"{{"auth": {{"issuers": [{{"issuer": "i", "audience": "a"{more}}}]}}}}"#)
    };
    vec![
        (
            r#"{"auth": {"mode": "token"}}"#.to_owned(),
            "\"auth.mode\" is \"token\", but nothing says whose tokens count: add issuers, api_keys or proxy",
        ),
        (
            r#"{"auth": {"isuers": []}}"#.to_owned(),
            "unknown key \"auth.isuers\"; did you mean \"issuers\"?",
        ),
        (
            r#"{"auth": {"mode": "none"}}"#.to_owned(),
            "\"auth.mode\" must be \"token\" or \"dev\"",
        ),
        (
            issuer(""),
            "\"auth.issuers[0]\" has no keys: add jwks, keys or secret",
        ),
        (
            issuer(r#", "secret": "$ENV.NOT_SET""#),
            "\"auth.issuers[0].secret\" is empty",
        ),
        (
            issuer(r#", "keys": ["x"]"#),
            "\"auth.issuers[0].keys[0]\" is no public key in PEM",
        ),
        (
            issuer(r#", "jwks": "openapi/none.json""#),
            "\"auth.issuers[0].jwks\": openapi/none.json cannot be read",
        ),
        (
            issuer(&format!(r#", {key}, "algorithms": ["none"]"#)),
            "\"auth.issuers[0].algorithms\" must hold names such as",
        ),
        (
            issuer(&format!(r#", {key}, "algorithms": ["RS256"]"#)),
            "\"auth.issuers[0].algorithms\" names none that its keys can be used with",
        ),
        (
            r#"{"auth": {"issuers": [{"issuer": "i", "secret": "s"}]}}"#.to_owned(),
            "\"auth.issuers[0].audience\" is missing",
        ),
        (
            r#"{"auth": {"proxy": {"cidrs": ["10.0.0.0/40"], "headers": {"user_id": "x"}}}}"#
                .to_owned(),
            "\"auth.proxy.cidrs\": \"10.0.0.0/40\" is no range of addresses",
        ),
        (
            r#"{"auth": {"proxy": {"cidrs": ["10.0.0.0/8"], "headers": {}}}}"#.to_owned(),
            "\"auth.proxy.headers.user_id\" is missing",
        ),
        (
            r#"{"baseurl": "v1"}"#.to_owned(),
            "\"baseurl\" must be a path such as \"/v1\"",
        ),
    ]
}

#[test]
fn g060_access_rules_that_are_not_clear_stop_the_server() {
    for (text, expected) in unclear() {
        let Err(problem) = judged(&text) else {
            panic!("{text} is taken");
        };
        assert!(
            problem.starts_with("openapi/openapi.yao") && problem.contains(expected),
            "{text}: {problem}"
        );
    }
}

#[test]
fn g060_a_misspelt_key_does_not_turn_authentication_off() {
    for key in ["atuh", "Auth"] {
        let text = format!(r#"{{"{key}": {{"api_keys": true}}}}"#);
        let Err(problem) = judged(&text) else {
            panic!("{text} is taken");
        };
        let why = format!("unknown key \"{key}\"; did you mean \"auth\"?");
        assert_eq!(problem, format!("openapi/openapi.yao:1:2: {why}"));
    }
}

#[test]
fn g060_an_app_that_says_nothing_is_for_its_developer_alone() {
    let config = judged("{}").unwrap();
    assert_eq!(config.development.unwrap().user_id.as_deref(), Some("dev"));
    assert!(judged(TOKENS.1).unwrap().development.is_none());
}

#[test]
fn g060_rules_that_would_not_be_enforced_stop_the_server() {
    let rules = "this version of Ambit does not enforce rules of roles and scopes, so it does not serve an app that has some; \
                 without this file every caller may use all routes, each for their own data";
    for (file, expected) in [
        ("openapi/roles.yml", rules),
        ("openapi/scopes/scopes.yml", rules),
        ("openapi/scopes/chat/read.yml", rules),
        (
            "openapi/openapi.yml",
            "nothing of this name has a meaning in openapi/; did you mean \"openapi.yao\"?",
        ),
        (
            "openapi/scope/chat.yml",
            "nothing of this name has a meaning in openapi/; did you mean \"scopes\"?",
        ),
    ] {
        let Err(problem) = with(&[(file, "user: {}")]) else {
            panic!("{file} is taken");
        };
        assert_eq!(problem, format!("{file}: {expected}"));
    }
}

#[test]
fn keys_of_a_server_that_issues_tokens_are_said_to_have_no_effect() {
    let config = judged(r#"{"auth": {"api_keys": true}, "oauth": {}, "store": "x"}"#).unwrap();
    let notices: Vec<String> = config.notices.iter().map(ToString::to_string).collect();
    let why = ": Ambit checks tokens and issues none; name their issuer in \"auth\"";
    assert_eq!(
        notices,
        [
            format!("openapi/openapi.yao:1:30: \"oauth\" has no effect{why}"),
            format!("openapi/openapi.yao:1:43: \"store\" has no effect{why}"),
        ]
    );
}
