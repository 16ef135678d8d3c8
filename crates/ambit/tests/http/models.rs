//! Agents, as callers see them.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};

const AGENTS: &[(&str, &str)] = &[
    TOKENS,
    ("assistants/secret/package.yao", r#"{"name": "Secret"}"#),
    (
        "assistants/anns/package.yao",
        r#"{"name": "Ann's", "__yao_created_by": "ann"}"#,
    ),
    (
        "assistants/reds/package.yao",
        r#"{"name": "Red's", "share": "team", "__yao_created_by": "cy", "__yao_team_id": "red"}"#,
    ),
    (
        "assistants/acme/package.yao",
        r#"{"name": "Acme's", "public": true, "__yao_tenant_id": "acme"}"#,
    ),
    (
        "assistants/worker/package.yao",
        r#"{"name": "Worker", "type": "worker", "public": true}"#,
    ),
];

async fn get(site: &Site, path: &str, claims: Value) -> Answer {
    Answer::of(site.request(Method::GET, path).bearer_auth(token(claims))).await
}

async fn ids(site: &Site, claims: Value) -> Vec<String> {
    let answer = get(site, "/v1/models", claims).await.json();
    assert_eq!(answer["object"], json!("list"));
    let models = answer["data"].as_array().unwrap().iter();
    models
        .map(|model| model["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn callers_see_the_agents_that_are_theirs_to_use() {
    let site = Site::of(AGENTS).await;
    for (claims, expected) in [
        (json!({"sub": "bob"}), vec!["hello"]),
        (json!({"sub": "ann"}), vec!["anns", "hello"]),
        (
            json!({"sub": "bob", "team_id": "red"}),
            vec!["hello", "reds"],
        ),
        (
            json!({"sub": "bob", "tenant_id": "acme"}),
            vec!["acme", "hello"],
        ),
        (
            json!({"sub": "root", "roles": ["admin"]}),
            vec!["anns", "hello", "reds", "secret"],
        ),
    ] {
        assert_eq!(ids(&site, claims.clone()).await, expected, "{claims}");
    }
}

#[tokio::test]
async fn g057_an_agent_of_somebody_else_answers_like_one_that_does_not_exist() {
    let site = Site::of(AGENTS).await;
    for id in ["secret", "anns", "reds", "acme", "worker", "nowhere"] {
        let answer = get(&site, &format!("/v1/models/{id}"), json!({"sub": "bob"})).await;
        let message = answer.json()["error"]["message"].clone();
        assert_eq!(answer.failure(), (404, "not_found".to_owned(), None));
        assert_eq!(message, json!(format!("agent \"{id}\" not found")));
        let body = json!({"model": id, "messages": [{"role": "user", "content": "x"}]});
        let request = site.request(Method::POST, "/v1/chat/completions");
        let request = request
            .bearer_auth(token(json!({"sub": "bob"})))
            .json(&body);
        let answer = Answer::of(request).await;
        assert_eq!(answer.failure(), (404, "not_found".to_owned(), None));
        assert_eq!(answer.json()["error"]["message"], message);
    }
}

#[tokio::test]
async fn an_agent_is_a_model_to_clients_of_openai() {
    let site = Site::development().await;
    let expected = json!({"id": "hello", "object": "model", "created": 0, "owned_by": "ambit"});
    assert_eq!(site.get("/v1/models/hello").await.json(), expected);
}

#[tokio::test]
async fn the_base_path_is_the_app_s_to_choose() {
    let file = (
        "openapi/openapi.yao",
        r#"{"baseurl": "/api/v2/", "auth": {"mode": "dev"}}"#,
    );
    let site = Site::of(&[file]).await;
    assert_eq!(site.get("/api/v2/models").await.status, 200);
    assert_eq!(site.get("/v1/models").await.status, 404);
    assert_eq!(site.get("/healthz").await.status, 200);
}
