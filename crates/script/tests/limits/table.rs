//! Every built-in function of the engine with large values of all kinds, as `table.js` finds them: whatever call a run is in
//! at its limit, its thread is free soon after.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::watch::alone;
use ambit_script::{
    Engine, EngineSettings, Error, Host, HostApi, HostCall, HostError, HostMethod, HostValue,
    Program, ProgramInstance, ProgramSource, RunLimits,
};
use futures::future::BoxFuture;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long behind its limit the thread of a run is free.
const BEHIND: Duration = Duration::from_secs(1);

/// The engine has more functions than this.
const LEAST: usize = 600;

/// Functions that were slow once.
const KNOWN: &[&str] = &[
    "Array.from",
    "Array.prototype.includes",
    "Array.prototype.with",
    "Function",
    "Iterator.prototype.drop",
    "Object.keys",
    "RegExp",
    "Set.prototype.union",
    "String.prototype.isWellFormed",
    "String.prototype.replace",
    "String.prototype.startsWith",
    "String.prototype.trim",
    "String.raw",
    "TypedArray.prototype.includes",
    "TypedArray.prototype.indexOf",
    "TypedArray.prototype.join",
    "TypedArray.prototype.reverse",
    "Uint8Array",
    "parseFloat",
];

/// The number of the next call.
#[derive(Default)]
struct Progress(AtomicU64);

impl Host for Progress {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            if let ("at", Some(number)) = (call.method.as_str(), call.arguments.first()) {
                let next = number.as_u64().unwrap_or_default() + 1;
                self.0.store(next, Ordering::Relaxed);
            }
            Ok(HostValue::Undefined)
        })
    }
}

struct Table {
    engine: Engine,
    program: Arc<Program>,
    progress: Arc<Progress>,
}

impl Table {
    fn new() -> Self {
        let settings = EngineSettings {
            threads: 1,
            ..EngineSettings::default()
        };
        let surface = HostApi {
            globals: vec![HostMethod::new("at")],
            ..HostApi::default()
        };
        let engine = Engine::new(&settings, surface).unwrap();
        let file = "table.js".to_owned();
        let files = BTreeMap::from([(file.clone(), include_str!("table.js").to_owned())]);
        let folder = String::new();
        let source = ProgramSource { file, folder };
        let program = engine.load(&files, &source).unwrap();
        Self {
            engine,
            program,
            progress: Arc::default(),
        }
    }

    fn open(&self, limits: RunLimits) -> ProgramInstance {
        let (program, host) = (Arc::clone(&self.program), Arc::clone(&self.progress));
        self.engine.open(program, host, limits, None).unwrap()
    }

    async fn ask(&self, function: &str, number: u64) -> Json {
        let mut instance = self.open(RunLimits::default());
        let arguments = vec![Json::from(number).into()];
        let outcome = instance.call(function, arguments).await.unwrap();
        outcome.value.unwrap()
    }

    /// Calls from a number on, until the run is at its limit and its thread is free.
    async fn call(&self, from: u64, limits: RunLimits) -> Ended {
        let mut instance = self.open(limits);
        self.progress.0.store(from, Ordering::Relaxed);
        let result = instance.call("Call", vec![Json::from(from).into()]).await;
        while self.engine.counts().running > 0 {
            tokio::task::yield_now().await;
        }
        Ended {
            next: self.progress.0.load(Ordering::Relaxed),
            used: instance.used(),
            error: result.err(),
        }
    }
}

struct Ended {
    /// The number of the call behind the one that the run was in.
    next: u64,
    used: Duration,
    error: Option<Error>,
}

#[tokio::test]
async fn g116_no_built_in_function_keeps_its_thread_behind_the_limit() {
    let _alone = alone().await;
    let table = Table::new();
    let list = table.ask("List", 0).await;
    let names: BTreeSet<&str> = list["names"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    let missing = KNOWN.iter().filter(|name| !names.contains(*name));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(names.len() > LEAST, "{}", names.len());
    let limits = RunLimits {
        cpu: Duration::from_millis(70),
        ..RunLimits::default()
    };
    let (mut from, mut skipped, mut late) = (0, 0, Vec::new());
    loop {
        let ended = table.call(from, limits).await;
        let is_limit = matches!(ended.error, None | Some(Error::Limited { .. }));
        if !is_limit || ended.used > limits.cpu + BEHIND {
            let name = table.ask("Name", ended.next.max(1) - 1).await;
            late.push(format!("{name}: {:?}: {:?}", ended.used, ended.error));
        }
        if ended.error.is_none() {
            break;
        }
        // What a call needs could not be made within the limits.
        let is_skipped = ended.next == from;
        skipped += u64::from(is_skipped);
        from = ended.next + u64::from(is_skipped);
    }
    assert_eq!(late, Vec::<String>::new());
    let total = list["total"].as_u64().unwrap();
    assert!(skipped < total / 100, "{skipped} of {total}");
}
