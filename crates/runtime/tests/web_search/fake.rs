//! One row for each provider that is reached over HTTP: the requests that its service takes, and what a recorded answer says.

use crate::server::{FakeServer, Reply};
use crate::shape::{FieldKind, RequestShape, optional, required};
use crate::support::{merged, settings};
use ambit_runtime::web_search::{
    WEB_SEARCH_PROVIDERS, WebItem, WebItemKind, WebItemMetadata, WebSearchSettings,
};
use futures::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;

pub struct Fake {
    pub provider: &'static str,
    /// The variable that errors name.
    pub variable: &'static str,
    /// Settings beside those of the host.
    pub settings: fn() -> Value,
    pub shape: RequestShape,
    pub recorded: &'static str,
    /// Where the list stands in the recorded answer, and where a result has its address, title and text.
    pub list: &'static str,
    pub parts: [&'static str; 3],
    pub items: fn() -> Vec<WebItem>,
}

const TEXT: FieldKind = FieldKind::Text { longest: 2_048 };
const GOOGLE_RANGES: FieldKind = FieldKind::OneOf(&["qdr:h", "qdr:d", "qdr:w", "qdr:m", "qdr:y"]);

pub const FAKES: &[Fake] = &[
    Fake {
        provider: "tavily",
        variable: "TAVILY_API_KEY",
        settings: || json!({"provider": "tavily"}),
        shape: RequestShape {
            method: "POST",
            path: "/search",
            key_header: Some(("authorization", "Bearer tvly-canary-1234567890")),
            fields: &[
                required("query", FieldKind::Text { longest: 400 }),
                required("max_results", FieldKind::Count { most: 20 }),
                required("search_depth", FieldKind::Exactly("basic")),
                required("include_answer", FieldKind::Boolean(false)),
                required("include_raw_content", FieldKind::Boolean(false)),
                optional("include_domains", FieldKind::Texts),
                optional(
                    "time_range",
                    FieldKind::OneOf(&["day", "week", "month", "year"]),
                ),
            ],
        },
        recorded: include_str!("recorded/tavily.json"),
        list: "results",
        parts: ["url", "title", "content"],
        items: tavily_items,
    },
    Fake {
        provider: "serper",
        variable: "SERPER_API_KEY",
        settings: || json!({"provider": "serper"}),
        shape: RequestShape {
            method: "POST",
            path: "/search",
            key_header: Some(("x-api-key", "tvly-canary-1234567890")),
            fields: &[
                required("q", TEXT),
                required("num", FieldKind::Count { most: 100 }),
                required("autocorrect", FieldKind::Boolean(true)),
                optional("tbs", GOOGLE_RANGES),
            ],
        },
        recorded: include_str!("recorded/serper.json"),
        list: "organic",
        parts: ["link", "title", "snippet"],
        items: google_items,
    },
    Fake {
        provider: "serpapi",
        variable: "SERPAPI_API_KEY",
        settings: || json!({"provider": "serpapi"}),
        shape: RequestShape {
            method: "GET",
            path: "/search.json",
            key_header: None,
            fields: &[
                required("engine", FieldKind::Exactly("google")),
                required("q", TEXT),
                required("num", FieldKind::Count { most: 100 }),
                required("api_key", FieldKind::Exactly("tvly-canary-1234567890")),
                optional("tbs", GOOGLE_RANGES),
            ],
        },
        recorded: include_str!("recorded/serpapi.json"),
        list: "organic_results",
        parts: ["link", "title", "snippet"],
        items: google_items,
    },
    Fake {
        provider: "http",
        variable: "SEARCH_TOKEN",
        settings: searxng,
        shape: RequestShape {
            method: "GET",
            path: "/search",
            key_header: Some(("x-token", "tvly-canary-1234567890")),
            fields: &[
                required("q", TEXT),
                required("format", FieldKind::Exactly("json")),
                optional(
                    "time_range",
                    FieldKind::OneOf(&["day", "week", "month", "year"]),
                ),
            ],
        },
        recorded: include_str!("recorded/searxng.json"),
        list: "results",
        parts: ["url", "title", "content"],
        items: searxng_items,
    },
];

impl Fake {
    /// A service that replies so, and settings to ask it.
    pub async fn serve(&'static self, replies: Vec<Reply>) -> (FakeServer, WebSearchSettings) {
        self.serve_with(replies, json!({})).await
    }

