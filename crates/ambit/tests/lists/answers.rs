//! What each route answers to whom it is for.

use crate::bed::{ANN, BOB, Bed};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn chats_are_listed_in_pages_shown_changed_and_removed() {
    let bed = Bed::new().await;
    for chat in ["a", "b", "c"] {
        bed.talk(ANN, chat, &format!("text {chat}")).await;
    }
    let page = bed
        .get(ANN, "/chat/sessions?order_by=created_at&pagesize=2&page=2")
        .await
        .json();
    let chat = page["data"][0].clone();
    let expected = json!({
        "chat_id": "a", "title": "text a", "assistant_id": "hello", "last_connector": "script", "last_mode": null,
        "status": "active", "share": "private", "sort": 0, "metadata": {}, "last_message_at": 5_000,
        "created_at": chat["created_at"], "updated_at": chat["updated_at"],
        "context": bed.row(ANN, "a").await, "user_id": "ann", "team_id": "red", "running": null,
    });
    let listing = json!({
        "data": [expected], "page": 2, "pagesize": 2, "pagecnt": 2, "total": 3, "next": -1, "prev": 1,
    });
    assert_eq!(page, listing);
    assert_eq!(bed.get(ANN, "/chat/sessions/a").await.json(), expected);
    let change = json!({"title": "Other", "sort": 4});
    let changed = bed
        .send(ANN, Method::PUT, "/chat/sessions/a", &change)
        .await
        .json();
    assert_eq!(
        (&changed["title"], &changed["sort"]),
        (&json!("Other"), &json!(4))
    );
    let gone = bed.ask(ANN, Method::DELETE, "/chat/sessions/a").await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(bed.get(ANN, "/chat/sessions/a").await.status, 404);
    assert_eq!(bed.get(ANN, "/chat/sessions").await.json()["total"], 2);
}

#[tokio::test]
async fn messages_of_a_chat_are_shown_and_paged() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let last = bed
        .get(ANN, "/chat/sessions/a/messages?limit=1")
        .await
        .json();
    assert_eq!(last["items"][0]["props"], json!({"content": "to one"}));
    let before = format!("/chat/sessions/a/messages?limit=1&before={}", last["next"]);
    let before = bed.get(ANN, &before).await.json();
    let message = &before["items"][0];
    let id = message["message_id"].as_str().unwrap();
    let expected = json!({"items": [{
        "id": format!("r-one.{id}"), "chat_id": "a", "request_id": "r-one", "message_id": id, "role": "user",
        "type": "user_input", "props": {"content": "one", "role": "user"}, "block_id": null, "thread_id": null,
        "assistant_id": "hello", "sequence": 1_000, "status": "completed", "amended": false, "metadata": null,
        "created_at": message["created_at"], "superseded_by": null,
    }], "next": null});
    assert_eq!(before, expected);
}

#[tokio::test]
async fn contexts_are_listed_with_a_cursor_looked_into_cleared_and_removed() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let first = bed.get(ANN, "/contexts?limit=2").await.json();
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let cursor = first["next"].as_str().unwrap();
    let rest = bed
        .get(ANN, &format!("/contexts?limit=2&cursor={cursor}"))
        .await
        .json();
    assert_eq!(
        (rest["items"].as_array().unwrap().len(), &rest["next"]),
        (1, &Value::Null)
    );
    let id = bed.row(ANN, "a").await;
    let row = bed.get(ANN, &format!("/contexts/{id}")).await.json();
    assert_eq!(
        (&row["scope"], &row["items"]),
        (&json!("chatHistory"), &json!(2))
    );
    let items = bed
        .get(ANN, &format!("/contexts/{id}/items?limit=1&archive=true"))
        .await
        .json();
    assert_eq!(items["items"][0]["item"]["turn_id"], "r-one");
    assert_eq!(items["next"], 2);
    let empty = json!({});
    let cleared = bed
        .send(ANN, Method::POST, &format!("/contexts/{id}/clear"), &empty)
        .await;
    assert_eq!(cleared.status, 204);
    let row = bed.get(ANN, &format!("/contexts/{id}")).await.json();
    assert_eq!(
        (&row["state"], &row["items"]),
        (&json!("cleared"), &json!(0))
    );
    let path = format!("/contexts/{id}");
    assert_eq!(bed.ask(ANN, Method::DELETE, &path).await.status, 204);
    assert_eq!(bed.get(ANN, &path).await.status, 404);
}

#[tokio::test]
async fn many_contexts_are_removed_at_once_or_only_looked_at() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    bed.talk(BOB, "a", "two").await;
    let wanted = json!({"chat": "a", "scope": "chatHistory", "active_before": "2100-01-01", "dry_run": true});
    let report = json!({
        "done": ["chatHistory_hello_ann"], "unchanged": [], "skipped": [], "failed": [],
    });
    let dry = bed
        .send(ANN, Method::POST, "/contexts/remove", &wanted)
        .await
        .json();
    assert_eq!(dry, report);
    let row = bed.row(ANN, "a").await;
    let wanted = json!({"chat": "a", "scope": "chatHistory"});
    let cleared = bed
        .send(ANN, Method::POST, "/contexts/clear", &wanted)
        .await
        .json();
    assert_eq!(cleared, report);
    let removed = bed
        .send(ANN, Method::POST, "/contexts/remove", &wanted)
        .await
        .json();
    assert_eq!(removed, report);
    assert_eq!(bed.get(ANN, &format!("/contexts/{row}")).await.status, 404);
    assert_eq!(bed.get(BOB, "/chat/sessions/a").await.status, 200);
}

