//! What the store refuses.

use super::{ANNE, batch, done, get, keys, put};
use crate::bed::Bed;
use crate::site::Answer;
use reqwest::Method;
use serde_json::{Value, json};

/// Why a batch is refused: status, code and field.
async fn refused(bed: &Bed, ops: Value) -> (u16, String, Option<String>) {
    batch(bed, ANNE, ops).await.failure()
}

fn invalid(param: &str) -> (u16, String, Option<String>) {
    (400, "invalid_argument".to_owned(), Some(param.to_owned()))
}

fn large(param: &str) -> (u16, String, Option<String>) {
    (413, "limit_exceeded".to_owned(), Some(param.to_owned()))
}

#[tokio::test]
async fn what_an_operation_cannot_be_is_refused_by_its_place() {
    let bed = Bed::new().await;
    let long = "x".repeat(1_025);
    let list = |limit: u64| json!({"op": "list", "prefix": "", "limit": limit});
    for (op, field) in [
        (get(""), "key"),
        (get(&long), "key"),
        (json!({"op": "get"}), "key"),
        (json!({"op": "read", "key": "a"}), "op"),
        (json!({"op": "get", "key": "a", "keys": 1}), "keys"),
        (json!({"op": "get", "key": "a", "value": null}), "value"),
        (json!({"op": "list", "prefix": ""}), "limit"),
        (list(0), "limit"),
        (list(1_001), "limit"),
        (json!({"op": "put", "key": "a"}), "value"),
        (json!({"op": "put", "key": "a", "data": "?"}), "data"),
        (
            json!({"op": "put", "key": "a", "value": 1, "ttl": "soon"}),
            "ttl",
        ),
        (
            json!({"op": "put", "key": "a", "value": 1, "expect": -1}),
            "expect",
        ),
    ] {
        let expected = invalid(&format!("ops[0].{field}"));
        assert_eq!(refused(&bed, json!([op])).await, expected, "{op}");
    }
    let both = json!([{"op": "put", "key": "a", "value": 1, "data": ""}]);
    assert_eq!(refused(&bed, both).await, invalid("ops[0]"));
    let too_large = json!([put("a", &json!("x".repeat(16 << 20)))]);
    assert_eq!(refused(&bed, too_large).await, large("ops[0].value"));
    assert_eq!(keys(&bed, "").await, [""; 0]);
}

#[tokio::test]
async fn what_a_batch_cannot_be_is_refused() {
    let bed = Bed::new().await;
    let one = json!(1);
    let many: Vec<Value> = (0..1_001).map(|n| get(&n.to_string())).collect();
    let all = json!({"op": "delete_prefix", "prefix": ""});
    for (ops, expected) in [
        (json!([]), invalid("ops")),
        (json!([get("a"), put("b", &one)]), invalid("ops")),
        (
            json!([put("a", &one), put("a", &one)]),
            invalid("ops[1].key"),
        ),
        (json!([all, get("a")]), invalid("ops[0]")),
        (many.into(), large("ops")),
    ] {
        assert_eq!(refused(&bed, ops).await, expected);
    }
    for (field, value) in [("space", "Docs"), ("owner", "chat"), ("more", "1")] {
        let mut body = json!({"space": "docs", "owner": "user", "ops": [get("a")]});
        body[field] = json!(value);
        let answer = bed.send(ANNE, Method::POST, "/store/batch", &body).await;
        assert_eq!(answer.failure(), invalid(field));
    }
    assert_eq!(keys(&bed, "").await, [""; 0]);
}

#[tokio::test]
async fn a_value_of_the_limit_is_kept_and_a_list_ends_where_its_answer_is_full() {
    let bed = Bed::new().await;
    let value = json!("x".repeat((16 << 20) - 2));
    for key in ["a", "b", "c"] {
        done(&bed, json!([put(key, &value)])).await;
    }
    let found = done(&bed, json!([get("a")])).await.remove(0);
    assert!(found["value"] == value, "the value came back different");
    let list = json!({"op": "list", "prefix": "", "limit": 10, "values": true});
    let page = done(&bed, json!([list])).await.remove(0);
    assert_eq!(
        (page["items"].as_array().unwrap().len(), &page["next"]),
        (2, &json!("b"))
    );
    // Without its values the same list is short.
    let bare = json!({"op": "list", "prefix": "", "limit": 10});
    let page = done(&bed, json!([bare])).await.remove(0);
    let fields = page["items"].as_array().unwrap().iter().map(|item| {
        let item = item.as_object().unwrap();
        assert!(item["created_at"].as_i64().unwrap() <= item["updated_at"].as_i64().unwrap());
        (item["key"].clone(), item.contains_key("value"))
    });
    assert_eq!(
        (fields.collect::<Vec<_>>(), &page["next"]),
        (
            ["a", "b", "c"].map(|key| (json!(key), false)).into(),
            &json!(null)
        )
    );
    let all = json!([get("a"), get("b"), get("c")]);
    assert_eq!(refused(&bed, all).await.0, 413);
    let two = format!("[{value}, {value}]");
    let ops = format!(r#"[{{"op": "put", "key": "a", "value": {two}}}]"#);
    let body = format!(r#"{{"space": "docs", "owner": "user", "ops": {ops}}}"#);
    let request = bed.site.request(Method::POST, "/v1/store/batch");
    let answer = Answer::of(request.bearer_auth(ANNE.token()).body(body)).await;
    assert_eq!(answer.failure().0, 413);
}

#[tokio::test]
async fn more_items_than_are_ranked_are_refused() {
    let bed = Bed::new().await;
    for part in 0..11 {
        let puts = (0..910).map(|n| put(&format!("{part}/{n}"), &json!("word")));
        done(&bed, puts.collect::<Vec<_>>().into()).await;
    }
    let mut asked = json!({"space": "docs", "owner": "user", "query": "word"});
    let answer = bed.send(ANNE, Method::POST, "/store/search", &asked).await;
    assert_eq!(answer.failure().0, 413);
    asked["prefix"] = json!("1");
    let answer = bed.send(ANNE, Method::POST, "/store/search", &asked).await;
    assert_eq!(answer.json()["items"].as_array().unwrap().len(), 10);
}
