//! How much memory a process takes for values that a script hands over. Alone in its process, so that no other test's is measured.

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
use std::time::Duration;

struct Never;

impl Host for Never {
    fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move { std::future::pending().await })
    }
}

/// The most memory that the process has had, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let size = line.unwrap().split_whitespace().nth(1).unwrap();
    size.parse::<usize>().unwrap() >> 10
}

/// Each value has a million objects, which are one in the script: 24 MB of JSON, and a quarter of a gigabyte in memory.
#[tokio::test]
async fn g117_a_hook_cannot_fill_the_memory_of_its_host() {
    let surface = HostApi {
        globals: vec![HostMethod::promise("never")],
        ..HostApi::default()
    };
    let engine = Engine::new(&EngineSettings::default(), surface).unwrap();
    let text = "export function Create() {
        let shared: unknown = { a: 1 }, refused = 0;
        for (let i = 0; i < 20; i++) shared = [shared, shared];
        for (let i = 0; i < 4; i++) try { never(shared); } catch (e) { refused++; }
        return refused;
    }";
    let files = BTreeMap::from([("index.ts".to_owned(), text.to_owned())]);
    let source = ProgramSource {
        file: "index.ts".to_owned(),
        folder: String::new(),
    };
    let before = peak();
    let run = ScriptRun {
        program: engine.load(&files, &source).unwrap(),
        function: "Create".to_owned(),
        arguments: Vec::new(),
        host: Arc::new(Never),
        limits: RunLimits {
            cpu: Duration::from_secs(300),
            ..RunLimits::default()
        },
        within: None,
    };
    let outcome = engine.run(run).await.unwrap();
    assert_eq!(outcome.value, Some(4.into()));
    let took = peak() - before;
    assert!(took < 300, "{took} MiB");
}
