//! Acting as somebody else.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};

const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    "helper: {scopes: [\"identity:assume:all\", \"contexts:read:all\", \"memory:read:own\"]}\nreader: {scopes: [\"contexts:read:own\", \"usage:read:own\", \"memory:read:own\"]}\n",
);

async fn site() -> Site {
    Site::of(&[TOKENS, ROLES]).await
}

fn person(user: &str, role: &str) -> String {
    token(&json!({"sub": user, "roles": [role], "tenant_id": "t1"}))
}

async fn begin(site: &Site, who: &str, wanted: &Value) -> Answer {
    let request = site.request(Method::POST, "/v1/session/act-as");
    Answer::of(request.bearer_auth(who).json(wanted)).await
}

async fn ask(site: &Site, who: &str, acting: &str, path: &str) -> Answer {
    let request = site.request(Method::GET, &format!("/v1{path}"));
    let request = request.bearer_auth(who);
    Answer::of(request.header("x-ambit-act-as", acting)).await
}

fn acting(answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn g196_what_either_of_the_two_lacks_is_refused() {
    let site = site().await;
    let helper = person("hanna", "helper");
    let begun = begin(
        &site,
        &helper,
        &json!({"user_id": "bob", "roles": ["reader"]}),
    )
    .await;
    let token = acting(&begun);
    let grants = begun.json()["grants"].clone();
    let has = |name: &str| grants.as_array().unwrap().contains(&json!(name));
    assert!(has("GET /contexts") && !has("GET /usage") && !has("GET /memory/:space"));
    for (path, expected) in [
        ("/contexts", 200),
        // Not the helper's.
        ("/usage", 403),
        // The helper's for their own data alone.
        ("/memory/user", 403),
        // Nobody's of the two.
        ("/models", 403),
    ] {
        let answer = ask(&site, &helper, &token, path).await;
        assert_eq!(answer.status, expected, "{path}: {}", answer.text);
    }
    let told = ask(&site, &helper, &token, "/session").await.json();
    let acted_by = json!({"user_id": "hanna", "client_id": null});
    assert_eq!(
        (&told["user_id"], &told["acted_by"]),
        (&json!("bob"), &acted_by)
    );
    assert_eq!(
        (&told["roles"], &told["constraints"]),
        (&json!(["reader"]), &json!({"owner_only": true}))
    );
    assert_eq!(
        (&told["grants"], &told["expires_at"]),
        (&grants, &begun.json()["expires_at"])
    );
}

#[tokio::test]
async fn g196_nobody_acts_as_somebody_of_another_tenant() {
    let site = site().await;
    let helper = person("hanna", "helper");
    let other = begin(
        &site,
        &helper,
        &json!({"user_id": "bob", "tenant_id": "t2"}),
    )
    .await;
    assert_eq!(other.status, 403);
    let own = begin(
        &site,
        &helper,
        &json!({"user_id": "bob", "tenant_id": "t1"}),
    )
    .await;
    let told = ask(&site, &helper, &acting(&own), "/session").await.json();
    assert_eq!(told["tenant_id"], json!("t1"));
    for (field, value) in [
        ("constraints", json!({})),
        ("claims", json!({"acted_by": {}})),
        ("claims", json!({"tenant_id": "t2"})),
    ] {
        let answer = begin(&site, &helper, &json!({field: value})).await;
        assert_eq!(
            answer.failure().2.as_deref(),
            Some(field),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn g196_a_token_is_of_use_to_nobody_but_whom_it_was_given() {
    let site = site().await;
    let helper = person("hanna", "helper");
    let given = acting(&begin(&site, &helper, &json!({"user_id": "bob"})).await);
    for (who, token) in [
        (person("mia", "helper"), given.as_str()),
        (helper.clone(), "guessed"),
    ] {
        let answer = ask(&site, &who, token, "/contexts").await;
        assert_eq!(
            answer.failure(),
            (403, "permission_denied".to_owned(), None)
        );
        assert_eq!(
            answer.json()["error"]["details"],
            json!({"act_as": "ended"})
        );
    }
    let reader = begin(&site, &person("ann", "reader"), &json!({"user_id": "bob"})).await;
    assert_eq!(reader.status, 403);
    let request = site.request(Method::POST, "/v1/session/act-as");
    let request = request
        .bearer_auth(&helper)
        .header("x-ambit-act-as", &given);
    let again = Answer::of(request.json(&json!({"user_id": "cid"}))).await;
    assert_eq!(again.status, 403);
}

#[tokio::test]
async fn g196_in_development_anybody_is_acted_as() {
    let site = Site::development().await;
    let ask = async |wanted: &Value, path: &str| {
        let begun = site.post("/v1/session/act-as", wanted).await;
        let request = site.request(Method::GET, &format!("/v1{path}"));
        Answer::of(request.header("x-ambit-act-as", acting(&begun))).await
    };
    let wanted = json!({"user_id": "bob", "team_id": "red", "tenant_id": "t9"});
    let told = ask(&wanted, "/session").await.json();
    assert_eq!(
        (&told["tenant_id"], &told["constraints"]),
        (&json!("t9"), &json!({"team_only": true}))
    );
    let everything = json!({"user_id": "bob", "constraints": {}});
    assert_eq!(
        ask(&everything, "/session").await.json()["constraints"],
        json!({})
    );
    let ruled = json!({"user_id": "bob", "roles": ["guest"]});
    assert_eq!(ask(&ruled, "/contexts").await.status, 403);
    let ruled = json!({"user_id": "bob", "roles": ["user"]});
    assert_eq!(ask(&ruled, "/contexts").await.status, 200);
}

#[tokio::test]
async fn g196_scripts_are_told_who_acts() {
    let script = "export function Create(ctx: agent.Context) { ctx.Send(JSON.stringify(ctx.authorized)); return { uses: {} } }";
    let site = Site::of(&[("assistants/hello/src/index.ts", script)]).await;
    let begun = site
        .post("/v1/session/act-as", &json!({"user_id": "bob"}))
        .await;
    let request = site.request(Method::POST, "/v1/chat/completions");
    let request = request.header("x-ambit-act-as", acting(&begun));
    let answer = Answer::of(request.json(&crate::turns::said("hi"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    for told in [
        "\\\"user_id\\\":\\\"bob\\\"",
        "\\\"acted_by\\\":{\\\"user_id\\\":\\\"dev\\\"",
    ] {
        assert!(answer.text.contains(told), "{told} in {}", answer.text);
    }
}
