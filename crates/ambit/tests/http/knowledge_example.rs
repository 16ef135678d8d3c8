//! The example `knowledge`: its agent answers from the documents of the app, and cites them.

use crate::site::Site;
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use serde_json::{Value, json};
use std::sync::Arc;

/// What the scripted model writes behind the first reference.
const CITATION: &str =
    r##" <a class="ref" data-ref-id="1" data-ref-type="kb" href="#ref:1">[1]</a>"##;

/// The example, with its documents read.
async fn example() -> Site {
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let app = crate::examples::example("knowledge");
    let site = Site::over(Arc::new(stores), Arc::new(app), |_| {}).await;
    site.runtime.settle_collections().await.unwrap();
    site
}

/// The answer to a question, and the first of the references that it had.
async fn ask(site: &Site, question: &str) -> (String, Value) {
    let body = json!({"model": "guide", "messages": [{"role": "user", "content": question}]});
    let answer = site.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    let request = answer["ambit"]["request_id"].as_str().unwrap();
    let list = site.get(&format!("/v1/chat/references/{request}")).await;
    let first = list.json()["references"][0].clone();
    let content = &answer["choices"][0]["message"]["content"];
    (content.as_str().unwrap().to_owned(), first)
}

#[tokio::test]
async fn the_agent_answers_from_its_documents_and_cites_them() {
    let site = example().await;
    for (question, document, heading) in [
        (
            "Why does Jiff not support leap seconds?",
            "jiff:docs/design.md",
            "Why doesn't Jiff support leap seconds?",
        ),
        (
            "Where does Jiff find the time zone database on Windows?",
            "jiff:docs/platform.md",
            "System time zone",
        ),
    ] {
        let (answer, reference) = ask(&site, question).await;
        let cited = answer.strip_suffix(CITATION);
        let cited = cited.unwrap_or_else(|| panic!("{question}: {answer}"));
        let content = reference["content"].as_str().unwrap();
        assert!(!cited.is_empty() && content.starts_with(cited), "{answer}");
        let headings = reference["heading"].as_array().unwrap();
        assert_eq!(
            (&reference["document_id"], headings.last()),
            (&json!(document), Some(&json!(heading)))
        );
    }
}

#[tokio::test]
async fn the_agent_says_what_its_documents_do_not_tell() {
    let site = example().await;
    let (answer, reference) = ask(&site, "xylophone quux").await;
    assert_eq!(answer, "The documentation does not say.");
    assert_eq!(reference, Value::Null);
}
