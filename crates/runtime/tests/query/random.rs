//! Queries made at random: what a database would refuse is refused before, by name.

use crate::dice::Dice;
use crate::place::{Place, anyone, places};
use ambit_runtime::model::query::ReadContext;
use ambit_runtime::{Error, ErrorCode};
use serde_json::{Map, Value, json};

/// Queries of each kind in each database.
const QUERIES: u64 = 400;

/// A column of each type, named after it.
const TEXTS: &[&str] = &["string", "char", "text", "uuid", "ipAddress", "enum", "aes"];
const NUMBERS: &[&str] = &[
    "id",
    "up",
    "tinyInteger",
    "integer",
    "bigInteger",
    "year",
    "float",
    "double",
    "decimal",
];
const OTHERS: &[&str] = &[
    "boolean",
    "date",
    "time",
    "datetime",
    "timestampTz",
    "json",
    "jsonb",
    "binary",
    "long",
    "deleted_at",
];
const FUNCTIONS: &[&str] = &[
    "COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX", "ABS", "LENGTH", "LOWER",
];
const OPERATORS: &[&str] = &["=", "<>", ">", ">=", "<", "like", "match", "in", "is"];
const PARAM_OPERATORS: &[&str] = &[
    "eq", "ne", "gt", "le", "like", "match", "in", "notin", "between", "null", "notnull",
];
const RELATIONS: &[&str] = &["many", "one", "by_text"];

/// What a query calls a table, and its columns.
type NamedTable = (String, Vec<String>);

fn all_columns() -> Vec<String> {
    let names = [TEXTS, NUMBERS, OTHERS].concat();
    names.into_iter().map(str::to_owned).collect()
}

fn column(dice: &mut Dice, tables: &[NamedTable], kinds: &[&str]) -> String {
    let (alias, columns) = &tables[dice.roll(tables.len())];
    let fit: Vec<&str> = columns.iter().map(String::as_str).collect();
    let fit: Vec<&str> = fit.into_iter().filter(|it| kinds.contains(it)).collect();
    let name = match fit.is_empty() || dice.one_in(20) {
        true => columns[dice.roll(columns.len())].as_str(),
        false => dice.pick(&fit),
    };
    format!("{alias}.{name}")
}

fn any_column(dice: &mut Dice, tables: &[NamedTable]) -> String {
    let kinds = [TEXTS, NUMBERS, OTHERS][dice.roll(3)];
    column(dice, tables, kinds)
}

fn function(dice: &mut Dice, tables: &[NamedTable]) -> String {
    let name = dice.pick(FUNCTIONS);
    let argument = match name {
        "LENGTH" | "LOWER" => column(dice, tables, TEXTS),
        "SUM" | "AVG" | "ABS" => column(dice, tables, NUMBERS),
        "COUNT" if dice.one_in(3) => "*".to_owned(),
        "COUNT" if dice.one_in(2) => format!("DISTINCT {}", any_column(dice, tables)),
        _ => any_column(dice, tables),
    };
    format!(":{name}({argument})")
}

fn field(dice: &mut Dice, tables: &[NamedTable]) -> String {
    match dice.roll(9) {
        0..=2 => function(dice, tables),
        3 => {
            let path = dice.pick(&[".a", ".b[0]", "[1]", ".a.b", "[99999999]"]);
            format!("{}${path}", column(dice, tables, &["json", "jsonb"]))
        }
        4 => format!("?:{}", dice.pick(&["number", "text", "null", "flag"])),
        _ => any_column(dice, tables),
    }
}

fn is_aggregate(field: &str) -> bool {
    let names = [":COUNT", ":SUM", ":AVG", ":MIN", ":MAX"];
    names.iter().any(|name| field.starts_with(name))
}

/// A value that fits the field, most of the time.
fn value(dice: &mut Dice, field: &str, operator: &str) -> Value {
    let last = field.rsplit(['.', '(']).next().unwrap_or_default();
    let fit = match last.trim_end_matches(')') {
        _ if dice.one_in(8) => {
            [json!("a\0b"), json!(1e300), json!({}), json!(-1)][dice.roll(4)].clone()
        }
        _ if operator == "is" => json!("not null"),
        _ if matches!(operator, "like" | "match") => json!("%a"),
        _ if field.starts_with(":COUNT") || field.starts_with(":LENGTH") => json!(2),
        "uuid" => json!("00000000-0000-0000-0000-000000000001"),
        "ipAddress" => json!("::1"),
        "string" | "char" | "text" | "enum" | "aes" => json!("a"),
        "boolean" => json!(true),
        "date" => json!("2026-01-31"),
        "time" => json!("13:05:00"),
        "datetime" | "timestampTz" | "deleted_at" => json!("2026-01-31 13:05:00"),
        _ => json!(1),
    };
    match operator {
        "in" | "notin" | "between" => json!([fit, fit]),
        _ => fit,
    }
}

