//! The list of turns, conversations that work, and conversations that are named by their rows.

use crate::bed::{ANN, BOB, Bed, CHIEF, Person, TWIN};
use reqwest::Method;
use serde_json::{Value, json};

/// The ids of a list's items.
async fn ids(bed: &Bed, who: Person, query: &str) -> Vec<String> {
    let list = bed.get(who, &format!("/chat/requests{query}")).await;
    assert_eq!(list.status, 200, "{}", list.text);
    of(&list.json())
}

fn of(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["request_id"].as_str().unwrap().to_owned())
        .collect()
}

async fn turn(bed: &Bed, who: Person, chat: &str) -> String {
    let answer = bed.turn(who, chat, "hi").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("x-ambit-request").unwrap().to_owned()
}

#[tokio::test]
async fn turns_of_all_chats_are_listed_in_pages_the_newest_first() {
    let bed = Bed::new().await;
    let mut made = Vec::new();
    for chat in ["a", "b", "a", "c", "a", "b", "c"] {
        made.push(turn(&bed, ANN, chat).await);
    }
    made.sort_unstable();
    made.reverse();
    assert_eq!(ids(&bed, ANN, "").await, made);
    let mut pages = Vec::new();
    let mut query = "?limit=3".to_owned();
    loop {
        let page = bed.get(ANN, &format!("/chat/requests{query}")).await.json();
        pages.push(of(&page));
        match page["next"].as_str() {
            Some(next) => query = format!("?limit=3&cursor={next}"),
            None => break,
        }
    }
    let expected: Vec<Vec<String>> = made.chunks(3).map(<[String]>::to_vec).collect();
    assert_eq!(pages, expected);
}

#[tokio::test]
async fn a_listed_turn_says_whose_it_is_and_what_it_took() {
    let bed = Bed::new().await;
    let id = turn(&bed, ANN, "a").await;
    let row = bed.row(ANN, "a").await;
    let item = bed.get(ANN, "/chat/requests").await.json()["items"][0].take();
    let duration = item["ended_at"].as_i64().unwrap() - item["started_at"].as_i64().unwrap();
    let expected = json!({
        "request_id": id, "trace_id": id, "chat_id": "a", "context": row, "assistant_id": "hello", "user_id": "ann",
        "status": "completed", "started_at": item["started_at"], "ended_at": item["ended_at"], "duration_ms": duration,
        "ttft_ms": item["ttft_ms"], "calls": 1, "tools": 0,
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}, "cost": {}, "error": null,
        "acted_by": null,
    });
    assert_eq!(item, expected);
    let first = item["ttft_ms"].as_i64().unwrap();
    assert!((0..=duration).contains(&first), "{item}");
    let shown = bed.get(ANN, &format!("/chat/requests/{id}")).await.json();
    assert_eq!(shown["usage"], expected["usage"]);
    assert_eq!(shown["user_id"], json!("ann"));
    assert_eq!(shown["context"], json!(row));
}

#[tokio::test]
async fn turns_are_filtered_by_chat_context_agent_person_status_and_time() {
    let bed = Bed::new().await;
    let (one, two) = (turn(&bed, ANN, "a").await, turn(&bed, ANN, "b").await);
    let other = turn(&bed, BOB, "a").await;
    let row = bed.row(ANN, "b").await;
    let begun = bed.get(ANN, &format!("/chat/requests/{two}")).await.json()["started_at"].take();
    for (who, query, expected) in [
        (ANN, "?chat_id=a".to_owned(), vec![&one]),
        (ANN, "?chat_id=never".to_owned(), vec![]),
        (ANN, format!("?context={row}"), vec![&two]),
        (ANN, format!("?context={row}&chat_id=-"), vec![&two]),
        (BOB, format!("?context={row}"), vec![]),
        (ANN, "?assistant_id=hello".to_owned(), vec![&two, &one]),
        (ANN, "?assistant_id=never".to_owned(), vec![]),
        (ANN, "?user_id=bob".to_owned(), vec![]),
        (CHIEF, "?user_id=bob".to_owned(), vec![&other]),
        (CHIEF, String::new(), vec![&other, &two, &one]),
        (TWIN, String::new(), vec![]),
        (ANN, "?status=completed".to_owned(), vec![&two, &one]),
        (ANN, "?status=running".to_owned(), vec![]),
        (ANN, "?to=1000".to_owned(), vec![]),
        (ANN, format!("?from={begun}"), vec![&two]),
    ] {
        let expected: Vec<String> = expected.into_iter().cloned().collect();
        let mut found = ids(&bed, who, &query).await;
        // Two turns of one millisecond have no order.
        found.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(found, sorted, "{who:?} {query}");
    }
    for (query, param) in [
        ("?status=never", "status"),
        ("?cursor=never", "cursor"),
        ("?limit=0", "limit"),
    ] {
        let refused = bed.get(ANN, &format!("/chat/requests{query}")).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(refused.failure(), expected, "{query}");
    }
    let path = format!("/chat/requests?context={row}&chat_id=b");
    assert_eq!(bed.get(ANN, &path).await.status, 400);
}

