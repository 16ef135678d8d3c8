//! QueryDSL: the rows of queries that are right.

use crate::place::anyone;
use crate::shop::shop;
use ambit_runtime::model::database::SqlDialect;
use ambit_runtime::model::query::ReadContext;
use serde_json::{Value, json};

/// Conditions, and the ids of the customers for which they hold.
const WHERES: &[(&str, &[i64])] = &[
    (r#"[{"field": "level", "op": ">", "value": 3}]"#, &[2, 4]),
    (r#"[{"field": "level", ">": 3}]"#, &[2, 4]),
    (r#"[{":level": "the level", "=": 7}]"#, &[2, 4]),
    (r#"[{"field": "level", "!=": 7}]"#, &[1]),
    (
        r#"[{"field": "level", "in": [3]}, {"or :city": "", "=": "Ulm"}]"#,
        &[1, 4],
    ),
    (r#"[{"field": "city", "is": "null"}]"#, &[3]),
    (r#"[{"field": "city", "is": "not null"}]"#, &[1, 2, 4]),
    (r#"[{"field": "name", "match": "%"}]"#, &[4]),
    (r#"[{"field": "name", "like": "%N%"}]"#, &[1]),
    (
        r#"[{"field": "city", "=": "Ulm"},
            {"or": true, "wheres": [{"field": "level", "=": 7}, {"field": "city", "=": "bern"}]}]"#,
        &[2, 4],
    ),
    // Values within JSON are compared with values of the same type.
    (r#"[{"field": "meta$.color", "=": "red"}]"#, &[1]),
    (r#"[{"field": "meta$.n", "=": 5}]"#, &[1]),
    (r#"[{"field": "meta$.n", "=": "5"}]"#, &[2]),
    (r#"[{"field": "meta$.n", ">": 4}]"#, &[1, 3]),
    (r#"[{"field": "meta$.ok", "=": true}]"#, &[1]),
    (r#"[{"field": "meta$.ok", "<>": true}]"#, &[2]),
    (
        r#"[{"field": "meta$.color", "in": ["red", "blue", 5]}]"#,
        &[1, 2],
    ),
    (r#"[{"field": "meta$.color", "match": "L"}]"#, &[2]),
    (r#"[{"field": "meta$.color", "is": "null"}]"#, &[3, 4]),
    (r#"[{"field": "meta$.deep.list[0].x", "=": "a"}]"#, &[1]),
    (
        r#"[{"field": "id", "op": "in", "query":
            {"select": ["customer_id"], "from": "order", "wheres": [{"field": "title", "=": "lost"}]}}]"#,
        &[],
    ),
    (
        r#"[{"field": "id", "op": "in", "query":
            {"select": ["customer_id"], "from": "order", "wheres": [{"field": "state", "=": "paid"}]}}]"#,
        &[1],
    ),
    (
        r#"[{"field": "level", "op": "=", "query": {"select": [":MAX(level) as m"], "from": "customer"}}]"#,
        &[2, 4],
    ),
];

/// Other parts of queries, and the rows that these give.
const QUERIES: &[(&str, &str)] = &[
    (
        r#"{"select": ["id"], "from": "$customer", "orders": "level desc, id desc"}"#,
        r#"[{"id": 4}, {"id": 2}, {"id": 1}, {"id": 3}]"#,
    ),
    (
        r#"{"select": ["id"], "from": "customer", "orders": [{"field": "meta$.n", "sort": "desc"}]}"#,
        r#"[{"id": 3}, {"id": 1}, {"id": 2}, {"id": 4}]"#,
    ),
    (
        r#"{"select": "id", "from": "customer", "limit": 2, "offset": 1}"#,
        r#"[{"id": 2}, {"id": 3}]"#,
    ),
    (
        r#"{"select": ["id"], "from": "customer", "offset": 3}"#,
        r#"[{"id": 4}]"#,
    ),
    (
        r#"{"select": ["id"], "from": "customer", "first": true}"#,
        r#"{"id": 1}"#,
    ),
    (
        r#"{"select": ["id"], "from": "customer", "pagesize": 3, "page": 2}"#,
        r#"{"data": [{"id": 4}], "page": 2, "pagesize": 3, "pagecnt": 2, "next": -1, "prev": 1, "total": 4}"#,
    ),
    (
        r#"{"select": ["name", "meta$.color", "meta$.deep.list as list", "meta$.n"], "from": "customer", "limit": 2}"#,
        r#"[
            {"name": "Ann", "color": "red", "list": [{"x": "a"}], "n": 5},
            {"name": "bob", "color": "blue", "list": null, "n": "5"}
        ]"#,
    ),
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn every_part_of_a_query_gives_the_same_rows_in_both_databases() {
    let wheres = WHERES.iter().map(|&(wheres, ids)| {
        let query = json!({"select": ["id"], "from": "customer", "wheres": parsed(wheres)});
        let rows: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        (query, Value::Array(rows))
    });
    let queries = QUERIES.iter();
    let queries = queries.map(|&(query, rows)| (parsed(query), parsed(rows)));
    let cases: Vec<(Value, Value)> = wheres.chain(queries).collect();
    for place in shop("dsl").await {
        for (dsl, expected) in &cases {
            assert_eq!(
                place.query(dsl.clone()).await,
                Ok(expected.clone()),
                "{dsl} in {:?}",
                place.dialect()
            );
        }
    }
}

#[tokio::test]
async fn joins_see_no_deleted_rows_on_either_side() {
    let joined = |side: Value| {
        let mut join =
            json!({"from": "order as o", "key": "o.customer_id", "foreign": "customer.id"});
        join.as_object_mut()
            .unwrap()
            .extend(side.as_object().unwrap().clone());
        json!({"select": ["customer.name", "o.title as title"], "from": "customer", "joins": [join],
            "orders": ["title"]})
    };
    let row = |name: Value, title: Value| json!({"name": name, "title": title});
    let (ann, bob) = (json!("Ann"), json!("bob"));
    let inner = [
        row(bob.clone(), json!("cap")),
        row(ann.clone(), json!("ink")),
        row(bob, json!("pad")),
        row(ann, json!("pen")),
    ];
    for place in shop("joins").await {
        assert_eq!(place.query(joined(json!({}))).await, Ok(json!(inner)));
        let mut left = vec![
            row(json!("Cid_1"), Value::Null),
            row(json!("50% Öl\\"), Value::Null),
        ];
        left.extend(inner.clone());
        assert_eq!(
            place.query(joined(json!({"left": true}))).await,
            Ok(json!(left))
        );
        let mut right = inner.to_vec();
        right.insert(2, row(Value::Null, json!("odd")));
        assert_eq!(
            place.query(joined(json!({"right": true}))).await,
            Ok(json!(right))
        );
    }
}

#[tokio::test]
async fn groups_are_counted_and_summed_alike() {
    for place in shop("groups").await {
        let dsl = json!({
            "select": ["state", ":COUNT(*) as n", ":SUM(amount) as sum", ":AVG(customer_id) as avg", ":MIN(title) as first",
                ":MAX(at) as last", ":COUNT(DISTINCT customer_id) as customers"],
            "from": "order", "groups": ["state"], "orders": "n desc",
        });
        assert_eq!(
            place.query(dsl).await,
            Ok(json!([
                {"state": "open", "n": 3, "sum": 2.8, "avg": 1.6666666666666667, "first": "cap", "last": "2026-02-01 10:00:00",
                    "customers": 2},
                {"state": "paid", "n": 2, "sum": 17, "avg": 1, "first": "ink", "last": "2026-02-02 10:00:00", "customers": 1},
            ]))
        );
        let dsl = json!({
            "select": ["customer_id", ":COUNT(id) as n"], "from": "order", "groups": [{"field": "customer_id"}],
            "havings": [{"field": "n", ">": 1}],
        });
        assert_eq!(
            place.query(dsl).await,
            Ok(json!([{"customer_id": 1, "n": 2}, {"customer_id": 2, "n": 2}]))
        );
        let dsl = json!({
            "select": ["meta$.color", ":COUNT(*) as n"], "from": "customer", "groups": "meta$.color",
            "wheres": [{"field": "meta", "is": "not null"}],
        });
        let colors =
            json!([{"color": null, "n": 1}, {"color": "blue", "n": 1}, {"color": "red", "n": 1}]);
        assert_eq!(place.query(dsl).await, Ok(colors));
        let dsl = json!({
            "select": [":LENGTH(name) as l", ":UPPER(name) as u", ":LOWER(name) as d", ":ABS(level) as a"],
            "from": "customer", "wheres": [{"field": "id", "=": 4}],
        });
        let row = json!([{"l": 7, "u": "50% ÖL\\", "d": "50% Öl\\", "a": 7}]);
        assert_eq!(place.query(dsl).await, Ok(row));
    }
}

#[tokio::test]
async fn a_query_can_stand_in_the_place_of_a_table() {
    for place in shop("inner").await {
        let inner = json!({
            "name": "sums", "select": ["customer_id", ":COUNT(*) as n"], "from": "order", "groups": ["customer_id"],
        });
        let dsl = json!({
            "select": ["c.name", "sums.n as orders"], "query": inner,
            "joins": [{"from": "customer as c", "key": "c.id", "foreign": "sums.customer_id"}],
            "wheres": [{"field": "n", ">": 1}], "orders": "c.name",
        });
        assert_eq!(
            place.query(dsl).await,
            Ok(json!([{"name": "Ann", "orders": 2}, {"name": "bob", "orders": 2}]))
        );
    }
}

#[tokio::test]
async fn values_beside_the_query_are_bound() {
    for place in shop("bound").await {
        let who = anyone();
        let mut reading = ReadContext::new(&place.models, &who);
        let database = place.models.database();
        let mut transaction = database
            .begin(ambit_runtime::model::database::AccessMode::Read)
            .await
            .unwrap();
        let dsl = json!({
            "select": ["id", "?:mark as mark", "?:number"], "from": "customer",
            "wheres": [{"field": "city", "=": "?:city"}, {"field": "level", "in": "?:levels"}],
        });
        let values = json!({"mark": "'; --", "number": 5, "city": "Ulm", "levels": [7, 8]});
        let query = place.dsl(&dsl, &values).unwrap();
        let rows = query.run(&mut *transaction, &mut reading).await.unwrap();
        assert_eq!(rows, json!([{"id": 4, "mark": "'; --", "number": 5}]));
        let missing = place
            .dsl(&dsl, &json!({"mark": "", "number": 1, "city": "Ulm"}))
            .unwrap_err();
        assert_eq!(
            missing.message,
            "Query: no value is given for ?:levels in wheres[1]"
        );
    }
}

#[tokio::test]
async fn cutting_tables_down_leaves_their_indexes_in_use() {
    let dsl = json!({
        "select": ["o.title", "c.name"], "from": "order as o",
        "joins": [{"from": "customer as c", "key": "c.id", "foreign": "o.customer_id", "left": true}],
        "wheres": [{"field": "o.id", "=": 1}],
    });
    for place in shop("indexes")
        .await
        .iter()
        .filter(|place| place.dialect() == SqlDialect::Sqlite)
    {
        let query = place.dsl(&dsl, &json!({})).unwrap();
        let who = anyone();
        let mut reading = ReadContext::new(&place.models, &who);
        let mut statement = place.dialect().write(&query.statement(&mut reading, None));
        statement.sql.insert_str(0, "EXPLAIN QUERY PLAN ");
        let mut transaction = query.begin(&place.models).await.unwrap();
        let plan = format!("{:?}", transaction.rows(statement).await.unwrap());
        assert_eq!(plan.matches("SEARCH").count(), 2, "{plan}");
        assert!(
            !plan.contains("SCAN") && !plan.contains("MATERIALIZE"),
            "{plan}"
        );
    }
}
