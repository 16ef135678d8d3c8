//! Roles, scopes and endpoints, as requests meet them.

use crate::bed::{Bed, Person};
use crate::site::{Answer, Site, TOKENS};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use reqwest::Method;
use serde_json::{Value, json};

/// Rules that use everything there is.
pub const RULES: &[(&str, &str)] = &[
    (
        "openapi/roles.yml",
        r#"
reader: {name: Reader, scopes: ["chat:reading"], default: true}
writer: {scopes: ["chat:*:own"], restricted: ["chat:remove:own"]}
guard: {scopes: ["*:*:*"], restricted: ["chat:all"]}
boss: {scopes: ["*:*:*"]}
"#,
    ),
    (
        "openapi/scopes/scopes.yml",
        r#"
default: deny
public: ["GET /models"]
endpoints: ["GET /agent/* allow", "GET /agent/assistants/tags deny"]
"#,
    ),
    (
        "openapi/scopes/alias.yml",
        "\"chat:reading\": [\"chat:read:own\"]\n\"chat:all\": [\"chat:reading\", \"chat:write:own\", \"chat:remove:own\"]\n",
    ),
    (
        "openapi/scopes/chat/sessions.yml",
        r#"
chat:read:own: {description: Own chats, endpoints: ["GET /chat/sessions", "GET /chat/sessions/:chat_id"]}
chat:write:own: {endpoints: ["PUT /chat/sessions/:chat_id"]}
chat:remove:own: {endpoints: ["DELETE /chat/sessions/:chat_id"]}
"#,
    ),
    (
        "openapi/scopes/memory.yml",
        r#"
memory:read:own: {endpoints: ["GET /memory/:space", "GET /usage"]}
memory:team:own: {endpoints: ["GET /memory/team"]}
"#,
    ),
];

async fn bed() -> Bed {
    Bed::of(RULES).await
}

const fn with(role: &'static str) -> Person {
    Person("t1", "ann", "red", role)
}

#[tokio::test]
async fn a_route_is_granted_by_a_scope_of_a_role_and_by_nothing_else() {
    let bed = bed().await;
    for (role, method, path, expected) in [
        ("reader", Method::GET, "/chat/sessions", 200),
        ("reader", Method::HEAD, "/chat/sessions", 200),
        // Granted, and there is no such chat.
        ("reader", Method::GET, "/chat/sessions/x", 404),
        ("reader", Method::DELETE, "/chat/sessions/x", 403),
        ("reader", Method::GET, "/usage", 403),
        // No rule is about it.
        ("boss", Method::GET, "/trace/traces", 403),
        ("boss", Method::GET, "/usage", 200),
        ("writer", Method::GET, "/chat/sessions", 200),
        ("writer", Method::DELETE, "/chat/sessions/x", 403),
        ("guard", Method::GET, "/usage", 200),
        ("guard", Method::GET, "/chat/sessions", 403),
        ("boss", Method::DELETE, "/chat/sessions/x", 404),
        ("nobody", Method::GET, "/chat/sessions", 403),
        // To every caller; the more exact rule counts.
        ("nobody", Method::GET, "/agent/assistants", 200),
        ("boss", Method::GET, "/agent/assistants/tags", 403),
        ("boss", Method::GET, "/agent/assistants/t%61gs", 403),
    ] {
        let answer = bed.ask(with(role), method.clone(), path).await;
        assert_eq!(
            answer.status, expected,
            "{role} {method} {path}: {}",
            answer.text
        );
    }
    let answer = bed.ask(with("nobody"), Method::GET, "/chat/sessions").await;
    let unknown = "whose roles are: nobody (which the app does not have);";
    assert!(answer.text.contains(unknown), "{}", answer.text);
}

#[tokio::test]
async fn a_rule_for_one_path_is_not_undone_by_one_for_many() {
    let site = Site::of(&[&[TOKENS], RULES].concat()).await;
    let keys = ApiKeys::new(site.store.clone());
    let key = |scope: &str| ApiKeyRecord {
        user_id: Some("ann".to_owned()),
        roles: vec!["boss".to_owned()],
        scope: Some(scope.to_owned()),
        ..ApiKeyRecord::default()
    };
    let secret = keys.make(key("memory:read:own")).await.unwrap();
    for (path, expected) in [
        ("/v1/memory/user", 200),
        ("/v1/memory/team", 403),
        ("/v1/memory/te%61m", 403),
    ] {
        let request = site.request(Method::GET, path).bearer_auth(&secret);
        assert_eq!(Answer::of(request).await.status, expected, "{path}");
    }
}