    /// The same with more settings.
    pub async fn serve_with(
        &'static self,
        replies: Vec<Reply>,
        more: Value,
    ) -> (FakeServer, WebSearchSettings) {
        let server = self.server(replies).await;
        let host = json!({"host": server.address, "private": true});
        let own = merged((self.settings)(), merged(host, more));
        (server, settings(own))
    }

    pub async fn server(&'static self, replies: Vec<Reply>) -> FakeServer {
        FakeServer::start(Arc::new(|request| self.shape.check(request)), replies).await
    }

    /// What an error says.
    pub fn error(&self, what: &str) -> String {
        format!("{}: {what}", self.provider)
    }

    /// The recorded answer.
    pub fn reply(&self) -> Reply {
        Reply::json(200, self.recorded)
    }

    /// The recorded answer with another list of results.
    pub fn with_list(&self, list: Value) -> Reply {
        let mut answer: Value = serde_json::from_str(self.recorded).unwrap();
        answer[self.list] = list;
        for name in ["answerBox", "answer_box"] {
            answer.as_object_mut().unwrap().shift_remove(name);
        }
        Reply::json(200, answer.to_string())
    }
}

/// A case with every fake, all at once.
pub async fn each<F: Future>(case: impl Fn(&'static Fake) -> F) -> Vec<F::Output> {
    join_all(FAKES.iter().map(case)).await
}

#[test]
fn every_provider_has_a_fake() {
    let fakes = FAKES.iter().map(|fake| fake.provider);
    let fakes: Vec<&str> = fakes.chain(["scripted"]).collect();
    let rows: Vec<&str> = WEB_SEARCH_PROVIDERS.iter().map(|row| row.name).collect();
    assert_eq!(fakes, rows);
}

fn searxng() -> Value {
    json!({
        "provider": "http",
        "api_key_env": "$ENV.SEARCH_TOKEN",
        "http": {
            "url": "http://searx:8080/search",
            "query": {"q": "{query}", "format": "json", "time_range": "{time_range}"},
            "headers": {"X-Token": "{key}"},
            "items": "results",
            "fields": {"date": "publishedDate"},
            "error": "failure.reason",
        },
    })
}

/// A result of the list at this position.
fn item(position: usize, score: f64, texts: [&str; 3]) -> WebItem {
    let [url, title, content] = texts.map(str::to_owned);
    WebItem {
        title,
        url,
        content,
        score,
        metadata: WebItemMetadata {
            position,
            ..WebItemMetadata::default()
        },
    }
}

fn dated(mut item: WebItem, date: &str) -> WebItem {
    item.metadata.date = Some(date.to_owned());
    item
}

fn tavily_items() -> Vec<WebItem> {
    let first = [
        "https://tokio.rs/",
        "Tokio - An asynchronous Rust runtime",
        "Tokio is an asynchronous runtime for the Rust programming language. It provides the building blocks needed for writing network applications.",
    ];
    let second = [
        "https://rust-lang.github.io/async-book/",
        "Asynchronous Programming in Rust & more",
        "# Getting started The async book — an introduction.",
    ];
    vec![
        item(1, 0.9081, first),
        dated(item(2, 0.73205, second), "Tue, 04 Mar 2025 09:00:00 GMT"),
    ]
}

fn google_items() -> Vec<WebItem> {
    let answer = [
        "https://tokio.rs/",
        "Tokio",
        "Tokio is an asynchronous runtime for the Rust programming language.",
    ];
    let first = [
        "https://tokio.rs/",
        "Tokio - An asynchronous Rust runtime",
        "Build reliable network applications without compromising speed.",
    ];
    let mut answer = item(0, 1.0, answer);
    answer.metadata.kind = Some(WebItemKind::AnswerBox);
    vec![
        answer,
        item(1, 1.0, first),
        dated(item(2, 0.95, CORRODE), "Jan 11, 2024"),
    ]
}

const CORRODE: [&str; 3] = [
    "https://corrode.dev/blog/async/",
    "The State of Async Rust: Runtimes",
    "Tokio stands as Rust's canonical async runtime.",
];

fn searxng_items() -> Vec<WebItem> {
    let first = [
        "https://tokio.rs/",
        "Tokio - An asynchronous Rust runtime",
        "Tokio is an asynchronous runtime for the Rust programming language.",
    ];
    vec![
        item(1, 1.0, first),
        dated(item(2, 0.125, CORRODE), "2024-01-11T00:00:00"),
    ]
}
