//! The models and rows of a shop.

use crate::place::{Place, places};
use serde_json::{Value, json};

/// The shop in both databases.
pub async fn shop(name: &str) -> Vec<Place> {
    let places = places(name, &models()).await;
    for place in &places {
        for (model, rows) in rows() {
            place.put(model, &rows).await;
        }
    }
    places
}

fn id() -> Value {
    json!({"name": "id", "type": "ID"})
}

fn models() -> Vec<(&'static str, Value)> {
    let customer = json!({
        "name": "Customer",
        "columns": [
            id(),
            {"name": "name", "type": "string"},
            {"name": "city", "type": "string", "nullable": true},
            {"name": "level", "type": "integer", "nullable": true},
            {"name": "vip", "type": "boolean", "nullable": true},
            {"name": "born", "type": "date", "nullable": true},
            {"name": "meta", "type": "json", "nullable": true},
            {"name": "secret", "type": "string", "nullable": true, "crypt": "PASSWORD"},
        ],
        "relations": {
            "orders": {"type": "hasMany", "model": "order", "key": "customer_id", "foreign": "id"},
            "last_order": {
                "type": "hasOne", "model": "order", "key": "customer_id", "foreign": "id",
                "query": {"select": ["id", "title"], "orders": [{"column": "id", "option": "desc"}]},
            },
            "open_orders": {
                "type": "hasMany", "model": "order", "key": "customer_id", "foreign": "id",
                "query": {"wheres": [{"column": "state", "value": "open"}]},
            },
        },
    });
    let order = json!({
        "name": "Order",
        "columns": [
            id(),
            {"name": "customer_id", "type": "bigInteger", "nullable": true},
            {"name": "title", "type": "string"},
            {"name": "amount", "type": "decimal", "precision": 10, "scale": 2},
            {"name": "state", "type": "enum", "option": ["open", "paid"]},
            {"name": "at", "type": "datetime", "nullable": true},
        ],
        "relations": {
            "customer": {"type": "belongsTo", "model": "customer", "key": "id", "foreign": "customer_id"},
            "tags": {
                "type": "hasManyThrough",
                "links": [
                    {"type": "hasMany", "model": "order_tag", "key": "order_id", "foreign": "id"},
                    {"type": "hasOne", "model": "tag", "key": "id", "foreign": "tag_id"},
                ],
                "query": {"orders": [{"column": "name"}]},
            },
            "first_tag": {
                "type": "hasOneThrough",
                "links": [
                    {"type": "hasMany", "model": "order_tag", "key": "order_id", "foreign": "id"},
                    {"type": "hasOne", "model": "tag", "key": "id", "foreign": "tag_id"},
                ],
            },
        },
        "option": {"soft_deletes": true},
    });
    let tag = json!({
        "name": "Tag",
        "columns": [id(), {"name": "name", "type": "string"}],
        "option": {"soft_deletes": true},
    });
    let order_tag = json!({
        "name": "Tags of orders",
        "columns": [
            id(),
            {"name": "order_id", "type": "bigInteger"},
            {"name": "tag_id", "type": "bigInteger"},
        ],
    });
    vec![
        ("customer", customer),
        ("order", order),
        ("tag", tag),
        ("order_tag", order_tag),
    ]
}

fn rows() -> Vec<(&'static str, Value)> {
    let gone = "2026-01-01 00:00:00";
    vec![
        (
            "customer",
            json!([
                {"id": 1, "name": "Ann", "city": "Bern", "level": 3, "vip": true, "born": "1990-05-01",
                    "meta": {"color": "red", "n": 5, "deep": {"list": [{"x": "a"}]}, "ok": true}},
                {"id": 2, "name": "bob", "city": "bern", "level": 7, "vip": false, "born": "1985-01-31",
                    "meta": {"color": "blue", "n": "5", "ok": false}},
                {"id": 3, "name": "Cid_1", "city": null, "level": null, "vip": null, "meta": {"color": null, "n": 12}},
                {"id": 4, "name": "50% Öl\\", "city": "Ulm", "level": 7, "vip": true, "secret": "x"},
            ]),
        ),
        (
            "order",
            json!([
                {"id": 1, "customer_id": 1, "title": "pen", "amount": 2.5, "state": "open", "at": "2026-02-01 10:00:00"},
                {"id": 2, "customer_id": 1, "title": "ink", "amount": 10, "state": "paid", "at": "2026-02-02 10:00:00"},
                {"id": 3, "customer_id": 1, "title": "lost", "amount": 99, "state": "open", "deleted_at": gone},
                {"id": 4, "customer_id": 2, "title": "pad", "amount": 0.1, "state": "open", "at": "2026-01-15 08:30:00"},
                {"id": 5, "customer_id": 2, "title": "cap", "amount": 0.2, "state": "open"},
                {"id": 6, "customer_id": null, "title": "odd", "amount": 7, "state": "paid"},
            ]),
        ),
        (
            "tag",
            json!([
                {"id": 1, "name": "red"},
                {"id": 2, "name": "blue"},
                {"id": 3, "name": "gone", "deleted_at": gone},
            ]),
        ),
        (
            "order_tag",
            json!([
                {"id": 1, "order_id": 1, "tag_id": 1},
                {"id": 2, "order_id": 1, "tag_id": 2},
                {"id": 3, "order_id": 1, "tag_id": 3},
                {"id": 4, "order_id": 2, "tag_id": 2},
                {"id": 5, "order_id": 4, "tag_id": 3},
            ]),
        ),
    ]
}
