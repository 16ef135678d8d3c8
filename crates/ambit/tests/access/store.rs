//! The store of programs that have a framework of their own: what batches and searches do.

mod guarantees;
mod limits;

use crate::bed::{Bed, Person};
use crate::site::Answer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

/// An administrator.
const ANNE: Person = Person("t1", "anne", "red", "admin");

/// What somebody's batch over their own keys comes to.
async fn batch(bed: &Bed, who: Person, ops: Value) -> Answer {
    let body = json!({"space": "docs", "owner": "user", "ops": ops});
    bed.send(who, Method::POST, "/store/batch", &body).await
}

/// The results of a batch that is carried out.
async fn done(bed: &Bed, ops: Value) -> Vec<Value> {
    let answer = batch(bed, ANNE, ops).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["results"].as_array().unwrap().clone()
}

fn put(key: &str, value: &Value) -> Value {
    json!({"op": "put", "key": key, "value": value})
}

fn get(key: &str) -> Value {
    json!({"op": "get", "key": key})
}

async fn version(bed: &Bed, key: &str) -> u64 {
    done(bed, json!([get(key)])).await[0]["version"]
        .as_u64()
        .unwrap()
}

async fn keys(bed: &Bed, prefix: &str) -> Vec<String> {
    let list = json!({"op": "list", "prefix": prefix, "limit": 1_000});
    let found = done(bed, json!([list])).await;
    let items = found[0]["items"].as_array().unwrap();
    let key = |item: &Value| item["key"].as_str().unwrap().to_owned();
    items.iter().map(key).collect()
}

#[tokio::test]
async fn a_key_comes_back_as_it_was_written() {
    let bed = Bed::new().await;
    assert_eq!(done(&bed, json!([get("a")])).await, [Value::Null]);
    for value in [
        json!(null),
        json!([1, {"b": "ü/*\\"}]),
        json!("text"),
        json!(1.5),
    ] {
        let written = done(&bed, json!([put("a", &value)])).await;
        let found = done(&bed, json!([get("a")])).await.remove(0);
        assert_eq!(found["value"], value);
        assert_eq!(found["version"], written[0]["version"]);
        assert_eq!(found["expires_at"], Value::Null);
        assert!(found["updated_at"].as_i64() >= found["created_at"].as_i64());
    }
    let data = STANDARD.encode([0, 159, 146, 150]);
    done(&bed, json!([{"op": "put", "key": "b", "data": data}])).await;
    let found = done(&bed, json!([get("b")])).await.remove(0);
    assert_eq!((&found["data"], found.get("value")), (&json!(data), None));
    let deleted = done(
        &bed,
        json!([{"op": "delete", "key": "b"}, {"op": "delete", "key": "c"}]),
    )
    .await;
    assert_eq!(deleted, [json!({"deleted": 1}), json!({"deleted": 0})]);
}

