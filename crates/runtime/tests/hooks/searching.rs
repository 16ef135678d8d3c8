//! What `ctx.search` says of arguments that it cannot take, and of searches that fail.

use crate::logging;
use crate::support::Stage;
use ambit_runtime::app::App;
use ambit_runtime::model::{ModelSettings, ModelStore};
use ambit_runtime::process::ProcessRegistry;
use ambit_runtime::process::store::OpenStores;
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

#[tokio::test]
async fn wrong_arguments_throw_and_say_what_would_be_right() {
    let stage = Stage::new();
    for (call, message) in [
        ("Web()", "Web requires a query argument"),
        ("Web(undefined)", "Web requires a query argument"),
        ("KB(5)", "KB requires a query argument"),
        ("DB(' ')", "DB requires a query argument"),
        ("Web('x', 5)", "options must be an object"),
        ("Web('x', { limit: 101 })", "limit must be 1 to 100"),
        (
            "Web('x', { time_range: 'eon' })",
            "time_range must be one of hour, day, week, month, year",
        ),
        (
            "DB('x', { wheres: [{ op: '=' }] })",
            "wheres[0].column must be a string",
        ),
        ("All()", "All requires an array of requests"),
        ("Any({})", "Any requires an array of requests"),
        ("Race('x')", "Race requires an array of requests"),
        ("All([{}])", "requests[0].type must be web, kb or db"),
        (
            "All([{ type: 'web', query: 'x' }, { type: 'kb' }])",
            "requests[1].query is required",
        ),
        (
            "Any([{ type: 'kb', query: 'x', limit: 0 }])",
            "requests[0].limit must be 1 to 100",
        ),
    ] {
        let thrown = stage.attempt(&format!("ctx.search.{call}")).await;
        assert_eq!(thrown, json!(["invalid_argument", message]), "{call}");
    }
    let many = "ctx.search.All(Array(65).fill({ type: 'kb', query: 'x' }))";
    let thrown = stage.attempt(many).await;
    assert_eq!(thrown, json!(["limit_exceeded", "at most 64 requests"]));
}

#[tokio::test]
async fn options_that_do_nothing_are_named_in_the_trace() {
    let stage = Stage::new();
    let result = stage
        .value("ctx.search.KB('x', { limits: 3, graph: true })")
        .await;
    assert_eq!(result["graph_nodes"], json!([]));
    assert_ne!(result["error"], Value::Null);
    let told = serde_json::to_string(&stage.tree().logs).unwrap();
    let warning = "ctx.search.KB: unknown option \\\"limits\\\"; did you mean \\\"limit\\\"?";
    assert!(told.contains(warning), "{told}");
}

/// The processes of an app with a table of pets, whose database is not there.
fn processes_without_database(stage: &Stage) -> Arc<ProcessRegistry> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("models")).unwrap();
    let columns = json!([{"name": "id", "type": "ID"}, {"name": "name", "type": "string"}]);
    let pets = json!({"name": "Pet", "columns": columns}).to_string();
    for (file, text) in [
        ("app.yao", r#"{"name": "Test"}"#),
        ("models/pet.mod.yao", pets.as_str()),
    ] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
    let away = ModelSettings {
        store: ModelStore::Postgres("postgres://nobody@127.0.0.1:1/nothing".to_owned()),
        ..ModelSettings::default()
    };
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    let stores = OpenStores::new(Arc::new(stores)).with_models(away).unwrap();
    let files: BTreeMap<String, String> = BTreeMap::new();
    let processes = ProcessRegistry::load(&Arc::new(app), &stage.engine, &files, Arc::new(stores));
    Arc::new(processes)
}

#[tokio::test]
async fn why_a_database_fails_a_search_is_in_the_log_alone() {
    let stage = Stage::new();
    let mut scope = (*stage.scope()).clone();
    scope.processes = processes_without_database(&stage);
    let search = "ctx.search.DB('canary4711', { models: ['pet'] })";
    let text =
        format!("export function Create(ctx) {{ return {{ metadata: {{ found: {search} }} }}; }}");
    let hooks = stage.hooks(&text).unwrap();
    let created = hooks.create(&scope.into(), &[], json!({})).await.unwrap();
    let found = created.unwrap().metadata["found"].clone();
    let told = found["error"].as_str().unwrap();
    assert!(!told.contains("refused"), "{told}");
    let lines = logging::with_message("a search failed");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (line, why) = (&lines[0], &lines[0]["error.cause"]);
    assert_eq!(
        (&*line["level"], &*line["error.code"]),
        ("WARN", "unavailable")
    );
    assert!(why.contains(" is unavailable"), "{why}");
    assert!(!format!("{line:?}").contains("canary4711"), "{line:?}");
}
