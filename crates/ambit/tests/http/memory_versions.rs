//! Two people who edit one key of a memory: one write stands, the other one is told.

use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "/v1/memory/user/keys/k";

async fn put(site: &Site, body: &Value) -> Answer {
    Answer::of(site.request(Method::PUT, KEY).json(body)).await
}

async fn delete(site: &Site, expect: u64) -> Answer {
    Answer::of(site.request(Method::DELETE, &format!("{KEY}?expect={expect}"))).await
}

/// What is there: value, version and end.
async fn found(site: &Site) -> Value {
    site.get(KEY).await.json()
}

/// The version that a write has given.
fn version(answer: &Answer) -> u64 {
    assert_eq!(answer.status, 204, "{}", answer.text);
    let tag = answer.header("etag").unwrap();
    tag.trim_matches('"').parse().unwrap()
}

/// That a write was refused because this version is there.
fn assert_conflict(answer: &Answer, version: impl Into<Value>) {
    let expected = (409, "conflict".to_owned(), Some("expect".to_owned()));
    assert_eq!(answer.failure(), expected);
    let version: Value = version.into();
    let details = answer.json()["error"]["details"].take();
    assert_eq!(details, json!({"version": version}));
}

#[tokio::test]
async fn g197_a_write_between_reading_and_writing_is_told_and_stands() {
    let site = Site::development().await;
    let seen = version(&put(&site, &json!({"value": "first"})).await);
    assert_eq!(found(&site).await["version"], seen);
    let theirs = version(&put(&site, &json!({"value": "theirs", "expect": seen})).await);
    assert!(theirs > seen);
    let mine = json!({"value": "mine", "expect": seen});
    assert_conflict(&put(&site, &mine).await, theirs);
    assert_conflict(&delete(&site, seen).await, theirs);
    let there = found(&site).await;
    assert_eq!(there["value"], "theirs");
    assert_eq!(there["version"], theirs);
    let mine = version(&put(&site, &json!({"value": "mine", "expect": theirs})).await);
    assert_eq!(delete(&site, mine).await.status, 204);
    assert_conflict(&delete(&site, mine).await, Value::Null);
    assert_conflict(
        &put(&site, &json!({"value": 1, "expect": mine})).await,
        Value::Null,
    );
    assert_eq!(site.get(KEY).await.status, 404);
}

#[tokio::test]
async fn g197_of_two_writes_at_once_one_stands_and_the_other_is_told() {
    let site = Site::development().await;
    let mut seen = Value::Null;
    for round in 0..20 {
        let (one, two) = (format!("one {round}"), format!("two {round}"));
        let (first, second) = (
            json!({"value": one, "expect": seen}),
            json!({"value": two, "expect": seen}),
        );
        let (first, second) = tokio::join!(put(&site, &first), put(&site, &second));
        let (won, lost, text) = match first.status {
            204 => (first, second, one),
            _ => (second, first, two),
        };
        let stands = version(&won);
        assert_conflict(&lost, stands);
        let there = found(&site).await;
        assert_eq!(there["value"], text);
        assert_eq!(there["version"], stands);
        seen = json!(stands);
    }
}

#[tokio::test]
async fn g197_a_new_key_is_made_only_where_there_is_none() {
    let site = Site::development().await;
    let new = |value: &str| json!({"value": value, "expect": null});
    let made = version(&put(&site, &new("first")).await);
    assert_conflict(&put(&site, &new("second")).await, made);
    assert_eq!(found(&site).await["value"], "first");
}

#[tokio::test]
async fn g197_an_edit_changes_the_time_to_live_only_if_asked() {
    let site = Site::development().await;
    put(&site, &json!({"value": 1, "ttl": "2h"})).await;
    let end = found(&site).await["expires_at"].take();
    assert!(end.is_i64(), "{end}");
    for value in [json!("text"), json!([1, 2]), json!({"a": 1}), json!(null)] {
        let kept = put(&site, &json!({"value": value, "ttl": "keep"})).await;
        let seen = version(&kept);
        let there = found(&site).await;
        assert_eq!((&there["value"], &there["expires_at"]), (&value, &end));
        let changed = json!({"value": value, "ttl": "keep", "expect": seen});
        version(&put(&site, &changed).await);
        assert_eq!(found(&site).await["expires_at"], end, "{value}");
    }
    put(&site, &json!({"value": 1, "ttl": "7d"})).await;
    let later = found(&site).await["expires_at"].as_i64();
    assert!(later > end.as_i64());
    put(&site, &json!({"value": 1, "ttl": 0})).await;
    assert_eq!(found(&site).await["expires_at"], Value::Null);
    put(&site, &json!({"value": 2, "ttl": "keep"})).await;
    assert_eq!(found(&site).await["expires_at"], Value::Null);
}
