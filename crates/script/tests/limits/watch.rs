//! Runs a script while small ones run beside it, and says when and how it ended.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up has failed"
)]

use ambit_script::{
    Engine, EngineSettings, Error, Host, HostApi, HostCall, HostError, HostMethod, HostValue,
    Program, ProgramSource, RunLimits, RunOutcome, ScriptRun,
};
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

/// How long after its limit a run ends at the latest.
pub const AFTER: Duration = Duration::from_millis(250);
/// In this time, if the machine grants it, some of the small scripts must have run.
const TURN: Duration = Duration::from_millis(300);

/// The tests of this process run one after another.
pub async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    ONE.lock().await
}

/// The limit that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Cpu,
    Wall,
    Heap,
    None,
}

/// The limit that ended the run of this result.
pub fn code_of(result: &Result<RunOutcome, Error>) -> Code {
    match result {
        Err(Error::Limited { code, .. }) => match *code {
            "script_cpu_limit" => Code::Cpu,
            "script_timeout" => Code::Wall,
            "script_out_of_memory" => Code::Heap,
            _ => Code::None,
        },
        _ => Code::None,
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub result: Result<RunOutcome, Error>,
    /// From its start, without the time for which the machine kept it from a processor.
    pub took: Duration,
    /// Its processor time.
    pub used: Duration,
    /// Small scripts that ran meanwhile.
    pub others: usize,
}

impl Ended {
    pub fn code(&self) -> Code {
        code_of(&self.result)
    }

    /// True if others had time but did not run.
    pub fn is_alone(&self) -> bool {
        self.took > TURN && self.others == 0
    }
}

/// An engine, and small scripts that run in it one after another until this is dropped.
pub struct Stage {
    engine: Engine,
    count: Arc<AtomicUsize>,
    others: JoinHandle<()>,
}

/// Never answers.
struct Never;

impl Host for Never {
    fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move { std::future::pending().await })
    }
}

impl Stage {
    pub fn new() -> Self {
        let settings = EngineSettings {
            threads: 2,
            ..EngineSettings::default()
        };
        let surface = HostApi {
            globals: vec![HostMethod::promise("never")],
            ..HostApi::default()
        };
        let engine = Engine::new(&settings, surface).expect("an engine starts");
        let small = program(&engine, "return [1, 2, 3].map(x => x * 2);");
        let count = Arc::new(AtomicUsize::new(0));
        let (runs, counted) = (engine.clone(), Arc::clone(&count));
        let others = tokio::spawn(async move {
            loop {
                let run = ScriptRun {
                    program: Arc::clone(&small),
                    function: "Create".to_owned(),
                    arguments: Vec::new(),
                    host: Arc::new(Never),
                    limits: RunLimits::default(),
                    within: None,
                };
                if runs.run(run).await.is_ok() {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self {
            engine,
            count,
            others,
        }
    }

    /// Runs the body of a function.
    pub async fn run(&self, body: &str, limits: RunLimits) -> Ended {
        let program = program(&self.engine, body);
        let before = self.count.load(Ordering::Relaxed);
        let (waiting, start) = (waits(), Instant::now());
        let opened = self.engine.open(program, Arc::new(Never), limits, None);
        let mut instance = opened.expect("an instance is made");
        let result = instance.call("Create", Vec::new()).await;
        let took = start.elapsed();
        Ended {
            result,
            took: took.saturating_sub(waited(&waiting)),
            used: instance.used(),
            others: self.count.load(Ordering::Relaxed) - before,
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.others.abort();
    }
}

fn program(engine: &Engine, body: &str) -> Arc<Program> {
    let file = "index.ts".to_owned();
    let text = format!("export function Create(): any {{ {body} }}");
    let files = BTreeMap::from([(file.clone(), text)]);
    let folder = String::new();
    engine
        .load(&files, &ProgramSource { file, folder })
        .expect("the program loads")
}

/// For each thread of this process, its name and how long it has been ready but had no processor. Empty where the system
/// does not say.
fn waits() -> BTreeMap<PathBuf, (String, Duration)> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return BTreeMap::new();
    };
    let waits = threads.filter_map(|thread| {
        let path = thread.ok()?.path();
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        let nanos = text.split(' ').nth(1)?.parse().ok()?;
        Some((path, (name, Duration::from_nanos(nanos))))
    });
    waits.collect()
}

/// How long they have waited since, as far as one run had to wait with them: it is on any of the engine's threads in turn, and
/// one other waits for its answer.
fn waited(before: &BTreeMap<PathBuf, (String, Duration)>) -> Duration {
    let after = waits();
    let since = |of_engine: bool| {
        let before = &before;
        let same = after
            .iter()
            .filter(move |(_, (name, _))| (name.trim() == "script") == of_engine);
        same.map(move |(path, (_, now))| {
            let earlier = before.get(path).map(|(_, time)| *time);
            now.saturating_sub(earlier.unwrap_or_default())
        })
    };
    since(true).sum::<Duration>() + since(false).max().unwrap_or_default()
}
