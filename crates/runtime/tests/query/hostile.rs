//! Names and values that would like to be SQL.

use crate::place::{Place, anyone};
use crate::shop::shop;
use ambit_runtime::model::query::{QueryParam, ReadContext, RowWindow};
use serde_json::{Value, json};

/// What nobody's name is.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "*",
    "id\"",
    "id\" OR 1=1 --",
    "id'; DROP TABLE customer; --",
    "id) OR (1=1",
    "customer.id",
    "\"customer\".\"id\"",
    "id--",
    "id/**/",
    "id\0",
    "id\u{2019}",
    "$1",
    "?1",
    ":id",
    "~1",
    "1=1",
    "pg_sleep(9)",
    "id, (SELECT 1)",
    "= 1 OR 1",
    "IN (1)) OR (1",
    "like '%' OR 1=1 --",
    "asc, (SELECT 1)",
    "orwhere 1=1",
];

const WINDOW: RowWindow = RowWindow {
    offset: 0,
    limit: 10,
};

fn sql(place: &Place, param: &Value) -> Result<String, String> {
    let model = place.model("customer");
    let select = QueryParam::parse(&place.models, &model, param).map_err(|error| error.message)?;
    let who = anyone();
    let mut reading = ReadContext::new(&place.models, &who);
    let columns = select.shown_columns();
    let statement = select.statement(&mut reading, &columns, WINDOW);
    Ok(place.dialect().write(&statement).sql)
}

fn dsl_sql(place: &Place, dsl: &Value) -> Result<String, String> {
    let dsl = place.dsl(dsl, &json!({})).map_err(|error| error.message)?;
    let who = anyone();
    let mut reading = ReadContext::new(&place.models, &who);
    let statement = dsl.statement(&mut reading, Some(WINDOW));
    Ok(place.dialect().write(&statement).sql)
}

#[tokio::test]
async fn g056_hostile_names_are_refused_wherever_they_stand() {
    let params: &[fn(&str) -> Value] = &[
        |name| json!({"select": [name]}),
        |name| json!({"wheres": [{"column": name, "value": 1}]}),
        |name| json!({"wheres": [{"column": "id", "value": 1, "op": name}]}),
        |name| json!({"wheres": [{"column": "id", "value": 1, "method": name}]}),
        |name| json!({"wheres": [{"column": "id", "value": 1, "rel": name}]}),
        |name| json!({"wheres": [{"column": "id", "value": 1, name: 1}]}),
        |name| json!({"wheres": [{"wheres": [{"column": "title", "rel": "orders", "op": name, "value": "x"}]}]}),
        |name| json!({"orders": [{"column": name}]}),
        |name| json!({"orders": [{"column": "id", "option": name}]}),
        |name| json!({"orders": [{"column": "id", "rel": name}]}),
        |name| json!({"withs": {name: {}}}),
        |name| json!({"withs": {"orders": {"query": {"select": [name]}}}}),
        |name| json!({"limit": name}),
        |name| json!({name: []}),
    ];
    let queries: &[fn(&str) -> Value] = &[
        |name| json!({"select": [name], "from": "customer"}),
        |name| json!({"select": [format!("name as {name}")], "from": "customer"}),
        |name| json!({"select": [format!(":COUNT({name}) as n")], "from": "tag"}),
        |name| json!({"select": [format!(":{name}(id) as n")], "from": "customer"}),
        |name| json!({"select": [format!("meta$.{name}")], "from": "customer"}),
        |name| json!({"select": ["id"], "from": name}),
        |name| json!({"select": ["id"], "from": format!("customer as {name}")}),
        |name| json!({"select": ["id"], "from": "customer", "wheres": [{"field": name, "=": 1}]}),
        |name| json!({"select": ["id"], "from": "customer", "wheres": [{"field": "id", "op": name, "value": 1}]}),
        |name| json!({"select": ["id"], "from": "customer", "wheres": [{"field": "id", "=": 1, name: 1}]}),
        |name| json!({"select": ["id"], "from": "customer", "groups": [name]}),
        |name| json!({"select": ["id"], "from": "customer", "orders": [{"field": name}]}),
        |name| json!({"select": ["id"], "from": "customer", "orders": [{"field": "id", "sort": name}]}),
        |name| json!({"select": ["o.id"], "from": "customer", "joins": [{"from": name, "key": "o.id", "foreign": "customer.id"}]}),
        |name| json!({"select": ["o.id"], "from": "customer", "joins": [{"from": "order as o", "key": name, "foreign": "customer.id"}]}),
        |name| json!({"select": ["id"], "query": {"name": name, "select": ["id"], "from": "customer"}}),
        |name| json!({"select": ["id"], "from": "customer", "limit": name}),
        |name| json!({"select": ["id"], "from": "customer", name: 1}),
    ];
    // What these places do take.
    let is_right = |name: &str, value: &Value| {
        let text = value.to_string();
        (name == "*" && text.contains(":COUNT("))
            || (name == "id--" && text.contains("meta$.id--"))
            || (name == "customer.id" && text.contains("\"from\":\"customer"))
    };
    for place in shop("hostile_names").await {
        for name in HOSTILE {
            for param in params {
                let param = param(name);
                assert!(sql(&place, &param).is_err(), "{param}");
            }
            for dsl in queries {
                let dsl = dsl(name);
                assert!(
                    is_right(name, &dsl) || dsl_sql(&place, &dsl).is_err(),
                    "{dsl}"
                );
            }
        }
    }
}

#[tokio::test]
async fn g056_hostile_values_never_change_the_statement() {
    let params: &[fn(&str) -> Value] = &[
        |text| json!({"wheres": [{"column": "name", "value": text}]}),
        |text| json!({"wheres": [{"column": "name", "op": "like", "value": text}]}),
        |text| json!({"wheres": [{"column": "name", "op": "match", "value": text}]}),
        |text| json!({"wheres": [{"column": "name", "op": "in", "value": [text, "b"]}]}),
        |text| json!({"wheres": [{"column": "name", "op": "between", "value": [text, text]}]}),
        |text| json!({"wheres": [{"column": "title", "rel": "orders", "value": text}]}),
    ];
    let queries: &[fn(&str) -> Value] = &[
        |text| json!({"select": ["id"], "from": "customer", "wheres": [{"field": "name", "=": text}]}),
        |text| json!({"select": ["id"], "from": "customer", "wheres": [{"field": "name", "match": text}]}),
        |text| json!({"select": ["id"], "from": "customer", "wheres": [{"field": "meta$.color", "=": text}]}),
        |text| json!({"select": ["id"], "from": "customer", "wheres": [{"field": "meta$.color", "in": [text, 1]}]}),
        |text| json!({"select": ["name"], "from": "customer", "groups": "name", "havings": [{"field": ":MAX(city)", ">": text}]}),
    ];
    // What stands in the place of a bound value begins so.
    let is_bound = |text: &str| text.starts_with("?:");
    for place in shop("hostile_values").await {
        for text in HOSTILE
            .iter()
            .filter(|text| !is_bound(text) && !text.contains('\0'))
        {
            for param in params {
                let (own, plain) = (param(text), param("plain"));
                assert_eq!(sql(&place, &own), sql(&place, &plain), "{own}");
                assert!(place.get("customer", own.clone()).await.is_ok(), "{own}");
            }
            for dsl in queries {
                let (own, plain) = (dsl(text), dsl("plain"));
                assert_eq!(dsl_sql(&place, &own), dsl_sql(&place, &plain), "{own}");
                assert!(place.query(own.clone()).await.is_ok(), "{own}");
            }
        }
    }
}
