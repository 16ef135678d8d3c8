//! Rules of access that are not clear, and those that are not there.

use crate::site::{HELLO, TOKENS};
use ambit::auth::AuthConfig;
use ambit_runtime::app::App;
use std::collections::BTreeMap;

/// What is said of this `openapi/openapi.yao`.
fn judged(text: &str) -> Result<AuthConfig, String> {
    with(&[("openapi/openapi.yao", text)])
}

/// What is said of an app with these files.
fn with(files: &[(&str, &str)]) -> Result<AuthConfig, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(files) {
        crate::site::write(&folder.path().join(name), text);
    }
    let app = App::load(folder.path(), &BTreeMap::new());
    let app = app.map_err(|problems| problems[0].to_string())?;
    AuthConfig::of(&app).map_err(|problem| problem.to_string())
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
fn g060_files_that_only_look_like_rules_stop_the_server() {
    for (file, expected) in [
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

#[test]
fn agents_that_hardly_any_caller_sees_are_warned_of_where_callers_sign_in() {
    let unsaid = ("assistants/unsaid/package.yao", r#"{"name": "A"}"#);
    let others = [
        (
            "assistants/public/package.yao",
            r#"{"name": "B", "public": true}"#,
        ),
        (
            "assistants/own/package.yao",
            r#"{"name": "C", "public": false}"#,
        ),
        (
            "assistants/team/package.yao",
            r#"{"name": "D", "share": "team"}"#,
        ),
        (
            "assistants/anns/package.yao",
            r#"{"name": "E", "__yao_created_by": "ann"}"#,
        ),
        (
            "assistants/worker/package.yao",
            r#"{"name": "F", "type": "worker"}"#,
        ),
    ];
    let keys = ("openapi/openapi.yao", r#"{"auth": {"api_keys": true}}"#);
    let decided = ("app.yao", r#"{"ambit": {"visibility": "public"}}"#);
    let warned = |more: &[(&str, &str)]| {
        let config = with(&[&[unsaid], &others[..], more].concat()).unwrap();
        let notices = config.notices.iter().map(ToString::to_string);
        notices.collect::<Vec<_>>()
    };
    let expected = "assistants/unsaid/package.yao: nothing says who sees this agent, so only callers without limits on data do \
        (role \"admin\"); add \"public\": true here, or \"ambit\": { \"visibility\": \"public\" } to app.yao";
    assert_eq!(warned(&[keys]), [expected]);
    assert_eq!(warned(&[keys, decided]), Vec::<String>::new());
    assert_eq!(warned(&[]), Vec::<String>::new());
}

#[tokio::test]
async fn g122_a_reload_judges_the_rules_again_all_or_nothing() {
    use crate::site::Site;
    let site = Site::of(&[TOKENS]).await;
    let token = crate::auth::token(&serde_json::json!({"sub": "ann"}));
    let status = async || {
        let request = site.request(reqwest::Method::GET, "/v1/usage");
        let answer = crate::site::Answer::of(request.bearer_auth(&token)).await;
        answer.status
    };
    assert_eq!(status().await, 200);
    let reload = async |file: &str, text: &str| {
        crate::site::write(&site.folder().join(file), text);
        site.runtime.reload().await.map_err(|error| error.message)
    };
    let strict = "a:b:own: {endpoints: [\"GET /models\"]}";
    reload("openapi/scopes/a.yml", strict).await.unwrap();
    assert_eq!(status().await, 403);
    let open = "default: allow";
    let refused = reload("openapi/roles.yml", "user: {scopes: [\"a:b:won\"]}").await;
    assert_eq!(
        refused.unwrap_err(),
        "the app cannot be loaded:\nopenapi/roles.yml:1:17: unknown scope \"a:b:won\"; did you mean \"a:b:own\"?"
    );
    // The other files would do, and nothing of them counts.
    let refused = reload("openapi/scopes/scopes.yml", open).await;
    assert!(refused.is_err());
    assert_eq!(status().await, 403);
    reload("openapi/roles.yml", "user: {scopes: [\"a:b:own\"]}")
        .await
        .unwrap();
    assert_eq!(status().await, 200);
}

#[tokio::test]
async fn g060_a_reload_neither_moves_the_routes_nor_ends_authentication() {
    let site = crate::site::Site::of(&[TOKENS]).await;
    for (text, expected) in [
        (
            "{}",
            "\"auth\" begins or ends development mode, which needs a restart of the server",
        ),
        (
            "{\"baseurl\": \"/v2\", \"auth\": {\"api_keys\": true}}",
            "\"baseurl\" changes where the routes are, which needs a restart of the server",
        ),
    ] {
        crate::site::write(&site.folder().join(TOKENS.0), text);
        let refused = site.runtime.reload().await.unwrap_err().message;
        let expected = format!("the app cannot be loaded:\nopenapi/openapi.yao: {expected}");
        assert_eq!(refused, expected);
        assert_eq!(site.get("/v1/models").await.status, 401);
    }
}
