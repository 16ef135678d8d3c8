//! What callers may reach: every constraint, for two people, two teams and two tenants.

use crate::place::{Place, caller, places};
use serde_json::{Value, json};

/// Rows of two tenants, of teams and of none, by two people. The last number of an id is the person who changed it last.
fn rows() -> Value {
    let mut rows = Vec::new();
    for (tenant_at, tenant) in [Value::Null, json!("acme")].iter().enumerate() {
        for (team_at, team) in [Value::Null, json!("red"), json!("blue")]
            .iter()
            .enumerate()
        {
            for (maker_at, maker) in [Value::Null, json!("ann"), json!("bob")].iter().enumerate() {
                for (changer_at, changer) in ["ann", "bob"].iter().enumerate() {
                    let id =
                        1_000 * (tenant_at + 1) + 100 * team_at + 10 * maker_at + changer_at + 1;
                    rows.push(json!({
                        "id": id, "note": format!("{tenant} {team} {maker} {changer}"), "region": if id % 2 == 0 { "eu" } else { "us" },
                        "__yao_tenant_id": tenant, "__yao_team_id": team, "__yao_created_by": maker, "__yao_updated_by": changer,
                    }));
                }
            }
        }
    }
    rows.into()
}

fn model(permission: &Value) -> Value {
    json!({
        "name": "Doc",
        "columns": [
            {"name": "id", "type": "ID"},
            {"name": "note", "type": "string"},
            {"name": "region", "type": "string"},
        ],
        "relations": {"twin": {"type": "hasMany", "model": "doc", "key": "id", "foreign": "id"}},
        "option": {"permission": permission},
    })
}

async fn docs(name: &str, permission: Value) -> Vec<Place> {
    let all = places(name, &[("doc", model(&permission))]).await;
    for place in &all {
        place.put("doc", &rows()).await;
    }
    all
}

/// The rows that a rule written by hand lets through.
fn kept(rule: impl Fn(&Value) -> bool) -> Vec<i64> {
    let all = rows();
    let rows = all.as_array().unwrap().iter().filter(|row| rule(row));
    rows.map(|row| row["id"].as_i64().unwrap()).collect()
}

fn ids(rows: &Value) -> Vec<i64> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["id"].as_i64().unwrap()).collect()
}

/// What a caller may reach by the table of the contract, in plain words.
fn may(who: &Value, row: &Value) -> bool {
    let of = |name: &str| who.get(name).cloned().unwrap_or_default();
    let limit = |name: &str| who["constraints"][name] == json!(true);
    let (user, team, tenant) = (of("user_id"), of("team_id"), of("tenant_id"));
    let is_own = limit("owner_only") || limit("creator_only");
    let needs_user = is_own || limit("editor_only");
    if (user.is_null() && team.is_null()) || (needs_user && user.is_null()) {
        return false;
    }
    if limit("team_only") && team.is_null() {
        return false;
    }
    let is_made = row["__yao_created_by"] == user && !user.is_null();
    let is_of_team =
        row["__yao_team_id"] == team || (row["__yao_team_id"].is_null() && is_made && !is_own);
    row["__yao_tenant_id"] == tenant
        && (!is_own || is_made)
        && (!limit("editor_only") || row["__yao_updated_by"] == user)
        && (!limit("team_only") || is_of_team)
}

#[tokio::test]
async fn g061_every_constraint_lets_through_what_the_contract_says_and_nothing_where_data_is_missing()
 {
    let places = docs("constraints", json!(true)).await;
    let people = callers();
    assert_eq!(people.len(), 3 * 3 * 2 * 16);
    for who in people {
        let expected = kept(|row| may(&who, row));
        for place in &places {
            check(place, &who, &expected).await;
        }
    }
}

/// Everybody: two people and nobody, in two teams and in none, of two tenants, with all sets of limits.
fn callers() -> Vec<Value> {
    const LIMITS: [&str; 4] = ["owner_only", "creator_only", "editor_only", "team_only"];
    let mut callers = vec![json!({})];
    let mut with = |name: &str, values: &[Value]| {
        let each = |caller: &Value| {
            let mut more = Vec::new();
            for value in values {
                let mut caller = caller.clone();
                caller[name] = value.clone();
                more.push(caller);
            }
            more
        };
        callers = callers.iter().flat_map(each).collect();
    };
    with("user_id", &[json!(null), json!("ann"), json!("bob")]);
    with("team_id", &[json!(null), json!("red"), json!("blue")]);
    with("tenant_id", &[json!(null), json!("acme")]);
    let limits = (0..1 << LIMITS.len()).map(|set| {
        let is_set = |at: &usize| set >> at & 1 == 1;
        let set = (0..LIMITS.len()).filter(is_set);
        Value::Object(set.map(|at| (LIMITS[at].to_owned(), json!(true))).collect())
    });
    with("constraints", &limits.collect::<Vec<_>>());
    callers
}

