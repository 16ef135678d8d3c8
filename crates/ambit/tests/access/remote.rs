//! Keys that an issuer publishes.

use crate::site::{Answer, Site};
use crate::stopwatch::Stopwatch;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::Notify;

const RSA: &[u8] = include_bytes!("../http/rsa.pem");
const EC: &[u8] = include_bytes!("../http/ec.pem");
const EC_384: &[u8] = include_bytes!("ec384.pem");

/// What a token of the tests' issuer says, with these claims too.
fn claims(more: &Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut all = json!({"iss": "https://id.test", "aud": "ambit", "exp": now.as_secs() + 600});
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    all
}

/// A token that is signed with the shared secret of `TOKENS`.
pub fn shared(more: &Value) -> String {
    let key = EncodingKey::from_secret(b"not a secret, being in a test");
    encode(&Header::new(Algorithm::HS256), &claims(more), &key).unwrap()
}

fn signed(algorithm: Algorithm, key: &EncodingKey, id: Option<&str>) -> String {
    let header = Header {
        kid: id.map(str::to_owned),
        ..Header::new(algorithm)
    };
    encode(&header, &claims(&json!({"sub": "ann"})), key).unwrap()
}

/// An issuer that publishes what the test says.
#[derive(Clone, Default)]
struct Issuer {
    answer: Arc<Mutex<(u16, String)>>,
    asked: Arc<Mutex<usize>>,
    /// Where it is there, an answer waits for it.
    hold: Option<Arc<Notify>>,
}

impl Issuer {
    async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/keys", get(answer))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    fn says(&self, status: u16, keys: &[Value]) {
        *self.answer.lock().unwrap() = (status, json!({"keys": keys}).to_string());
    }

    fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }

    /// A server that trusts it.
    async fn site(&self, more: &Value) -> Site {
        let mut issuer =
            json!({"issuer": "https://id.test", "audience": "ambit", "jwks": self.serve().await});
        issuer
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let file = json!({"auth": {"issuers": [issuer]}}).to_string();
        Site::of(&[("openapi/openapi.yao", file.as_str())]).await
    }
}

async fn answer(State(issuer): State<Issuer>) -> (StatusCode, String) {
    *issuer.asked.lock().unwrap() += 1;
    if let Some(hold) = &issuer.hold {
        hold.notified().await;
    }
    let (status, text) = issuer.answer.lock().unwrap().clone();
    (StatusCode::from_u16(status).unwrap(), text)
}

/// A key as it is published.
fn published(algorithm: Algorithm, key: &EncodingKey, id: &str) -> Value {
    let key = jsonwebtoken::jwk::Jwk::from_encoding_key(key, algorithm).unwrap();
    let mut key = serde_json::to_value(key).unwrap();
    key["kid"] = id.into();
    key
}

async fn status(site: &Site, token: &str) -> u16 {
    let request = site.request(Method::GET, "/v1/models");
    Answer::of(request.bearer_auth(token)).await.status
}

#[tokio::test]
async fn keys_that_an_issuer_publishes_check_its_tokens() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let (ec, ec_384) = (
        EncodingKey::from_ec_pem(EC).unwrap(),
        EncodingKey::from_ec_pem(EC_384).unwrap(),
    );
    let issuer = Issuer::default();
    let mut for_secrets = published(Algorithm::RS256, &rsa, "secrets");
    for_secrets["use"] = "enc".into();
    issuer.says(
        200,
        &[
            published(Algorithm::RS256, &rsa, "r"),
            published(Algorithm::ES256, &ec, "e"),
            published(Algorithm::ES384, &ec_384, "e384"),
            for_secrets,
            json!({"kty": "oct", "kid": "s", "k": "bm90IGEgc2VjcmV0LCBiZWluZyBpbiBhIHRlc3Q"}),
            json!({"kty": "from the future", "kid": "f"}),
        ],
    );
    let site = issuer.site(&json!({})).await;
    assert_eq!(issuer.asked(), 0);
    let secret = EncodingKey::from_secret(b"not a secret, being in a test");
    for (algorithm, key, id, expected) in [
        (Algorithm::RS256, &rsa, Some("r"), 200),
        (Algorithm::RS256, &rsa, None, 200),
        (Algorithm::ES256, &ec, Some("e"), 200),
        (Algorithm::ES384, &ec_384, Some("e384"), 200),
        // The key says what it is for.
        (Algorithm::RS512, &rsa, Some("r"), 401),
        (Algorithm::RS256, &rsa, Some("secrets"), 401),
        // A secret that everybody can read is none.
        (Algorithm::HS256, &secret, Some("s"), 401),
        (Algorithm::RS256, &rsa, Some("e"), 401),
    ] {
        let found = status(&site, &signed(algorithm, key, id)).await;
        assert_eq!(found, expected, "{algorithm:?} {id:?}");
    }
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn algorithms_that_are_not_listed_are_refused_of_published_keys_too() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let ec = EncodingKey::from_ec_pem(EC).unwrap();
    let issuer = Issuer::default();
    issuer.says(
        200,
        &[
            published(Algorithm::RS256, &rsa, "r"),
            published(Algorithm::ES256, &ec, "e"),
        ],
    );
    let site = issuer.site(&json!({"algorithms": ["ES256"]})).await;
    assert_eq!(
        status(&site, &signed(Algorithm::ES256, &ec, Some("e"))).await,
        200
    );
    assert_eq!(
        status(&site, &signed(Algorithm::RS256, &rsa, Some("r"))).await,
        401
    );
}

