//! Requests with an idempotency key.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use crate::turns::{said, status, streamed};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Json, ids};
use reqwest::Method;
use serde_json::{Value, json};

pub async fn ask(site: &Site, key: &str, body: &Value) -> Answer {
    let request = site.request(Method::POST, "/v1/chat/completions");
    Answer::of(request.header("idempotency-key", key).json(body)).await
}

/// The refusal of a request for its key.
pub fn conflict() -> (u16, String, Option<String>) {
    let param = Some("idempotency-key".to_owned());
    (409, "conflict".to_owned(), param)
}

#[tokio::test]
async fn g042_a_repeated_request_joins_the_first_one() {
    let site = Site::development().await;
    let other = site.beside().await;
    let first = ask(&site, "k1", &said("hi")).await;
    for node in [&site, &other] {
        let again = ask(node, "k1", &said("hi")).await;
        assert_eq!(
            (again.status, again.json()["choices"].take()),
            (200, first.json()["choices"].take())
        );
        assert_eq!(
            again.header("x-ambit-request"),
            first.header("x-ambit-request")
        );
        assert_eq!(
            again.header("x-ambit-context"),
            first.header("x-ambit-context")
        );
    }
    let new = ask(&site, "k2", &said("hi")).await;
    assert_ne!(
        new.header("x-ambit-request"),
        first.header("x-ambit-request")
    );
}

#[tokio::test]
async fn g042_of_requests_that_come_at_once_to_two_nodes_one_is_run() {
    let site = Site::development().await;
    let other = site.beside().await;
    let body = said("go on");
    let asked = (0..8).map(|at| ask(if at % 2 == 0 { &site } else { &other }, "k1", &body));
    let answers = futures::future::join_all(asked).await;
    let ids: Vec<&str> = answers
        .iter()
        .map(|answer| answer.header("x-ambit-request").unwrap())
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(answers.iter().all(|answer| answer.status == 200));
}

/// Changes what is stored of the one key that was used.
async fn change(site: &Site, change: impl Fn(&mut Value)) {
    let space = Space::repeats(DEFAULT_TENANT);
    let scan = ValueScan::first(Pattern::all(), 4, ValuePart::Whole);
    let mut found = site.store.scan(&space, &scan).await.unwrap();
    // Beside it stands which turns have begun.
    found.retain(|(name, _)| !name.contains('/'));
    let [(name, entry)] = &found[..] else {
        panic!("{found:?}");
    };
    let mut claim: Value = entry.value.to().unwrap();
    change(&mut claim);
    let write = BatchWrite::Apply {
        key: space.key(name.as_str()),
        op: Operation::Set(Json::of(&claim).unwrap().into()),
        life: None,
    };
    site.store.commit(Batch::of([write])).await.unwrap();
}

#[tokio::test]
async fn g042_a_turn_is_joined_whose_node_died_before_it_said_that_the_turn_has_begun() {
    let site = Site::development().await;
    let first = ask(&site, "k1", &said("hi")).await;
    change(&site, |claim| {
        assert_eq!(claim["outcome"]["has_begun"], true);
        claim["outcome"]["has_begun"] = false.into();
    })
    .await;
    let again = ask(&site.beside().await, "k1", &said("hi")).await;
    assert_eq!(again.status, 200);
    let id = |answer: &Answer| answer.header("x-ambit-request").map(str::to_owned);
    assert_eq!(id(&again), id(&first));
}

#[tokio::test]
async fn a_claim_whose_turn_never_began_is_taken_over_when_its_time_is_over() {
    let site = Site::development().await;
    ask(&site, "k1", &said("hi")).await;
    let never_began = ids::ordered(&Clock::default());
    change(&site, |claim| {
        claim["outcome"]["has_begun"] = false.into();
        claim["outcome"]["request_id"] = never_began.as_str().into();
        claim["outcome"]["until"] = 0.into();
    })
    .await;
    for _ in 0..2 {
        let again = ask(&site, "k1", &said("hi")).await;
        let id = again.header("x-ambit-request");
        assert_eq!((again.status, id), (200, Some(never_began.as_str())));
    }
}

