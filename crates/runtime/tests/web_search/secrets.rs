//! Keys stay where they are, whatever a service does with them.

use crate::fake::{FAKES, each};
use crate::server::{FakeServer, Reply};
use crate::support::{KEY, asking, search, settings};
use ambit_runtime::web_search::{WebSearchClient, WebSearchRequest, WebSearchSettings};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn g208_a_key_that_a_service_repeats_is_in_no_result() {
    each(|fake| async move {
        let [url, title, content] = fake.parts;
        let (start, end) = KEY.split_at(9);
        let long = format!("{}{KEY}", "x".repeat((8 << 10) - 9));
        let list = json!([
            {url: format!("https://a.test/?api_key={KEY}"), title: KEY, content: format!("{start}<b>{end}</b>")},
            {url: "https://b.test/", title: format!("&#116;{}", &KEY[1..]), content: long, "date": KEY, "published_date": KEY, "publishedDate": KEY},
        ]);
        let (_server, settings) = fake.serve(vec![fake.with_list(list)]).await;
        let items = search(&settings, &asking("x")).await.unwrap().items;
        assert_eq!(items[0].url, "https://a.test/?api_key=***", "{}", fake.provider);
        assert_eq!((&items[0].title[..], &items[0].content[..]), ("***", "***"));
        assert_eq!((&items[1].title[..], items[1].metadata.date.as_deref()), ("***", Some("***")));
        assert!(!items[1].content.contains("tvly"), "{}", fake.provider);
    })
    .await;
}

#[tokio::test]
async fn g208_secrets_in_the_settings_of_a_service_are_in_no_result() {
    let fake = &FAKES[3];
    let texts = [
        "Bearer canary-of-a-header",
        "canary-of-a-parameter",
        "canary-of-a-body",
        "canary-of-a-password",
    ];
    let repeated = json!([{"title": texts.join(" "), "url": "https://a.test/", "content": "application/json"}]);
    let server = FakeServer::start(Arc::new(|_| Ok(())), vec![fake.with_list(repeated)]).await;
    let settings = settings(json!({
        "provider": "http", "host": server.address, "private": true,
        "http": {
            "url": "https://me:canary-of-a-password@any/", "method": "POST", "items": "results",
            "headers": {"Authorization": texts[0], "Accept": "application/json"},
            "query": {"token": texts[1]}, "body": {"inside": [texts[2]]},
        },
    }));
    let items = search(&settings, &asking("x")).await.unwrap().items;
    assert_eq!(
        (&items[0].title[..], &items[0].content[..]),
        ("*** *** *** ***", "application/json")
    );
}

#[tokio::test]
async fn g208_settings_do_not_show_what_they_hold() {
    let settings = settings(json!({
        "provider": "http", "host": "https://canary.test",
        "http": {"url": "https://canary.test", "headers": {"a": "canary"}},
    }));
    assert!(!format!("{settings:?} {:?}", settings.http).contains("canary"));
}

#[tokio::test]
async fn a_key_that_is_not_set_is_named_by_its_variable() {
    let mut errors = Vec::new();
    for fake in FAKES {
        let (server, mut settings) = fake.serve(vec![fake.reply()]).await;
        for variable in ["", "$ENV.MY_KEY", "MY_KEY2", "tvly-canary-1234567890"] {
            if !variable.is_empty() {
                settings.api_key_env = variable.to_owned();
            }
            errors.push(missing_key(&settings, Some("  ")).await);
        }
        assert_eq!(server.requests(), []);
    }
    let expected = FAKES.iter().flat_map(|fake| {
        let names = [
            fake.variable,
            "MY_KEY",
            "MY_KEY2",
            "the variable of \"web.api_key_env\"",
        ];
        names.map(|name| fake.error(&format!("{name} is not set")))
    });
    assert_eq!(errors, expected.collect::<Vec<_>>());
}

async fn missing_key(settings: &WebSearchSettings, key: Option<&str>) -> String {
    let request = WebSearchRequest {
        tenant: "acme",
        settings,
        key,
        query: &asking("x"),
    };
    let client = WebSearchClient::new().unwrap();
    client.search(&request).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_service_of_the_app_may_need_no_key() {
    let reply = Reply::json(200, r#"[{"title": "A"}]"#);
    let server = FakeServer::start(Arc::new(|_| Ok(())), vec![reply]).await;
    let settings = settings(json!({
        "provider": "http", "host": server.address, "private": true, "http": {"url": "http://any/"},
    }));
    let request = WebSearchRequest {
        tenant: "acme",
        settings: &settings,
        key: None,
        query: &asking("x"),
    };
    let client = WebSearchClient::new().unwrap();
    let answer = client.search(&request).await.unwrap();
    assert_eq!(answer.items[0].title, "A");
}