#[tokio::test]
async fn an_unknown_key_is_asked_for_once_and_not_again_at_once() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let issuer = Issuer::default();
    issuer.says(200, &[published(Algorithm::RS256, &rsa, "old")]);
    let site = issuer.site(&json!({})).await;
    assert_eq!(
        status(&site, &signed(Algorithm::RS256, &rsa, Some("new"))).await,
        401
    );
    for made_up in ["a", "b", "c"] {
        assert_eq!(
            status(&site, &signed(Algorithm::RS256, &rsa, Some(made_up))).await,
            401
        );
    }
    assert_eq!(
        status(&site, &signed(Algorithm::RS256, &rsa, Some("old"))).await,
        200
    );
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn an_issuer_that_is_away_is_no_reason_to_call_a_token_wrong_nor_to_ask_it_again_at_once() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let token = signed(Algorithm::RS256, &rsa, Some("r"));
    for (code, keys) in [(500, vec![]), (200, vec![]), (302, vec![])] {
        let issuer = Issuer::default();
        issuer.says(code, &keys);
        let site = issuer.site(&json!({})).await;
        for _ in 0..3 {
            assert_eq!(status(&site, &token).await, 503, "{code}");
        }
        assert_eq!(issuer.asked(), 1);
    }
}

#[tokio::test]
async fn many_who_need_the_keys_ask_once_for_all() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let hold = Arc::new(Notify::new());
    let issuer = Issuer {
        hold: Some(hold.clone()),
        ..Issuer::default()
    };
    issuer.says(200, &[published(Algorithm::RS256, &rsa, "r")]);
    let site = issuer.site(&json!({})).await;
    let token = signed(Algorithm::RS256, &rsa, Some("r"));
    let asking = futures::future::join_all((0..8).map(|_| status(&site, &token)));
    hold.notify_one();
    assert_eq!(asking.await, [200; 8]);
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn an_issuer_that_never_answers_holds_nobody_up_for_long() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let issuer = Issuer {
        hold: Some(Arc::default()),
        ..Issuer::default()
    };
    let site = issuer.site(&json!({})).await;
    let token = signed(Algorithm::RS256, &rsa, Some("r"));
    let asking = futures::future::join_all((0..4).map(|_| status(&site, &token)));
    let began = Stopwatch::start(&[]);
    // Guards against hanging.
    let limit = Duration::from_secs(120);
    let found = tokio::time::timeout(limit, asking).await.unwrap();
    let took = began.elapsed();
    assert_eq!(found, [503; 4]);
    // An issuer has 5 s, once for all four.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(issuer.asked(), 1);
}

/// So much later, for the server as for the test.
async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn keys_are_replaced_and_withdrawn_as_the_issuer_does() {
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    let ec = EncodingKey::from_ec_pem(EC).unwrap();
    let old = signed(Algorithm::RS256, &rsa, Some("old"));
    let new = signed(Algorithm::ES256, &ec, Some("new"));
    let issuer = Issuer::default();
    issuer.says(200, &[published(Algorithm::RS256, &rsa, "old")]);
    let site = issuer.site(&json!({})).await;
    assert_eq!((status(&site, &old).await, issuer.asked()), (200, 1));
    // A token of a new key is a reason to ask, as soon as that may be.
    issuer.says(200, &[published(Algorithm::ES256, &ec, "new")]);
    assert_eq!((status(&site, &new).await, issuer.asked()), (401, 1));
    later(11).await;
    assert_eq!((status(&site, &new).await, issuer.asked()), (200, 2));
    assert_eq!((status(&site, &old).await, issuer.asked()), (401, 2));
    // Known keys are asked for again in time, and do without an answer for a day.
    later(60 * 60 + 1).await;
    issuer.says(500, &[]);
    assert_eq!((status(&site, &new).await, issuer.asked()), (200, 3));
    later(24 * 60 * 60).await;
    assert_eq!((status(&site, &new).await, issuer.asked()), (503, 4));
}