#[tokio::test]
async fn keys_are_listed_in_byte_order_both_ways() {
    let bed = Bed::new().await;
    let names = ["a", "a*", "a/", "a/b", "b", "ä", "日"];
    let puts: Vec<Value> = names.iter().map(|name| put(name, &json!(name))).collect();
    done(&bed, puts.into()).await;
    assert_eq!(keys(&bed, "").await, names);
    assert_eq!(keys(&bed, "a/").await, ["a/", "a/b"]);
    assert_eq!(keys(&bed, "a*").await, ["a*"]);
    for (is_reverse, expected) in [
        (false, ["a", "a*", "a/", "a/b"]),
        (true, ["a/b", "a/", "a*", "a"]),
    ] {
        let (mut found, mut after) = (Vec::new(), Value::Null);
        loop {
            let mut list = json!({"op": "list", "prefix": "a", "limit": 3, "reverse": is_reverse, "values": true});
            if !after.is_null() {
                list["after"] = after;
            }
            let page = done(&bed, json!([list])).await.remove(0);
            let items = page["items"].as_array().unwrap();
            assert!(items.iter().all(|item| item["key"] == item["value"]));
            found.extend(
                items
                    .iter()
                    .map(|item| item["key"].as_str().unwrap().to_owned()),
            );
            after = page["next"].clone();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(found, expected, "reverse: {is_reverse}");
    }
}

#[tokio::test]
async fn a_version_that_was_not_expected_is_told_and_changes_nothing() {
    let bed = Bed::new().await;
    let first = done(
        &bed,
        json!([{"op": "put", "key": "a", "value": 1, "expect": 0}]),
    )
    .await;
    let first = first[0]["version"].as_u64().unwrap();
    let mut second = put("a", &json!(2));
    second["expect"] = first.into();
    done(&bed, json!([second])).await;
    let now = version(&bed, "a").await;
    for expect in [0, first, now + 1] {
        let mut stale = put("a", &json!(3));
        stale["expect"] = expect.into();
        let answer = batch(&bed, ANNE, json!([put("b", &json!(1)), stale])).await;
        let expected = (409, "conflict".to_owned(), Some("ops[1].expect".to_owned()));
        assert_eq!(answer.failure(), expected);
        let details = &answer.json()["error"]["details"];
        assert_eq!(details, &json!({"key": "a", "version": now}));
    }
    assert_eq!(done(&bed, json!([get("b")])).await, [Value::Null]);
    // A key that was deleted begins with versions that it never had.
    done(&bed, json!([{"op": "delete", "key": "a", "expect": now}])).await;
    let gone = batch(
        &bed,
        ANNE,
        json!([{"op": "delete", "key": "a", "expect": now}]),
    )
    .await;
    assert_eq!(gone.json()["error"]["details"]["version"], 0);
    done(&bed, json!([put("a", &json!(4))])).await;
    assert!(version(&bed, "a").await > now);
}

#[tokio::test]
async fn an_expired_key_is_absent_at_once() {
    let bed = Bed::new().await;
    let mut brief = put("a", &json!(1));
    brief["ttl"] = json!("1ms");
    let mut long = put("b", &json!(1));
    long["ttl"] = json!(3_600);
    done(&bed, json!([brief, long])).await;
    // The time of a millisecond has passed once the answer is here and the next one was given.
    while done(&bed, json!([get("a")])).await[0] != Value::Null {}
    assert_eq!(keys(&bed, "").await, ["b"]);
    let found = done(&bed, json!([get("b")])).await.remove(0);
    let life = found["expires_at"].as_i64().unwrap() - found["updated_at"].as_i64().unwrap();
    assert!((3_599_000..=3_601_000).contains(&life), "{life}");
    done(
        &bed,
        json!([{"op": "put", "key": "a", "value": 2, "expect": 0}]),
    )
    .await;
    // A write without a life ends the one before.
    done(&bed, json!([put("b", &json!(2))])).await;
    assert_eq!(
        done(&bed, json!([get("b")])).await[0]["expires_at"],
        Value::Null
    );
}

#[tokio::test]
async fn a_prefix_is_deleted_and_nothing_beside_it() {
    let bed = Bed::new().await;
    for part in 0..3 {
        let puts = (0..300).map(|n| put(&format!("a/{part}/{n}"), &json!(n)));
        done(&bed, puts.collect::<Vec<_>>().into()).await;
    }
    done(&bed, json!([put("a", &json!(1)), put("a0", &json!(1))])).await;
    let gone = done(&bed, json!([{"op": "delete_prefix", "prefix": "a/"}])).await;
    assert_eq!(gone, [json!({"deleted": 900})]);
    assert_eq!(keys(&bed, "").await, ["a", "a0"]);
    let again = done(&bed, json!([{"op": "delete_prefix", "prefix": "a/"}])).await;
    assert_eq!(again, [json!({"deleted": 0})]);
}

#[tokio::test]
async fn a_batch_that_is_sent_again_is_written_once() {
    let bed = Bed::new().await;
    let send = async |key: &str, ops: Value| {
        let body = json!({"space": "docs", "owner": "user", "ops": ops});
        let request = bed.site.request(Method::POST, "/v1/store/batch");
        let request = request
            .bearer_auth(ANNE.token())
            .header("idempotency-key", key);
        Answer::of(request.json(&body)).await
    };
    let ops =
        json!([{"op": "put", "key": "a", "value": 1, "expect": 0}, {"op": "delete", "key": "b"}]);
    let first = send("once", ops.clone()).await;
    assert_eq!(first.status, 200, "{}", first.text);
    done(&bed, json!([put("a", &json!(2))])).await;
    let again = send("once", ops.clone()).await;
    assert_eq!((again.status, again.text), (200, first.text));
    assert_eq!(done(&bed, json!([get("a")])).await[0]["value"], 2);
    let another = send("once", json!([put("c", &json!(1))])).await;
    assert_eq!(another.failure().0, 409);
    // A batch that was refused has used nothing up.
    assert_eq!(send("twice", ops.clone()).await.failure().0, 409);
    done(&bed, json!([{"op": "delete", "key": "a"}])).await;
    assert_eq!(send("twice", ops).await.status, 200);
}

#[tokio::test]
async fn items_are_found_by_fields_and_by_words() {
    let bed = Bed::new().await;
    let people = [
        ("p/1", json!({"age": 30, "text": "likes long walks"})),
        (
            "p/2",
            json!({"age": 40, "notes": ["walks, walks and walks"]}),
        ),
        ("p/3", json!({"age": 50, "text": "reads"})),
        ("q/1", json!({"age": 30, "text": "walks too"})),
    ];
    let puts: Vec<Value> = people.iter().map(|(key, value)| put(key, value)).collect();
    done(&bed, puts.into()).await;
    let search = async |asked: Value| {
        let mut body = json!({"space": "docs", "owner": "user", "prefix": "p/"});
        body.as_object_mut()
            .unwrap()
            .extend(asked.as_object().unwrap().clone());
        bed.send(ANNE, Method::POST, "/store/search", &body).await
    };
    let names = async |asked: Value| {
        let answer = search(asked).await.json();
        let items = answer["items"].as_array().unwrap().clone();
        let key = |item: &Value| item["key"].as_str().unwrap().to_owned();
        items.iter().map(key).collect::<Vec<_>>()
    };
    assert_eq!(names(json!({})).await, ["p/1", "p/2", "p/3"]);
    assert_eq!(names(json!({"limit": 1, "offset": 1})).await, ["p/2"]);
    assert_eq!(
        names(json!({"filter": {"age": {"$gte": 40}}})).await,
        ["p/2", "p/3"]
    );
    assert_eq!(names(json!({"query": "walks"})).await, ["p/2", "p/1"]);
    assert_eq!(names(json!({"query": "walks", "offset": 1})).await, ["p/1"]);
    assert_eq!(
        names(json!({"query": "walks", "filter": {"age": 30}})).await,
        ["p/1"]
    );
    let best = search(json!({"query": "walks"})).await.json();
    let score = best["items"][0]["score"].as_f64().unwrap();
    assert!(0.0 < score && score <= 1.0, "{best}");
    let wrong = search(json!({"filter": {"age": {"$in": [30]}}})).await;
    let expected = (
        400,
        "invalid_argument".to_owned(),
        Some("filter.age.$in".to_owned()),
    );
    assert_eq!(wrong.failure(), expected);
}
