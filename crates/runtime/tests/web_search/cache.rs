//! Answers that are taken again.

use crate::fake::FAKES;
use crate::server::{FakeServer, Reply};
use crate::support::{KEY, asking};
use ambit_runtime::web_search::{
    TimeRange, WebAnswer, WebQuery, WebSearchClient, WebSearchRequest, WebSearchSettings,
};
use serde_json::{Value, json};

/// A client, a service that always answers so, and settings that keep answers.
async fn caching(reply: Reply, cache: Value) -> (WebSearchClient, FakeServer, WebSearchSettings) {
    let (server, settings) = FAKES[1]
        .serve_with(vec![reply], json!({"cache": cache}))
        .await;
    (WebSearchClient::new().unwrap(), server, settings)
}

async fn ask(client: &WebSearchClient, request: WebSearchRequest<'_>) -> Option<WebAnswer> {
    client.search(&request).await.ok()
}

fn request<'a>(settings: &'a WebSearchSettings, query: &'a WebQuery) -> WebSearchRequest<'a> {
    WebSearchRequest {
        tenant: "acme",
        settings,
        key: Some(KEY),
        query,
    }
}

#[tokio::test]
async fn the_same_search_is_asked_once() {
    let (client, server, settings) = caching(FAKES[1].reply(), json!("1m")).await;
    let first = ask(&client, request(&settings, &asking("rust"))).await;
    let second = ask(&client, request(&settings, &asking(" rust "))).await;
    assert_eq!(first.as_ref().map(|answer| answer.items.len()), Some(3));
    assert_eq!(first, second);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn g208_another_tenant_key_or_service_does_not_get_the_answer() {
    let (client, server, settings) = caching(FAKES[1].reply(), json!("1m")).await;
    let query = asking("rust");
    ask(&client, request(&settings, &query)).await.unwrap();
    let tenant = WebSearchRequest {
        tenant: "other",
        ..request(&settings, &query)
    };
    ask(&client, tenant).await.unwrap();
    assert_eq!(server.requests().len(), 2);
    let key = WebSearchRequest {
        key: None,
        ..request(&settings, &query)
    };
    assert_eq!(ask(&client, key).await, None);
    let other = WebSearchSettings {
        host: "https://127.0.0.1:1".to_owned(),
        ..settings.clone()
    };
    assert_eq!(ask(&client, request(&other, &query)).await, None);
}

#[tokio::test]
async fn every_part_of_a_query_makes_another_search() {
    let (client, server, settings) = caching(FAKES[1].reply(), json!("1m")).await;
    let queries = [
        asking("rust"),
        asking("rus t"),
        WebQuery {
            limit: 5,
            ..asking("rust")
        },
        WebQuery {
            sites: vec!["a.com".to_owned()],
            ..asking("rust")
        },
        WebQuery {
            time_range: Some(TimeRange::Day),
            ..asking("rust")
        },
    ];
    for query in queries.iter().chain(&queries) {
        ask(&client, request(&settings, query)).await.unwrap();
    }
    assert_eq!(server.requests().len(), queries.len());
}

#[tokio::test]
async fn nothing_is_kept_where_that_is_not_said() {
    let (client, server, settings) = caching(FAKES[1].reply(), json!("0s")).await;
    for _ in 0..2 {
        ask(&client, request(&settings, &asking("rust")))
            .await
            .unwrap();
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn failures_are_not_kept() {
    let (client, server, settings) = caching(Reply::json(401, "{}"), json!("1m")).await;
    for _ in 0..2 {
        assert_eq!(
            ask(&client, request(&settings, &asking("rust"))).await,
            None
        );
    }
    assert_eq!(server.requests().len(), 2);
}
