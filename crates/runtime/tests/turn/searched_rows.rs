//! Searches of tables by hooks: which rows their words find, and what of them is shown.

use crate::place::{Place, ann, ask, end, request};
use crate::searched::place_of;
use ambit_runtime::{Authorized, Frame, TurnRequest};
use serde_json::{Value, json};

/// All that is told of references.
fn announced_items(frames: &[Frame]) -> Value {
    let events = frames
        .iter()
        .filter(|frame| frame.event_name() == Some("references"));
    events.map(|frame| json!(frame.event_data())).collect()
}

/// Notes of whoever asks, which only their maker sees, and a table of secrets.
pub fn notes() -> Vec<(String, String)> {
    let columns = json!([
        {"name": "id", "type": "ID"}, {"name": "title", "type": "string"}, {"name": "body", "type": "text", "nullable": true},
        {"name": "secret", "type": "string", "nullable": true, "crypt": "PASSWORD"},
        {"name": "story", "type": "longText", "nullable": true},
        {"name": "card", "type": "text", "nullable": true, "crypt": "AES"},
    ]);
    let model = json!({"name": "Note", "columns": columns, "option": {"permission": true, "soft_deletes": true}});
    let other = json!({"name": "Other", "columns": [{"name": "id", "type": "ID"}, {"name": "title", "type": "string"}]});
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"capabilities": {"process": ["models.*"]}}});
    vec![
        ("models/note.mod.yao".to_owned(), model.to_string()),
        ("models/other.mod.yao".to_owned(), other.to_string()),
        ("app.yao".to_owned(), app.to_string()),
    ]
}

/// A request that first keeps this note, and then searches.
pub fn with_note(who: &str, note: &Value) -> TurnRequest {
    let mut asked = request("hello", "hi");
    asked.authorized = Authorized {
        user_id: Some(who.to_owned()),
        ..ann()
    };
    asked.authorized.constraints.owner_only = true;
    asked.chat = Some(format!("chat of {who}"));
    asked.metadata.insert("note".to_owned(), note.clone());
    asked
}

pub async fn place_of_notes(package: &Value, expression: &str, more: &[(String, String)]) -> Place {
    let mut files = notes();
    files.extend_from_slice(more);
    let expression = format!(
        "(() => {{ for (const note of ctx.metadata.note ?? []) Process('models.note.Create', note); return {expression}; }})()"
    );
    place_of(package, &expression, &files).await
}

