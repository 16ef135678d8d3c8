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
    Answer::of(site.request(Method::GET, path).bearer_auth(token(&claims))).await
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
            .bearer_auth(token(&json!({"sub": "bob"})))
            .json(&body);
        let answer = Answer::of(request).await;
        assert_eq!(answer.failure(), (404, "not_found".to_owned(), None));
        let message = format!("agent \"{id}\" not found{OF_MODEL}");
        assert_eq!(answer.json()["error"]["message"], json!(message));
    }
}

/// What is told beside the name of an agent that a request names as its model.
const OF_MODEL: &str = "; \"model\" names an agent, and GET /v1/models lists those that you see";

#[tokio::test]
async fn an_unknown_agent_is_answered_with_the_nearest_that_the_caller_sees() {
    let site = Site::of(AGENTS).await;
    for (id, claims, hint) in [
        ("helo", json!({"sub": "bob"}), "; did you mean \"hello\"?"),
        ("ann", json!({"sub": "bob"}), OF_MODEL),
        ("gpt-5-mini", json!({"sub": "bob"}), OF_MODEL),
        ("ann", json!({"sub": "ann"}), "; did you mean \"anns\"?"),
    ] {
        let body = json!({"model": id, "messages": [{"role": "user", "content": "x"}]});
        let request = site.request(Method::POST, "/v1/chat/completions");
        let request = request.bearer_auth(token(&claims)).json(&body);
        let answer = Answer::of(request).await;
        assert_eq!(answer.failure(), (404, "not_found".to_owned(), None));
        let message = json!(format!("agent \"{id}\" not found{hint}"));
        assert_eq!(answer.json()["error"]["message"], message, "{claims}");
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

#[tokio::test]
async fn agents_are_listed_with_what_people_need_and_no_more() {
    let site = Site::of(&[
        (
            "assistants/hello/package.yao",
            r#"{
                "name": "{{ name }}", "description": "Says {{ name }}", "public": true, "connector": "script",
                "tags": ["greeting"], "sort": 2, "placeholder": {"title": "{{ name }}", "prompts": ["Hi"]}
            }"#,
        ),
        ("assistants/hello/prompts.yml", "- role: system\n  content: A secret of the maker.\n"),
        ("assistants/hello/locales/de.yml", "name: Hallo\n"),
        ("assistants/hello/locales/en-us.yml", "name: Hello\n"),
        ("assistants/first/package.yao", r#"{"name": "First", "public": true, "sort": 1, "tags": ["other"]}"#),
    ])
    .await;
    let hello = json!({
        "assistant_id": "hello", "name": "Hallo", "description": "Says Hallo", "avatar": "", "type": "assistant",
        "connector": "script", "connector_options": {"optional": false}, "modes": [], "default_mode": "",
        "public": true, "share": "private",
        "tags": ["greeting"], "sort": 2, "placeholder": {"title": "Hallo", "prompts": ["Hi"]},
    });
    assert_eq!(
        site.get("/v1/agent/assistants/hello?locale=de-at")
            .await
            .json(),
        hello
    );
    let info = json!({
        "assistant_id": "hello", "name": "Hello", "description": "Says Hello", "avatar": "",
        "placeholder": {"title": "Hello", "prompts": ["Hi"]},
    });
    assert_eq!(
        site.get("/v1/agent/assistants/hello/info").await.json(),
        info
    );
    assert_eq!(
        site.get("/v1/agent/assistants/tags").await.json(),
        json!(["greeting", "other"])
    );
    for (query, expected) in [
        ("", json!(["first", "hello"])),
        ("?tags=greeting", json!(["hello"])),
        ("?keywords=HALLO&locale=de", json!(["hello"])),
        ("?keywords=secret", json!([])),
        ("?type=assistant&page=2&pagesize=1", json!(["hello"])),
        ("?type=worker", json!([])),
    ] {
        let list = site
            .get(&format!("/v1/agent/assistants{query}"))
            .await
            .json();
        let ids: Vec<&Value> = list["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| &agent["assistant_id"])
            .collect();
        assert_eq!(json!(ids), expected, "{query}");
    }
}

#[tokio::test]
async fn g150_pages_that_are_none_are_refused() {
    let site = Site::development().await;
    for (query, param) in [
        ("page=0", "page"),
        ("page=-1", "page"),
        ("pagesize=0", "pagesize"),
        ("pagesize=1000000000", "pagesize"),
        ("type=robot", "type"),
        ("tag=x", "tag"),
    ] {
        let answer = site.get(&format!("/v1/agent/assistants?{query}")).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected, "{query}");
    }
}
