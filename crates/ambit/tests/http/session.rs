//! Who is calling, and sessions of browsers.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

/// A key of Ann's with this role.
async fn key(site: &Site, role: &str) -> (ApiKeys, String) {
    let keys = ApiKeys::new(site.store.clone());
    let grant = ApiKeyRecord {
        user_id: Some("ann".to_owned()),
        roles: vec![role.to_owned()],
        ..ApiKeyRecord::default()
    };
    let secret = keys.make(grant).await.unwrap();
    (keys, secret)
}

async fn log_in(site: &Site, secret: &str) -> Answer {
    let request = site.request(Method::POST, "/v1/session");
    Answer::of(request.bearer_auth(secret)).await
}

/// The cookie that a login has set, as browsers send it.
fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie").unwrap();
    set.split(';').next().unwrap().to_owned()
}

fn console(site: &Site, method: Method, path: &str, cookie: &str) -> RequestBuilder {
    let request = site.request(method, path).header("x-ambit-console", "1");
    request.header("cookie", format!("other=1; {cookie}"))
}

async fn ask(site: &Site, cookie: &str) -> Answer {
    Answer::of(console(site, Method::GET, "/v1/session", cookie)).await
}

#[tokio::test]
async fn who_is_calling_is_told_with_what_they_may_do() {
    let site = Site::of(&[TOKENS]).await;
    let claims = json!({"sub": "ann", "team_id": "red", "tenant_id": "t1", "scope": "chat:read:default contexts:read:default"});
    let request = site.request(Method::GET, "/v1/session");
    let told = Answer::of(request.bearer_auth(token(&claims))).await.json();
    let expires_at = told["expires_at"].clone();
    assert!(
        expires_at
            .as_i64()
            .is_some_and(|end| end > 1_700_000_000_000)
    );
    let grants = told["grants"].as_array().unwrap();
    let has = |name: &str| grants.contains(&json!(name));
    assert!(has("GET /contexts") && has("GET /chat/sessions/:chat_id") && has("GET /session"));
    assert!(has("GET /healthz") && !has("POST /chat/completions") && !has("GET /metrics"));
    let mut told = told;
    told["grants"].take();
    assert_eq!(
        told,
        json!({
            "mode": "token", "user_id": "ann", "team_id": "red", "tenant_id": "t1", "client_id": null, "roles": ["user"],
            "scope": "chat:read:default contexts:read:default", "constraints": {"team_only": true}, "acted_by": null,
            "expires_at": expires_at, "grants": null, "logout_url": null, "images": [],
        })
    );
}

