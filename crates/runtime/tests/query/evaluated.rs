//! Queries made at random against the same question asked of plain rows in memory.

use crate::dice::Dice;
use crate::place::{Place, caller, places};
use serde_json::{Map, Value, json};

const WORDS: &[&str] = &[
    "", "a", "A", "ab", "b%", "_b", "Ab c", "ä", "Ä", "\\", "a\\b", "zz", "'",
];
const PEOPLE: &[&str] = &["ann", "bob"];
const TEAMS: &[&str] = &["red", "blue"];

fn models() -> Vec<(&'static str, Value)> {
    let columns = json!([
        {"name": "id", "type": "ID"},
        {"name": "n", "type": "integer", "nullable": true},
        {"name": "x", "type": "double", "nullable": true},
        {"name": "t", "type": "string", "nullable": true},
        {"name": "b", "type": "boolean", "nullable": true},
        {"name": "up", "type": "bigInteger", "nullable": true},
    ]);
    let option = json!({"soft_deletes": true, "permission": true});
    let model = |relations: Value| json!({"name": "M", "columns": columns, "relations": relations, "option": option});
    let many = json!({"parts": {"type": "hasMany", "model": "part", "key": "up", "foreign": "id"}});
    let one =
        json!({"thing": {"type": "belongsTo", "model": "thing", "key": "id", "foreign": "up"}});
    vec![("thing", model(many)), ("part", model(one))]
}

fn maybe(dice: &mut Dice, value: Value) -> Value {
    if dice.roll(4) == 0 {
        Value::Null
    } else {
        value
    }
}

fn row(dice: &mut Dice, id: usize) -> Value {
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| drop(row.insert(name.to_owned(), value));
    put("id", json!(id));
    let n = json!(i64::try_from(dice.roll(7)).unwrap() - 3);
    put("n", maybe(dice, n));
    let x = json!(f64::from(u32::try_from(dice.roll(9)).unwrap()) / 2.0);
    put("x", maybe(dice, x));
    let t = json!(dice.pick(WORDS));
    put("t", maybe(dice, t));
    let b = json!(dice.roll(2) == 0);
    put("b", maybe(dice, b));
    let up = json!(dice.roll(14) + 1);
    put("up", maybe(dice, up));
    let is_gone = dice.roll(5) == 0;
    put(
        "deleted_at",
        if is_gone {
            json!("2026-01-01 00:00:00")
        } else {
            Value::Null
        },
    );
    let by = json!(dice.pick(PEOPLE));
    put("__yao_created_by", by.clone());
    put("__yao_updated_by", by);
    let team = json!(dice.pick(TEAMS));
    put("__yao_team_id", maybe(dice, team));
    let tenant = if dice.roll(4) == 0 {
        json!("acme")
    } else {
        Value::Null
    };
    put("__yao_tenant_id", tenant);
    row.into()
}

/// A caller that may see something.
fn who(dice: &mut Dice) -> Value {
    let mut limits = Map::new();
    for limit in ["owner_only", "editor_only", "team_only"] {
        if dice.roll(4) == 0 {
            limits.insert(limit.to_owned(), json!(true));
        }
    }
    let mut who =
        json!({"user_id": dice.pick(PEOPLE), "team_id": dice.pick(TEAMS), "constraints": limits});
    if dice.roll(4) == 0 {
        who["tenant_id"] = json!("acme");
    }
    who
}

fn may(who: &Value, row: &Value) -> bool {
    let limit = |name: &str| who["constraints"][name] == json!(true);
    let is_made = row["__yao_created_by"] == who["user_id"];
    let is_of_team = row["__yao_team_id"] == who["team_id"]
        || (row["__yao_team_id"].is_null() && is_made && !limit("owner_only"));
    row["deleted_at"].is_null()
        && row["__yao_tenant_id"] == who.get("tenant_id").cloned().unwrap_or_default()
        && (!limit("owner_only") || is_made)
        && (!limit("editor_only") || row["__yao_updated_by"] == who["user_id"])
        && (!limit("team_only") || is_of_team)
}

