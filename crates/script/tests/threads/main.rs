//! How many threads and how much memory a process has while runs wait. Alone in its process, so that no other test's threads are counted.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use ambit_script::{
    Engine, EngineSettings, Host, HostApi, HostCall, HostError, HostMethod, HostValue,
    ProgramSource, RunLimits, ScriptRun,
};
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Barrier, Semaphore};

const RUNS: usize = 1000;

struct Waits {
    all_wait: Barrier,
    go_on: Semaphore,
}

impl Host for Waits {
    fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            self.all_wait.wait().await;
            let _going = self
                .go_on
                .acquire()
                .await
                .map_err(|_| HostError::default())?;
            Ok(HostValue::Undefined)
        })
    }
}

fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_thousand_waiting_runs_hold_no_threads() {
    let surface = HostApi {
        globals: vec![HostMethod::new("wait")],
        ..HostApi::default()
    };
    let engine = Arc::new(Engine::new(&EngineSettings::default(), surface).unwrap());
    let text = "export function Create() { const before = { list: [1] }; wait(); return before.list[0] + 1; }";
    let files = BTreeMap::from([("index.ts".to_owned(), text.to_owned())]);
    let source = ProgramSource {
        file: "index.ts".to_owned(),
        folder: String::new(),
    };
    let program = engine.load(&files, &source).unwrap();
    let host = Arc::new(Waits {
        all_wait: Barrier::new(RUNS + 1),
        go_on: Semaphore::new(0),
    });
    let runs: Vec<_> = (0..RUNS)
        .map(|_| {
            let engine = Arc::clone(&engine);
            let run = ScriptRun {
                host: Arc::clone(&host) as Arc<dyn Host>,
                program: Arc::clone(&program),
                function: "Create".to_owned(),
                arguments: Vec::new(),
                limits: RunLimits::default(),
                within: None,
            };
            tokio::spawn(async move { engine.run(run).await })
        })
        .collect();
    host.all_wait.wait().await;
    let threads = status("Threads:");
    let memory = status("VmRSS:") >> 10;
    host.go_on.add_permits(RUNS);
    for run in runs {
        assert_eq!(run.await.unwrap().unwrap().value, Some(2.into()));
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    assert!(threads <= cores + 8, "{threads} threads");
    assert!(
        memory <= 100 + 100,
        "{memory} MiB, of which the test program itself and its symbols take some"
    );
}
