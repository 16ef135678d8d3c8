//! Who sees what: foreign ids answer like unknown ones, and foreign texts are in no answer.

use crate::bed::{ANN, BOB, Bed, CHIEF, CID, Person, TWIN};
use crate::site::Answer;
use reqwest::Method;
use serde_json::json;

/// Every route that names a thing of Ann's, by her name for it and by one that nothing has.
const NAMED: &[(Method, &str, &str, &str)] = &[
    (Method::GET, "/chat/sessions/{}", "ann-chat", "never"),
    (Method::PUT, "/chat/sessions/{}", "ann-chat", "never"),
    (Method::DELETE, "/chat/sessions/{}", "ann-chat", "never"),
    (
        Method::GET,
        "/chat/sessions/{}/messages",
        "ann-chat",
        "never",
    ),
    (Method::GET, "/chat/references/{}", "r-ann-text", "never"),
    (Method::GET, "/chat/references/{}/1", "r-ann-text", "never"),
    (Method::GET, "/contexts/{}", "ROW", "never"),
    (Method::GET, "/contexts/{}/items", "ROW", "never"),
    (Method::POST, "/contexts/{}/clear", "ROW", "never"),
    (Method::DELETE, "/contexts/{}", "ROW", "never"),
    (Method::GET, "/usage?context={}", "ROW", "never"),
    (Method::GET, "/memory/chat/{}", "ann-chat", "never"),
    (
        Method::GET,
        "/memory/chat/{}/keys/key-ann-text",
        "ann-chat",
        "never",
    ),
    (Method::PUT, "/memory/chat/{}/keys/k", "ann-chat", "never"),
    (
        Method::DELETE,
        "/memory/chat/{}/keys/k",
        "ann-chat",
        "never",
    ),
    (Method::GET, "/memory/user/{}", "ann", "never"),
    (Method::PUT, "/memory/user/{}/keys/k", "ann", "never"),
    (Method::GET, "/trace/traces/{}/info", "r-ann-text", "never"),
    (Method::GET, "/trace/traces/{}/nodes", "r-ann-text", "never"),
    (
        Method::GET,
        "/trace/traces/{}/nodes/n1",
        "r-ann-text",
        "never",
    ),
    (Method::GET, "/trace/traces/{}/logs", "r-ann-text", "never"),
    (
        Method::GET,
        "/trace/traces/{}/logs/n1",
        "r-ann-text",
        "never",
    ),
    (
        Method::GET,
        "/trace/traces/{}/spaces",
        "r-ann-text",
        "never",
    ),
    (
        Method::GET,
        "/trace/traces/{}/spaces/s",
        "r-ann-text",
        "never",
    ),
    (
        Method::GET,
        "/trace/traces/{}/events",
        "r-ann-text",
        "never",
    ),
    (Method::GET, "/trace/traces?chat_id={}", "ann-chat", "never"),
    (
        Method::GET,
        "/trace/traces?request_id={}",
        "r-ann-text",
        "never",
    ),
    (Method::GET, "/contexts?chat={}", "ann-chat", "never"),
    (Method::GET, "/usage?chat={}", "ann-chat", "never"),
];

async fn ask(bed: &Bed, who: Person, method: &Method, path: &str) -> Answer {
    match *method {
        Method::PUT if path.contains("memory") => {
            bed.send(who, Method::PUT, path, &json!({"value": 1})).await
        }
        Method::PUT | Method::POST => bed.send(who, method.clone(), path, &json!({})).await,
        _ => bed.ask(who, method.clone(), path).await,
    }
}

/// Status and body, without the id that was asked for and the request's own.
fn told(answer: &Answer, id: &str) -> (u16, String) {
    let mut text = answer.text.replace(id, "…");
    if let Some((before, rest)) = text.split_once("\"request_id\":\"") {
        let rest = rest.split_once('"').map_or("", |(_, rest)| rest);
        text = format!("{before}{rest}");
    }
    (answer.status, text)
}