fn value(dice: &mut Dice, column: &str) -> Value {
    match column {
        "n" => json!(i64::try_from(dice.roll(7)).unwrap() - 3),
        "x" => json!(f64::from(u32::try_from(dice.roll(9)).unwrap()) / 2.0),
        "t" => json!(dice.pick(WORDS)),
        _ => json!(dice.roll(2) == 0),
    }
}

fn entry(dice: &mut Dice, depth: usize, rel: &str) -> Value {
    let mut entry = if depth > 0 && dice.roll(4) == 0 {
        let wheres = entries(dice, depth - 1, rel, 1);
        json!({"wheres": wheres})
    } else {
        let column = dice.pick(&["n", "x", "t", "b", "__yao_created_by", "__yao_team_id"]);
        let is_text = column == "t";
        let column_of = if column.starts_with("__") {
            "t"
        } else {
            column
        };
        let op = dice.pick(&[
            "eq", "ne", "gt", "ge", "<", "<=", "in", "notin", "between", "null", "notnull", "like",
            "match",
        ]);
        let op = if ["like", "match"].contains(&op) && !is_text {
            "="
        } else {
            op
        };
        let mut pick = || match column {
            "__yao_created_by" => json!(dice.pick(PEOPLE)),
            "__yao_team_id" => json!(dice.pick(TEAMS)),
            _ => value(dice, column_of),
        };
        let value = match op {
            "in" | "notin" => json!([pick(), pick()]),
            "between" => json!([pick(), pick()]),
            _ => pick(),
        };
        let mut entry = json!({"column": column, "op": op, "value": value});
        if dice.roll(5) == 0 {
            entry["rel"] = json!(rel);
        }
        entry
    };
    if dice.roll(2) == 0 {
        entry["method"] = json!("orwhere");
    }
    entry
}

fn entries(dice: &mut Dice, depth: usize, rel: &str, least: usize) -> Value {
    let count = least + dice.roll(3);
    (0..count).map(|_| entry(dice, depth, rel)).collect()
}

/// The rows of both tables, and who asks.
struct World<'w> {
    things: &'w [Value],
    parts: &'w [Value],
    who: &'w Value,
}

impl World<'_> {
    fn related<'a>(&'a self, row: &'a Value, rel: &str) -> Vec<&'a Value> {
        let same = |one: &Value, other: &Value| !one.is_null() && one == other;
        match rel {
            "parts" => self
                .parts
                .iter()
                .filter(|it| same(&it["up"], &row["id"]) && may(self.who, it))
                .collect(),
            _ => self
                .things
                .iter()
                .filter(|it| same(&it["id"], &row["up"]) && may(self.who, it))
                .collect(),
        }
    }

    /// AND binds tighter than OR.
    fn holds(&self, wheres: &Value, row: &Value) -> bool {
        let mut any = false;
        let mut all = true;
        for (index, entry) in wheres.as_array().unwrap().iter().enumerate() {
            if index > 0 && entry["method"] == "orwhere" {
                any |= all;
                all = true;
            }
            all &= self.meets(entry, row);
        }
        any || all
    }

    fn meets(&self, entry: &Value, row: &Value) -> bool {
        if let Some(wheres) = entry.get("wheres") {
            return self.holds(wheres, row);
        }
        let test = |row: &Value| test(&row[entry["column"].as_str().unwrap()], entry);
        match entry.get("rel").and_then(Value::as_str) {
            Some(rel) => self.related(row, rel).into_iter().any(test),
            None => test(row),
        }
    }
}