#[tokio::test]
async fn chats_say_which_request_they_are_busy_with() {
    let bed = Bed::new().await;
    turn(&bed, ANN, "idle").await;
    let body = json!({
        "model": "hello", "chat_id": "busy", "stream": true, "messages": [{"role": "user", "content": "never ends"}],
    });
    let request = bed.site.request(Method::POST, "/v1/chat/completions");
    let running = request.bearer_auth(ANN.token()).json(&body);
    let running = running.send().await.unwrap();
    let id = running.headers()["x-ambit-request"].to_str().unwrap();
    for (query, expected) in [
        ("", vec![("busy", json!(id)), ("idle", Value::Null)]),
        ("?running=true", vec![("busy", json!(id))]),
        ("?running=false", vec![("idle", Value::Null)]),
        ("?user_id=ann&running=true", vec![("busy", json!(id))]),
        ("?user_id=bob", vec![]),
    ] {
        let list = bed.get(ANN, &format!("/chat/sessions{query}")).await.json();
        let mut found: Vec<(String, Value)> = Vec::new();
        for chat in list["data"].as_array().unwrap() {
            assert_eq!(chat["user_id"], json!("ann"));
            assert_eq!(chat["team_id"], json!("red"));
            let name = chat["chat_id"].as_str().unwrap().to_owned();
            found.push((name, chat["running"].clone()));
        }
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let expected: Vec<(String, Value)> = expected
            .into_iter()
            .map(|(name, running)| (name.to_owned(), running))
            .collect();
        assert_eq!(found, expected, "{query}");
    }
    assert_eq!(ids(&bed, ANN, "?status=running").await, [id]);
    assert!(ids(&bed, BOB, "?status=running").await.is_empty());
    let shown = bed.get(ANN, "/chat/sessions/busy").await.json();
    assert_eq!(shown["running"], json!(id));
    // The first turn of a conversation says which one it is while it runs.
    let running = bed.get(ANN, &format!("/chat/requests/{id}")).await.json();
    let row = bed.row(ANN, "busy").await;
    assert_eq!(running["context"], json!(row));
    let cancel = format!("/chat/requests/{id}/cancel");
    assert_eq!(bed.ask(ANN, Method::POST, &cancel).await.status, 202);
}

#[tokio::test]
async fn a_context_picks_one_conversation_on_every_route_with_a_chat() {
    let bed = Bed::new().await;
    bed.talk(ANN, "same", "ann-text").await;
    bed.talk(BOB, "same", "bob-text").await;
    let row = bed.row(ANN, "same").await;
    for (path, part) in [
        ("/chat/sessions/-?context=ROW", "ann-text"),
        ("/chat/sessions/-/messages?context=ROW", "ann-text"),
        ("/chat/sessions/-/messages?context=ROW&q=ann", "ann-text"),
        ("/ai-sdk/chat/-/messages?context=ROW", "ann-text"),
        ("/memory/chat/-?context=ROW", "key-ann-text"),
        ("/memory/chat/-/search?context=ROW&q=ann", "key-ann-text"),
        ("/memory/chat/-/keys/key-ann-text?context=ROW", "ann-text"),
        ("/trace/traces?context=ROW", "r-ann-text"),
    ] {
        let path = path.replace("ROW", &row);
        for who in [ANN, CHIEF] {
            let found = bed.get(who, &path).await;
            assert_eq!(found.status, 200, "{path} {}", found.text);
            assert!(found.text.contains(part), "{path} {}", found.text);
        }
        for who in [BOB, TWIN] {
            let found = bed.get(who, &path).await;
            assert!(!found.text.contains(part), "{path} {}", found.text);
        }
    }
    for path in ["/chat/sessions/same", "/memory/user"] {
        let refused = bed.get(ANN, &format!("{path}?context={row}")).await;
        assert_eq!(refused.failure().0, 400, "{path}");
    }
    let body = json!({"model": "hello", "messages": [{"role": "user", "content": "hi"}]});
    let path = format!("/chat/completions?context={row}");
    let answer = bed.send(ANN, Method::POST, &path, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("x-ambit-chat"), Some("same"));
    assert_eq!(bed.send(BOB, Method::POST, &path, &body).await.status, 404);
}

#[tokio::test]
async fn brief_events_of_a_trace_leave_out_what_is_large() {
    let bed = Bed::new().await;
    let id = turn(&bed, ANN, "a").await;
    let path = format!("/trace/traces/{id}/events");
    let whole = bed.get(ANN, &path).await.text;
    let brief = bed.get(ANN, &format!("{path}?brief=true")).await.text;
    let said = r#""role":"assistant""#;
    assert!(whole.contains(said), "{whole}");
    assert!(!brief.contains(said), "{brief}");
    assert!(brief.contains(r#""left_out":["input"]"#), "{brief}");
    assert!(brief.contains(r#""left_out":["output"]"#), "{brief}");
    let count = |text: &str| text.matches("\ndata: ").count();
    assert_eq!(count(&whole), count(&brief));
    let nodes = bed.get(ANN, &format!("/trace/traces/{id}/nodes")).await;
    let nodes = nodes.json()["data"].take();
    let nodes = nodes.as_array().unwrap();
    let call = nodes.iter().find(|node| node["type"] == "llm").unwrap();
    let metadata = &call["metadata"];
    let expected = json!({
        "call_id": format!("{id}.call-0"), "model": "script", "ttft_ms": metadata["ttft_ms"], "cost": null,
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}, "finish_reason": "stop", "attempts": 1,
    });
    assert_eq!(*metadata, expected);
    assert_eq!(nodes[0]["metadata"]["agent"], json!("hello"));
    assert_eq!(nodes[0]["metadata"]["usage"], expected["usage"]);
}
