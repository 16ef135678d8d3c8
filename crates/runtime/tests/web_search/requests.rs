//! What services are asked, to the letter.

use crate::fake::{FAKES, Fake, each};
use crate::server::{FakeServer, Reply, SearchRequest};
use crate::support::{asking, merged, search, settings};
use ambit_runtime::web_search::{TimeRange, WebQuery};
use serde_json::{Value, json};
use std::sync::Arc;

/// A query with all that there is.
fn whole_query() -> WebQuery {
    WebQuery {
        query: "  größer & \"besser\"? ".to_owned(),
        limit: 5,
        sites: vec!["a.com".to_owned(), " b.com".to_owned(), String::new()],
        time_range: Some(TimeRange::Week),
    }
}

/// What a fake was asked: the body, or the parameters as an object.
async fn members(fake: &'static Fake, query: &WebQuery) -> Value {
    let (server, settings) = fake.serve(vec![fake.reply()]).await;
    search(&settings, query).await.unwrap();
    sent(&server.requests()[0])
}

pub fn sent(request: &SearchRequest) -> Value {
    let query = request.query.iter();
    let query = query.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    request.body.clone().unwrap_or_else(|| query.collect())
}

/// What any service with these settings is asked.
async fn request_of(more: Value, query: &WebQuery) -> (SearchRequest, Vec<String>) {
    let reply = r#"{"results": [], "organic_results": []}"#;
    let server = FakeServer::start(Arc::new(|_| Ok(())), vec![Reply::json(200, reply)]).await;
    let host = json!({"host": server.address, "private": true});
    let answer = search(&settings(merged(more, host)), query).await.unwrap();
    let mut requests = server.requests();
    (requests.remove(0), answer.notes)
}

#[tokio::test]
async fn each_service_gets_query_limit_sites_and_time_range_in_its_own_way() {
    let sent = each(|fake| async move { members(fake, &whole_query()).await }).await;
    let words = "größer & \"besser\"?";
    let google = format!("(site:a.com OR site:b.com) {words}");
    let key = "tvly-canary-1234567890";
    assert_eq!(
        sent,
        [
            json!({
                "query": words, "max_results": 5, "search_depth": "basic", "include_answer": false,
                "include_raw_content": false, "include_domains": ["a.com", "b.com"], "time_range": "week",
            }),
            json!({"q": google, "num": 5, "autocorrect": true, "tbs": "qdr:w"}),
            json!({"engine": "google", "q": google, "num": "5", "api_key": key, "tbs": "qdr:w"}),
            json!({"q": words, "format": "json", "time_range": "week"}),
        ]
    );
}

#[tokio::test]
async fn what_is_not_wanted_is_not_sent() {
    let sent = each(|fake| async move { members(fake, &asking("rust")).await }).await;
    let key = "tvly-canary-1234567890";
    assert_eq!(
        sent,
        [
            json!({
                "query": "rust", "max_results": 10, "search_depth": "basic", "include_answer": false,
                "include_raw_content": false,
            }),
            json!({"q": "rust", "num": 10, "autocorrect": true}),
            json!({"engine": "google", "q": "rust", "num": "10", "api_key": key}),
            json!({"q": "rust", "format": "json"}),
        ]
    );
}

