//! Who may call.

use crate::site::{Answer, Site, TOKENS};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

const SECRET: &[u8] = b"not a secret, being in a test";
const RSA: &[u8] = include_bytes!("rsa.pem");
const RSA_PUBLIC: &str = include_str!("rsa.pub.pem");
const EC: &[u8] = include_bytes!("ec.pem");
const EC_PUBLIC: &str = include_str!("ec.pub.pem");

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// What a token of the test's issuer says, with these claims too or instead.
fn said(claims: &Value) -> Value {
    let mut all = json!({"iss": "https://id.test", "aud": "ambit", "exp": now() + 600});
    let all_of = all.as_object_mut().unwrap();
    all_of.extend(claims.as_object().unwrap().clone());
    all_of.retain(|_, value| !value.is_null());
    all
}

/// A token of the issuer in `TOKENS`.
pub fn token(claims: &Value) -> String {
    signed(Algorithm::HS256, &EncodingKey::from_secret(SECRET), claims)
}

fn signed(algorithm: Algorithm, key: &EncodingKey, claims: &Value) -> String {
    encode(&Header::new(algorithm), &said(claims), key).unwrap()
}

async fn with(site: &Site, token: &str) -> Answer {
    Answer::of(site.request(Method::GET, "/v1/models").bearer_auth(token)).await
}

fn issuer(keys: &Value) -> String {
    let mut issuer = json!({"issuer": "https://id.test", "audience": "ambit"});
    issuer
        .as_object_mut()
        .unwrap()
        .extend(keys.as_object().unwrap().clone());
    json!({"auth": {"issuers": [issuer]}}).to_string()
}

