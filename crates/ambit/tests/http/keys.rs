//! API keys over HTTP, and the rules that operators read.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

async fn send(site: &Site, who: &str, method: Method, path: &str, body: &Value) -> Answer {
    let request = site.request(method, &format!("/v1{path}"));
    Answer::of(request.bearer_auth(who).json(body)).await
}

fn person(user: &str, role: &str, tenant: &str) -> String {
    token(&json!({"sub": user, "roles": [role], "tenant_id": tenant}))
}

#[tokio::test]
async fn a_key_is_made_listed_used_and_ended_within_its_tenant() {
    let site = Site::of(&[TOKENS]).await;
    let (chief, other) = (
        person("chief", "admin", "t1"),
        person("chief", "admin", "t2"),
    );
    let wanted =
        json!({"label": "ci", "user_id": "bob", "roles": ["user"], "scope": "contexts:read:own"});
    let made = send(&site, &chief, Method::POST, "/keys", &wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut made = made.json();
    let key = made["key"].take().as_str().unwrap().to_owned();
    let none = json!({});
    let ask = async |who: &str, path: &str| send(&site, who, Method::GET, path, &none).await;
    let told = ask(&key, "/session").await.json();
    assert_eq!(
        (&told["mode"], &told["tenant_id"]),
        (&json!("key"), &json!("t1"))
    );
    assert_eq!(
        (&told["user_id"], &told["client_id"]),
        (&json!("bob"), &made["id"])
    );
    let listed = ask(&chief, "/keys").await.json();
    let row = &listed["items"][0];
    assert!(row["last_used_at"].as_i64().unwrap() >= row["created_at"].as_i64().unwrap());
    let expected = json!({
        "id": made["id"], "label": "ci", "user_id": "bob", "team_id": null, "roles": ["user"], "scope": "contexts:read:own",
        "created_at": made["created_at"], "created_by": "chief", "expires_at": null, "last_used_at": row["last_used_at"],
    });
    assert_eq!(listed, json!({"items": [expected]}));
    let id = format!("/keys/{}", made["id"].as_str().unwrap());
    assert_eq!(ask(&other, "/keys").await.json(), json!({"items": []}));
    let refused = send(&site, &other, Method::DELETE, &id, &none).await;
    assert_eq!(refused.status, 404);
    let ended = send(&site, &chief, Method::DELETE, &id, &none).await;
    assert_eq!(ended.status, 204);
    assert_eq!(ask(&key, "/session").await.status, 401);
}

/// Reads a stream to its end; an error is one that broke off.
async fn end_of(mut stream: Response) -> reqwest::Result<()> {
    while stream.chunk().await?.is_some() {}
    Ok(())
}

#[tokio::test]
async fn a_stream_breaks_off_when_the_credentials_of_its_reader_end() {
    let short = Duration::from_millis(20);
    let site = Site::set(&[TOKENS], |settings| settings.ping = short).await;
    let chief = person("chief", "admin", "t1");
    let follow = async |credentials: &str| {
        let request = site.request(Method::GET, "/v1/events");
        let feed = request.bearer_auth(credentials).send().await.unwrap();
        assert_eq!(feed.status().as_u16(), 200);
        feed
    };
    let make = async |end: Value| {
        let wanted = json!({"user_id": "bob", "roles": ["user"], "expires_at": end});
        let made = send(&site, &chief, Method::POST, "/keys", &wanted).await;
        made.json()
    };
    let made = make(json!(null)).await;
    let mut feed = follow(made["key"].as_str().unwrap()).await;
    // It has been judged several times, and goes on.
    for _ in 0..5 {
        assert!(feed.chunk().await.unwrap().is_some());
    }
    let key = format!("/keys/{}", made["id"].as_str().unwrap());
    let revoked = send(&site, &chief, Method::DELETE, &key, &json!({})).await;
    assert_eq!(revoked.status, 204);
    assert!(end_of(feed).await.is_err());
    let minute = Duration::from_secs(60);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let end = i64::try_from((now + minute).as_millis()).unwrap();
    let made = make(json!(end)).await;
    let feed = follow(made["key"].as_str().unwrap()).await;
    site.stores.options().clock.advance(minute * 2);
    assert!(end_of(feed).await.is_err());
}

#[tokio::test]
async fn g186_a_key_can_do_no_more_than_its_maker() {
    let roles = (
        "openapi/roles.yml",
        "maker: {scopes: [\"keys:*:all\", \"contexts:read:own\", \"usage:read:all\"]}\nsmall: {scopes: [\"contexts:read:own\"]}\nwide: {scopes: [\"contexts:read:all\"]}\n",
    );
    let site = Site::of(&[TOKENS, roles]).await;
    let maker = person("ann", "maker", "t1");
    for (wanted, expected) in [
        (json!({"user_id": "ann", "roles": ["small"]}), 201),
        (json!({"user_id": "ann", "roles": ["maker"]}), 201),
        // The maker does not reach Bob's contexts.
        (json!({"user_id": "bob", "roles": ["small"]}), 403),
        (json!({"user_id": "ann", "roles": ["wide"]}), 403),
        (json!({"user_id": "ann", "roles": ["admin"]}), 403),
        (
            json!({"user_id": "ann", "roles": ["admin"], "scope": "contexts:read:own"}),
            201,
        ),
        (
            json!({"user_id": "bob", "roles": ["admin"], "scope": "usage:read:all"}),
            201,
        ),
        // Callers without a role are users.
        (json!({"user_id": "ann"}), 403),
        (json!({}), 400),
        (json!({"user_id": "ann", "roles": ["a b"]}), 400),
        (json!({"user_id": "ann", "expires_at": 1}), 400),
    ] {
        let answer = send(&site, &maker, Method::POST, "/keys", &wanted).await;
        assert_eq!(answer.status, expected, "{wanted}: {}", answer.text);
    }
}

#[tokio::test]
async fn rules_are_told_and_explained() {
    let site = Site::of(&[TOKENS]).await;
    let chief = person("chief", "admin", "t1");
    let none = json!({});
    let rules = send(&site, &chief, Method::GET, "/access/rules", &none).await;
    let rules = rules.json();
    let user = json!({"name": "user", "scopes": ["*:*:default", "*:*:own"], "restricted": ["kb:write:*"], "default": false, "file": "built in"});
    assert!(
        rules["roles"].as_array().unwrap().contains(&user),
        "{rules}"
    );
    let scope = json!({"name": "usage:read:own", "endpoints": ["GET /usage"], "file": "built in"});
    assert!(
        rules["scopes"].as_array().unwrap().contains(&scope),
        "{rules}"
    );
    let ask = async |who: &str, what: &str| {
        let question = json!({"who": who, "what": what});
        send(&site, &chief, Method::POST, "/access/explain", &question).await
    };
    let told = ask("user", "GET /metrics").await.json();
    assert_eq!(told["granted"], json!(false));
    let reason = "rule \"GET /metrics\" (built in) needs scope \"measures:read:all\", which none of the caller's roles grants";
    assert_eq!(told["lines"], json!(["GET /metrics: denied", reason]));
    let told = ask(
        r#"{"user_id": "bob", "roles": ["admin"], "tenant_id": "t1"}"#,
        "GET /v1/system",
    )
    .await
    .json();
    assert_eq!(
        (&told["granted"], &told["lines"][0]),
        (&json!(false), &json!("GET /system: denied"))
    );
    assert_eq!(
        ask("nobody", "GET /usage").await.failure().2.as_deref(),
        Some("who")
    );
    assert_eq!(
        ask("user", "usage").await.failure().2.as_deref(),
        Some("what")
    );
}

#[tokio::test]
async fn g186_a_key_that_ends_makes_none_that_outlasts_it() {
    let site = Site::of(&[TOKENS]).await;
    let chief = person("chief", "admin", "t1");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let end = i64::try_from(now.as_millis()).unwrap() + 3_600_000;
    let ending = |end: Value| json!({"user_id": "chief", "roles": ["admin"], "expires_at": end});
    let made = send(&site, &chief, Method::POST, "/keys", &ending(json!(end))).await;
    let key = made.json()["key"].as_str().unwrap().to_owned();
    let login = site.request(Method::POST, "/v1/session").bearer_auth(&key);
    let login = Answer::of(login).await;
    let cookie = login.header("set-cookie").unwrap().split(';').next();
    for (wanted, expected) in [
        (json!(null), 403),
        (json!(end + 1), 403),
        (json!(end), 201),
        (json!(end - 1), 201),
    ] {
        let wanted = ending(wanted);
        let by_key = send(&site, &key, Method::POST, "/keys", &wanted).await;
        let request = site.request(Method::POST, "/v1/keys").json(&wanted);
        let request = request.header("x-ambit-console", "1");
        let in_session = Answer::of(request.header("cookie", cookie.unwrap())).await;
        for answer in [by_key, in_session] {
            assert_eq!(answer.status, expected, "{wanted}: {}", answer.text);
            if expected == 403 {
                let message = format!(
                    "the key would outlast its maker's, which ends at {end}; give it an expires_at that is no later"
                );
                assert_eq!(answer.json()["error"]["message"], json!(message));
            }
        }
    }
}
