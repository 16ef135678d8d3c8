//! Requests that pages of other sites make in somebody's browser.

use crate::session::session;
use crate::site::{Answer, Site, TOKENS};
use reqwest::{Method, RequestBuilder};
use serde_json::json;

/// What a browser sends that shows the console.
fn headers(site: &Site, cookie: &str) -> Vec<(&'static str, String)> {
    vec![
        ("x-ambit-console", "1".to_owned()),
        ("cookie", cookie.to_owned()),
        ("origin", site.url.clone()),
        ("sec-fetch-site", "same-origin".to_owned()),
    ]
}

fn with(mut request: RequestBuilder, headers: &[(&str, String)]) -> RequestBuilder {
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    request
}

#[tokio::test]
async fn g187_a_cookie_counts_only_where_the_console_sends_it() {
    let (site, cookie) = session().await;
    let own = headers(&site, &cookie);
    let ask = async |headers: &[(&str, String)]| {
        let mut all = Vec::new();
        for (method, path) in [
            (Method::GET, "/v1/contexts"),
            (Method::PUT, "/v1/memory/user/keys/k"),
        ] {
            let request = site.request(method, path).json(&json!({"value": 1}));
            all.push(Answer::of(with(request, headers)).await.status);
        }
        (all[0], all[1])
    };
    assert_eq!(ask(&own).await, (200, 204));
    assert_eq!(ask(&own[..2]).await, (200, 204));
    for (name, value) in [
        ("x-ambit-console", ""),
        ("x-ambit-console", "2"),
        ("origin", "http://127.0.0.1:1"),
        ("origin", "https://evil.test"),
        ("origin", "null"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "none"),
        ("host", "evil.test"),
        ("host", "localhost:1"),
    ] {
        let mut others: Vec<(&str, String)> = own
            .iter()
            .filter(|(known, _)| *known != name)
            .map(|(known, value)| (*known, value.clone()))
            .collect();
        others.push((name, value.to_owned()));
        assert_eq!(ask(&others).await, (401, 401), "{name}: {value}");
    }
}

#[tokio::test]
async fn g187_credentials_go_before_a_cookie() {
    let (site, cookie) = session().await;
    let request = site
        .request(Method::GET, "/v1/contexts")
        .bearer_auth("ambit_wrong");
    let answer = Answer::of(with(request, &headers(&site, &cookie))).await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn g187_a_page_of_another_site_logs_nobody_in() {
    let (site, _) = session().await;
    let key = crate::auth::token(&json!({"sub": "mallory"}));
    for (name, value, expected) in [
        ("origin", site.url.as_str(), 201),
        ("origin", "https://evil.test", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 201),
        ("sec-fetch-site", "cross-site", 403),
    ] {
        let request = site.request(Method::POST, "/v1/session").bearer_auth(&key);
        let answer = Answer::of(request.header(name, value)).await;
        assert_eq!(answer.status, expected, "{name}: {value}");
        assert_eq!(answer.header("set-cookie").is_some(), expected == 201);
    }
}

#[tokio::test]
async fn g187_in_development_pages_of_other_origins_reach_nothing() {
    let site = Site::development().await;
    for (name, value, expected) in [
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        // A frontend's own server forwards what its page asks it.
        ("origin", "http://localhost:5173", 200),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "other", 403),
        ("origin", "https://evil.test", 403),
        ("host", "rebound.test", 403),
        ("host", "0.0.0.0:8080", 403),
    ] {
        for path in ["/v1/contexts", "/v1/session", "/openapi.json", "/metrics"] {
            let request = site.request(Method::GET, path).header(name, value);
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, expected, "{path} {name}: {value}");
            if expected == 403 {
                let message = answer.json()["error"]["message"].to_string();
                assert!(message.contains(name), "{message}");
            }
        }
    }
    // No preflight is answered either.
    let asked = site.request(Method::OPTIONS, "/v1/contexts");
    let asked = asked.header("origin", "http://localhost:5173");
    let asked = asked.header("access-control-request-method", "GET");
    let answer = Answer::of(asked).await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (405, None)
    );
}

#[tokio::test]
async fn g187_a_page_of_another_site_changes_nothing_as_whom_a_proxy_names() {
    let file = r#"{"auth": {"origins": ["https://app.test"], "proxy": {"cidrs": ["127.0.0.0/8"], "headers": {"user_id": "X-User"}}}}"#;
    let site = Site::of(&[("openapi/openapi.yao", file)]).await;
    for (name, value, expected) in [
        ("origin", "https://ambit.test", (200, 204)),
        ("sec-fetch-site", "same-origin", (200, 204)),
        ("origin", "https://app.test", (200, 204)),
        ("origin", "https://evil.test", (200, 403)),
        ("origin", "https://ambit.test.evil.test", (200, 403)),
        ("origin", "null", (200, 403)),
        ("sec-fetch-site", "same-site", (200, 403)),
        ("sec-fetch-site", "cross-site", (200, 403)),
    ] {
        let ask = async |method: Method| {
            let request = site.request(method.clone(), "/v1/memory/user/keys/k");
            let request = request.header("x-user", "ann").header(name, value);
            let request = request.header("x-forwarded-host", "ambit.test");
            let request = match method {
                Method::PUT => request.json(&json!({"value": 1})),
                _ => request,
            };
            Answer::of(request).await.status
        };
        let kept = site.request(Method::PUT, "/v1/memory/user/keys/k");
        let kept = kept.header("x-user", "ann").json(&json!({"value": 1}));
        assert_eq!(Answer::of(kept).await.status, 204);
        let found = (ask(Method::GET).await, ask(Method::PUT).await);
        assert_eq!(found, expected, "{name}: {value}");
    }
}

