//! One engine's worth of setting up.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up has failed"
)]

use ambit_script::{
    Engine, EngineSettings, Error, Host, HostApi, HostValue, LoadError, NoHost, Program,
    ProgramSource, RunLimits, RunOutcome, ScriptRun,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The entry file of all programs here.
pub const ENTRY: &str = "assistants/pet/src/index.ts";

/// An engine with two threads.
pub fn engine_of(surface: HostApi) -> Engine {
    let settings = EngineSettings {
        threads: 2,
        ..EngineSettings::default()
    };
    Engine::new(&settings, surface).expect("an engine starts")
}

/// An engine whose scripts can call nothing.
pub fn engine() -> Engine {
    engine_of(HostApi::default())
}

/// Loads files; the first is the entry.
pub fn load(engine: &Engine, files: &[(&str, &str)]) -> Result<Arc<Program>, LoadError> {
    let all: BTreeMap<String, String> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let source = ProgramSource {
        file: files.first().map_or(ENTRY, |(path, _)| path).to_owned(),
        folder: "assistants/pet".to_owned(),
    };
    engine.load(&all, &source)
}

/// The program of one file.
pub fn program(engine: &Engine, text: &str) -> Arc<Program> {
    load(engine, &[(ENTRY, text)]).expect("the program loads")
}

/// A run of `Create` without arguments, host or unusual limits.
pub fn create(program: &Arc<Program>) -> ScriptRun {
    ScriptRun {
        program: Arc::clone(program),
        function: "Create".to_owned(),
        arguments: Vec::new(),
        host: Arc::new(NoHost),
        limits: RunLimits::default(),
        within: None,
    }
}

/// Runs `Create` of one file.
pub async fn run(text: &str) -> Result<RunOutcome, Error> {
    let engine = engine();
    let program = program(&engine, text);
    engine.run(create(&program)).await
}

/// What `Create` of one file returns.
pub async fn returned(text: &str) -> Json {
    run(text).await.expect("it runs").value.unwrap_or_default()
}

/// What `Create` of one file returns when it is given a value.
pub async fn given(text: &str, argument: Json) -> Json {
    let engine = engine();
    let program = program(&engine, text);
    let run = ScriptRun {
        arguments: vec![HostValue::Json(argument)],
        ..create(&program)
    };
    engine
        .run(run)
        .await
        .expect("it runs")
        .value
        .unwrap_or_default()
}

/// What `Create` of one file returns with a host.
pub async fn hosted(
    surface: HostApi,
    host: impl Host + 'static,
    text: &str,
    arguments: Vec<HostValue>,
) -> Result<RunOutcome, Error> {
    let engine = engine_of(surface);
    let program = program(&engine, text);
    let run = ScriptRun {
        arguments,
        host: Arc::new(host),
        ..create(&program)
    };
    engine.run(run).await
}

/// The error of a run that fails by throwing.
pub fn message(result: Result<RunOutcome, Error>) -> String {
    result.expect_err("it fails").to_string()
}
