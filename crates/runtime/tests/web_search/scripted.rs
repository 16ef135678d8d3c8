//! Answers that stand in the app's files.

use crate::support::{asking, search, settings};
use ambit_runtime::web_search::{WebItem, WebItemMetadata, WebQuery};
use serde_json::{Value, json};

async fn titles(results: Value, query: &str) -> Result<Vec<String>, String> {
    titles_within("2m", results, query).await
}

async fn titles_within(timeout: &str, results: Value, query: &str) -> Result<Vec<String>, String> {
    let settings =
        settings(json!({"provider": "scripted", "timeout": timeout, "results": results}));
    let answer = search(&settings, &asking(query)).await?;
    Ok(answer.items.into_iter().map(|item| item.title).collect())
}

#[tokio::test]
async fn the_first_result_that_matches_answers() {
    let results = json!([
        {"match": "^rust", "items": [{"title": "Rust"}]},
        {"match": "(?i)GO\\b", "items": [{"title": "Go"}, {"title": "Golang"}], "delay": "1ms"},
        {"items": [{"title": "Other"}]},
    ]);
    let mut seen = Vec::new();
    for query in ["rust and go", "is it go?", "gopher"] {
        seen.push(titles(results.clone(), query).await.unwrap().join(" "));
    }
    assert_eq!(seen, ["Rust", "Go Golang", "Other"]);
}

#[tokio::test]
async fn without_a_match_nothing_is_found() {
    let results = json!([{"match": "rust", "items": [{"title": "Rust"}]}]);
    assert_eq!(titles(results, "go").await, Ok(Vec::new()));
    assert_eq!(titles(json!([]), "go").await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_result_can_fail_be_late_or_be_wrong() {
    let cases = [
        ("2m", json!({"error": "no luck today"}), "no luck today"),
        (
            "200ms",
            json!({"items": [{"title": "A"}], "delay": "1h"}),
            "timed out",
        ),
        ("2m", json!({"items": ["A"]}), "unreadable answer"),
        (
            "2m",
            json!({"match": "("}),
            "\"web.results[0].match\" is no regular expression",
        ),
    ];
    for (timeout, result, what) in cases {
        let answer = titles_within(timeout, json!([result]), "x").await;
        assert_eq!(answer, Err(format!("scripted: {what}")));
    }
}

#[tokio::test]
async fn items_are_brought_into_the_form_of_all_results() {
    let items = json!([
        {"title": "<b>A</b>", "url": "https://a.test/", "content": "x&amp;y", "score": 3, "date": "2025"},
        {"title": "B", "score": "1.5"},
        {"title": "C", "score": -1},
        {"title": "D"},
    ]);
    let settings = settings(json!({"provider": "scripted", "results": [{"items": items}]}));
    let query = WebQuery {
        limit: 3,
        ..asking("x")
    };
    let item = |position: usize, title: &str, score: f64| WebItem {
        title: title.to_owned(),
        score,
        metadata: WebItemMetadata {
            provider: "scripted".to_owned(),
            position,
            ..WebItemMetadata::default()
        },
        ..WebItem::default()
    };
    let mut first = item(1, "A", 1.0);
    first.url = "https://a.test/".to_owned();
    first.content = "x&y".to_owned();
    first.metadata.date = Some("2025".to_owned());
    let found = search(&settings, &query).await.unwrap().items;
    let shown = serde_json::to_value(&found[0]).unwrap();
    assert_eq!(found, [first, item(2, "B", 0.5), item(3, "C", 0.0)]);
    let expected = json!({
        "title": "A", "url": "https://a.test/", "content": "x&y", "score": 1.0,
        "metadata": {"provider": "scripted", "position": 1, "date": "2025"},
    });
    assert_eq!(shown, expected);
}