#[tokio::test]
async fn values_of_a_memory_are_put_listed_read_and_deleted() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    for space in ["user", "team", "chat/a"] {
        let value = json!({"value": {"x": [1, null]}, "ttl": "1h"});
        let path = format!("/memory/{space}/keys/a%2Fb");
        let put = bed.send(ANN, Method::PUT, &path, &value).await;
        assert_eq!((put.status, put.text.as_str()), (204, ""), "{space}");
        let version: u64 = put
            .header("etag")
            .unwrap()
            .trim_matches('"')
            .parse()
            .unwrap();
        let read = bed.get(ANN, &path).await.json();
        let names = bed
            .get(ANN, &format!("/memory/{space}?pattern=a*"))
            .await
            .json();
        let end = &names["data"][0]["expires_at"];
        assert!(end.is_i64(), "{names}");
        let value = json!({"x": [1, null]});
        let expected = json!({
            "key": "a/b", "value": value, "type": "object", "bytes": 14, "version": version, "expires_at": end,
        });
        assert_eq!(read, expected, "{space}");
        let expected = json!({
            "data": [{"key": "a/b", "type": "object", "bytes": 14, "version": version, "expires_at": end}],
            "page": 1, "pagesize": 20, "pagecnt": 1, "total": 1, "next": -1, "prev": -1,
        });
        assert_eq!(names, expected, "{space}");
        assert_eq!(bed.ask(ANN, Method::DELETE, &path).await.status, 204);
        assert_eq!(bed.get(ANN, &path).await.status, 404);
    }
}

#[tokio::test]
async fn usage_is_summed_and_grouped() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    bed.talk(ANN, "b", "two").await;
    let sums = |records: i64| {
        json!({
            "prompt_tokens": 7 * records, "completion_tokens": records, "total_tokens": 8 * records,
            "cached_tokens": 0, "reasoning_tokens": 0, "records": records, "cost": {},
        })
    };
    assert_eq!(
        bed.get(ANN, "/usage").await.json(),
        json!({"total": sums(2)})
    );
    let one = bed
        .get(ANN, "/usage?chat=a&agent=hello&date_from=2020-01-01")
        .await
        .json();
    assert_eq!(one, json!({"total": sums(1)}));
    let groups = bed.get(ANN, "/usage?group_by=chat").await.json();
    let group = |chat: &str| {
        let mut group = json!({"value": chat});
        let fields = group.as_object_mut().unwrap();
        fields.extend(sums(1).as_object().unwrap().clone());
        group
    };
    assert_eq!(
        groups,
        json!({"group_by": "chat", "items": [group("a"), group("b")]})
    );
}

#[tokio::test]
async fn traces_are_listed_taken_apart_and_followed() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let row = json!({
        "trace_id": "r-one", "request_id": "r-one", "chat_id": "a", "assistant_id": "hello",
        "status": "completed", "duration_ms": 4_000, "created_at": 1_000,
    });
    let path = "/trace/traces?chat_id=a&request_id=r-one&status=completed";
    assert_eq!(bed.get(ANN, path).await.json()["data"], json!([row]));
    let part = async |part: &str| bed.get(ANN, &format!("/trace/traces/r-one/{part}")).await;
    assert_eq!(part("info").await.json(), row);
    assert_eq!(part("nodes").await.json()["data"][0]["label"], "one");
    assert_eq!(part("nodes/n1").await.json()["label"], "one");
    assert_eq!(part("nodes/n2").await.status, 404);
    assert_eq!(part("logs").await.json()["data"][0]["message"], "one");
    assert_eq!(part("logs/n1").await.json()["total"], 1);
    assert_eq!(part("logs/n2").await.status, 404);
    assert_eq!(part("spaces").await.json()["total"], 0);
    assert_eq!(part("spaces/s1").await.status, 404);
    let events = part("events").await.text;
    let told: Vec<&str> = events
        .lines()
        .filter(|line| !line.starts_with("data"))
        .collect();
    assert_eq!(
        told,
        [
            "id: 1",
            "event: init",
            "",
            "id: 2",
            "event: node_start",
            "",
            "id: 3",
            "event: log_added",
            "",
            "id: 4",
            "event: complete",
            "",
        ]
    );
    assert_eq!(events.matches("data: {\"type\":").count(), 4);
}

#[tokio::test]
async fn a_turn_without_references_has_an_empty_list() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let list = bed.get(ANN, "/chat/references/r-one").await.json();
    let expected = json!({"request_id": "r-one", "query": null, "types": [], "references": []});
    assert_eq!(list, expected);
    assert_eq!(bed.get(ANN, "/chat/references/r-one/1").await.status, 404);
    assert_eq!(bed.get(BOB, "/chat/references/r-one").await.status, 404);
}
