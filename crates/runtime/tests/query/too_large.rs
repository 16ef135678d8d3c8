//! Queries that are larger than databases take.

use crate::shop::shop;
use serde_json::{Value, json};

#[tokio::test]
async fn g146_queries_too_large_for_a_database_are_refused_by_name() {
    let many = |count: usize, of: &dyn Fn(usize) -> Value| (0..count).map(of).collect::<Value>();
    let plain =
        |key: &str, list: Value| json!({"from": "customer as a", "select": ["a.id"], key: list});
    let same = |field: &str| json!({"field": field, "=": 1});
    let within = |wheres: Value| {
        let inner = json!({"from": "customer as b", "select": ["b.id"], "wheres": wheres});
        json!({"field": "a.id", "op": "in", "query": inner})
    };
    let list = |count: usize| many(count, &|index| json!(index));
    let cases = [
        (
            plain(
                "select",
                many(1_001, &|index| json!(format!("a.id as f{index}"))),
            ),
            "a query has at most 1000 fields",
        ),
        (
            plain("orders", many(33, &|_| json!("a.id"))),
            "a query has at most 32 orders",
        ),
        (
            plain("groups", many(33, &|_| json!("a.id"))),
            "a query has at most 32 groups",
        ),
        (
            plain(
                "joins",
                many(
                    16,
                    &|index| json!({"from": format!("customer as j{index}"), "key": format!("j{index}.id"), "foreign": "a.id"}),
                ),
            ),
            "a query has at most 16 tables",
        ),
        (
            plain("wheres", many(3, &|_| within(many(200, &|_| same("b.id"))))),
            "at most 500 conditions with 10000 values",
        ),
        (
            plain(
                "wheres",
                many(2, &|_| {
                    within(json!([{"field": "b.id", "in": list(6_000)}]))
                }),
            ),
            "at most 500 conditions with 10000 values",
        ),
        (
            plain("wheres", json!([{"field": "a.meta$.a", "in": list(501)}])),
            "at most 500 conditions with 10000 values",
        ),
        (
            plain(
                "select",
                json!([format!("a.meta${} as f", ".a".repeat(65))]),
            ),
            "a way into JSON has at most 64 steps in select[0]",
        ),
    ];
    for place in shop("too_large").await {
        for (dsl, expected) in &cases {
            let refused = place.query(dsl.clone()).await;
            assert_eq!(refused, Err(format!("Query: {expected}")));
        }
        let large = plain("wheres", json!([{"field": "a.meta$.a", "in": list(500)}]));
        assert_eq!(place.query(large).await, Ok(json!([])));
    }
}
