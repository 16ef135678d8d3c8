//! Models of the app and their rows over HTTP.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use reqwest::Method;
use serde_json::{Value, json};

const PLAIN: (&str, &str) = (
    "models/plain.mod.yao",
    r#"{
        "columns": [
            {"name": "id", "type": "ID"}, {"name": "name", "type": "string"},
            {"name": "code", "type": "string", "length": 8, "crypt": "PASSWORD", "nullable": true},
        ],
        "indexes": [{"name": "by_name", "columns": ["name", "id"], "type": "index"}],
        "values": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    }"#,
);
const DEED: (&str, &str) = (
    "models/deed.mod.yao",
    r#"{"columns": [{"name": "id", "type": "ID"}], "option": {"permission": true}}"#,
);

fn caller(role: &str, tenant: Option<&str>) -> String {
    token(&json!({"sub": "chief", "roles": [role], "tenant_id": tenant}))
}

async fn get(site: &Site, who: &str, path: &str) -> Answer {
    let request = site.request(Method::GET, &format!("/v1/data/models{path}"));
    Answer::of(request.bearer_auth(who)).await
}

async fn query(site: &Site, who: &str, model: &str, body: &Value) -> Answer {
    let request = site.request(Method::POST, &format!("/v1/data/models/{model}/query"));
    Answer::of(request.bearer_auth(who).json(body)).await
}

#[tokio::test]
async fn models_are_listed_for_those_whose_they_are() {
    let site = Site::of(&[TOKENS, PLAIN, DEED]).await;
    let (operator, admin) = (caller("admin", None), caller("admin", Some("t1")));
    let deed = json!({"id": "deed", "label": null, "table": "deed", "permission": true, "rows": 0});
    let plain =
        json!({"id": "plain", "label": null, "table": "plain", "permission": false, "rows": 3});
    for (who, expected) in [
        (&operator, json!({"items": [deed, plain]})),
        (&admin, json!({"items": [deed]})),
    ] {
        assert_eq!(get(&site, who, "").await.json(), expected);
    }
    let shown = get(&site, &operator, "/plain").await.json();
    let names = shown["columns"].as_array().unwrap().iter();
    let names: Vec<&Value> = names.map(|column| &column["name"]).collect();
    assert_eq!(names, ["id", "name", "code"]);
    assert_eq!(shown["columns"][2]["crypt"], json!("PASSWORD"));
    let index = json!([{"name": "by_name", "columns": ["name", "id"], "unique": false}]);
    assert_eq!(
        (&shown["relations"], &shown["indexes"]),
        (&json!([]), &index)
    );
    for model in ["plain", "never"] {
        let shown = get(&site, &admin, &format!("/{model}")).await;
        let rows = query(&site, &admin, model, &json!({})).await;
        assert_eq!((shown.status, rows.status), (404, 404), "{model}");
    }
    let user = caller("user", Some("t1"));
    assert_eq!(get(&site, &user, "").await.status, 403);
}

/// The ids in a list of models.
fn ids(list: &Answer) -> Value {
    let list = list.json();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|model| model["id"].clone()).collect()
}

#[tokio::test]
async fn models_of_nobody_in_particular_are_not_for_everybody_where_all_may_call() {
    let open = ("openapi/scopes/scopes.yml", "default: allow\n");
    let site = Site::of(&[TOKENS, open, PLAIN, DEED]).await;
    for (role, tenant) in [("user", None), ("admin", None), ("user", Some("t1"))] {
        let who = caller(role, tenant);
        assert_eq!(ids(&get(&site, &who, "").await), json!(["deed"]));
        let shown = get(&site, &who, "/plain").await;
        let rows = query(&site, &who, "plain", &json!({})).await;
        assert_eq!((shown.status, rows.status), (404, 404), "{role} {tenant:?}");
    }
}

#[tokio::test]
async fn who_may_only_look_at_data_is_no_operator() {
    let roles = (
        "openapi/roles.yml",
        "looker: {scopes: [\"data:read:all\"]}\nkeeper: {scopes: [\"data:read:all\", \"system:read:all\"]}\n",
    );
    let site = Site::of(&[TOKENS, roles, PLAIN, DEED]).await;
    for (role, expected) in [
        ("looker", json!(["deed"])),
        ("keeper", json!(["deed", "plain"])),
    ] {
        let list = get(&site, &caller(role, None), "").await;
        assert_eq!(ids(&list), expected, "{role}");
    }
}

#[tokio::test]
async fn the_developer_is_an_operator_and_whom_they_act_as_is_not() {
    let site = Site::of(&[PLAIN, DEED]).await;
    let path = "/v1/data/models";
    assert_eq!(ids(&site.get(path).await), json!(["deed", "plain"]));
    let wanted = json!({"user_id": "ann"});
    let begun = site.post("/v1/session/act-as", &wanted).await.json();
    let acting = begun["token"].as_str().unwrap();
    let request = site.request(Method::GET, path);
    let list = Answer::of(request.header("x-ambit-act-as", acting)).await;
    assert_eq!(ids(&list), json!(["deed"]));
    let tenant = (
        "openapi/openapi.yao",
        r#"{"auth": {"dev_identity": {"user_id": "dev", "tenant_id": "t1"}}}"#,
    );
    let site = Site::of(&[tenant, PLAIN, DEED]).await;
    assert_eq!(ids(&site.get(path).await), json!(["deed"]));
}

#[tokio::test]
async fn rows_are_read_in_pages_without_what_is_secret() {
    let site = Site::of(&[TOKENS, PLAIN]).await;
    let operator = caller("admin", None);
    let asked = json!({"orders": [{"column": "name", "option": "desc"}], "pagesize": 2});
    let page = query(&site, &operator, "plain", &asked).await;
    let row = |id: u64, name: &str| json!({"id": id, "name": name, "code": {"hidden": true}});
    let expected = json!({
        "data": [row(3, "c"), row(2, "b")], "page": 1, "pagesize": 2, "pagecnt": 2, "next": 2, "prev": -1, "total": 3,
        "limited_by": [],
    });
    assert_eq!(page.json(), expected);
    for (asked, param) in [
        (json!({"limit": 1}), Some("limit")),
        (json!({"pagesize": 1_001}), Some("pagesize")),
        (json!({"select": ["code"]}), None),
        (json!({"wheres": [{"column": "nme", "value": "a"}]}), None),
        (json!({"where": []}), None),
        (
            json!({"orders": vec![json!({"column": "name"}); 33]}),
            Some("orders"),
        ),
        (
            json!({"wheres": [{"column": "name", "op": "like", "value": "%".repeat(201)}]}),
            None,
        ),
        (json!({"wheres": [{"column": "code", "op": "null"}]}), None),
    ] {
        let refused = query(&site, &operator, "plain", &asked).await;
        let (status, code, told) = refused.failure();
        assert_eq!(
            (status, code.as_str()),
            (400, "invalid_argument"),
            "{asked}"
        );
        if param.is_some() {
            assert_eq!(told.as_deref(), param, "{asked}");
        }
    }
}