#[tokio::test]
async fn every_time_range_is_one_that_the_service_knows() {
    let ranges = [
        TimeRange::Hour,
        TimeRange::Day,
        TimeRange::Week,
        TimeRange::Month,
        TimeRange::Year,
    ];
    let mut seen = Vec::new();
    for fake in &FAKES[..2] {
        for range in ranges {
            let (server, settings) = fake.serve(vec![fake.reply()]).await;
            let query = WebQuery {
                time_range: Some(range),
                ..asking("x")
            };
            let notes = search(&settings, &query).await.unwrap().notes;
            let sent = sent(&server.requests()[0]);
            let sent = sent.get("time_range").or(sent.get("tbs"));
            seen.push((
                sent.and_then(Value::as_str).unwrap().to_owned(),
                notes.concat(),
            ));
        }
    }
    let note = "tavily: time_range \"hour\" is searched as \"day\"";
    let expected = [
        ("day", note),
        ("day", ""),
        ("week", ""),
        ("month", ""),
        ("year", ""),
        ("qdr:h", ""),
        ("qdr:d", ""),
        ("qdr:w", ""),
        ("qdr:m", ""),
        ("qdr:y", ""),
    ];
    let expected = expected.map(|(sent, note)| (sent.to_owned(), note.to_owned()));
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn tavily_gets_at_most_20_results_and_400_characters_that_end_with_a_word() {
    let query = WebQuery {
        limit: 50,
        ..asking(&"wörter ".repeat(100))
    };
    let sent = members(&FAKES[0], &query).await;
    assert_eq!(sent["max_results"], 20);
    assert_eq!(sent["query"], "wörter ".repeat(57).trim_end());
}

#[tokio::test]
async fn no_service_is_asked_for_more_than_100_results_or_for_none() {
    let query = |limit: usize| WebQuery {
        limit,
        ..asking("x")
    };
    assert_eq!(members(&FAKES[1], &query(1_000)).await["num"], 100);
    let (server, settings) = FAKES[1].serve(vec![FAKES[1].reply()]).await;
    let answer = search(&settings, &query(0)).await.unwrap();
    assert_eq!((answer.items, server.requests()), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn serpapi_names_query_and_limit_as_its_engine_does() {
    let query = WebQuery {
        time_range: Some(TimeRange::Day),
        ..asking("x")
    };
    let mut seen = Vec::new();
    for engine in ["google", "bing", "baidu", "yahoo", "yandex", "duckduckgo"] {
        let (request, notes) =
            request_of(json!({"provider": "serpapi", "engine": engine}), &query).await;
        let names: Vec<&str> = request
            .query
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        seen.push((names.join(" "), notes.concat()));
    }
    let note = |engine: &str| {
        format!("serpapi: engine \"{engine}\" knows no time_range, \"day\" is left out")
    };
    let expected = [
        ("engine q num api_key tbs", String::new()),
        ("engine q count api_key", note("bing")),
        ("engine q rn api_key", note("baidu")),
        ("engine p num api_key", note("yahoo")),
        ("engine text num api_key", note("yandex")),
        ("engine q num api_key", note("duckduckgo")),
    ];
    assert_eq!(seen, expected.map(|(names, note)| (names.to_owned(), note)));
}

#[tokio::test]
async fn a_service_of_the_app_gets_a_body_as_its_settings_say() {
    let http = json!({
        "url": "http://any/v1/find?lang=de", "method": "POST", "items": "results",
        "headers": {"Authorization": "Token {key}", "Accept": "application/vnd.search+json"},
        "query": {"n": 3, "safe": true, "none": null, "sites": "{sites}"},
        "body": {"text": "{query}", "options": {"sites": "{sites}", "age": "{time_range}", "limit": "{limit}", "deep": false}},
    });
    let more = json!({"provider": "http", "api_key_env": "X", "http": http});
    let query = WebQuery {
        query: "the {key} {query}".to_owned(),
        time_range: None,
        ..whole_query()
    };
    let (request, _) = request_of(more, &query).await;
    let header = |name: &str| request.headers[name].as_str();
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/v1/find")
    );
    assert_eq!(header("authorization"), "Token tvly-canary-1234567890");
    assert_eq!(header("accept"), "application/vnd.search+json");
    assert_eq!(header("content-type"), "application/json");
    let parameters = [
        ("lang", "de"),
        ("n", "3"),
        ("safe", "true"),
        ("sites", "a.com,b.com"),
    ];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request.query, parameters);
    let body = json!({"text": "the {key} {query}", "options": {"sites": "a.com,b.com", "limit": "5", "deep": false}});
    assert_eq!(request.body, Some(body));
}

#[tokio::test]
async fn the_fakes_refuse_requests_that_services_refuse() {
    let checked = each(|fake| async move {
        let (server, settings) = fake.serve(vec![fake.reply()]).await;
        search(&settings, &whole_query()).await.unwrap();
        let right = server.requests().remove(0);
        let wrong = broken(&right).into_iter();
        wrong
            .filter(|request| fake.shape.check(request).is_ok())
            .collect::<Vec<_>>()
    });
    assert_eq!(
        checked.await,
        vec![Vec::<SearchRequest>::new(); FAKES.len()]
    );
}

/// A request with one thing wrong, for each thing that can be.
fn broken(right: &SearchRequest) -> Vec<SearchRequest> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut SearchRequest)| {
        let mut request = right.clone();
        change(&mut request);
        all.push(request);
    };
    add(&|request| request.method = "PUT".to_owned());
    add(&|request| request.path.push('/'));
    for (name, value) in [("cookie", "a=b"), ("accept", "*/*")] {
        add(&|request| {
            request.headers.insert(name.to_owned(), value.to_owned());
        });
    }
    add(&|request| request.query.push(("unknown".to_owned(), "1".to_owned())));
    match &right.body {
        Some(body) => {
            add(&|request| request.body = None);
            add(&|request| request.body.as_mut().unwrap()["unknown"] = json!(1));
            for name in body.as_object().unwrap().keys() {
                add(&|request| request.body.as_mut().unwrap()[name] = json!({"x": 1}));
            }
            let key = right
                .headers
                .keys()
                .find(|name| ["authorization", "x-api-key"].contains(&name.as_str()));
            add(&|request| drop(request.headers.remove(key.unwrap())));
        }
        None => {
            for at in 0..right.query.len() {
                add(&|request| request.query[at].1 = String::new());
            }
            add(&|request| drop(request.query.remove(0)));
        }
    }
    all
}
