//! Runs that have used up even what is kept for the error that ends them.

use crate::watch::{Code, alone, code_of};
use ambit_script::{
    Engine, EngineSettings, Host, HostApi, HostCall, HostError, HostMethod, HostValue,
    ProgramSource, RunLimits, ScriptRun,
};
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fills the memory to its end, and tells the host whenever what ends the run was caught.
const TEXT: &str = "declare function tell(): void;
export function Create() {
    let all: any = null, count = 0;
    const kept: any[] = new Array(2000);
    for (const size of [1 << 20, 60 << 10, 4 << 10, 256])
        try { for (;;) all = { all, bytes: new Uint8Array(size) }; } catch {}
    while (count < 2000) try { for (;;) all = { all }; } catch (error) { if (error === null) break; kept[count++] = error; }
    for (;;) { try { for (;;) {} } catch { all = null; tell(); } }
}";

/// The watch thread looks at another moment of each.
const RUNS: usize = 20;

/// Counts how often it is told.
struct Told(AtomicUsize);

impl Host for Told {
    fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(HostValue::Undefined)
        })
    }
}

#[tokio::test]
async fn g117_a_script_without_memory_cannot_catch_its_end() {
    let _alone = alone().await;
    let surface = HostApi {
        globals: vec![HostMethod::new("tell")],
        ..HostApi::default()
    };
    let engine = Engine::new(&EngineSettings::default(), surface).unwrap();
    let file = "index.ts".to_owned();
    let files = BTreeMap::from([(file.clone(), TEXT.to_owned())]);
    let folder = String::new();
    let source = ProgramSource { file, folder };
    let program = engine.load(&files, &source).unwrap();
    let host = Arc::new(Told(AtomicUsize::new(0)));
    for _ in 0..RUNS {
        let run = ScriptRun {
            program: Arc::clone(&program),
            function: "Create".to_owned(),
            arguments: Vec::new(),
            host: host.clone(),
            limits: RunLimits {
                heap: 16 << 20,
                ..RunLimits::default()
            },
            within: None,
        };
        let ended = engine.run(run).await;
        assert_eq!(code_of(&ended), Code::Heap, "{ended:?}");
    }
    assert_eq!(host.0.load(Ordering::Relaxed), 0);
}