#[tokio::test]
async fn g186_what_is_not_among_the_grants_is_refused() {
    let site = Site::of(&[TOKENS]).await;
    let (_, secret) = key(&site, "user").await;
    let told = site
        .request(Method::GET, "/v1/session")
        .bearer_auth(&secret);
    let told = Answer::of(told).await.json();
    let grants: Vec<&str> = told["grants"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let mut hidden = 0;
    for (method, path) in ambit::http::operations() {
        if grants.contains(&format!("{method} {path}").as_str()) {
            continue;
        }
        hidden += 1;
        let base = if path == "/metrics" { "" } else { "/v1" };
        let request = site.request(method.parse().unwrap(), &format!("{base}{path}"));
        let answer = Answer::of(request.bearer_auth(&secret).json(&json!({}))).await;
        let expected = if path == "/mcp" { 404 } else { 403 };
        assert_eq!(answer.status, expected, "{method} {path}");
    }
    assert!(hidden > 10, "{grants:?}");
}

#[tokio::test]
async fn g186_what_is_granted_at_one_path_alone_is_among_the_grants() {
    let roles = (
        "openapi/roles.yml",
        "user: {scopes: [\"own:memory:own\"]}\n",
    );
    let scopes = (
        "openapi/scopes/own.yml",
        "own:memory:own: {endpoints: [\"GET /memory/user\", \"GET /chat/*\"]}\n",
    );
    let site = Site::of(&[TOKENS, roles, scopes]).await;
    let (_, secret) = key(&site, "user").await;
    let request = site.request(Method::GET, "/v1/session");
    let told = Answer::of(request.bearer_auth(&secret)).await.json();
    let has = |name: &str| told["grants"].as_array().unwrap().contains(&json!(name));
    assert!(has("GET /memory/:space") && has("GET /chat/sessions/:chat_id"));
    assert!(!has("PUT /memory/:space/keys/:key") && !has("GET /contexts"));
}

#[tokio::test]
async fn without_credentials_somebody_is_told_how_to_log_in() {
    let file =
        r#"{"auth": {"api_keys": true, "session": {"login_url": "/sso", "logout_url": "/bye"}}}"#;
    let site = Site::of(&[("openapi/openapi.yao", file)]).await;
    let answer = site.get("/v1/session").await;
    assert_eq!(answer.failure(), (401, "unauthenticated".to_owned(), None));
    let expected = json!({"keys": true, "tokens": false, "login_url": "/sso"});
    assert_eq!(answer.json()["error"]["details"], expected);
    let (_, secret) = key(&site, "user").await;
    assert_eq!(log_in(&site, &secret).await.json()["logout_url"], "/bye");
}

#[tokio::test]
async fn the_developer_needs_no_login() {
    let site = Site::development().await;
    let told = site.get("/v1/session").await.json();
    assert_eq!(
        (&told["mode"], &told["user_id"]),
        (&json!("dev"), &json!("dev"))
    );
    assert_eq!(
        told["grants"].as_array().unwrap().len(),
        ambit::http::operations().len() - 1
    );
    assert_eq!(log_in(&site, "ambit_x").await.status, 403);
}

#[tokio::test]
async fn a_cookie_stands_for_the_key_that_was_logged_in_with() {
    let site = Site::of(&[TOKENS]).await;
    let (_, secret) = key(&site, "user").await;
    let begun = log_in(&site, &secret).await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let port = site.url.rsplit_once(':').unwrap().1;
    let set = begun.header("set-cookie").unwrap();
    assert!(set.starts_with(&format!("ambit-{port}=")), "{set}");
    assert!(
        set.ends_with("; HttpOnly; SameSite=Strict; Path=/"),
        "{set}"
    );
    let told = ask(&site, &cookie(&begun)).await.json();
    assert_eq!(told, begun.json());
    assert_eq!(
        (&told["mode"], &told["user_id"]),
        (&json!("session"), &json!("ann"))
    );
    let lists = console(&site, Method::GET, "/v1/contexts", &cookie(&begun));
    assert_eq!(Answer::of(lists).await.status, 200);
}

#[tokio::test]
async fn g188_a_session_ends_with_its_key_and_with_logging_out() {
    let site = Site::of(&[TOKENS]).await;
    let (keys, secret) = key(&site, "user").await;
    let first = cookie(&log_in(&site, &secret).await);
    let second = cookie(&log_in(&site, &secret).await);
    let ended = Answer::of(console(&site, Method::DELETE, "/v1/session", &first)).await;
    assert_eq!(ended.status, 204);
    assert!(ended.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    assert_eq!(ask(&site, &first).await.status, 401);
    assert_eq!(ask(&site, &second).await.status, 200);
    let id = keys.list().await.unwrap().remove(0).id;
    assert!(keys.remove(&id).await.unwrap());
    assert_eq!(ask(&site, &second).await.status, 401);
}

#[tokio::test]
async fn g188_neither_key_nor_cookie_is_stored() {
    let site = Site::of(&[TOKENS]).await;
    let (_, secret) = key(&site, "user").await;
    let cookie = cookie(&log_in(&site, &secret).await);
    let scan = ValueScan::first(Pattern::all(), 10, ValuePart::Whole);
    let stored = site.store.scan(&Space::browser_sessions(), &scan).await;
    let stored = stored.unwrap();
    assert_eq!(stored.len(), 1);
    let (name, entry) = &stored[0];
    let random = cookie.split_once('=').unwrap().1;
    for text in [&secret[6..], random] {
        assert!(!name.contains(text) && !entry.value.as_str().contains(text));
    }
}

#[tokio::test]
async fn a_session_ends_unused_after_its_time_and_in_any_case_after_a_longer_one() {
    for times in [r#""idle": "1ms""#, r#""max": "1ms""#] {
        let file = format!(r#"{{"auth": {{"api_keys": true, "session": {{{times}}}}}}}"#);
        let site = Site::of(&[("openapi/openapi.yao", &file)]).await;
        let (_, secret) = key(&site, "user").await;
        let cookie = cookie(&log_in(&site, &secret).await);
        while ask(&site, &cookie).await.status == 200 {}
        assert_eq!(ask(&site, &cookie).await.status, 401);
    }
}

#[tokio::test]
async fn a_session_of_a_token_ends_with_it_and_keeps_its_roles() {
    let site = Site::of(&[TOKENS]).await;
    let ends = token(&json!({"sub": "ann", "roles": ["admin"], "tenant_id": "t1"}));
    let begun = log_in(&site, &ends).await;
    let told = ask(&site, &cookie(&begun)).await.json();
    assert_eq!(
        (&told["roles"], &told["tenant_id"]),
        (&json!(["admin"]), &json!("t1"))
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let end = i64::try_from(now.unwrap().as_millis()).unwrap() + 601_000;
    assert!(told["expires_at"].as_i64().unwrap() <= end);
}

#[tokio::test]
async fn an_app_may_allow_no_sessions() {
    let file = r#"{"auth": {"api_keys": true, "session": {"enabled": false}}}"#;
    let site = Site::of(&[("openapi/openapi.yao", file)]).await;
    let (_, secret) = key(&site, "user").await;
    assert_eq!(log_in(&site, &secret).await.status, 403);
    let ways = site.get("/v1/session").await.json()["error"]["details"].take();
    assert_eq!(ways, json!({"keys": false, "tokens": false}));
}

#[tokio::test]
async fn who_is_refused_too_often_has_to_wait() {
    let site = Site::of(&[TOKENS]).await;
    let (_, secret) = key(&site, "user").await;
    for _ in 0..10 {
        assert_eq!(log_in(&site, "ambit_guessed").await.status, 401);
    }
    let refused = log_in(&site, &secret).await;
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let request = site.request(Method::GET, "/v1/session");
    assert_eq!(Answer::of(request.bearer_auth(&secret)).await.status, 200);
}

#[tokio::test]
async fn behind_a_proxy_with_tls_the_cookie_is_for_encrypted_connections_alone() {
    let file = r#"{"auth": {"api_keys": true, "proxy": {"cidrs": ["127.0.0.0/8"], "headers": {"user_id": "X-User"}}}}"#;
    let site = Site::of(&[("openapi/openapi.yao", file)]).await;
    let (_, secret) = key(&site, "user").await;
    let outside = |request: RequestBuilder| {
        let request = request.header("x-forwarded-proto", "https");
        request.header("host", "ambit.test")
    };
    let request = site.request(Method::POST, "/v1/session");
    let begun = Answer::of(outside(request.bearer_auth(&secret))).await;
    let set = begun.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-ambit-443="), "{set}");
    assert!(
        set.ends_with("; HttpOnly; SameSite=Strict; Path=/; Secure"),
        "{set}"
    );
    let ask = console(&site, Method::GET, "/v1/session", &cookie(&begun));
    assert_eq!(Answer::of(outside(ask)).await.status, 200);
    let named = site
        .request(Method::GET, "/v1/session")
        .header("x-user", "bob");
    let told = Answer::of(named).await.json();
    assert_eq!(
        (&told["mode"], &told["user_id"]),
        (&json!("proxy"), &json!("bob"))
    );
}

/// A session of Ann's, whose requests other tests send as browsers would.
pub async fn session() -> (Site, String) {
    let site = Site::of(&[TOKENS]).await;
    let (_, secret) = key(&site, "user").await;
    let cookie = cookie(&log_in(&site, &secret).await);
    (site, cookie)
}