#[tokio::test]
async fn what_is_public_needs_no_caller_and_has_none() {
    let bed = bed().await;
    assert_eq!(bed.site.get("/v1/models").await.status, 200);
    let wrong = bed.site.request(Method::GET, "/v1/models");
    assert_eq!(Answer::of(wrong.bearer_auth("x")).await.status, 200);
    for path in ["/v1/models/hello", "/v1/agent/assistants", "/v1/nothing/x"] {
        let expected = if path.ends_with("/x") { 404 } else { 401 };
        assert_eq!(bed.site.get(path).await.status, expected, "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(bed.site.get(path).await.status, 200, "{path}");
    }
    // No rule is about it, so that not even those with every scope have it.
    assert_eq!(bed.site.get("/metrics").await.status, 401);
    let request = bed.site.request(Method::GET, "/metrics");
    let answer = Answer::of(request.bearer_auth(with("boss").token())).await;
    assert_eq!(answer.status, 403);
}

/// A token of the issuer with these claims.
async fn status(site: &Site, claims: &Value) -> u16 {
    let token = crate::remote::shared(claims);
    let request = site.request(Method::GET, "/v1/chat/sessions");
    Answer::of(request.bearer_auth(token)).await.status
}

#[tokio::test]
async fn the_scope_of_a_token_cuts_and_never_grants() {
    let site = Site::of(&[&[TOKENS], RULES].concat()).await;
    for (claims, expected) in [
        (json!({"sub": "ann"}), 200),
        (json!({"sub": "ann", "scope": "openid profile email"}), 200),
        (json!({"sub": "ann", "scope": "chat:read:own"}), 200),
        (json!({"sub": "ann", "scope": "openid chat:reading"}), 200),
        (json!({"sub": "ann", "scope": ["chat:*:own"]}), 200),
        (json!({"sub": "ann", "scope": "memory:read:own"}), 403),
        (json!({"sub": "ann", "scope": "read:orders"}), 403),
        (json!({"sub": "ann", "scope": ""}), 403),
        (json!({"sub": "ann", "scope": []}), 403),
        (
            json!({"sub": "ann", "scope": "*:*:*", "roles": ["nobody"]}),
            403,
        ),
        (json!({"sub": "ann", "roles": ["nobody", "reader"]}), 200),
        // What one role takes away no other gives.
        (json!({"sub": "ann", "roles": ["reader", "guard"]}), 403),
    ] {
        assert_eq!(status(&site, &claims).await, expected, "{claims}");
    }
}

#[tokio::test]
async fn an_app_that_allows_by_default_still_keeps_to_its_rules() {
    let open = (RULES[1].0, "default: allow\n");
    let files: Vec<(&str, &str)> = [TOKENS]
        .into_iter()
        .chain(RULES.iter().copied())
        .chain([open])
        .collect();
    let bed = Bed::of(&files[1..]).await;
    for (path, expected) in [
        ("/models", 200),
        ("/trace/traces", 200),
        ("/usage", 403),
        ("/chat/sessions", 403),
    ] {
        assert_eq!(
            bed.get(with("nobody"), path).await.status,
            expected,
            "{path}"
        );
    }
    assert_eq!(bed.site.get("/v1/trace/traces").await.status, 401);
}

#[tokio::test]
async fn rules_are_about_paths_below_the_base_path() {
    let base = json!({
        "baseurl": "/api/v2",
        "auth": {"issuers": [{"issuer": "https://id.test", "audience": "ambit", "secret": "not a secret, being in a test"}]},
    });
    let base = base.to_string();
    let files: Vec<(&str, &str)> = RULES
        .iter()
        .copied()
        .chain([("openapi/openapi.yao", base.as_str())])
        .collect();
    let site = Site::of(&files).await;
    let token = crate::remote::shared(&json!({"sub": "ann"}));
    for (path, expected) in [("/api/v2/chat/sessions", 200), ("/api/v2/usage", 403)] {
        let request = site.request(Method::GET, path).bearer_auth(&token);
        assert_eq!(Answer::of(request).await.status, expected, "{path}");
    }
}

#[tokio::test]
async fn every_route_is_granted_by_the_usual_rules() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.yao"), "{}").unwrap();
    let app = ambit_runtime::app::App::load(folder.path(), &std::collections::BTreeMap::new());
    let config = ambit::auth::AuthConfig::of(&app.unwrap()).unwrap();
    let may = |role: &str, method: &str, path: &str| {
        let who = ambit::auth::RequestCaller {
            roles: vec![role.to_owned()],
            ..ambit::auth::RequestCaller::default()
        };
        let target = ambit::auth::access::RequestTarget::of(method, path);
        let ruling = config.rules.decide(target.as_ref(), Some(&who));
        matches!(ruling, ambit::auth::access::AccessDecision::Granted(_))
    };
    for (method, path) in ambit::http::operations() {
        // Anybody may call these, and every caller asks for their own session.
        let is_anybodys = ["/healthz", "/readyz", "/session"].contains(&path.as_str());
        if is_anybodys || path.starts_with("/.well-known/") {
            continue;
        }
        // Frameworks keep what they like there, under keys that an admin makes for them.
        let is_store = path.starts_with("/store/");
        let is_operation = path == "/metrics";
        // People read and search collections; who fills them is said by the app.
        let is_filling = path.starts_with("/kb/") && method != "GET" && path != "/kb/search";
        // Keys, rules, rows of all models and the installation are for those who run it.
        let is_administration = [
            "/access/",
            "/app/",
            "/data/",
            "/keys",
            "/session/act-as",
            "/system",
        ]
        .iter()
        .any(|begin| path.starts_with(begin));
        // What calls of models were told comes from the app's files too.
        let is_of_the_app = path.starts_with("/calls/") && !path.ends_with("/manifest");
        assert!(
            may("admin", &method, &path),
            "{method} {path} is in no built-in scope"
        );
        assert_eq!(
            may("user", &method, &path),
            !(is_operation || is_filling || is_store || is_administration || is_of_the_app),
            "{method} {path}"
        );
        assert!(!may("guest", &method, &path), "{method} {path}");
    }
}