fn condition(dice: &mut Dice, tables: &[NamedTable], depth: usize, pool: &[String]) -> Value {
    if depth < 3 && dice.one_in(8) {
        let mut inner = dice.some(2, |dice| condition(dice, tables, depth + 1, pool));
        inner.push(condition(dice, tables, depth + 1, pool));
        return json!({"wheres": inner, "or": dice.one_in(2)});
    }
    let field = match pool.is_empty() || dice.one_in(8) {
        true => field(dice, tables),
        false => pool[dice.roll(pool.len())].clone(),
    };
    let is_or = dice.one_in(4);
    if depth < 2 && dice.one_in(6) {
        let operator = dice.pick(&["=", "<", "in"]);
        let mut inner = query(dice, depth + 1);
        inner["select"].as_array_mut().unwrap().truncate(1);
        inner["orders"] = json!([]);
        return json!({"field": field, "op": operator, "or": is_or, "query": inner});
    }
    let operator = dice.pick(OPERATORS);
    json!({"field": field, operator: value(dice, &field, operator), "or": is_or})
}

/// What the first table of a query is called, by its depth.
const NAMES: &[&str] = &["a", "b", "c", "d"];

fn first_table(dice: &mut Dice, depth: usize) -> (Map<String, Value>, Vec<NamedTable>) {
    let name = NAMES[depth].to_owned();
    let mut made = Map::new();
    if depth < 2 && dice.one_in(4) {
        let mut inner = query(dice, depth + 1);
        inner["name"] = json!(name);
        let shown = inner["select"].as_array().unwrap().len();
        let columns = (0..shown).map(|index| format!("f{index}")).collect();
        made.insert("query".to_owned(), inner);
        return (made, vec![(name, columns)]);
    }
    made.insert("from".to_owned(), json!(format!("kinds as {name}")));
    (made, vec![(name, all_columns())])
}

fn joins(dice: &mut Dice, tables: &mut Vec<NamedTable>) -> Vec<Value> {
    dice.some(2, |dice| {
        let name = format!("j{}", tables.len());
        let kinds = [TEXTS, NUMBERS][dice.roll(2)];
        let foreign = match dice.one_in(12) {
            true => function(dice, tables),
            false => column(dice, tables, kinds),
        };
        tables.push((name.clone(), all_columns()));
        let key = format!("{name}.{}", dice.pick(kinds));
        let side = dice.pick(&["left", "right", "comment"]);
        let mut join = json!({"from": format!("kinds as {name}"), "key": key, "foreign": foreign});
        join[side] = match side {
            "comment" => json!("inner"),
            _ => json!(true),
        };
        join
    })
}

fn query(dice: &mut Dice, depth: usize) -> Value {
    let (mut made, mut tables) = first_table(dice, depth);
    let mut put = |key: &str, value: Value| drop(made.insert(key.to_owned(), value));
    if dice.one_in(3) {
        put("joins", json!(joins(dice, &mut tables)));
    }
    let tables = &tables;
    let mut fields = dice.some(3, |dice| field(dice, tables));
    fields.push(field(dice, tables));
    let is_grouped = dice.one_in(3);
    if !is_grouped && !fields.iter().all(|it| is_aggregate(it)) && !dice.one_in(12) {
        fields.retain(|it| !is_aggregate(it));
    }
    let named = fields.iter().enumerate();
    put(
        "select",
        named
            .map(|(index, it)| json!(format!("{it} as f{index}")))
            .collect(),
    );
    if is_grouped {
        let groups: Vec<&String> = fields.iter().filter(|it| !is_aggregate(it)).collect();
        put("groups", json!(groups));
        put(
            "havings",
            json!(dice.some(2, |dice| condition(dice, tables, depth, &fields))),
        );
    }
    if dice.one_in(2) {
        put(
            "wheres",
            json!(dice.some(2, |dice| condition(dice, tables, depth, &[]))),
        );
    }
    if dice.one_in(2) {
        let orders = dice.some(3, |dice| match dice.one_in(4) {
            true => field(dice, tables),
            false => format!("f{} desc", dice.roll(fields.len())),
        });
        put("orders", json!(orders));
    }
    match dice.roll(6) {
        0 => put("limit", json!(dice.roll(3))),
        1 => put("offset", json!(9_007_199_254_740_991_u64)),
        2 => put("page", json!(dice.roll(3) + 1)),
        3 => put("first", json!(true)),
        _ => {}
    }
    made.into()
}

