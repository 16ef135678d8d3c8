//! Searches of tables by queries that an agent makes: what they may read, and what becomes of faulty ones.

use crate::place::{Place, ask, end, named};
use crate::searched_rows::{place_of_notes, with_note};
use serde_json::{Value, json};

/// An agent `maker` that answers one of these after the other, and leaves what it was asked.
fn maker(answers: &Value) -> Vec<(String, String)> {
    let hooks = format!(
        "export function Next(ctx, payload) {{
            const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);
            ctx.memory.user.Push('asked', [asked.retry ?? null]);
            const answers = {answers};
            return {{ data: answers[(asked.retry?.attempt ?? 1) - 1] }};
        }}"
    );
    named("maker", &json!({}), &hooks)
}

async fn generated(package: &Value, options: &str, answers: &Value) -> (Value, Place) {
    let mut whole = json!({"uses": {"querydsl": "maker"}, "db": {"models": ["note"]}});
    for (name, value) in package.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let place = place_of_notes(
        &whole,
        &format!("ctx.search.DB('boats', {options})"),
        &maker(answers),
    )
    .await;
    ask(
        &place,
        with_note("bob", &json!([{"title": "boats of bob"}])),
    )
    .await;
    let notes = json!([{"title": "boats", "body": "b"}, {"title": "cats", "body": "b"}, {"title": "dogs", "body": "b"}]);
    let frames = ask(&place, with_note("ann", &notes)).await;
    (end(&frames)["next"].clone(), place)
}

