//! Contexts by every condition, in every order, and what is told of them to whom.

use crate::bed::{ANN, BOB, Bed, CHIEF, Person};
use ambit_storage::SessionIdentity;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::TrackRequest;
use reqwest::Method;
use serde_json::json;
use std::collections::BTreeMap;

/// Adds the row of a history of Ann's with the label `plan: free`.
async fn label(bed: &Bed, chat: &str) {
    let base = SessionIdentity::builder("hello").user_id("ann");
    let base = base.chat_name(chat).build().unwrap();
    let row = TrackRequest {
        id: format!("row-{chat}"),
        tenant: "t1".to_owned(),
        identity: base.with_scope("chatHistory").unwrap(),
        agent: "hello".to_owned(),
        base,
        placement: vec!["memory".to_owned()],
        created_by: Some("ann".to_owned()),
        team: Some("red".to_owned()),
        labels: BTreeMap::from([("plan".to_owned(), "free".to_owned())]),
    };
    let batch = Batch::of([BatchWrite::Track(Box::new(row))]);
    bed.site.store.commit(batch).await.unwrap();
}

/// The chats of a page of histories.
async fn chats(bed: &Bed, who: Person, query: &str) -> Vec<String> {
    let path = format!("/contexts?scope=chatHistory{query}");
    let page = bed.get(who, &path).await.json();
    let rows = page["items"].as_array().unwrap().iter();
    rows.map(|row| row["chat_name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn contexts_are_listed_by_label_state_and_time_in_the_order_asked_for() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    bed.talk(ANN, "b", "two").await;
    label(&bed, "c").await;
    let cleared = format!("/contexts/{}/clear", bed.row(ANN, "b").await);
    assert_eq!(bed.ask(ANN, Method::POST, &cleared).await.status, 204);
    let time = "2000-01-01";
    for (query, expected) in [
        (String::new(), vec!["a", "b", "c"]),
        ("&order=oldest".to_owned(), vec!["a", "b", "c"]),
        ("&order=newest".to_owned(), vec!["c", "b", "a"]),
        ("&label=plan:free".to_owned(), vec!["c"]),
        ("&label=plan%3Afree&state=live".to_owned(), vec!["c"]),
        ("&label=plan:".to_owned(), vec![]),
        ("&state=cleared".to_owned(), vec!["b"]),
        ("&state=live&order=newest".to_owned(), vec!["c", "a"]),
        (format!("&created_before={time}"), vec![]),
        (format!("&created_after={time}"), vec!["a", "b", "c"]),
        (format!("&active_before={time}"), vec![]),
        (format!("&active_after={time}"), vec!["a", "b", "c"]),
    ] {
        assert_eq!(chats(&bed, ANN, &query).await, expected, "{query}");
    }
    let first = bed.get(ANN, "/contexts?order=newest&limit=1").await.json();
    let cursor = first["next"].as_str().unwrap();
    let path = |order: &str| format!("/contexts?limit=1&order={order}&cursor={cursor}");
    assert_eq!(bed.get(ANN, &path("newest")).await.status, 200);
    let refused = bed.get(ANN, &path("oldest")).await;
    let expected = (
        400,
        "invalid_argument".to_owned(),
        Some("cursor".to_owned()),
    );
    assert_eq!(refused.failure(), expected);
}

#[tokio::test]
async fn marked_contexts_are_removed_and_told_by_rows() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    bed.talk(ANN, "b", "two").await;
    bed.talk(BOB, "a", "three").await;
    let (own, other) = (bed.row(ANN, "a").await, bed.row(ANN, "b").await);
    let foreign = bed.row(BOB, "a").await;
    let known = json!({
        "id": own, "key": "chatHistory_hello_ann", "agent_name": "hello", "user_id": "ann", "chat_name": "a", "items": 2,
        "agents": ["hello"], "reason": null,
    });
    let unknown = |id: &str| {
        json!({
            "id": id, "key": null, "agent_name": null, "user_id": null, "chat_name": null, "items": 0, "agents": [],
            "reason": "no context that you may see has this id and matches",
        })
    };
    for is_dry in [true, false] {
        let body = json!({"ids": [own, foreign], "rows": true, "dry_run": is_dry});
        let report = bed.send(ANN, Method::POST, "/contexts/remove", &body).await;
        let expected = json!({
            "done": [known], "unchanged": [unknown(&foreign)], "skipped": [], "failed": [],
        });
        assert_eq!(report.json(), expected);
    }
    for (body, key) in [
        (json!({"ids": []}), None),
        (json!({"ids": [own, foreign]}), None),
        (json!({"ids": [other], "chat": "a"}), None),
        (json!({"ids": [other]}), Some("chatHistory_hello_ann")),
    ] {
        let report = bed.send(ANN, Method::POST, "/contexts/clear", &body).await;
        let done: Vec<&str> = key.into_iter().collect();
        let expected = json!({"done": done, "unchanged": [], "skipped": [], "failed": []});
        assert_eq!(report.json(), expected, "{body}");
    }
    let left = bed.get(BOB, &format!("/contexts/{foreign}")).await;
    assert_eq!(left.json()["items"], json!(2));
}

#[tokio::test]
async fn values_of_a_field_are_those_that_the_caller_may_see() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    bed.talk(ANN, "b", "two").await;
    bed.talk(BOB, "a", "three").await;
    let ann = json!({"value": "ann", "count": 6});
    let bob = json!({"value": "bob", "count": 3});
    for (who, query, expected) in [
        (ANN, "field=user", json!([ann])),
        (CHIEF, "field=user", json!([ann, bob])),
        (CHIEF, "field=user&limit=1", json!([ann])),
        (CHIEF, "field=user&prefix=b", json!([bob])),
        (
            CHIEF,
            "field=agent",
            json!([{"value": "hello", "count": 9}]),
        ),
        (ANN, "field=group", json!([])),
    ] {
        let found = bed.get(who, &format!("/contexts/values?{query}")).await;
        assert_eq!(found.json(), json!({"items": expected}), "{who:?} {query}");
    }
}

#[tokio::test]
async fn how_a_context_is_kept_is_told_to_callers_without_constraints() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let path = format!("/contexts/{}", bed.row(ANN, "a").await);
    let row = bed.get(CHIEF, &path).await.json();
    let touch = &row["touches"][0];
    let expected = json!([{
        "agent": "hello", "key": "hello_ann", "first_at": touch["first_at"], "last_at": touch["last_at"],
    }]);
    assert_eq!(row["touches"], expected);
    assert_eq!(
        (&row["placement"], &row["team"], &row["created_by"]),
        (&json!(["memory"]), &json!("red"), &json!("ann"))
    );
    assert!(row["generation"].is_u64(), "{row}");
    let own = bed.get(ANN, &path).await.json();
    for field in ["placement", "team", "created_by", "generation", "touches"] {
        assert_eq!(own.get(field), None, "{field}");
    }
    assert_eq!(chats(&bed, BOB, "").await, [""; 0]);
}
