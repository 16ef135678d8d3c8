//! What operators see of the installation.

use crate::auth::token;
use crate::site::{Answer, Site, Stream, TOKENS, write};
use crate::turns::{said, streamed};
use reqwest::Method;
use serde_json::{Value, json};

/// An admin, of a tenant or of none.
fn admin(tenant: Option<&str>) -> String {
    token(&json!({"sub": "chief", "roles": ["admin"], "tenant_id": tenant}))
}

async fn get(site: &Site, who: &str, path: &str) -> Answer {
    let request = site.request(Method::GET, &format!("/v1{path}"));
    Answer::of(request.bearer_auth(who)).await
}

#[tokio::test]
async fn g186_operators_alone_see_the_installation() {
    let open = ("openapi/scopes/scopes.yml", "default: allow\n");
    let site = Site::of(&[TOKENS]).await;
    let everything = Site::of(&[TOKENS, open]).await;
    for path in [
        "/system",
        "/system/leases",
        "/app/problems",
        "/app/agents",
        "/app/agents/hello",
        "/app/agents/hello/files/prompts.yml",
        "/app/agents/hello/tools",
    ] {
        assert_eq!(get(&site, &admin(None), path).await.status, 200, "{path}");
        assert_eq!(
            get(&site, &admin(Some("t1")), path).await.status,
            403,
            "{path}"
        );
        assert_eq!(
            get(&everything, &admin(None), path).await.status,
            403,
            "{path}"
        );
    }
    let told = get(&site, &admin(Some("t1")), "/session").await.json();
    let grants = told["grants"].as_array().unwrap().iter();
    let operating = grants.filter(|name| {
        let name = name.as_str().unwrap();
        name.contains(" /system") || name.contains(" /app")
    });
    assert_eq!(operating.count(), 0);
}

#[tokio::test]
async fn the_system_names_stores_and_nodes() {
    let site = Site::development().await;
    let told = site.get("/v1/system").await.json();
    let node = &told["nodes"][0];
    assert_eq!(
        (&told["mode"], &told["app"]["name"]),
        (&json!("dev"), &json!("Tests"))
    );
    assert_eq!((&node["id"], &node["turns"]), (&told["node"], &json!(0)));
    assert_eq!(told["turns"], json!({"running": 0, "waiting": 0}));
    let store = &told["stores"][0];
    assert_eq!(
        (&store["name"], &store["role"], &store["state"]),
        (&json!("memory"), &json!("primary"), &json!("ready"))
    );
    assert_eq!(
        (&store["kind"], &store["bytes"]),
        (&json!("memory"), &Value::Null)
    );
    site.store.close().await.unwrap();
    let told = site.get("/v1/system").await.json();
    assert_eq!(told["stores"][0]["state"], json!("error"));
    assert!(told["stores"][0]["error"].is_string());
}

/// A turn of this chat that runs until it is stopped, and has begun to answer.
async fn running(site: &Site, chat: &str) -> Stream {
    let mut body = streamed("never ends");
    body["chat_id"] = json!(chat);
    let mut stream = site.stream(&body).await;
    stream.until(|data| data["type"] == "text").await;
    stream
}

#[tokio::test]
async fn leases_say_who_runs_a_turn_and_how_many_wait_for_it() {
    let site = Site::development().await;
    let leases = async || site.get("/v1/system/leases").await.json();
    let none = json!({"items": [], "next": null});
    assert_eq!(leases().await, none);
    let mut stream = running(&site, "c1").await;
    let row = site.get("/v1/contexts?scope=chatHistory").await.json()["items"][0]["id"].take();
    let node = site.get("/v1/system").await.json()["node"].take();
    let listed = leases().await;
    let lease = &listed["items"][0];
    let expected = json!({"items": [{
        "request_id": stream.request_id(), "context": row, "assistant_id": "hello", "node": node, "epoch": lease["epoch"],
        "expires_at": lease["expires_at"], "waiting": 0,
    }], "next": null});
    assert_eq!(listed, expected);
    assert!(lease["epoch"].is_u64() && lease["expires_at"].is_i64());
    let mut body = said("hi");
    body["on_busy"] = json!("queue");
    let stop = async {
        while leases().await["items"][0]["waiting"] != json!(1) {}
        let turns = site.get("/v1/system").await.json()["turns"].take();
        assert_eq!(turns, json!({"running": 1, "waiting": 1}));
        let cancel = format!("/v1/chat/requests/{}/cancel", stream.request_id());
        site.post(&cancel, &json!({})).await
    };
    let queued = site.post("/v1/chat/completions", &body);
    let (queued, stopped) = tokio::join!(queued, stop);
    assert_eq!((queued.status, stopped.status), (200, 202));
    stream.rest().await;
    assert_eq!(leases().await, none);
}

#[tokio::test]
async fn leases_come_in_pages() {
    let site = Site::development().await;
    let (one, two) = (running(&site, "c1").await, running(&site, "c2").await);
    let page = async |query: &str| {
        let path = format!("/v1/system/leases?limit=1{query}");
        site.get(&path).await.json()
    };
    let id = |page: &Value| page["items"][0]["request_id"].as_str().unwrap().to_owned();
    let first = page("").await;
    let next = first["next"].as_str().unwrap();
    let second = page(&format!("&cursor={next}")).await;
    assert_eq!(second["next"], Value::Null);
    let mut found = [id(&first), id(&second)];
    found.sort_unstable();
    let mut expected = [one.request_id(), two.request_id()];
    expected.sort_unstable();
    assert_eq!(found, expected);
    let foreign = page("&cursor=zzz").await;
    assert_eq!(foreign["error"]["param"], "cursor");
}

#[tokio::test]
async fn a_reload_that_was_refused_is_told_until_another_is_not() {
    let site = Site::of(&[TOKENS]).await;
    let problems = async || get(&site, &admin(None), "/app/problems").await.json();
    assert_eq!(problems().await["refused"], Value::Null);
    write(&site.folder().join("app.yao"), "{");
    assert!(site.runtime.reload().await.is_err());
    let refused = problems().await["refused"].take();
    let first = &refused["problems"][0];
    assert_eq!(
        (&first["severity"], &first["file"]),
        (&json!("error"), &json!("app.yao"))
    );
    assert!(first["line"].is_number(), "{refused}");
    write(
        &site.folder().join("app.yao"),
        r#"{"ambit": {"console": {"images": ["x"]}}}"#,
    );
    site.runtime.reload().await.unwrap();
    let told = problems().await;
    assert_eq!(
        (&told["refused"], &told["problems"][0]["severity"]),
        (&Value::Null, &json!("warning"))
    );
}

#[tokio::test]
async fn stores_are_examined_and_mended() {
    let site = Site::development().await;
    for path in ["/v1/system/doctor", "/v1/system/repair"] {
        let mut events = Stream::of(site.request(Method::POST, path))
            .await
            .rest()
            .await;
        let last = events.pop().unwrap();
        assert_eq!(last.name.as_deref(), Some("done"), "{path}");
        let expected = json!({"rows": 0, "left": 0, "mended": 0, "swept": 0});
        assert_eq!((last.data, events.len()), (expected, 0));
    }
}