#[tokio::test]
async fn g042_another_request_under_the_same_key_is_refused() {
    let site = Site::development().await;
    ask(&site, "k1", &said("hi")).await;
    let answer = ask(&site, "k1", &said("something else")).await;
    assert_eq!(answer.failure(), conflict());
}

#[tokio::test]
async fn g042_a_request_that_says_something_else_beside_its_body_is_another() {
    let site = Site::development().await;
    let asked = |query: &str, header: &'static str, value: &'static str| {
        let path = format!("/v1/chat/completions?{query}");
        let request = site.request(Method::POST, &path).header(header, value);
        Answer::of(request.header("idempotency-key", "k1").json(&said("hi")))
    };
    let first = asked("", "x-ambit-chat", "one").await;
    assert_eq!(first.status, 200, "{}", first.text);
    for (query, header, value) in [
        ("", "x-ambit-chat", "two"),
        ("chat_id=two", "x-ambit-chat", "one"),
        ("chat_id=one", "x-ambit-metadata", "eyJhIjoxfQ=="),
    ] {
        let answer = asked(query, header, value).await;
        assert_eq!(answer.failure(), conflict(), "{query} {header} {value}");
    }
    for query in [
        // The same, said in another place.
        "chat_id=one",
        // How the answer is wanted, and where the request comes from.
        "accept=cui-web",
        "locale=de",
        "theme=dark",
        "route=/orders",
        "referer=jssdk",
    ] {
        let again = asked(query, "x-ambit-chat", "one").await;
        let ids = [&again, &first].map(|answer| answer.header("x-ambit-request"));
        assert_eq!((again.status, ids[0]), (200, ids[1]), "{query}");
    }
}

