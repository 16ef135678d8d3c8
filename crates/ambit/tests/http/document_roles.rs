//! Whose documents are, and for which roles.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use reqwest::Method;
use serde_json::{Value, json};

/// Roles for knowledge of their holder's own, and one for all of it.
const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    "user: {scopes: [\"*:*:own\"]}\neditor: {scopes: [\"*:*:own\"]}\nchief: {scopes: [\"*:*:all\"]}\n",
);

/// Makes a collection that everybody may use, with a document.
async fn publish(site: &Site, who: &str, collection: &str, document: &Value) {
    let path = format!("/v1/kb/collections/{collection}/documents/text");
    let new = json!({"id": collection, "public": true});
    for (path, body, status) in [
        ("/v1/kb/collections", &new, 201),
        (path.as_str(), document, 200),
    ] {
        let request = site.request(Method::POST, path).bearer_auth(who);
        let answer = Answer::of(request.json(body)).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}

/// Whether somebody with these headers reads the document `d`.
async fn reads(site: &Site, headers: &[(&str, &str)]) -> bool {
    let mut request = site.request(Method::GET, "/v1/kb/documents/d");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = Answer::of(request).await;
    assert!([200, 404].contains(&answer.status), "{}", answer.text);
    answer.status == 200
}

/// A server whose callers come by a proxy, with keys, and with tokens of two issuers: the second has roles in a claim of its own.
async fn guarded() -> Site {
    let issuer = |name: &str, claims: Value| {
        let secret = "not a secret, being in a test";
        json!({"issuer": name, "audience": "ambit", "secret": secret, "claims": claims})
    };
    let auth = json!({
        "api_keys": true,
        "issuers": [
            issuer("https://id.test", json!({})),
            issuer("https://realm.test", json!({"roles": "realm.roles"})),
        ],
        "proxy": {"cidrs": ["127.0.0.0/8"], "headers": {"user_id": "X-User", "roles": "X-Roles"}},
    });
    let file = json!({"auth": auth}).to_string();
    let site = Site::of(&[("openapi/openapi.yao", file.as_str()), ROLES]).await;
    let document = json!({"text": "A heron.", "doc_id": "d", "access": {"roles": ["editor"]}});
    let ann = token(&json!({"sub": "ann"}));
    publish(&site, &ann, "c", &document).await;
    site
}

#[tokio::test]
async fn g202_a_document_for_a_role_is_for_whoever_is_verified_to_have_it() {
    let site = guarded().await;
    for (claims, expected) in [
        (json!({"roles": ["user", "editor"]}), true),
        (json!({"roles": "user editor"}), true),
        (json!({"roles": ["user"]}), false),
        (
            json!({"iss": "https://realm.test", "realm": {"roles": ["editor"]}}),
            true,
        ),
        (
            json!({"iss": "https://realm.test", "roles": ["editor"]}),
            false,
        ),
        (
            json!({"iss": "https://realm.test", "roles": ["editor"], "realm": {"roles": ["user"]}}),
            false,
        ),
    ] {
        let mut person = claims.clone();
        person["sub"] = json!("bob");
        let bearer = format!("Bearer {}", token(&person));
        let may_read = reads(&site, &[("authorization", &bearer)]).await;
        assert_eq!(may_read, expected, "{claims}");
    }
    for (roles, expected) in [("user,editor", true), ("user", false), ("", false)] {
        let may_read = reads(&site, &[("x-user", "bob"), ("x-roles", roles)]).await;
        assert_eq!(may_read, expected, "proxy: {roles}");
    }
    for (role, expected) in [("editor", true), ("user", false)] {
        let key = ApiKeyRecord {
            user_id: Some("bob".to_owned()),
            roles: vec![role.to_owned()],
            ..ApiKeyRecord::default()
        };
        let key = ApiKeys::new(site.store.clone()).make(key).await.unwrap();
        let bearer = format!("Bearer {key}");
        let may_read = reads(&site, &[("authorization", &bearer)]).await;
        assert_eq!(may_read, expected, "key: {role}");
    }
}

#[tokio::test]
async fn g202_who_acts_as_another_reads_documents_by_the_roles_of_that_one() {
    let site = guarded().await;
    let chief = token(&json!({"sub": "chief", "roles": ["chief"]}));
    for (role, expected) in [("editor", true), ("user", false)] {
        let wanted = json!({"user_id": "bob", "roles": [role]});
        let request = site.request(Method::POST, "/v1/session/act-as");
        let begun = Answer::of(request.bearer_auth(&chief).json(&wanted)).await;
        assert_eq!(begun.status, 201, "{}", begun.text);
        let begun = begun.json();
        let acting = begun["token"].as_str().unwrap();
        let bearer = format!("Bearer {chief}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("x-ambit-act-as", acting),
        ];
        assert_eq!(reads(&site, &headers).await, expected, "{role}");
    }
}

#[tokio::test]
async fn of_several_documents_those_of_others_stay_and_are_not_counted() {
    let site = Site::of(&[TOKENS, ROLES]).await;
    let person = |name: &str| token(&json!({"sub": name}));
    let (ann, bob) = (person("ann"), person("bob"));
    let heron = json!({"text": "A heron.", "doc_id": "a"});
    publish(&site, &ann, "anns", &heron).await;
    let stork = json!({"text": "A stork.", "doc_id": "b"});
    publish(&site, &bob, "bobs", &stork).await;
    let path = "/v1/kb/documents?document_ids=b,a";
    let removed = Answer::of(site.request(Method::DELETE, path).bearer_auth(&bob)).await;
    assert_eq!(
        removed.json(),
        json!({"deleted_count": 1, "requested_count": 2})
    );
    let listed = site.request(Method::GET, "/v1/kb/documents");
    let listed = Answer::of(listed.bearer_auth(&ann)).await.json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["data"][0]["document_id"], json!("a"));
}
