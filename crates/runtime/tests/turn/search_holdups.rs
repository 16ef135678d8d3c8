//! An embedder that never answers and a query that never ends hold up no turn.

use crate::automatic_search::{announced, app, ids};
use crate::place::{Place, ann, ask, borrowed, end, place, place_with, request, traced, tree};
use crate::run_tally::RunTally;
use crate::searched_rows::notes;
use crate::server::{End, Reply, Server};
use crate::toolbox::{Tools, outcome};
use ambit_knowledge::{EmbeddingSettings, NewCollection, NewDocument};
use ambit_runtime::{CallerReach, Frame, ModelSecret, ModelStore};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A turn of a chat of its own, which is answered.
async fn answered(place: &Place, chat: &str) -> Vec<Frame> {
    let mut asked = request("hello", "boats");
    asked.chat = Some(chat.to_owned());
    let frames = ask(place, asked).await;
    let end = end(&frames);
    assert_eq!(
        (&end["status"], &end["error"]),
        (&json!("completed"), &Value::Null)
    );
    frames
}

/// A collection whose one document has a vector by this connector.
pub async fn with_document(place: &Place) {
    let base = place.runtime.knowledge().unwrap();
    let reach = CallerReach::of(&ann());
    let new = NewCollection {
        id: "c".to_owned(),
        embedding: Some(EmbeddingSettings {
            connector: "e5".to_owned(),
            ..EmbeddingSettings::default()
        }),
        ..NewCollection::default()
    };
    base.create_collection(&reach, new).await.unwrap();
    let new = NewDocument::text("d.md", "All boats of the harbour.");
    let added = base.add_document(&reach, "c", new).await.unwrap();
    let job = base.finished_job(&reach, &added.job_id.unwrap()).await;
    assert_eq!(job.unwrap().error, None);
}

#[tokio::test]
async fn g209_an_embedder_that_hangs_holds_up_no_turn() {
    let vectors = json!({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}).to_string();
    let hangs = Reply::json(200, "").ending(End::NoHead);
    let service = Server::start(vec![Reply::json(200, &vectors), hangs]).await;
    let options = json!({"host": service.address, "model": "m", "key": "k"});
    let connector = json!({"type": "openai", "label": "E5", "options": options}).to_string();
    let search = json!({"kb": {"collections": ["c"]}});
    let more = vec![("connectors/e5.conn.yao".to_owned(), connector)];
    let place = place(&borrowed(&app(&json!({"search": search}), "", more))).await;
    with_document(&place).await;
    tokio::time::pause();
    let frames = answered(&place, "chat").await;
    assert_eq!(
        announced(&frames)[0]["content"],
        "All boats of the harbour."
    );
    let trace = traced(&place, &frames).await;
    let note = "words only: embedding connector \\\"e5\\\" is unavailable";
    assert!(trace.contains(note), "{trace}");
    let tree = tree(&place, &frames).await;
    let node = tree.nodes.iter().find(|node| node.kind == "search");
    let took = node.unwrap().output["duration_ms"].as_u64().unwrap();
    assert!(took <= 2_250, "{took} ms");
}

/// A query over a hundred rows six times with themselves, in an order that nobody can tell before all are there.
fn endless() -> Value {
    let joins = ["b", "c", "d", "e", "f"].map(|name| {
        json!({"from": format!("note as {name}"), "key": format!("{name}.body"), "foreign": "note.body"})
    });
    json!({"select": ["note.title"], "from": "note", "joins": joins, "orders": [{"field": "f.title", "sort": "asc"}]})
}

const FILLED: &str = "export function Create(ctx) {
    const title = 'boats', body = 'x';
    for (let at = 0; at < 100; at++) Process('models.note.Create', { title, body });
}";

#[tokio::test]
async fn g209_a_query_that_never_ends_holds_up_no_turn_and_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    for store in [
        ModelStore::Memory,
        ModelStore::Sqlite(folder.path().join("models.db")),
    ] {
        let uses = json!({"querydsl": "mcp:s.generate_querydsl"});
        // Enough for one that ends, on a busy machine too.
        let options = json!({"timeout": "3s"});
        let search =
            json!({"db": {"models": ["note"]}, "querydsl": {"strict": true}, "options": options});
        let files = app(&json!({"uses": uses, "search": search}), FILLED, notes());
        let dsl = Arc::new(Mutex::new(Value::Null));
        let present = dsl.clone();
        let tools = Tools::new(&["generate_querydsl"], move |_, _| {
            let answer = present.lock().unwrap().clone();
            Box::pin(async move { Ok(outcome(answer)) })
        });
        let place = place_with(&borrowed(&files), |settings| {
            settings.tools = Some(Arc::new(tools));
            settings.models.store = store;
            let key = "a key that has thirty-two letters or more";
            settings.models.key = Some(ModelSecret(key.to_owned()));
        })
        .await;
        let (mut run, mut runs) = (0, RunTally::new());
        while runs.is_open() {
            *dsl.lock().unwrap() = endless();
            let frames = answered(&place, &format!("endless{run}")).await;
            assert_eq!(announced(&frames), Vec::<Value>::new());
            let trace = traced(&place, &frames).await;
            assert!(trace.contains("timed out"), "{trace}");
            // What was given up holds no connection. A machine may be too busy for one that ends, too.
            *dsl.lock().unwrap() = json!({"select": ["title"], "from": "note", "limit": 1});
            let frames = answered(&place, &format!("short{run}")).await;
            let found = ids(&announced(&frames), "title");
            let is_good = found == ["boats"];
            runs.count(found, is_good);
            run += 1;
        }
    }
}