#[tokio::test]
async fn g187_pages_of_listed_origins_alone_call_with_a_token_and_never_with_a_cookie() {
    let cors = TOKENS
        .1
        .replacen('{', r#"{"cors": ["https://app.test"], "#, 1);
    let site = Site::of(&[(TOKENS.0, &cors)]).await;
    let key = crate::auth::token(&json!({"sub": "ann"}));
    for (origin, allowed) in [
        ("https://app.test", Some("https://app.test")),
        ("https://evil.test", None),
        ("null", None),
    ] {
        let request = site.request(Method::GET, "/v1/contexts").bearer_auth(&key);
        let answer = Answer::of(request.header("origin", origin)).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("access-control-allow-origin"), allowed);
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        // What is asked before a request is in no document.
        let asked = site.request(Method::OPTIONS, "/v1/contexts");
        let asked = asked.header("origin", origin);
        let asked = asked.header("access-control-request-method", "GET");
        let answer = asked.send().await.unwrap();
        let status = if allowed.is_some() { 204 } else { 405 };
        assert_eq!(answer.status().as_u16(), status, "{origin}");
        let headers = answer.headers().get("access-control-allow-headers");
        let headers = headers.map(|headers| headers.to_str().unwrap());
        assert_eq!(headers.is_some(), allowed.is_some());
        assert!(!headers.unwrap_or_default().contains("console"));
    }
}

#[tokio::test]
async fn what_listed_pages_may_send_is_as_the_app_says_and_failures_tell_it_too() {
    let cors = r#"{"cors": {"origins": ["https://app.test"], "headers": ["X-Ambit-Metadata"], "credentials": true}, "#;
    let site = Site::of(&[(TOKENS.0, &TOKENS.1.replacen('{', cors, 1))]).await;
    let asked = site.request(Method::OPTIONS, "/v1/contexts");
    let asked = asked.header("origin", "https://app.test");
    let asked = asked.header("access-control-request-method", "POST");
    // Nobody says who asks before a request.
    let answer = asked.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 204);
    let said = |name: &str| answer.headers()[name].to_str().unwrap();
    assert!(said("access-control-allow-headers").ends_with(", x-ambit-metadata"));
    assert_eq!(said("access-control-allow-credentials"), "true");
    assert_eq!(said("vary"), "origin");
    for (path, status) in [("/v1/contexts", 401), ("/v1/nothing", 404)] {
        for (origin, allowed) in [
            ("https://app.test", Some("https://app.test")),
            ("https://app.test.evil.test", None),
            ("https://APP.test", None),
            ("http://app.test", None),
            ("https://app.test:444", None),
        ] {
            let request = site.request(Method::GET, path).header("origin", origin);
            let answer = Answer::of(request).await;
            let told = answer.header("access-control-allow-origin");
            let vary = answer.header("vary");
            assert_eq!(
                (answer.status, told, vary),
                (status, allowed, Some("origin")),
                "{path} {origin}"
            );
            let has_credentials = answer.header("access-control-allow-credentials").is_some();
            assert_eq!(has_credentials, allowed.is_some(), "{path} {origin}");
        }
    }
}

#[test]
fn pages_of_any_origin_are_not_listed_and_none_may_send_what_the_console_sends() {
    for (cors, message) in [
        (r#"["*"]"#, "\"cors\" must hold origins"),
        (
            r#"{"origins": ["*"], "credentials": true}"#,
            "\"cors\" must hold origins",
        ),
        (
            r#"{"origins": ["https://app.test"], "headers": ["X-Ambit-Console"]}"#,
            "for the server's own pages alone",
        ),
        (
            r#"{"origins": ["https://app.test"], "headers": ["a b"]}"#,
            "is no name of a header",
        ),
        (
            r#"{"origins": ["https://app.test"], "headers": ["*"]}"#,
            "means any header",
        ),
    ] {
        let wrong = TOKENS.1.replacen('{', &format!("{{\"cors\": {cors}, "), 1);
        let folder = tempfile::tempdir().unwrap();
        crate::site::write(&folder.path().join("app.yao"), "{}");
        crate::site::write(&folder.path().join(TOKENS.0), &wrong);
        let app = ambit_runtime::app::App::load(folder.path(), &std::collections::BTreeMap::new());
        let refused = ambit::auth::AuthConfig::of(&app.unwrap()).err().unwrap();
        assert!(refused.to_string().contains(message), "{cors}: {refused}");
    }
}

#[tokio::test]
async fn answers_of_routes_are_neither_stored_nor_given_to_other_sites() {
    let site = Site::of(&[TOKENS]).await;
    for path in ["/v1/models", "/healthz", "/v1/nothing", "/openapi.json"] {
        let answer = site.get(path).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
    }
    let open = Site::development().await;
    let body = crate::turns::said("hi");
    let stream = open.post("/v1/chat/completions", &body).await;
    assert_eq!(stream.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn g187_in_development_a_page_on_another_port_changes_nothing_without_fetch_metadata() {
    let site = Site::development().await;
    let own = site.url.trim_start_matches("http://");
    for (origin, host, expected) in [
        (site.url.as_str(), own, 204),
        ("http://LOCALHOST", "localhost:80", 204),
        ("https://localhost:443", "localhost", 204),
        // Behind a proxy that ends TLS.
        ("https://localhost:8443", "localhost:8443", 204),
        ("http://localhost:5173", own, 403),
        ("http://127.0.0.1", own, 403),
        ("https://localhost", "localhost:80", 403),
    ] {
        let request = site.request(Method::PUT, "/v1/memory/user/keys/k");
        let request = request.header("host", host).header("origin", origin);
        let answer = Answer::of(request.json(&json!({"value": 1}))).await;
        assert_eq!(answer.status, expected, "{origin} {host}: {}", answer.text);
    }
}
