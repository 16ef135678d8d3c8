//! What is refused, and how that is said.

use crate::bed::{ANN, Bed, TWIN};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn g150_pages_limits_and_cursors_out_of_range_are_refused() {
    let bed = Bed::new().await;
    for chat in ["a", "b"] {
        bed.talk(ANN, chat, chat).await;
        bed.talk(TWIN, chat, chat).await;
    }
    for path in [
        "/chat/sessions",
        "/memory/user",
        "/trace/traces",
        "/chat/references/r-a",
    ] {
        for (name, wrong) in [
            ("page", "0"),
            ("page", "-1"),
            ("page", "x"),
            ("pagesize", "0"),
            ("pagesize", "-1"),
            ("pagesize", "101"),
            ("pagesize", "1000000000"),
        ] {
            let answer = bed.get(ANN, &format!("{path}?{name}={wrong}")).await;
            let expected = (400, "invalid_argument".to_owned(), Some(name.to_owned()));
            assert_eq!(answer.failure(), expected, "{path} {name}={wrong}");
        }
    }
    let theirs = bed.get(TWIN, "/contexts?limit=1").await.json();
    let theirs = theirs["next"].as_str().unwrap();
    let row = bed.row(ANN, "a").await;
    for (path, param) in [
        ("/contexts?limit=0".to_owned(), "limit"),
        ("/contexts?limit=1000000000".to_owned(), "limit"),
        ("/contexts?cursor=x".to_owned(), "cursor"),
        (format!("/contexts?limit=1&cursor={theirs}"), "cursor"),
        ("/contexts/values?field=user&limit=0".to_owned(), "limit"),
        (format!("/contexts/{row}/items?limit=-1"), "limit"),
        (format!("/contexts/{row}/items?before=0"), "before"),
        ("/chat/sessions/a/messages?limit=0".to_owned(), "limit"),
        ("/chat/sessions/a/messages?before=x".to_owned(), "before"),
    ] {
        let answer = bed.get(ANN, &path).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected, "{path}");
    }
}

/// Path, the field that is to blame, and what helps.
const UNKNOWN: [(&str, &str, &str); 23] = [
    (
        "/chat/sessions?assistent_id=x",
        "assistent_id",
        "did you mean \"assistant_id\"?",
    ),
    (
        "/chat/sessions?order_by=creatd_at",
        "order_by",
        "did you mean \"created_at\"?",
    ),
    (
        "/chat/sessions?status=activ",
        "status",
        "did you mean \"active\"?",
    ),
    (
        "/chat/sessions/a?foo=1",
        "foo",
        "foo is not a condition of this route",
    ),
    (
        "/chat/sessions/a/messages?limt=1",
        "limt",
        "did you mean \"limit\"?",
    ),
    (
        "/chat/sessions/a/messages?role=usr",
        "role",
        "did you mean \"user\"?",
    ),
    ("/contexts?agnt=x", "agnt", "did you mean \"agent\"?"),
    (
        "/contexts?scope=chathistory",
        "scope",
        "did you mean \"chatHistory\"?",
    ),
    (
        "/contexts?scope=foo",
        "scope",
        "known are chatHistory, usage, memory",
    ),
    ("/contexts?state=clear", "state", "known are live, cleared"),
    ("/contexts?order=recnt", "order", "did you mean \"recent\"?"),
    (
        "/contexts?label=free",
        "label",
        "write name:value, as in plan:free",
    ),
    ("/contexts/values", "field", "field is missing"),
    (
        "/contexts/values?field=users",
        "field",
        "did you mean \"user\"?",
    ),
    ("/events?agnt=x", "agnt", "did you mean \"agent\"?"),
    (
        "/events?type=MessageAdded,MessageAded",
        "type",
        "did you mean \"MessageAdded\"?",
    ),
    ("/memory/usr", "space", "did you mean \"user\"?"),
    (
        "/memory/user?patern=x",
        "patern",
        "did you mean \"pattern\"?",
    ),
    (
        "/usage?group_by=agents",
        "group_by",
        "did you mean \"agent\"?",
    ),
    ("/usage?by=model", "by", "; there are "),
    ("/usage?modl=x", "modl", "did you mean \"model\"?"),
    (
        "/trace/traces?status=complete",
        "status",
        "did you mean \"completed\"?",
    ),
    (
        "/trace/traces?chatid=x",
        "chatid",
        "did you mean \"chat_id\"?",
    ),
];

