//! The example `expenses`, as its callers meet it: two teams, another tenant, and roles that reach one's own vouchers, the
//! team's or all.

use crate::site::{Answer, Site};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
use ambit_storage::Stores;
use ambit_storage::driver::{self, DriverOptions};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;

struct Office {
    site: Site,
    _data: TempDir,
}

/// Tenant, user, team, role.
type Who = (&'static str, &'static str, &'static str, &'static str);

const ANN: Who = ("acme", "ann", "red", "member");
const BOB: Who = ("acme", "bob", "red", "member");
const LEAD: Who = ("acme", "lea", "red", "lead");
const CID: Who = ("acme", "cid", "blue", "lead");
const AUDITOR: Who = ("acme", "aud", "", "auditor");
const TWIN: Who = ("other", "ann", "red", "auditor");

impl Office {
    async fn open() -> Self {
        let app = crate::examples::example("expenses");
        let data = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/ambit.db", data.path().display());
        let store = driver::open(&url, DriverOptions::default()).await.unwrap();
        let stores = Stores::builder(DriverOptions::default()).driver("main", store);
        let stores = Arc::new(stores.build().unwrap());
        Self {
            site: Site::over(stores, Arc::new(app), |_| {}).await,
            _data: data,
        }
    }

    async fn token(&self, (tenant, user, team, role): Who) -> String {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let grant = ApiKeyRecord {
            tenant_id: some(tenant),
            user_id: some(user),
            team_id: some(team),
            roles: vec![role.to_owned()],
            ..ApiKeyRecord::default()
        };
        ApiKeys::new(self.site.store.clone())
            .make(grant)
            .await
            .unwrap()
    }

    async fn says(&self, who: Who, text: &str) -> Answer {
        let body = json!({"model": "expense", "messages": [{"role": "user", "content": text}]});
        let request = self.site.request(Method::POST, "/v1/chat/completions");
        Answer::of(request.bearer_auth(self.token(who).await).json(&body)).await
    }

    /// The titles of what somebody sees.
    async fn sees(&self, who: Who) -> Vec<String> {
        let answer = self.says(who, "list").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let vouchers = answer.json()["ambit"]["next"].take();
        let titles = vouchers.as_array().unwrap().iter();
        titles
            .map(|voucher| voucher["title"].as_str().unwrap().to_owned())
            .collect()
    }

    async fn ask(&self, who: Who, path: &str) -> u16 {
        let request = self.site.request(Method::GET, path);
        Answer::of(request.bearer_auth(self.token(who).await))
            .await
            .status
    }
}

#[tokio::test]
async fn vouchers_are_seen_by_whom_the_roles_let() {
    let office = Office::open().await;
    for (who, title) in [
        (ANN, "Taxi"),
        (BOB, "Hotel"),
        (LEAD, "Lunch"),
        (CID, "Train"),
        (TWIN, "Ship"),
    ] {
        let filed = office.says(who, &format!("file {title} 12.50")).await;
        assert_eq!(filed.status, 200, "{}", filed.text);
        let voucher = &filed.json()["ambit"]["next"][0];
        assert_eq!(
            (&voucher["title"], &voucher["amount"], &voucher["status"]),
            (&json!(title), &json!(12.5), &json!("filed"))
        );
    }
    for (who, expected) in [
        (ANN, &["Taxi"][..]),
        (BOB, &["Hotel"]),
        (LEAD, &["Taxi", "Hotel", "Lunch"]),
        (CID, &["Train"]),
        (AUDITOR, &["Taxi", "Hotel", "Lunch", "Train"]),
        (TWIN, &["Ship"]),
    ] {
        assert_eq!(office.sees(who).await, expected, "{who:?}");
    }
}

#[tokio::test]
async fn a_voucher_out_of_reach_is_approved_by_nobody() {
    let office = Office::open().await;
    let filed = office.says(ANN, "file Taxi 12.50").await;
    let id = filed.json()["ambit"]["next"][0]["id"].clone();
    let approve = format!("approve {id}");
    for who in [BOB, CID, TWIN] {
        let nothing = office.says(who, &approve).await.json();
        assert_eq!(nothing["ambit"]["next"], json!([]), "{who:?}");
    }
    assert_eq!(
        office.says(ANN, "list").await.json()["ambit"]["next"][0]["status"],
        "filed"
    );
    let approved = office.says(LEAD, &approve).await;
    assert_eq!(
        approved.json()["ambit"]["next"][0]["status"],
        "approved",
        "{}",
        approved.text
    );
    assert_eq!(
        office.says(ANN, "list").await.json()["ambit"]["next"][0]["status"],
        "approved"
    );
}

#[tokio::test]
async fn routes_are_granted_as_the_example_says() {
    let office = Office::open().await;
    for (who, path, expected) in [
        (ANN, "/v1/chat/sessions", 200),
        (AUDITOR, "/v1/chat/sessions", 403),
        (AUDITOR, "/v1/agent/assistants", 200),
        (LEAD, "/v1/usage", 403),
        (LEAD, "/metrics", 403),
    ] {
        assert_eq!(office.ask(who, path).await, expected, "{who:?} {path}");
    }
    assert_eq!(office.site.get("/v1/models").await.status, 200);
    let refused = office.site.get("/v1/agent/assistants").await;
    assert_eq!(refused.status, 401);
    assert_ne!(refused.json()["error"]["code"], Value::Null);
}
