//! Assistants that name a service, as Yao's test app has them: a turn of theirs asks it to the letter, with the key of the
//! environment, and tells nobody the key.

use crate::fake::{FAKES, Fake};
use crate::requests::sent;
use crate::support::KEY;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{Authorized, Runtime, RuntimeSettings, TurnRequest};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use futures::future::join_all;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const CONNECTOR: &str =
    r#"{"type": "scripted", "options": {"model": "m", "rules": [{"reply": "{{request}}"}]}}"#;
const NEXT: &str = "function Next(ctx, payload) { return { data: payload.search }; }";

/// The assistant of a service, below this folder.
fn write_assistant(folder: &Path, fake: &Fake, address: &str) {
    let web = json!({"provider": fake.provider, "api_key_env": format!("$ENV.{}", fake.variable), "max_results": 3,
        "host": address, "private": true});
    let package = json!({"name": fake.provider, "connector": "mirror", "version": "1.0.0", "option": {"temperature": 0.5},
        "search": {"web": web}});
    for (file, text) in [
        ("app.yao", r#"{"name": "Test"}"#),
        ("connectors/mirror.conn.yao", CONNECTOR),
        ("assistants/web/package.yao", package.to_string().as_str()),
        (
            "assistants/web/prompts.yml",
            "- {role: system, content: x}\n",
        ),
        ("assistants/web/src/index.js", NEXT),
    ] {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// What the service was asked in a turn, and all that clients were told of it.
async fn turn(fake: &'static Fake) -> (Value, Vec<String>) {
    let server = fake.server(vec![fake.reply()]).await;
    let folder = TempDir::new().unwrap();
    write_assistant(folder.path(), fake, &server.address);
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let mut settings = RuntimeSettings::new(folder.path(), stores);
    let variables = &mut settings.environment;
    variables.insert(fake.variable.to_owned(), KEY.to_owned());
    let runtime = Runtime::open(settings).await.unwrap();
    let request = TurnRequest {
        authorized: Authorized {
            user_id: Some("ann".to_owned()),
            ..Authorized::default()
        },
        agent: "web".to_owned(),
        messages: vec![ChatMessage::user("async runtimes")],
        ..TurnRequest::default()
    };
    let mut started = runtime.start(request).await.unwrap();
    let mut told = Vec::new();
    while let Some(entries) = started.stream.next().await.unwrap() {
        told.extend(entries.iter().map(|entry| entry.text.to_string()));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{}: {told:?}", fake.provider);
    (sent(&requests[0]), told)
}

#[tokio::test]
async fn g208_an_assistant_asks_its_service_with_the_key_and_tells_nobody() {
    let turns = join_all(FAKES[..3].iter().map(turn)).await;
    let asked: Vec<&Value> = turns.iter().map(|(asked, _)| asked).collect();
    let query = "async runtimes";
    let expected = [
        json!({"query": query, "max_results": 3, "search_depth": "basic", "include_answer": false, "include_raw_content": false}),
        json!({"q": query, "num": 3, "autocorrect": true}),
        json!({"engine": "google", "q": query, "num": "3", "api_key": KEY}),
    ];
    assert_eq!(asked, expected.iter().collect::<Vec<_>>());
    for (fake, (_, told)) in FAKES.iter().zip(&turns) {
        let last: Value = serde_json::from_str(told.last().unwrap()).unwrap();
        let end = &last["props"]["data"];
        assert_eq!(end["error"], Value::Null, "{end}");
        let found = end["next"]["references"].as_array().unwrap().iter();
        let found: Vec<&str> = found.map(|item| item["url"].as_str().unwrap()).collect();
        let items = (fake.items)();
        // The answer box is the page of the first result.
        let mut pages: Vec<&str> = items.iter().map(|item| item.url.as_str()).collect();
        pages.dedup();
        assert_eq!(found, pages, "{}", fake.provider);
        assert!(!told.iter().any(|text| text.contains(KEY)), "{told:?}");
    }
}
