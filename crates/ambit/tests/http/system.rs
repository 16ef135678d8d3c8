//! What operators see of the installation.

use crate::auth::token;
use crate::site::{Answer, Site, Stream, TOKENS, write};
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
    for path in ["/system", "/app/problems"] {
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
    let operating = grants.filter(|name| name.as_str().unwrap().contains(" /system"));
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
    assert_eq!(told["turns"], json!({"running": 0}));
    let store = &told["stores"][0];
    assert_eq!(
        (&store["name"], &store["role"], &store["state"]),
        (&json!("memory"), &json!("primary"), &json!("ready"))
    );
    site.store.close().await.unwrap();
    let told = site.get("/v1/system").await.json();
    assert_eq!(told["stores"][0]["state"], json!("error"));
    assert!(told["stores"][0]["error"].is_string());
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