#[tokio::test]
async fn g057_what_is_somebody_elses_answers_like_what_is_not_there() {
    let bed = Bed::new().await;
    bed.talk(ANN, "ann-chat", "ann-text").await;
    let row = bed.row(ANN, "ann-chat").await;
    for (method, path, known, unknown) in NAMED {
        let known = if *known == "ROW" { &row } else { *known };
        for who in [BOB, CID] {
            let is_own_name = *path == "/memory/user/{}" && who.1 == known;
            assert!(!is_own_name);
            let path_of = |id: &str| path.replace("{}", id);
            let one = ask(&bed, who, method, &path_of(known)).await;
            let other = ask(&bed, who, method, &path_of(unknown)).await;
            assert_eq!(
                told(&one, known),
                told(&other, unknown),
                "{method} {path} by {who:?}"
            );
        }
    }
    // She herself is told of each of them, and nothing of hers has changed.
    for (method, path, known, unknown) in NAMED {
        let known = if *known == "ROW" { &row } else { *known };
        if *method == Method::GET {
            let one = ask(&bed, ANN, method, &path.replace("{}", known)).await;
            let other = ask(&bed, ANN, method, &path.replace("{}", unknown)).await;
            assert_ne!(told(&one, known), told(&other, unknown), "{path}");
        }
    }
    assert_eq!(
        bed.get(ANN, "/memory/chat/ann-chat").await.json()["total"],
        1
    );
}

#[tokio::test]
async fn g057_another_tenants_things_answer_like_what_is_not_there() {
    let bed = Bed::new().await;
    bed.talk(ANN, "ann-chat", "ann-text").await;
    let row = bed.row(ANN, "ann-chat").await;
    for (method, path, known, unknown) in NAMED {
        // Her namesake's own memory is found under their common name.
        if path.starts_with("/memory/user") {
            continue;
        }
        let known = if *known == "ROW" { &row } else { *known };
        let one = ask(&bed, TWIN, method, &path.replace("{}", known)).await;
        let other = ask(&bed, TWIN, method, &path.replace("{}", unknown)).await;
        assert_eq!(told(&one, known), told(&other, unknown), "{method} {path}");
    }
}

#[tokio::test]
async fn g059_no_list_tells_of_what_its_caller_may_not_see() {
    let bed = Bed::new().await;
    let texts = ["anns-own", "anns-shared", "bobs", "cids", "twins"];
    for (who, text) in [
        (ANN, "anns-own"),
        (ANN, "anns-shared"),
        (BOB, "bobs"),
        (CID, "cids"),
        (TWIN, "twins"),
    ] {
        bed.talk(who, text, text).await;
        let path = format!("/memory/user/keys/of-{text}");
        bed.send(who, Method::PUT, &path, &json!({"value": text}))
            .await;
    }
    let share = json!({"share": "team"});
    let shared = bed
        .send(ANN, Method::PUT, "/chat/sessions/anns-shared", &share)
        .await;
    assert_eq!(shared.status, 200);
    for (who, seen) in [
        (ANN, vec!["anns-own", "anns-shared"]),
        (BOB, vec!["anns-shared", "bobs"]),
        (CID, vec!["cids"]),
        (TWIN, vec!["twins"]),
        (CHIEF, vec!["anns-own", "anns-shared", "bobs", "cids"]),
    ] {
        let mut all = String::new();
        for path in [
            "/chat/sessions",
            "/chat/sessions?keywords=s&order_by=sort",
            "/contexts?limit=100",
            "/memory/user",
            "/memory/team",
            "/usage?group_by=chat",
            "/usage?group_by=model",
            "/usage?group_by=day,chat",
            "/usage?group_by=hour,model&format=csv",
            "/trace/traces",
        ] {
            let answer = bed.get(who, path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            all.push_str(&answer.text);
        }
        let dry = json!({"dry_run": true});
        for path in ["/contexts/clear", "/contexts/remove"] {
            all.push_str(&bed.send(who, Method::POST, path, &dry).await.text);
        }
        let found: Vec<&str> = texts
            .into_iter()
            .filter(|text| all.contains(text))
            .collect();
        assert_eq!(found, seen, "{who:?}");
    }
}

#[tokio::test]
async fn without_credentials_nothing_is_listed() {
    let bed = Bed::new().await;
    for (method, path, _, id) in NAMED {
        let path = format!("/v1{}", path.replace("{}", id));
        let answer = Answer::of(bed.site.request(method.clone(), &path)).await;
        assert_eq!(answer.status, 401, "{method} {path}");
    }
}