fn titles(result: &Value) -> Vec<&str> {
    let items = result["items"].as_array().unwrap().iter();
    items.map(|item| item["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn g215_a_made_query_is_narrowed_and_sees_what_its_caller_sees() {
    let dsl = json!({"dsl": {"select": ["title"], "from": "note", "wheres": [{"field": "title", "op": "<>", "value": "cats"},
        {"or": true, "field": "title", "op": "=", "value": "cats"}], "limit": 50}});
    let answers = json!([dsl]);
    let (result, _) = generated(&json!({}), "{}", &answers).await;
    assert_eq!(titles(&result), ["boats", "cats", "dogs"], "{result}");
    assert_eq!(
        (&result["items"][1]["score"], &result["dsl"]["limit"]),
        (&json!(0.95), &json!(20))
    );
    let options = "{ wheres: [{ column: 'title', value: 'boats' }, { column: 'title', value: 'dogs', method: 'orwhere' }], orders: [{ column: 'title', option: 'desc' }], limit: 5 }";
    let (result, _) = generated(&json!({}), options, &answers).await;
    assert_eq!(titles(&result), ["dogs", "boats"], "{result}");
    assert_eq!(result["dsl"]["limit"], 5);
}

#[tokio::test]
async fn g215_a_query_that_reads_more_than_it_was_given_is_refused_three_times() {
    let beyond = json!({"select": ["title"], "from": "other"});
    let within = json!({"select": ["title"], "from": "note", "wheres": [{"field": "id", "op": "in", "query": {"select": ["id"], "from": "other"}}]});
    let joined = json!({"select": ["note.title"], "from": "note", "joins": [{"from": "other", "key": "other.id", "foreign": "note.id"}]});
    let answers = json!([beyond, within, joined]);
    let (result, _) = generated(
        &json!({"search": {"querydsl": {"strict": true}}}),
        "{}",
        &answers,
    )
    .await;
    let why = result["error"].as_str().unwrap();
    assert!(
        why.starts_with(
            "querydsl: 3 attempts failed: [unknown_table] from: unknown table \"other\""
        ),
        "{why}"
    );
    let (result, _) = generated(&json!({}), "{}", &answers).await;
    assert_eq!(titles(&result), ["boats"], "words find what no query does");
    assert!(
        result["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("querydsl: 3 attempts failed")
    );
}

#[tokio::test]
async fn faults_of_a_query_go_back_to_its_maker() {
    let good = json!({"dsl": {"select": [{"field": "title"}, "body", "*"], "from": "note", "orders": [{"field": "title", "sort": "asc"}]}});
    let answers = json!([{"select": ["title"]}, "no query", good]);
    let (result, place) = generated(&json!({}), "{ select: ['title'] }", &answers).await;
    assert_eq!(titles(&result), ["boats", "cats", "dogs"], "{result}");
    assert!(result["items"][0]["data"].get("body").is_none());
    assert!(result["notes"][0].as_str().unwrap().contains("body"));
    let asked = crate::place::left(&place, "asked").await;
    let retries = asked.as_array().unwrap();
    assert_eq!(retries[0], Value::Null);
    assert_eq!(
        (&retries[1]["attempt"], &retries[1]["lint_errors"]),
        (&json!(2), &json!("[missing_from] from: from is missing"))
    );
    assert!(
        retries[2]["lint_errors"]
            .as_str()
            .unwrap()
            .starts_with("[unreadable] ")
    );
}

#[tokio::test]
async fn g215_no_query_within_hides_a_column_that_was_not_asked_for() {
    let inner = |field: &str| json!({"from": "note", "select": ["id", field]});
    for field in [
        ":UPPER(body) as title",
        "body as title",
        ":MAX(body) as title",
    ] {
        let mut within = inner(field);
        if field.contains("MAX") {
            within["groups"] = json!(["id"]);
        }
        let dsl = json!({"query": within, "select": ["title"]});
        let strict = json!({"search": {"querydsl": {"strict": true}}});
        let (result, _) =
            generated(&strict, "{ select: ['title'] }", &json!([dsl, dsl, dsl])).await;
        assert_eq!(result["items"], json!([]), "{field}: {result}");
    }
    let within = json!({"query": inner(":UPPER(title) as title"), "select": ["title"]});
    let (result, _) = generated(&json!({}), "{ select: ['title'] }", &json!([within])).await;
    assert_eq!(titles(&result), ["BOATS", "CATS", "DOGS"], "{result}");
    let own = json!({"from": "note", "select": ["title", "__yao_created_by"]});
    let strict = json!({"search": {"querydsl": {"strict": true}}});
    let (result, _) = generated(&strict, "{}", &json!([own, own, own])).await;
    let why = result["error"].as_str().unwrap();
    assert!(why.contains("__yao_created_by"), "{why}");
}

#[tokio::test]
async fn g215_conditions_of_the_call_hold_wherever_its_table_is_read() {
    let options = "{ wheres: [{ column: 'title', value: 'boats' }] }";
    let strict = json!({"search": {"querydsl": {"strict": true}}});
    let join = |side: &str| {
        let mut join =
            json!({"from": "note as other", "key": "note.body", "foreign": "other.body"});
        if !side.is_empty() {
            join[side] = true.into();
        }
        json!({"from": "note", "select": ["other.title"], "joins": [join]})
    };
    let within = json!({"from": "note", "select": ["title"], "wheres": [
        {"field": "title", "op": "in", "query": {"from": "note", "select": [":MIN(title) as least"],
            "wheres": [{"field": "title", "op": "<>", "value": "boats"}]}}]});
    for (dsl, expected) in [
        (join(""), vec!["boats"]),
        (join("left"), vec!["boats"]),
        (within, vec![]),
    ] {
        let (result, _) = generated(&strict, options, &json!([dsl, dsl, dsl])).await;
        assert_eq!(titles(&result), expected, "{dsl}: {result}");
        assert_eq!(result["error"], Value::Null);
    }
    let right = join("right");
    let (result, _) = generated(&strict, options, &json!([right, right, right])).await;
    let why = result["error"].as_str().unwrap();
    assert!(why.contains("[right_join] joins: "), "{why}");
}

#[tokio::test]
async fn what_only_looks_like_a_key_is_none() {
    let columns = json!({"from": "note", "select": ["id", "title"]});
    let counted = json!({"from": "note", "select": [":COUNT(*) as id"]});
    let renamed = json!({"from": "note", "select": ["id", "body as title"]});
    let joined = json!({"from": "note", "select": ["other.id", "note.title"],
        "joins": [{"from": "note as other", "key": "note.body", "foreign": "other.body"}]});
    for (dsl, is_row) in [
        (columns, true),
        (counted, false),
        (renamed, false),
        (joined, false),
    ] {
        let (result, _) = generated(&json!({}), "{}", &json!([dsl])).await;
        let items = result["items"].as_array().unwrap();
        assert!(!items.is_empty() && result["dsl"].is_object(), "{result}");
        for item in items {
            assert_eq!(item.get("record_id").is_some(), is_row, "{dsl}: {item}");
        }
    }
}

#[tokio::test]
async fn columns_and_orders_of_the_call_fit_joined_and_grouped_queries() {
    let options = "{ select: ['title', 'id'], orders: [{ column: 'id', option: 'desc' }] }";
    let joined = json!({"from": "note as n", "select": ["n.title"],
        "joins": [{"from": "note as other", "key": "n.id", "foreign": "other.id"}]});
    let bare = json!({"from": "note"});
    for dsl in [joined, bare] {
        let (result, _) = generated(&json!({}), options, &json!([dsl])).await;
        assert_eq!(
            titles(&result),
            ["dogs", "cats", "boats"],
            "{dsl}: {result}"
        );
        assert!(result["items"][0]["record_id"].is_number(), "{result}");
    }
    let grouped = json!({"from": "note", "select": ["title", ":COUNT(id) as many"], "groups": ["title"],
        "orders": [{"field": "title", "sort": "desc"}]});
    let (result, _) = generated(&json!({}), options, &json!([grouped])).await;
    assert_eq!(titles(&result), ["dogs", "cats", "boats"], "{result}");
    assert_eq!(result["items"][0]["data"]["many"], 1);
    let related = "{ orders: [{ rel: 'maker', column: 'name' }] }";
    let (result, _) = generated(
        &json!({}),
        related,
        &json!([{"from": "note", "select": ["title"]}]),
    )
    .await;
    assert!(
        result["notes"][0].as_str().unwrap().contains("orders[0]"),
        "{result}"
    );
}

#[tokio::test]
async fn a_query_that_fails_when_it_is_run_is_made_anew() {
    // More tables than SQLite joins.
    let joins = (0..70).map(|at| {
        let (table, foreign) = (format!("note as n{at}"), format!("n{at}.id"));
        json!({"from": table, "key": "note.id", "foreign": foreign})
    });
    let joins: Vec<Value> = joins.collect();
    let many = json!({"from": "note", "select": ["note.title"], "joins": joins});
    let good = json!({"from": "note", "select": ["title"]});
    let (result, place) = generated(&json!({}), "{}", &json!([many, good])).await;
    assert_eq!(titles(&result), ["boats", "cats", "dogs"], "{result}");
    let retries = crate::place::left(&place, "asked").await;
    assert_eq!(retries[1]["attempt"], 2);
}