#[tokio::test]
async fn g146_what_a_route_does_not_know_is_refused_with_the_nearest_name() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    for (path, param, hint) in UNKNOWN {
        let answer = bed.get(ANN, path).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected, "{path}");
        assert!(
            answer.text.replace('\\', "").contains(hint),
            "{path}: {}",
            answer.text
        );
    }
}

fn malformed() -> Vec<(Method, &'static str, Value, &'static str)> {
    let change = |body, field| (Method::PUT, "/chat/sessions/a", body, field);
    let clear = |body, field| (Method::POST, "/contexts/clear", body, field);
    let remove = |body, field| (Method::POST, "/contexts/remove", body, field);
    let remember = |body, field| (Method::PUT, "/memory/user/keys/k", body, field);
    vec![
        change(json!({"titel": "x"}), "titel"),
        change(json!({"share": "all"}), "share"),
        change(json!([]), "body"),
        remove(json!({"agnt": "x"}), "agnt"),
        remove(json!({"agent": 1}), "agent"),
        clear(json!({"active_before": "soon"}), "active_before"),
        clear(json!({"label": "free"}), "label"),
        clear(json!({"label": 1}), "label"),
        clear(json!({"ids": "x"}), "ids"),
        clear(json!({"ids": [1]}), "ids[0]"),
        clear(json!({"ids": vec!["x"; 1_001]}), "ids"),
        clear(json!({"rows": 1}), "rows"),
        remove(json!({"state": "gone"}), "state"),
        remove(json!({"order": "newest"}), "order"),
        remove(json!({"scope": "foo"}), "scope"),
        clear(json!({"dry_run": "yes"}), "dry_run"),
        clear(json!([]), "body"),
        remember(json!({"value": 1, "ttl": "soon"}), "ttl"),
        remember(json!({"value": 1, "expect": "latest"}), "expect"),
        remember(json!({"valu": 1}), "valu"),
    ]
}

#[tokio::test]
async fn g148_malformed_bodies_are_refused_with_their_field_and_store_nothing() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let before = bed.get(ANN, "/chat/sessions/a").await.text;
    for (method, path, body, param) in malformed() {
        let answer = bed.send(ANN, method, path, &body).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected, "{path} {body}");
    }
    assert_eq!(bed.get(ANN, "/chat/sessions/a").await.text, before);
    assert_eq!(bed.get(ANN, "/memory/user").await.json()["total"], 0);
}

#[tokio::test]
async fn g153_impossible_times_are_refused() {
    let bed = Bed::new().await;
    for (path, param) in [
        ("/chat/sessions?from=yesterday", "from"),
        ("/chat/sessions?from=2026-02-02&to=2026-02-01", "to"),
        ("/contexts?active_before=2026-13-01", "active_before"),
        (
            "/contexts?created_after=2026-02-02&created_before=2026-02-01",
            "created_before",
        ),
        ("/usage?date=2026-02-30", "date"),
        ("/usage?date_from=2026-02-02&date_to=2026-02-01", "date_to"),
        ("/usage?time_zone=Mars", "time_zone"),
    ] {
        let answer = bed.get(ANN, path).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected, "{path}: {}", answer.text);
    }
}

#[tokio::test]
async fn patterns_delete_nothing_over_http() {
    let bed = Bed::new().await;
    let value = json!({"value": 1});
    bed.send(ANN, Method::PUT, "/memory/user/keys/abc", &value)
        .await;
    let answer = bed.ask(ANN, Method::DELETE, "/memory/user/keys/a*").await;
    assert_eq!(answer.failure().0, 400);
    assert_eq!(bed.get(ANN, "/memory/user/keys/abc").await.status, 200);
}

#[tokio::test]
async fn a_name_of_several_agents_is_a_conflict_only_where_it_is() {
    let bed = Bed::new().await;
    bed.talk(ANN, "a", "one").await;
    let known = bed.get(ANN, "/chat/sessions/a?assistant_id=hello").await;
    assert_eq!(known.status, 200);
    let other = bed.get(ANN, "/chat/sessions/a?assistant_id=other").await;
    assert_eq!(other.status, 404);
}