fn param(dice: &mut Dice, depth: usize) -> Value {
    let columns = [TEXTS, NUMBERS, OTHERS].concat();
    let wheres = dice.some(3, |dice| {
        let (column, operator) = (dice.pick(&columns), dice.pick(PARAM_OPERATORS));
        let mut entry =
            json!({"column": column, "op": operator, "value": value(dice, column, operator)});
        if dice.one_in(4) {
            entry["rel"] = json!(dice.pick(RELATIONS));
        }
        if dice.one_in(3) {
            entry["method"] = json!("orwhere");
        }
        entry
    });
    let orders = dice.some(
        3,
        |dice| json!({"column": dice.pick(&columns), "option": dice.pick(&["asc", "desc"])}),
    );
    let select = dice.some(4, |dice| dice.pick(&columns));
    let mut param = json!({"select": select, "wheres": wheres, "orders": orders});
    if depth == 0 && dice.one_in(3) {
        let relation = dice.pick(RELATIONS);
        param["withs"] = json!({relation: {"query": self::param(dice, depth + 1)}});
    }
    if dice.one_in(3) {
        let page = [1_u64, 9_007_199_254_740_991][dice.roll(2)];
        param["page"] = json!(page);
    }
    param
}

fn models() -> Vec<(&'static str, Value)> {
    let of_kind = |kind: &&str| match *kind {
        "id" => json!({"name": "id", "type": "ID"}),
        "up" => json!({"name": "up", "type": "bigInteger", "nullable": true}),
        "aes" => json!({"name": "aes", "type": "string", "nullable": true, "crypt": "AES"}),
        "long" => {
            json!({"name": "long", "type": "decimal", "precision": 30, "scale": 4, "nullable": true})
        }
        "enum" => json!({"name": "enum", "type": "enum", "option": ["a", "b"], "nullable": true}),
        kind => json!({"name": kind, "type": kind, "nullable": true}),
    };
    let kinds = [TEXTS, NUMBERS, OTHERS].concat();
    let columns = kinds.iter().filter(|kind| **kind != "deleted_at");
    let columns: Vec<Value> = columns.map(of_kind).collect();
    let relation = |kind: &str, key: &str, foreign: &str| json!({"type": kind, "model": "kinds", "key": key, "foreign": foreign});
    let model = json!({
        "name": "Kinds", "columns": columns, "option": {"soft_deletes": true},
        "relations": {
            "many": relation("hasMany", "up", "id"),
            "one": relation("hasOne", "up", "id"),
            "by_text": relation("hasOne", "string", "uuid"),
        },
    });
    vec![("kinds", model)]
}

fn rows() -> Value {
    let full = json!({
        "id": 1, "up": 1, "string": "a", "char": "b", "text": "ä", "uuid": "00000000-0000-0000-0000-000000000001",
        "ipAddress": "127.0.0.1", "enum": "a", "aes": "s", "tinyInteger": -128, "integer": i32::MIN, "year": 2026,
        "bigInteger": i64::MIN.to_string(), "float": 1e38, "double": 1e308, "decimal": 1.5, "boolean": true, "date": "2026-01-31",
        "time": "13:05:00", "datetime": "2026-01-31 13:05:00", "timestampTz": "2026-01-31 13:05:00", "json": {"a": {"b": 1}},
        "jsonb": [1e308, "ä"], "binary": "YQ==", "long": "12345678901234567890.1234",
    });
    let mut other = full.clone();
    other["id"] = json!(2);
    other["json"] = json!({"a": "x", "b": [true]});
    json!([full, other, {"id": 3, "up": 1, "string": "b"}])
}

/// Whether a query was answered; a failure that is not the caller's is one of this test.
fn is_answered(answer: Result<Value, Error>, query: &Value, place: &Place) -> bool {
    match answer {
        Ok(_) => true,
        Err(error) if error.code == ErrorCode::InvalidArgument => false,
        Err(error) => panic!("{error:?}: {query} in {:?}", place.dialect()),
    }
}

#[tokio::test]
async fn g146_no_query_made_at_random_reaches_a_database_that_refuses_it() {
    let values = json!({"number": 5, "text": "a", "null": "a\0b", "flag": true});
    let who = anyone();
    for place in places("random", &models()).await {
        place.put("kinds", &rows()).await;
        let (mut queries, mut params) = (0, 0);
        for seed in 1..=QUERIES {
            let asked = query(&mut Dice::of(seed), 0);
            let answer = async {
                let dsl = place.dsl(&asked, &values)?;
                let mut reading = ReadContext::new(&place.models, &who);
                let mut transaction = dsl.begin(&place.models).await?;
                dsl.run(&mut *transaction, &mut reading).await
            };
            queries += u64::from(is_answered(answer.await, &asked, &place));
            let asked = param(&mut Dice::of(seed), 0);
            let loaded = place.load(&who, "kinds", &asked).await;
            let answer = loaded.map(|loaded| loaded.rows);
            params += u64::from(is_answered(answer, &asked, &place));
        }
        // Else they would show nothing.
        let counts = format!("{queries} and {params} of {QUERIES}");
        assert!(queries > QUERIES / 8 && params > QUERIES / 8, "{counts}");
    }
}