#[tokio::test]
async fn g042_a_request_whose_chat_was_removed_is_not_run_again() {
    let site = Site::development().await;
    let body =
        json!({"model": "hello", "chat_id": "c", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(ask(&site, "k1", &body).await.status, 200);
    let request = site.request(Method::DELETE, "/v1/chat/sessions/c");
    assert_eq!(Answer::of(request).await.status, 204);
    let answer = ask(&site, "k1", &body).await;
    assert_eq!(answer.failure(), conflict());
    assert_eq!(
        answer.json()["error"]["message"],
        "the request of this Idempotency-Key ran, and what came of it was removed since; to ask again, use a new key"
    );
    assert_eq!(site.get("/v1/chat/sessions/c").await.status, 404);
}

#[tokio::test]
async fn a_repeated_stream_begins_at_the_beginning() {
    let site = Site::development().await;
    let request = || {
        let request = site.request(Method::POST, "/v1/chat/completions");
        request
            .header("idempotency-key", "k1")
            .json(&streamed("go on"))
    };
    let mut first = crate::site::Stream::of(request()).await;
    let mut again = crate::site::Stream::of(request()).await;
    let (events, repeated) = tokio::join!(first.rest(), again.rest());
    assert_eq!(status(&events), json!("completed"));
    assert_eq!(events, repeated);
}

#[tokio::test]
async fn a_request_that_did_not_start_may_be_sent_again_under_its_key() {
    let site = Site::development().await;
    let mut running = site.stream(&streamed("never ends")).await;
    running.until(|data| data["type"] == "text").await;
    assert_eq!(ask(&site, "k1", &said("hi")).await.status, 409);
    let path = format!("/v1/chat/requests/{}/cancel", running.request_id());
    site.post(&path, &json!({})).await;
    running.rest().await;
    assert_eq!(ask(&site, "k1", &said("hi")).await.status, 200);
}

#[tokio::test]
async fn two_callers_keys_are_two_keys() {
    let site = Site::of(&[TOKENS]).await;
    let mut ids = Vec::new();
    for claims in [
        json!({"sub": "ann"}),
        json!({"sub": "bob"}),
        json!({"sub": "ann", "team_id": "red"}),
        json!({"sub": "ann", "tenant_id": "acme"}),
    ] {
        let request = site.request(Method::POST, "/v1/chat/completions");
        let request = request
            .bearer_auth(token(&claims))
            .header("idempotency-key", "k1");
        let answer = Answer::of(request.json(&said("hi"))).await;
        ids.push(answer.header("x-ambit-request").unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let site = Site::development().await;
    let answer = ask(&site, &"k".repeat(256), &said("hi")).await;
    let param = Some("idempotency-key".to_owned());
    assert_eq!(
        answer.failure(),
        (400, "invalid_argument".to_owned(), param)
    );
}

async fn make(site: &Site, key: &str, body: &Value) -> Answer {
    let request = site.request(Method::POST, "/v1/conversations");
    Answer::of(request.header("idempotency-key", key).json(body)).await
}

#[tokio::test]
async fn g162_a_conversation_is_made_once_for_an_idempotency_key() {
    let site = Site::development().await;
    let other = site.beside().await;
    let body = json!({"items": [{"role": "user", "content": "hi"}], "metadata": {"a": "b"}});
    let made = (0..8).map(|at| make(if at % 2 == 0 { &site } else { &other }, "k1", &body));
    let made = futures::future::join_all(made).await;
    let again = make(&other, "k1", &body).await;
    let first = made[0].json();
    for answer in made.iter().chain([&again]) {
        assert_eq!((answer.status, answer.json()), (200, first.clone()));
    }
    let path = format!("/v1/conversations/{}", first["id"].as_str().unwrap());
    let items = site.get(&format!("{path}/items")).await.json();
    assert_eq!(items["data"].as_array().unwrap().len(), 1, "{items}");

    let new = make(&site, "k2", &body).await.json();
    assert_ne!(new["id"], first["id"]);
    let changed = make(&site, "k1", &json!({"metadata": {"a": "c"}})).await;
    assert_eq!(changed.failure(), conflict());
    let removed = Answer::of(site.request(Method::DELETE, &path)).await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    assert_eq!(make(&other, "k1", &body).await.failure(), conflict());
}

#[tokio::test]
async fn items_are_added_once_for_an_idempotency_key() {
    let site = Site::development().await;
    let conversation = make(&site, "k1", &json!({})).await.json();
    let path = format!(
        "/v1/conversations/{}/items",
        conversation["id"].as_str().unwrap()
    );
    let add = async |text: &str| {
        let item = json!({"type": "message", "role": "user", "content": text});
        let request = site.request(Method::POST, &path);
        let request = request.header("idempotency-key", "k1");
        Answer::of(request.json(&json!({"items": [item]}))).await
    };
    let first = add("hi").await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(add("hi").await.json(), first.json());
    assert_eq!(add("something else").await.failure(), conflict());
    let items = site.get(&path).await.json();
    assert_eq!(items["data"].as_array().unwrap().len(), 1, "{items}");
}

#[tokio::test]
async fn no_header_says_the_key_of_a_run() {
    let site = Site::development().await;
    let ask = async |key: Option<&str>| {
        let id = key.map_or("m1", |_| "m0");
        let run = json!({"threadId": "c1", "runId": "r1", "messages": [{"id": id, "role": "user", "content": "hi"}]});
        let request = site.request(Method::POST, "/v1/ag-ui/hello").json(&run);
        let request = match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        let mut stream = crate::site::Stream::of(request).await;
        stream.rest().await;
        stream.request_id()
    };
    let key = format!("ag-ui run {}", json!(["hello", "c1", "r1"]));
    let by_header = ask(Some(&key)).await;
    let by_name = ask(None).await;
    assert_ne!(by_name, by_header);
    assert_eq!(ask(None).await, by_name);
}
