//! Conditions, orders and pages.

use crate::shop::shop;
use serde_json::{Value, json};

#[tokio::test]
async fn every_operator_finds_the_same_rows_in_both_databases() {
    let is =
        |column: &str, op: &str, value: Value| json!({"column": column, "op": op, "value": value});
    let cases = [
        (is("level", "eq", json!(7)), json!([2, 4])),
        (is("level", "=", json!("7")), json!([2, 4])),
        (json!({"column": "level", "value": 7}), json!([2, 4])),
        (is("level", "EQ", json!(7)), json!([2, 4])),
        (is("level", "ne", json!(7)), json!([1])),
        (is("level", "<>", json!(7)), json!([1])),
        (is("level", "!=", json!(7)), json!([1])),
        (is("level", "gt", json!(3)), json!([2, 4])),
        (is("level", ">", json!(3)), json!([2, 4])),
        (is("level", "ge", json!(3)), json!([1, 2, 4])),
        (is("level", ">=", json!(3)), json!([1, 2, 4])),
        (is("level", "lt", json!(7)), json!([1])),
        (is("level", "<", json!(7)), json!([1])),
        (is("level", "le", json!(7)), json!([1, 2, 4])),
        (is("level", "<=", json!(7)), json!([1, 2, 4])),
        (is("level", "eq", Value::Null), json!([3])),
        (is("level", "ne", Value::Null), json!([1, 2, 4])),
        (json!({"column": "level", "op": "null"}), json!([3])),
        (
            json!({"column": "level", "op": "notnull"}),
            json!([1, 2, 4]),
        ),
        (is("level", "in", json!([3, 9])), json!([1])),
        (is("level", "in", json!("3, 7")), json!([1, 2, 4])),
        (is("level", "in", json!([])), json!([])),
        (is("level", "notin", json!([3])), json!([2, 4])),
        (is("level", "notin", json!([])), json!([1, 2, 3, 4])),
        (is("level", "between", json!([3, 6])), json!([1])),
        (
            is("born", "between", json!(["1985-01-31", "1989-12-31"])),
            json!([2]),
        ),
        (is("born", "gt", json!("1989-12-31")), json!([1])),
        (is("vip", "eq", json!(true)), json!([1, 4])),
        (is("vip", "ne", json!(true)), json!([2])),
        (is("name", "eq", json!("ann")), json!([])),
        (is("name", "lt", json!("a")), json!([1, 3, 4])),
        (is("city", "like", json!("BER%")), json!([1, 2])),
        (is("city", "like", json!("_er_")), json!([1, 2])),
        (is("name", "like", json!("%\\")), json!([4])),
        (is("name", "like", json!("%ö%")), json!([])),
        (is("name", "match", json!("öl")), json!([])),
        (is("name", "match", json!("Öl")), json!([4])),
        (is("name", "match", json!("%")), json!([4])),
        (is("name", "match", json!("_")), json!([3])),
        (is("name", "match", json!("\\")), json!([4])),
        (is("name", "match", json!("B")), json!([2])),
        (is("name", "match", json!("")), json!([1, 2, 3, 4])),
        (is("meta", "notnull", Value::Null), json!([1, 2, 3])),
        (is("secret", "notnull", Value::Null), json!([4])),
    ];
    for place in shop("operators").await {
        for (entry, expected) in &cases {
            let ids = place
                .column("customer", "id", json!({"wheres": [entry]}))
                .await;
            assert_eq!(ids, *expected, "{entry} in {:?}", place.dialect());
        }
    }
}

