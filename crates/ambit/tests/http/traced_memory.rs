//! Which keys of memory those are told of who see the trace of a conversation that is shared with them.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use crate::turns::said;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    "team: {scopes: [\"*:*:team\"]}\nwhole: {scopes: [\"*:*:all\"]}\n",
);
const HOOKS: (&str, &str) = (
    "assistants/hello/src/index.ts",
    "export function Create(ctx) { ctx.memory.user.Get('diagnosis'); ctx.memory.chat.Get('topic'); }",
);

async fn ask(request: RequestBuilder, claims: &Value) -> Answer {
    let answer = Answer::of(request.bearer_auth(token(claims))).await;
    assert_eq!(answer.status, 200, "{claims}: {}", answer.text);
    answer
}

#[tokio::test]
async fn keys_of_a_users_memory_are_told_to_that_user_and_to_those_who_see_all() {
    let site = Site::of(&[TOKENS, ROLES, HOOKS]).await;
    let person = |user: &str, role: &str| json!({"sub": user, "team_id": "red", "roles": [role]});
    let ann = person("ann", "team");
    let chat = site.request(Method::POST, "/v1/chat/completions");
    let turn = ask(chat.json(&said("hi")), &ann).await;
    let id = turn.header("x-ambit-request").unwrap();
    let share = site.request(Method::PUT, "/v1/chat/sessions/c1");
    ask(share.json(&json!({"share": "team"})), &ann).await;
    for (who, shows) in [
        (ann, true),
        (person("bob", "team"), false),
        (person("chief", "whole"), true),
    ] {
        for path in [
            format!("/v1/trace/traces/{id}/nodes"),
            format!("/v1/trace/traces/{id}/events"),
            format!("/v1/calls/{id}.call-0/manifest"),
        ] {
            let told = ask(site.request(Method::GET, &path), &who).await;
            let has = |key: &str| told.text.contains(key);
            assert_eq!(
                (has("diagnosis"), has("topic")),
                (shows, true),
                "{who} {path}"
            );
        }
    }
}
