//! What is wrong with a QueryDSL.

use crate::shop::shop;
use serde_json::{Value, json};

/// Queries, and the codes and places of what is wrong with each.
const CASES: &[(&str, &[(&str, &str)])] = &[
    (r#"{"select": ["id"], "from": "customer"}"#, &[]),
    (r#"{"select": ["id"]}"#, &[("missing_from", "from")]),
    (
        r#"{"select": [], "from": "customer"}"#,
        &[("nothing_selected", "select")],
    ),
    (
        r#"{"select": ["id"], "from": "orders"}"#,
        &[("unknown_table", "from")],
    ),
    (
        r#"{"select": ["id"], "from": "sqlite_master"}"#,
        &[("unknown_table", "from")],
    ),
    (
        r#"{"select": ["id"], "from": "pg_catalog.pg_class"}"#,
        &[("unknown_table", "from")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "sql": {"stmt": "x"}}"#,
        &[("refused", "sql")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "debug": true}"#,
        &[("refused", "debug")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "unions": []}"#,
        &[("unknown_key", "unions")],
    ),
    (
        r#"{"select": ["nam", "secret", "a;b"], "from": "customer", "wheres": [
            {"field": "level"}, {"field": "level", "op": "~", "value": 1}, {"=": 1}, {"wheres": [{"field": "x", "=": 1}]},
            {"field": "id", "in": "x"}, {"field": "level", "=": 1, "op": ">"}, {"field": "level", "is": "nothing"}
        ], "orders": "meta, level sideways", "limit": "x"}"#,
        &[
            ("unknown_column", "select[0]"),
            ("secret_column", "select[1]"),
            ("invalid_field", "select[2]"),
            ("unfit_column", "orders[0]"),
            ("unknown_order", "orders[1]"),
            ("missing_value", "wheres[0]"),
            ("unknown_operator", "wheres[1]"),
            ("missing_field", "wheres[2]"),
            ("unknown_column", "wheres[3].wheres[0]"),
            ("invalid_value", "wheres[4]"),
            ("conflict", "wheres[5]"),
            ("invalid_value", "wheres[6]"),
            ("invalid", "limit"),
        ],
    ),
    (
        r#"{"select": ["city", ":COUNT(id) as n", "name"], "from": "customer", "groups": "city", "orders": "level"}"#,
        &[("not_grouped", "select[2]"), ("not_grouped", "orders[0]")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "wheres": [{"field": ":COUNT(id)", ">": 1}],
            "havings": [{"field": "id", "=": 1}]}"#,
        &[
            ("misplaced_function", "wheres"),
            ("misplaced_condition", "havings"),
        ],
    ),
    (
        r#"{"select": [":PG_SLEEP(id)", ":SUM(name)", ":SUM(*)", ":MAX(DISTINCT id)"], "from": "customer"}"#,
        &[
            ("unknown_function", "select[0]"),
            ("invalid_argument", "select[1]"),
            ("invalid_argument", "select[2]"),
            ("invalid_argument", "select[3]"),
        ],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "joins": [{"from": "order", "key": "customer.name", "foreign": "order.id"}]}"#,
        &[("unfit_column", "joins[0]")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "joins": [
            {"from": "order", "key": "order.customer_id", "foreign": "customer.id"}]}"#,
        &[("ambiguous_column", "select[0]")],
    ),
    (
        r#"{"select": ["customer.id", "order.id"], "from": "customer", "joins": [
            {"from": "order", "key": "order.customer_id", "foreign": "customer.id"}]}"#,
        &[("same_name", "select[1]")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "wheres": [
            {"field": "id", "op": "in", "query": {"select": ["x"], "from": "order"}}]}"#,
        &[("unknown_column", "wheres[0].query.select[0]")],
    ),
    // Each database, or one of them, would refuse what follows.
    (
        r#"{"select": ["id"], "from": "customer", "orders": ["id", ":COUNT(id)"]}"#,
        &[("misplaced_function", "orders[1]")],
    ),
    (
        r#"{"select": ["meta"], "from": "customer", "groups": ["meta"]}"#,
        &[("unfit_column", "groups[0]")],
    ),
    (
        r#"{"select": [":COUNT(DISTINCT meta) as n"], "from": "customer"}"#,
        &[("invalid_argument", "select[0]")],
    ),
    (
        r#"{"select": ["meta$.n"], "from": "customer", "groups": ["meta$.n"], "havings": [{"field": "meta$.n", "=": 5}]}"#,
        &[("misplaced_condition", "havings[0]")],
    ),
    (
        r#"{"select": ["name"], "from": "customer", "joins": [
            {"from": "order as o", "key": ":MAX(o.customer_id)", "foreign": "customer.id"}]}"#,
        &[("misplaced_function", "joins[0]")],
    ),
    (
        r#"{"select": ["id"], "from": "customer", "wheres": [{"field": "meta$.color", "=": "a\u0000b"}]}"#,
        &[("invalid_value", "wheres[0]")],
    ),
    ("[1]", &[("invalid", "")]),
];

#[tokio::test]
async fn all_that_is_wrong_is_told_at_once() {
    let [place, ..] = &shop("lint").await[..] else {
        panic!("there is no place");
    };
    for &(dsl, expected) in CASES {
        let dsl: Value = serde_json::from_str(dsl).unwrap();
        let lint = place.lint(&dsl);
        let told = lint["diagnostics"].as_array().unwrap().iter();
        let told: Vec<(&str, &str)> = told
            .map(|one| (one["code"].as_str().unwrap(), one["path"].as_str().unwrap()))
            .collect();
        assert_eq!(told, expected, "{dsl}: {lint}");
        assert_eq!(lint["valid"], json!(expected.is_empty()));
        assert_eq!(place.dsl(&dsl, &json!({})).is_ok(), expected.is_empty());
    }
    let refused = place
        .query(json!({"select": ["id"], "from": "order", "wheres": [{"field": "titel", "=": 1}]}));
    assert_eq!(
        refused.await,
        Err("Query: unknown column \"titel\" in wheres[0] (did you mean \"title\"?)".to_owned())
    );
}