#[tokio::test]
async fn and_binds_tighter_than_or_and_groups_are_parentheses() {
    let level = |level: i64| json!({"column": "level", "value": level});
    let or = |mut entry: Value| {
        entry["method"] = json!("orwhere");
        entry
    };
    let city = |city: &str| json!({"column": "city", "value": city});
    let cases = [
        (json!([level(3), or(level(7))]), json!([1, 2, 4])),
        (json!([or(level(3)), level(7)]), json!([])),
        // level = 3 OR (level = 7 AND city = Ulm)
        (json!([level(3), or(level(7)), city("Ulm")]), json!([1, 4])),
        // (level = 3 AND city = bern) OR city = Ulm
        (json!([level(3), city("bern"), or(city("Ulm"))]), json!([4])),
        // (level = 3 OR level = 7) AND city = Ulm
        (
            json!([{"wheres": [level(3), or(level(7))]}, city("Ulm")]),
            json!([4]),
        ),
        (
            json!([city("Ulm"), or(json!({"wheres": [level(7), city("bern")]}))]),
            json!([2, 4]),
        ),
        (json!([]), json!([1, 2, 3, 4])),
    ];
    for place in shop("joining").await {
        for (wheres, expected) in &cases {
            let ids = place
                .column("customer", "id", json!({"wheres": wheres}))
                .await;
            assert_eq!(ids, *expected, "{wheres} in {:?}", place.dialect());
        }
    }
}

#[tokio::test]
async fn g146_nothing_unknown_or_missing_is_dropped() {
    let wheres = |wheres: Value| json!({"wheres": wheres});
    let cases = [
        (
            wheres(json!([{"column": "level", "op": "~", "value": 1}])),
            "models.customer: unknown operator \"~\" in wheres[0] (there are eq, =, ne, <>, !=, gt, >, ge, >=, lt, <, le, <=, like, match, in, notin, between, null, notnull)",
        ),
        (
            wheres(json!([{"column": "level", "op": "not_nul"}])),
            "models.customer: unknown operator \"not_nul\" in wheres[0] (did you mean \"notnull\"?)",
        ),
        (
            wheres(json!([{"column": "level", "value": 1}, {"column": "city"}])),
            "models.customer: value is missing in wheres[1] (city)",
        ),
        (
            wheres(json!([{"column": "levl", "value": 1}])),
            "models.customer: unknown column \"levl\" in wheres[0] (did you mean \"level\"?)",
        ),
        (
            wheres(json!([{"column": "level", "value": 1, "method": "or"}])),
            "models.customer: unknown method \"or\" in wheres[0]",
        ),
        (
            wheres(json!([{"column": "level", "value": 1, "rel": "order"}])),
            "models.customer: unknown relation \"order\" in wheres[0] (did you mean \"orders\"?)",
        ),
        (
            wheres(json!([{"column": "level", "valeu": 1}])),
            "models.customer: unknown key \"valeu\" in wheres[0] (did you mean \"value\"?)",
        ),
        (
            wheres(json!([{"wheres": [{"column": "name", "op": "match", "value": 5}]}])),
            "models.customer: value must be a text for \"match\" in wheres[0].wheres[0] (name)",
        ),
        (
            wheres(json!([{"column": "level", "op": "match", "value": "5"}])),
            "models.customer: \"match\" cannot be used: level is no plain text in wheres[0]",
        ),
        (
            wheres(json!([{"column": "level", "op": "in", "value": [1, null]}])),
            "models.customer: value must not be null for \"in\" in wheres[0] (level)",
        ),
        (
            wheres(json!([{"column": "level", "op": "gt", "value": null}])),
            "models.customer: value must not be null for \"gt\" in wheres[0] (level)",
        ),
        (
            wheres(json!([{"column": "level", "op": "between", "value": [1]}])),
            "models.customer: value must be a list of two values: [low, high] in wheres[0] (level)",
        ),
        (
            wheres(json!([{"column": "level", "value": {"$gt": 1}}])),
            "models.customer: value must be a whole number, not an object in wheres[0] (level)",
        ),
        (
            wheres(json!([{"wheres": []}])),
            "models.customer: a group has no condition in wheres[0].wheres",
        ),
        (
            wheres(json!([{"column": "secret", "value": "x"}])),
            "models.customer: \"eq\" cannot be used: secret cannot be compared in wheres[0]",
        ),
        (
            json!({"select": ["id", "nam"]}),
            "models.customer: unknown column \"nam\" in select[1] (did you mean \"name\"?)",
        ),
        (
            json!({"select": ["secret"]}),
            "models.customer: column \"secret\" is hashed and never returned in select[0]",
        ),
        (
            json!({"orders": [{"column": "id", "option": "down"}]}),
            "models.customer: \"down\" is no order: it is asc or desc in orders[0].option",
        ),
        (
            json!({"orders": [{"column": "title", "rel": "orders"}]}),
            "models.customer: rows cannot be ordered by a relation that leads to many in orders[0].rel",
        ),
        (
            json!({"limit": -1}),
            "models.customer: limit must be a whole number, 0 or more in limit",
        ),
        (
            json!({"limit": 1, "page": 1}),
            "models.customer: limit stands beside page and pagesize: only one can be meant in limit",
        ),
        (
            json!({"withs": {"orders": {"query": {"wheres": [{"column": "x", "value": 1}]}}}}),
            "models.customer: unknown column \"x\" in withs.orders.query.wheres[0]",
        ),
        (json!([]), "models.customer: the query must be an object"),
        (
            json!({"where": []}),
            "models.customer: unknown key \"where\" (did you mean \"wheres\"?)",
        ),
        (
            json!({"colour": []}),
            "models.customer: unknown key \"colour\" (there are select, wheres, orders, limit, page, pagesize, withs, all)",
        ),
    ];
    for place in shop("refused").await {
        for (param, expected) in &cases {
            let refused = place.get("customer", param.clone()).await;
            assert_eq!(refused, Err((*expected).to_owned()), "{param}");
        }
    }
}

