//! Collections of an app: their files become documents, and each caller finds what they may see.
#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod extracted;
mod files;

use ambit_knowledge::{
    DocumentStatus, KnowledgeAnswer, KnowledgeQuery, NewCollection, NewContent, NewDocument,
};

use ambit_runtime::CallerReach;
use ambit_runtime::tool::ToolServer;
use ambit_runtime::{Authorized, Runtime, RuntimeSettings};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

/// Long enough for whatever becomes true at all.
const LONG: Duration = Duration::from_secs(60);

struct Place {
    app: TempDir,
    runtime: Runtime,
}

fn write(app: &Path, file: &str, text: &str) {
    let file = app.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn caller(who: serde_json::Value) -> Authorized {
    serde_json::from_value(who).unwrap()
}

/// A runtime with an app of these files in the process's memory.
async fn place(files: &[(&str, &str)]) -> Place {
    place_with(files, Vec::new()).await
}

/// The same with tools of the program.
async fn place_with(files: &[(&str, &str)], tool_servers: Vec<ToolServer>) -> Place {
    let app = tempfile::tempdir().unwrap();
    write(app.path(), "app.yao", r#"{"name": "test"}"#);
    for (file, text) in files {
        write(app.path(), file, text);
    }
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let settings = RuntimeSettings {
        tool_servers,
        ..RuntimeSettings::new(app.path(), stores)
    };
    let runtime = Runtime::open(settings).await.unwrap();
    Place { app, runtime }
}

impl Place {
    async fn search(&self, who: &Authorized, words: &str) -> KnowledgeAnswer {
        let query = KnowledgeQuery {
            is_counted: false,
            ..KnowledgeQuery::new(words, &["rules"])
        };
        let base = self.runtime.knowledge().unwrap();
        base.search(&CallerReach::of(who), &query).await.unwrap()
    }

    /// Waits until the documents that have these words are these.
    async fn finds(&self, who: &Authorized, words: &str, expected: &[&str]) {
        let found = async {
            loop {
                let answer = self.search(who, words).await;
                let mut ids: Vec<&str> = answer
                    .items
                    .iter()
                    .map(|item| item.document_id.as_str())
                    .collect();
                ids.sort_unstable();
                ids.dedup();
                if ids == expected {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let found = timeout(LONG, found).await;
        assert!(found.is_ok(), "{words} does not find {expected:?}");
    }
}

const RULES: &str = r#"{"documents": ["docs/**/*.md"], "public": true}"#;

#[tokio::test]
async fn g204_a_collection_has_the_documents_that_its_files_are() {
    let place = place(&[
        ("kb/rules.kb.yao", RULES),
        ("docs/a.md", "# Holidays\n\nThirty days of vacation."),
        ("docs/b/c.md", "# Travel\n\nTrains are preferred."),
        ("docs/d.txt", "Vacation that is no document."),
    ])
    .await;
    let ann = &caller(json!({"user_id": "ann"}));
    place.finds(ann, "vacation", &["rules:docs/a.md"]).await;
    place.finds(ann, "trains", &["rules:docs/b/c.md"]).await;

    write(
        place.app.path(),
        "docs/b/c.md",
        "# Travel\n\nAeroplanes are preferred now.",
    );
    write(place.app.path(), "docs/e.md", "More vacation.");
    fs::remove_file(place.app.path().join("docs/a.md")).unwrap();
    place.runtime.reload().await.unwrap();
    place.finds(ann, "aeroplanes", &["rules:docs/b/c.md"]).await;
    place.finds(ann, "trains", &[]).await;
    place.finds(ann, "vacation", &["rules:docs/e.md"]).await;

    fs::remove_file(place.app.path().join("kb/rules.kb.yao")).unwrap();
    place.runtime.reload().await.unwrap();
    place.finds(ann, "vacation", &[]).await;
    place.runtime.close(LONG).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_document_holds_up_no_other() {
    let limits = r#"{"name": "test", "ambit": {"search": {"limits": {"file": 40}}}}"#;
    let place = place(&[
        ("app.yao", limits),
        ("kb/rules.kb.yao", RULES),
        ("docs/a.md", "Thirty days of vacation."),
        ("docs/b.md", &"Vacation without end. ".repeat(9)),
    ])
    .await;
    place.runtime.settle_collections().await.unwrap();
    let ann = &caller(json!({"user_id": "ann"}));
    let found = place.search(ann, "vacation").await.items;
    let ids: Vec<&str> = found.iter().map(|item| item.document_id.as_str()).collect();
    assert_eq!(ids, ["rules:docs/a.md"]);
    place.runtime.close(LONG).await.unwrap();
}

#[tokio::test]
async fn a_collection_that_does_not_say_who_sees_it_is_for_callers_without_constraints() {
    let place = place(&[
        ("kb/rules.kb.yao", r#"{"documents": ["docs/*.md"]}"#),
        ("docs/a.md", "Thirty days of vacation."),
    ])
    .await;
    let whole = &caller(json!({"user_id": "root"}));
    place.finds(whole, "vacation", &["rules:docs/a.md"]).await;
    let limited = caller(json!({"user_id": "ann", "constraints": {"owner_only": true}}));
    let answer = place.search(&limited, "vacation").await;
    assert_eq!(answer.items, []);
    assert_eq!(
        answer.error.as_deref(),
        Some("collection \"rules\" not found")
    );
    place.runtime.close(LONG).await.unwrap();
}

/// Says who asks for the text of a file, and whose data they reach.
const NAMES_ITS_CALLER: &str = "export function Next(ctx, payload) {
    const who = ctx.authorized;
    return { data: { text: `read for ${who.user_id} of ${who.tenant_id}, alone: ${who.constraints.owner_only}` } };
}";

#[tokio::test]
async fn g202_files_are_read_by_agents_in_the_name_of_their_collections_creator() {
    let model = r#"{"type": "scripted", "options": {"model": "m", "rules": [{"reply": "no"}]}}"#;
    let place = place(&[
        ("agent/agent.yml", "uses:\n  extract: reader\n"),
        ("connectors/m.conn.yao", model),
        (
            "assistants/reader/package.yao",
            r#"{"name": "Reader", "connector": "m"}"#,
        ),
        ("assistants/reader/src/index.ts", NAMES_ITS_CALLER),
    ])
    .await;
    let ann = CallerReach::of(&caller(json!({"user_id": "ann", "tenant_id": "t"})));
    let base = place.runtime.knowledge().unwrap();
    let collection = NewCollection {
        id: "c".to_owned(),
        ..NewCollection::default()
    };
    base.create_collection(&ann, collection).await.unwrap();
    let file = NewDocument::of(NewContent::File {
        name: "scan.png".to_owned(),
        media_type: None,
        content: vec![0; 16].into(),
    });
    let added = base.add_document(&ann, "c", file).await.unwrap();
    base.work().await.unwrap();
    let read = base.document(&ann, &added.document_id).await.unwrap();
    assert_eq!((read.status, read.error), (DocumentStatus::Ready, None));
    let query = KnowledgeQuery::new("read", &["c"]);
    let found = base.search(&ann, &query).await.unwrap();
    assert_eq!(found.items[0].content, "read for ann of t, alone: true");
    place.runtime.close(LONG).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_not_there_is_told_where_it_is_named() {
    let app = tempfile::tempdir().unwrap();
    write(
        app.path(),
        "app.yao",
        r#"{"name": "test", "ambit": {"search": {"store": "nowhere"}}}"#,
    );
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let opened = Runtime::open(RuntimeSettings::new(app.path(), stores)).await;
    let message = opened.err().unwrap().message;
    let expected = "app.yao: \"ambit.search.store\": ";
    assert!(
        message.starts_with(expected) && message.contains("nowhere"),
        "{message}"
    );
}
