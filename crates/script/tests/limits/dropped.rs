//! Runs that nobody waits for any more while their modules are loaded and evaluated.

use crate::watch::alone;
use ambit_script::{Engine, EngineSettings, HostApi, NoHost, ProgramSource, RunLimits, ScriptRun};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many functions take the engine some milliseconds to load.
const FUNCTIONS: usize = 3_000;

/// Runs that are dropped. An assertion of the engine, which ended the process, failed for about one in thirty.
const DROPPED: u32 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_runs_that_are_dropped_while_they_begin_end_alone() {
    let _alone = alone().await;
    let engine = Engine::new(&EngineSettings::default(), HostApi::default()).unwrap();
    let mut text = "export function Create() { return 1; }".to_owned();
    for number in 0..FUNCTIONS {
        write!(text, "export function f{number}() {{ return {number}; }}").unwrap();
    }
    let file = "index.ts".to_owned();
    let files = BTreeMap::from([(file.clone(), text)]);
    let folder = String::new();
    let source = ProgramSource { file, folder };
    let program = engine.load(&files, &source).unwrap();
    let begin = || {
        let run = ScriptRun {
            program: Arc::clone(&program),
            function: "Create".to_owned(),
            arguments: Vec::new(),
            host: Arc::new(NoHost),
            limits: RunLimits::default(),
            within: None,
        };
        let engine = engine.clone();
        tokio::spawn(async move { engine.run(run).await })
    };
    let started = Instant::now();
    begin().await.unwrap().unwrap();
    let whole = started.elapsed();
    for number in 0..DROPPED {
        let run = begin();
        let begun = Instant::now();
        // In turns, so that they are dropped at each step of their beginning.
        let kept: Duration = whole * (number % 20) / 20;
        while begun.elapsed() < kept {
            tokio::task::yield_now().await;
        }
        run.abort();
        // It may have ended before.
        let _ = run.await;
    }
    begin().await.unwrap().unwrap();
}