#[tokio::test]
async fn orders_are_the_same_in_both_databases_and_ties_are_broken_by_the_key() {
    let by = |column: &str, option: &str| json!({"column": column, "option": option});
    let cases = [
        (json!([by("level", "asc")]), json!([3, 1, 2, 4])),
        (json!([by("level", "desc")]), json!([2, 4, 1, 3])),
        (json!([by("city", "asc")]), json!([3, 1, 4, 2])),
        (
            json!([by("level", "desc"), by("id", "desc")]),
            json!([4, 2, 1, 3]),
        ),
        (
            json!([{"column": "title", "rel": "last_order"}]),
            json!([3, 4, 2, 1]),
        ),
    ];
    for place in shop("orders").await {
        for (orders, expected) in &cases {
            let ids = place
                .column("customer", "id", json!({"orders": orders}))
                .await;
            assert_eq!(ids, *expected, "{orders} in {:?}", place.dialect());
        }
    }
}

#[tokio::test]
async fn pages_cut_the_ordered_rows() {
    for place in shop("pages").await {
        let param = json!({"select": ["id"], "orders": [{"column": "level", "option": "desc"}], "page": 2, "pagesize": 3});
        assert_eq!(
            place.page("customer", &param).await,
            json!({"data": [{"id": 3}], "page": 2, "pagesize": 3, "pagecnt": 2, "next": -1, "prev": 1, "total": 4})
        );
        let some = place.column("customer", "id", json!({"limit": 2})).await;
        assert_eq!(some, json!([1, 2]));
        let none = place.column("customer", "id", json!({"limit": 0})).await;
        assert_eq!(none, json!([]));
    }
}

#[tokio::test]
async fn rows_have_the_columns_that_are_selected_and_never_hashed_ones() {
    for place in shop("columns").await {
        let one = json!([{"column": "id", "value": 4}]);
        let all = place.get("customer", json!({"wheres": one})).await.unwrap();
        assert_eq!(
            all,
            json!([{"id": 4, "name": "50% Öl\\", "city": "Ulm", "level": 7, "vip": true, "born": null, "meta": null}])
        );
        let some = place.get(
            "customer",
            json!({"select": ["name", "id", "name"], "wheres": one}),
        );
        assert_eq!(some.await.unwrap(), json!([{"name": "50% Öl\\", "id": 4}]));
    }
}