/// Every form of asking gives these rows.
async fn check(place: &Place, who: &Value, expected: &[i64]) {
    let caller = caller(who.clone());
    // What is asked besides is joined by OR and would be met by every row.
    let wide = json!([{"column": "note", "value": "x"}, {"column": "id", "op": "gt", "value": 0, "method": "orwhere"}]);
    let param =
        json!({"select": ["id"], "wheres": wide, "withs": {"twin": {"query": {"select": ["id"]}}}});
    let loaded = place.load(&caller, "doc", &param).await.unwrap();
    assert_eq!(ids(&loaded.rows), expected, "{who}");
    for row in loaded.rows.as_array().unwrap() {
        assert_eq!(row["twin"], json!([{"id": row["id"]}]), "{who}");
    }
    let rel = json!({"select": ["id"], "wheres": [{"rel": "twin", "column": "id", "op": "gt", "value": 0}]});
    assert_eq!(
        ids(&place.load(&caller, "doc", &rel).await.unwrap().rows),
        expected,
        "{who}"
    );
    let dsl = json!({
        "select": ["a.id"], "from": "doc as a",
        "joins": [{"from": "doc as b", "key": "b.id", "foreign": "a.id", "right": true}],
        "wheres": [{"field": "a.id", "<": 0}, {"or :b.id": "", "op": "in", "query": {"select": ["id"], "from": "doc"}}],
    });
    assert_eq!(
        ids(&place.query_as(&caller, &dsl).await.unwrap()),
        expected,
        "{who}"
    );
}

#[tokio::test]
async fn why_nothing_is_there_is_told() {
    for place in docs("why", json!(true)).await {
        for (who, why) in [
            (json!({}), "nobody in particular is calling"),
            (
                json!({"user_id": "ann", "constraints": {"team_only": true}}),
                "team_only needs authorized.team_id",
            ),
            (
                json!({"team_id": "red", "constraints": {"owner_only": true}}),
                "owner_only needs authorized.user_id",
            ),
            (
                json!({"team_id": "red", "constraints": {"creator_only": true}}),
                "creator_only needs authorized.user_id",
            ),
            (
                json!({"team_id": "red", "constraints": {"editor_only": true}}),
                "editor_only needs authorized.user_id",
            ),
            (
                json!({"user_id": "ann", "constraints": {"extra": {"zone": 1}}}),
                "extra.zone needs a column \"zone\", or option.permission.extra.zone",
            ),
            (
                json!({"user_id": "ann", "constraints": {"extra": {"region": null}}}),
                "authorized.constraints.extra.region has no value",
            ),
            (
                json!({"user_id": "ann", "constraints": {"extra": {"region": {"a": 1}}}}),
                "authorized.constraints.extra.region must be a string, not an object",
            ),
        ] {
            let loaded = place
                .load(&caller(who.clone()), "doc", &Value::Null)
                .await
                .unwrap();
            assert_eq!(
                (loaded.rows, loaded.unmet),
                (json!([]), vec![format!("models.doc: {why}")]),
                "{who}"
            );
        }
    }
}

#[tokio::test]
async fn extra_constraints_are_columns_and_lists_are_one_of_them() {
    let by = |extra: Value| caller(json!({"user_id": "ann", "constraints": {"extra": extra}}));
    let own = |row: &Value| row["__yao_tenant_id"].is_null();
    let mapped = json!({"extra": {"zone": "region", "level": false}});
    for place in docs("extra", mapped).await {
        for (extra, expected) in [
            (
                json!({"region": "eu"}),
                kept(|row| own(row) && row["region"] == "eu"),
            ),
            (
                json!({"zone": "us"}),
                kept(|row| own(row) && row["region"] == "us"),
            ),
            (json!({"zone": ["us", "eu"]}), kept(own)),
            (json!({"zone": []}), Vec::new()),
            (json!({"level": 5}), kept(own)),
            (json!({"zone": "us", "region": "eu"}), Vec::new()),
            (json!({}), kept(own)),
        ] {
            let loaded = place
                .load(&by(extra.clone()), "doc", &Value::Null)
                .await
                .unwrap();
            assert_eq!(ids(&loaded.rows), expected, "{extra}");
        }
    }
}

#[tokio::test]
async fn g147_what_a_caller_asks_never_replaces_what_holds_anyway() {
    let who = caller(json!({"user_id": "ann", "constraints": {"owner_only": true}}));
    let own = kept(|row| row["__yao_tenant_id"].is_null() && row["__yao_created_by"] == "ann");
    for place in docs("narrow", json!(true)).await {
        for (wheres, expected) in [
            (
                json!([{"column": "__yao_created_by", "value": "bob"}]),
                Vec::new(),
            ),
            (
                json!([{"column": "__yao_created_by", "op": "notnull"}]),
                own.clone(),
            ),
            (
                json!([{"column": "__yao_tenant_id", "value": "acme"}]),
                Vec::new(),
            ),
            (
                json!([{"wheres": [
                    {"column": "__yao_created_by", "value": "ann"},
                    {"column": "__yao_team_id", "value": "red", "method": "orwhere"},
                ]}]),
                own.clone(),
            ),
            (
                json!([{"column": "id", "value": 0}, {"column": "id", "op": "gt", "value": 0, "method": "orwhere"}]),
                own.clone(),
            ),
        ] {
            let loaded = place
                .load(&who, "doc", &json!({"wheres": wheres}))
                .await
                .unwrap();
            assert_eq!(ids(&loaded.rows), expected, "{wheres}");
        }
    }
}