#[tokio::test]
async fn rows_are_found_by_words_as_the_caller_may_see_them() {
    let package = json!({"db": {"models": ["note"], "options": {"limit": 3}}});
    let place = place_of_notes(&package, "ctx.search.DB('the lease of the boats')", &[]).await;
    let canary = json!([{"title": "lease lease", "body": "boats CANARY"}]);
    ask(&place, with_note("bob", &canary)).await;
    let notes = json!([
        {"title": "cats", "body": "nothing of it"},
        {"title": "a lease", "body": "about a house"},
        {"title": "boats", "body": "the lease of a boat"},
    ]);
    let frames = ask(&place, with_note("ann", &notes)).await;
    let result = end(&frames)["next"].clone();
    let titles: Vec<&Value> = result["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["title"])
        .collect();
    assert_eq!(titles, [&json!("boats"), &json!("a lease")], "{result}");
    let first = &result["items"][0];
    assert_eq!(
        (&first["model"], &first["url"], &first["content"]),
        (&json!("note"), &json!(""), &json!("the lease of a boat"))
    );
    assert_eq!(first["record_id"], first["data"]["id"]);
    assert!(first["data"].get("secret").is_none());
    let all = serde_json::to_string(&frames).unwrap();
    assert!(
        !all.contains("CANARY"),
        "what Bob keeps does not exist for Ann"
    );
}

#[tokio::test]
async fn g202_rows_of_others_change_no_score() {
    let package = json!({"db": {"models": ["note"]}});
    let mine =
        json!([{"title": "a lease", "body": "x"}, {"title": "boats", "body": "lease lease"}]);
    let mut results = Vec::new();
    for theirs in [
        json!([]),
        json!([{"title": "lease", "body": "lease"}, {"title": "boats"}, {"title": "y"}]),
    ] {
        let place = place_of_notes(&package, "ctx.search.DB('lease boats')", &[]).await;
        ask(&place, with_note("bob", &theirs)).await;
        let result = end(&ask(&place, with_note("ann", &mine)).await)["next"].clone();
        let items = result["items"].as_array().unwrap().iter();
        results.push(
            items
                .map(|item| json!([item["title"], item["score"]]))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].len(), 2);
}

#[tokio::test]
async fn conditions_orders_and_columns_of_the_call_count_for_words() {
    let package = json!({"db": {"models": ["note", "gone"]}});
    let options = "{ wheres: [{ column: 'title', op: 'ne', value: 'bee' }], orders: [{ column: 'title', option: 'desc' }], select: ['title'] }";
    let place = place_of_notes(
        &package,
        &format!("ctx.search.DB('ant bee cow', {options})"),
        &[],
    )
    .await;
    let notes = json!([{"title": "ant"}, {"title": "bee"}, {"title": "cow ant"}, {"title": "z", "body": "cow"}]);
    let result = end(&ask(&place, with_note("ann", &notes)).await)["next"].clone();
    let rows: Vec<&Value> = result["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["data"])
        .collect();
    assert_eq!(
        rows,
        [&json!({"title": "cow ant"}), &json!({"title": "ant"})],
        "{result}"
    );
    assert_eq!(result["notes"], json!(["model \"gone\" not found"]));
}

#[tokio::test]
async fn encrypted_columns_and_those_of_ambit_are_in_no_result() {
    let package = json!({"db": {"models": ["note"]}});
    let secret = json!([{"title": "boats", "card": "CANARY"}]);
    let place = place_of_notes(&package, "ctx.search.DB('boats')", &[]).await;
    let frames = ask(&place, with_note("ann", &secret)).await;
    let result = &end(&frames)["next"];
    let data = result["items"][0]["data"].as_object().unwrap();
    assert_eq!(data["title"], "boats", "{result}");
    let is_hidden = |name: &String| name == "card" || name.starts_with("__");
    assert!(!data.keys().any(is_hidden), "{result}");
    let told = announced_items(&frames);
    assert!(!format!("{result}{told}").contains("CANARY"), "{told}");
    let named = "ctx.search.DB('boats', { select: ['title', 'card'] })";
    let place = place_of_notes(&package, named, &[]).await;
    let result = end(&ask(&place, with_note("ann", &secret)).await)["next"].clone();
    let expected = "models.note: column \"card\" is encrypted: no search shows it";
    assert_eq!(result["error"], expected);
}

#[tokio::test]
async fn a_column_that_is_not_there_fails_the_search_in_select_as_in_wheres() {
    let package = json!({"db": {"models": ["note"]}});
    for (options, place_in_query) in [
        ("{ select: ['frobnicate'] }", "select[0]"),
        ("{ select: ['title', 'frobnicate'] }", "select[1]"),
        (
            "{ wheres: [{ column: 'frobnicate', value: 1 }] }",
            "wheres[0]",
        ),
    ] {
        let expression = format!("ctx.search.DB('boats', {options})");
        let place = place_of_notes(&package, &expression, &[]).await;
        let notes = json!([{"title": "boats"}]);
        let result = end(&ask(&place, with_note("ann", &notes)).await)["next"].clone();
        let expected = format!("models.note: unknown column \"frobnicate\" in {place_in_query}");
        assert_eq!(
            (&result["error"], &result["items"]),
            (&json!(expected), &json!([]))
        );
    }
}

#[tokio::test]
async fn many_long_rows_are_cut_and_end_no_turn() {
    let package = json!({"db": {"models": ["note"]}});
    let expression = "(() => {
        const story = 'boats '.repeat(80000);
        for (let at = 0; at < 40; at++) Process('models.note.Create', { title: `boats ${at}`, story });
        return ctx.search.DB('boats of old', { limit: 40 });
    })()";
    let place = place_of_notes(&package, expression, &[]).await;
    let frames = ask(&place, with_note("ann", &json!([]))).await;
    let result = &end(&frames)["next"];
    assert_eq!(
        (&end(&frames)["status"], &result["total"]),
        (&json!("completed"), &json!(40)),
        "{:?}",
        result["error"]
    );
    let row = &result["items"][0];
    let story = row["data"]["story"].as_str().unwrap().len();
    assert!((8_000..20_480).contains(&story), "{story}");
    assert_eq!(row["record_id"], row["data"]["id"]);
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let mut who = with_note("ann", &json!([])).authorized;
    who.constraints.owner_only = true;
    let list = place.runtime.references(&who, &id).await.unwrap();
    assert_eq!(list.references.len(), 40);
    assert!(!list.references[39].gone);
}