#[tokio::test]
async fn without_credentials_nobody_calls() {
    let site = Site::of(&[TOKENS]).await;
    for path in [
        "/v1/models",
        "/v1/chat/requests/r1",
        "/openapi.json",
        "/metrics",
    ] {
        let answer = site.get(path).await;
        assert_eq!(
            answer.failure(),
            (401, "unauthenticated".to_owned(), None),
            "{path}"
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(
            answer.json()["error"]["type"],
            json!("authentication_error")
        );
    }
    let request = site.request(Method::GET, "/v1/models");
    let answer = Answer::of(request.header("x-api-key", "ambit_x")).await;
    let expected = "no valid credentials: x-api-key is read on the routes of Anthropic's Messages alone; send the key as Authorization: Bearer";
    assert_eq!(
        (answer.status, &answer.json()["error"]["message"]),
        (401, &json!(expected))
    );
}

#[tokio::test]
async fn a_good_token_is_accepted_and_a_bad_one_is_not() {
    let site = Site::of(&[TOKENS]).await;
    assert_eq!(
        with(&site, &token(&json!({"sub": "ann"}))).await.status,
        200
    );
    let long = "x".repeat(201);
    for (claims, why) in [
        (json!({"exp": now() - 120}), "the token has expired"),
        (json!({"exp": null}), "the token lacks exp, iss or aud"),
        (json!({"nbf": now() + 600}), "the token is not valid yet"),
        (json!({"aud": "other"}), "the token is for another audience"),
        (json!({"aud": null}), "the token lacks exp, iss or aud"),
        (
            json!({"iss": "https://other.test"}),
            "the token's issuer is not trusted here",
        ),
        (
            json!({"iss": null}),
            "the token's issuer is not trusted here",
        ),
        (
            json!({"sub": long}),
            "user_id is longer than 200 bytes; an id is 1 to 200 bytes of text",
        ),
        (
            json!({"sub": ""}),
            "user_id is empty; an id is 1 to 200 bytes of text",
        ),
        (
            json!({"tenant_id": "a\0b"}),
            "tenant_id contains U+0000; an id is 1 to 200 bytes of text",
        ),
    ] {
        let answer = with(&site, &token(&claims)).await;
        assert_eq!(
            answer.failure(),
            (401, "unauthenticated".to_owned(), None),
            "{claims}"
        );
        let expected = format!("the credentials are not accepted: {why}");
        assert_eq!(answer.json()["error"]["message"], json!(expected));
    }
    let forged = signed(
        Algorithm::HS256,
        &EncodingKey::from_secret(b"guessed"),
        &json!({}),
    );
    for token in [forged.as_str(), "x", "a.b.c", "", "ambit_guessed"] {
        assert_eq!(with(&site, token).await.status, 401, "{token}");
    }
}

#[tokio::test]
async fn what_a_token_calls_critical_must_be_understood() {
    let site = Site::of(&[TOKENS]).await;
    for names in [vec!["b64".to_owned()], Vec::new()] {
        let header = Header {
            crit: Some(names),
            ..Header::new(Algorithm::HS256)
        };
        let claims = said(&json!({"sub": "ann"}));
        let token = encode(&header, &claims, &EncodingKey::from_secret(SECRET)).unwrap();
        let answer = with(&site, &token).await;
        let why = "the token demands extensions (crit) that are not understood here";
        let expected = format!("the credentials are not accepted: {why}");
        assert_eq!(
            (answer.status, &answer.json()["error"]["message"]),
            (401, &json!(expected))
        );
    }
}

#[tokio::test]
async fn tokens_are_checked_with_rsa_and_elliptic_curve_keys() {
    let site = Site::of(&[(
        "openapi/openapi.yao",
        &issuer(&json!({"keys": [RSA_PUBLIC, EC_PUBLIC]})),
    )])
    .await;
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let ec = EncodingKey::from_ec_pem(EC).unwrap();
    for (algorithm, key) in [
        (Algorithm::RS256, &rsa),
        (Algorithm::PS512, &rsa),
        (Algorithm::ES256, &ec),
    ] {
        let answer = with(&site, &signed(algorithm, key, &json!({"sub": "ann"}))).await;
        assert_eq!(answer.status, 200, "{algorithm:?}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_set_of_keys_may_be_a_file_of_the_app() {
    let set = json!({"keys": [{"kty": "oct", "kid": "k1", "k": "bm90IGEgc2VjcmV0LCBiZWluZyBpbiBhIHRlc3Q"}]});
    let file = issuer(&json!({"jwks": "openapi/keys.json"}));
    let site = Site::of(&[
        ("openapi/openapi.yao", &file),
        ("openapi/keys.json", &set.to_string()),
    ])
    .await;
    assert_eq!(
        with(&site, &token(&json!({"sub": "ann"}))).await.status,
        200
    );
    let other = Header {
        kid: Some("k2".to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    let other = encode(&other, &said(&json!({})), &EncodingKey::from_secret(SECRET)).unwrap();
    assert_eq!(with(&site, &other).await.status, 401);
}

#[tokio::test]
async fn a_public_key_is_never_taken_for_a_shared_secret() {
    let site = Site::of(&[(
        "openapi/openapi.yao",
        &issuer(&json!({"keys": [RSA_PUBLIC]})),
    )])
    .await;
    let confused = signed(
        Algorithm::HS256,
        &EncodingKey::from_secret(RSA_PUBLIC.as_bytes()),
        &json!({}),
    );
    assert_eq!(with(&site, &confused).await.status, 401);
    // {"alg":"none","typ":"JWT"} and no signature.
    let rest = confused.split('.').nth(1).unwrap();
    let none = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{rest}.");
    assert_eq!(with(&site, &none).await.status, 401);
}

#[tokio::test]
async fn an_algorithm_that_is_not_listed_is_refused() {
    let secret = std::str::from_utf8(SECRET).unwrap();
    let file = issuer(&json!({"secret": secret, "algorithms": ["HS512"]}));
    let site = Site::of(&[("openapi/openapi.yao", &file)]).await;
    let key = EncodingKey::from_secret(SECRET);
    assert_eq!(
        with(&site, &signed(Algorithm::HS512, &key, &json!({})))
            .await
            .status,
        200
    );
    assert_eq!(
        with(&site, &signed(Algorithm::HS256, &key, &json!({})))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn a_role_that_nothing_is_granted_to_may_not_call() {
    let site = Site::of(&[TOKENS]).await;
    let answer = with(&site, &token(&json!({"sub": "ann", "roles": ["guest"]}))).await;
    assert_eq!(
        answer.failure(),
        (403, "permission_denied".to_owned(), None)
    );
    assert_eq!(answer.json()["error"]["type"], json!("permission_error"));
    let metrics = |roles: Value| {
        let request = site.request(Method::GET, "/metrics");
        Answer::of(request.bearer_auth(token(&json!({"sub": "ann", "roles": roles}))))
    };
    assert_eq!(metrics(json!(["user"])).await.status, 403);
    assert_eq!(metrics(json!(["admin"])).await.status, 200);
}

#[tokio::test]
async fn an_api_key_counts_until_it_is_removed_or_ends() {
    let site = Site::of(&[TOKENS]).await;
    let keys = ApiKeys::new(site.store.clone());
    let grant = ApiKeyRecord {
        user_id: Some("ann".to_owned()),
        ..ApiKeyRecord::default()
    };
    let secret = keys.make(grant.clone()).await.unwrap();
    let ended = ApiKeyRecord {
        expires_at: Some(1),
        ..grant
    };
    let ended = keys.make(ended).await.unwrap();
    assert_eq!(with(&site, &secret).await.status, 200);
    // It was given a millisecond to live.
    while with(&site, &ended).await.status == 200 {}
    assert_eq!(with(&site, &format!("{secret}x")).await.status, 401);
    let id = keys.list().await.unwrap().remove(0).id;
    assert!(keys.remove(&id).await.unwrap());
    assert!(!keys.remove(&id).await.unwrap());
    assert_eq!(with(&site, &secret).await.status, 401);
}

#[tokio::test]
async fn g072_an_api_key_is_stored_as_a_hash_alone() {
    use ambit_storage::address::Space;
    use ambit_storage::driver::{ValuePart, ValueScan};
    use ambit_storage::pattern::Pattern;
    let site = Site::of(&[TOKENS]).await;
    let keys = ApiKeys::new(site.store.clone());
    let secret = keys.make(ApiKeyRecord::default()).await.unwrap();
    let scan = ValueScan::first(Pattern::all(), 10, ValuePart::Whole);
    let stored = site.store.scan(&Space::api_keys(), &scan).await.unwrap();
    assert_eq!(stored.len(), 1);
    let (name, entry) = &stored[0];
    assert!(!name.contains(&secret[6..]) && !entry.value.as_str().contains(&secret[6..]));
}

#[tokio::test]
async fn a_proxy_is_believed_only_on_its_own_addresses() {
    let file = |cidr: &str| {
        let headers = json!({"user_id": "X-User", "roles": "X-Roles"});
        json!({"auth": {"proxy": {"cidrs": [cidr], "headers": headers}}}).to_string()
    };
    let ask = async |site: &Site, roles: &str| {
        let request = site.request(Method::GET, "/v1/models");
        Answer::of(request.header("x-user", "ann").header("x-roles", roles))
            .await
            .status
    };
    let trusted = Site::of(&[("openapi/openapi.yao", &file("127.0.0.0/8"))]).await;
    assert_eq!(ask(&trusted, "").await, 200);
    assert_eq!(ask(&trusted, "guest").await, 403);
    assert_eq!(trusted.get("/v1/models").await.status, 401);
    let twice = trusted.request(Method::GET, "/v1/models");
    let twice = twice.header("x-user", "root").header("x-user", "ann");
    assert_eq!(Answer::of(twice).await.status, 401);
    let other = Site::of(&[("openapi/openapi.yao", &file("10.0.0.0/8"))]).await;
    assert_eq!(ask(&other, "").await, 401);
}

#[tokio::test]
async fn in_development_everybody_on_this_machine_is_the_developer() {
    let site = Site::development().await;
    assert_eq!(site.get("/v1/models").await.status, 200);
    assert_eq!(with(&site, "whatever a client sends").await.status, 200);
    for (name, value, expected) in [
        ("origin", "http://localhost:5173", 200),
        ("origin", "https://evil.test", 403),
        ("origin", "null", 403),
        ("host", "evil.test:8080", 403),
        ("host", "127.0.0.1.evil.test", 403),
        ("host", "[::1]:8080", 200),
    ] {
        let request = site.request(Method::GET, "/v1/models").header(name, value);
        assert_eq!(
            Answer::of(request).await.status,
            expected,
            "{name}: {value}"
        );
    }
}

#[tokio::test]
async fn g060_a_claim_that_is_malformed_is_not_one_that_is_absent() {
    let site = Site::of(&[TOKENS]).await;
    let nothing = Value::Null;
    for name in ["sub", "tenant_id", "team_id", "client_id"] {
        for value in [
            json!(true),
            json!({"a": 1}),
            json!(["a"]),
            json!(1.5),
            nothing.clone(),
        ] {
            let mut claims = said(&json!({"sub": "ann"}));
            claims[name] = value;
            let key = EncodingKey::from_secret(SECRET);
            let token = encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap();
            let failure = with(&site, &token).await.failure();
            assert_eq!(
                failure,
                (401, "unauthenticated".to_owned(), None),
                "{claims}"
            );
        }
    }
    let answer = with(&site, &token(&json!({"sub": "ann", "tenant_id": [1]}))).await;
    assert_eq!(
        answer.json()["error"]["message"],
        "the credentials are not accepted: tenant_id is no string"
    );
    for (name, value) in [
        ("roles", json!(true)),
        ("roles", json!([1])),
        ("scope", json!([{}])),
    ] {
        let answer = with(&site, &token(&json!({"sub": "ann", name: value}))).await;
        let expected = format!(
            "the credentials are not accepted: {name} is neither a string nor a list of strings"
        );
        assert_eq!(answer.json()["error"]["message"], json!(expected));
        assert_eq!(answer.status, 401);
    }
    let numbered = token(&json!({"sub": 7, "tenant_id": 12}));
    assert_eq!(with(&site, &numbered).await.status, 200);
}

#[tokio::test]
async fn a_token_counts_no_longer_than_it_says() {
    let site = Site::of(&[TOKENS]).await;
    let over = token(&json!({"sub": "ann", "exp": now() - 2}));
    let answer = with(&site, &over).await;
    let expected = "the credentials are not accepted: the token has expired";
    assert_eq!(
        (answer.status, &answer.json()["error"]["message"]),
        (401, &json!(expected))
    );
    // The clock of its issuer may be ahead.
    let fresh = token(&json!({"sub": "ann", "nbf": now() + 5}));
    assert_eq!(with(&site, &fresh).await.status, 200);
}
