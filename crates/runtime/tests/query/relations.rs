//! Related rows: loaded, asked about, ordered by.

use crate::shop::shop;
use serde_json::{Value, json};

#[tokio::test]
async fn every_kind_of_relation_is_loaded_without_deleted_rows() {
    let order = |id: i64, title: &str| json!({"id": id, "title": title});
    let tag = |id: i64, name: &str| json!({"id": id, "name": name, "deleted_at": null});
    for place in shop("loading").await {
        let titles = json!({"query": {"select": ["id", "title"]}});
        let param = json!({"select": ["name"], "withs": {"orders": titles, "last_order": {}, "open_orders": titles}});
        assert_eq!(
            place.get("customer", param).await.unwrap(),
            json!([
                {"name": "Ann", "orders": [order(1, "pen"), order(2, "ink")], "last_order": order(2, "ink"),
                    "open_orders": [order(1, "pen")]},
                {"name": "bob", "orders": [order(4, "pad"), order(5, "cap")], "last_order": order(5, "cap"),
                    "open_orders": [order(4, "pad"), order(5, "cap")]},
                {"name": "Cid_1", "orders": [], "last_order": null, "open_orders": []},
                {"name": "50% Öl\\", "orders": [], "last_order": null, "open_orders": []},
            ])
        );
        let param = json!({"select": ["id"], "withs": {
            "customer": {"query": {"select": ["name"]}}, "tags": null, "first_tag": {"query": {"select": ["name"]}},
        }});
        let named = |name: &str| json!({"name": name});
        assert_eq!(
            place.get("order", param).await.unwrap(),
            json!([
                {"id": 1, "customer": named("Ann"), "tags": [tag(2, "blue"), tag(1, "red")], "first_tag": named("red")},
                {"id": 2, "customer": named("Ann"), "tags": [tag(2, "blue")], "first_tag": named("blue")},
                {"id": 4, "customer": named("bob"), "tags": [], "first_tag": null},
                {"id": 5, "customer": named("bob"), "tags": [], "first_tag": null},
                {"id": 6, "customer": null, "tags": [], "first_tag": null},
            ])
        );
    }
}

#[tokio::test]
async fn what_is_asked_of_related_rows_cuts_those_of_each_row() {
    for place in shop("cutting").await {
        let with = |query: Value| json!({"select": ["id"], "limit": 2, "withs": {"orders": {"query": query}}});
        let wheres = json!([{"column": "amount", "op": "lt", "value": 5}]);
        let by_amount = json!([{"column": "amount", "option": "desc"}]);
        let rows = |first: Value, second: Value| json!([{"id": 1, "orders": first}, {"id": 2, "orders": second}]);
        let id = |id: i64| json!([{"id": id}]);
        for (query, expected) in [
            (
                json!({"select": ["id"], "wheres": wheres, "limit": 1}),
                rows(id(1), id(4)),
            ),
            (
                json!({"select": ["id"], "orders": by_amount, "limit": 1}),
                rows(id(2), id(5)),
            ),
            (
                json!({"select": ["id"], "orders": by_amount, "page": 2, "pagesize": 1}),
                rows(id(1), id(4)),
            ),
            (
                json!({"select": ["id"], "limit": 0}),
                rows(json!([]), json!([])),
            ),
        ] {
            assert_eq!(
                place.get("customer", with(query.clone())).await,
                Ok(expected),
                "{query}"
            );
        }
    }
}

#[tokio::test]
async fn relations_are_loaded_within_relations() {
    for place in shop("nesting").await {
        let tags = json!({"tags": {"query": {"select": ["name"]}}});
        let orders = json!({"orders": {"query": {"select": ["title"], "withs": tags}}});
        let param =
            json!({"select": ["name"], "wheres": [{"column": "id", "value": 1}], "withs": orders});
        assert_eq!(
            place.get("customer", param).await.unwrap(),
            json!([{"name": "Ann", "orders": [
                {"title": "pen", "tags": [{"name": "blue"}, {"name": "red"}]},
                {"title": "ink", "tags": [{"name": "blue"}]},
            ]}])
        );
    }
}

#[tokio::test]
async fn conditions_on_related_rows_see_no_deleted_ones() {
    let rel = |rel: &str, column: &str, value: Value| json!([{"rel": rel, "column": column, "value": value}]);
    for place in shop("exists").await {
        for (model, wheres, expected) in [
            ("customer", rel("orders", "title", json!("pen")), json!([1])),
            ("customer", rel("orders", "title", json!("lost")), json!([])),
            (
                "customer",
                rel("open_orders", "title", json!("ink")),
                json!([]),
            ),
            (
                "order",
                rel("customer", "city", json!("bern")),
                json!([4, 5]),
            ),
            ("order", rel("customer", "city", Value::Null), json!([])),
            ("order", rel("tags", "name", json!("blue")), json!([1, 2])),
            ("order", rel("tags", "name", json!("gone")), json!([])),
        ] {
            let ids = place.column(model, "id", json!({"wheres": wheres})).await;
            assert_eq!(ids, expected, "{model} {wheres} in {:?}", place.dialect());
        }
    }
}

#[tokio::test]
async fn queries_are_not_deeper_than_the_limit() {
    for place in shop("depth").await {
        let mut param = json!({});
        for level in 0..9 {
            let relation = if level % 2 == 0 { "customer" } else { "orders" };
            param = json!({"withs": {relation: {"query": param}}});
        }
        let refused = place.get("order", param).await.unwrap_err();
        assert!(
            refused.contains("queries may be 8 levels deep"),
            "{refused}"
        );
    }
}