fn test(left: &Value, entry: &Value) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let (op, right) = (entry["op"].as_str().unwrap(), &entry["value"]);
    if left.is_null() {
        return op == "null";
    }
    let is = |right: &Value, orders: &[std::cmp::Ordering]| orders.contains(&compare(left, right));
    let any = |right: &Value| right.as_array().unwrap().iter().any(|it| is(it, &[Equal]));
    match op {
        "eq" | "=" => is(right, &[Equal]),
        "ne" => is(right, &[Less, Greater]),
        "gt" => is(right, &[Greater]),
        "ge" => is(right, &[Greater, Equal]),
        "<" => is(right, &[Less]),
        "<=" => is(right, &[Less, Equal]),
        "in" => any(right),
        "notin" => !any(right),
        "between" => is(&right[0], &[Greater, Equal]) && is(&right[1], &[Less, Equal]),
        "null" => false,
        "notnull" => true,
        "match" => {
            let (text, part) = (left.as_str().unwrap(), right.as_str().unwrap());
            text.to_ascii_lowercase()
                .contains(&part.to_ascii_lowercase())
        }
        "like" => {
            let pattern: Vec<char> = right
                .as_str()
                .unwrap()
                .to_ascii_lowercase()
                .chars()
                .collect();
            let text: Vec<char> = left
                .as_str()
                .unwrap()
                .to_ascii_lowercase()
                .chars()
                .collect();
            like(&text, &pattern)
        }
        other => panic!("{other}"),
    }
}

fn compare(left: &Value, right: &Value) -> std::cmp::Ordering {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => left
            .as_f64()
            .unwrap()
            .partial_cmp(&right.as_f64().unwrap())
            .unwrap(),
    }
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|from| like(&text[from..], rest)),
        Some(('_', rest)) => !text.is_empty() && like(&text[1..], rest),
        Some((letter, rest)) => text.first() == Some(letter) && like(&text[1..], rest),
    }
}

async fn compare_one(place: &Place, dice: &mut Dice, world: &World<'_>) {
    let (id, rel, rows) = match dice.roll(2) {
        0 => ("thing", "parts", world.things),
        _ => ("part", "thing", world.parts),
    };
    let wheres = entries(dice, 2, rel, 0);
    let within = entries(dice, 1, "none", 0);
    let within: Value = within
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| !it.to_string().contains("\"rel\""))
        .cloned()
        .collect();
    let param = json!({"select": ["id"], "wheres": wheres, "withs": {rel: {"query": {"select": ["id"], "wheres": within}}}});
    let expected = rows
        .iter()
        .filter(|row| may(world.who, row) && world.holds(&wheres, row));
    let expected = expected.map(|row| {
        let related = world
            .related(row, rel)
            .into_iter()
            .filter(|it| world.holds(&within, it));
        let mut related = related.map(|it| json!({"id": it["id"]}));
        let related = match rel {
            "parts" => Value::Array(related.collect()),
            _ => related.next().unwrap_or_default(),
        };
        json!({"id": row["id"], rel: related})
    });
    let expected: Value = expected.collect();
    let loaded = place
        .load(&caller(world.who.clone()), id, &param)
        .await
        .unwrap();
    assert_eq!(
        loaded.rows,
        expected,
        "{id} {param} for {} in {:?}",
        world.who,
        place.dialect()
    );
}

#[tokio::test]
async fn g056_queries_made_at_random_find_what_plain_rows_say() {
    let mut dice = Dice(0x5EED_0019);
    let things: Vec<Value> = (1..=14).map(|id| row(&mut dice, id)).collect();
    let parts: Vec<Value> = (1..=20).map(|id| row(&mut dice, id)).collect();
    for place in places("evaluated", &models()).await {
        place.put("thing", &json!(things)).await;
        place.put("part", &json!(parts)).await;
        let mut dice = Dice(0x0D1C_E019);
        for _ in 0..600 {
            let who = who(&mut dice);
            let world = World {
                things: &things,
                parts: &parts,
                who: &who,
            };
            compare_one(&place, &mut dice, &world).await;
        }
    }
}
