//! What a script does in a runtime that has been restored behind thousands of others is what it does in one just made.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod generator;

use ambit_script::{
    Engine, EngineSettings, Error, Host, HostApi, HostCall, HostClass, HostError, HostMethod,
    HostObject, HostValue, Program, ProgramSource, RunLimits, RunOutcome, ScriptRun,
};
use futures::future::BoxFuture;
use generator::Templates;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const SCRIPTS: u64 = 10_000;
/// Each thread has one restored runtime, in which its scripts run one after another.
const THREADS: u64 = 4;

/// Answers at once or never, and calls back. An answer that comes later could come before or after a timer.
struct Boxes;

impl Host for Boxes {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            match call.method.as_str() {
                "never" => std::future::pending().await,
                "each" => return each(&call).await,
                "Box" => {
                    return Ok(HostValue::Object(HostObject {
                        class: "Box".to_owned(),
                        handle: json!(call.arguments),
                        members: vec![("size".to_owned(), json!(call.arguments.len()).into())],
                    }));
                }
                _ => {}
            }
            Ok(json!([call.method, call.handle, call.arguments, call.undefined]).into())
        })
    }
}

async fn each(call: &HostCall) -> Result<HostValue, HostError> {
    let mut answers = Vec::new();
    for (item, callback) in call.arguments[0]
        .as_array()
        .into_iter()
        .flatten()
        .zip(call.callbacks.iter().cycle())
    {
        let answer = callback.call(vec![item.clone()]).await;
        answers.push(answer.map_err(|_| HostError {
            from_callback: true,
            ..HostError::default()
        })?);
    }
    Ok(Json::Array(answers).into())
}

fn surface() -> HostApi {
    let globals = ["echo", "each", "Box"].map(HostMethod::new);
    let promised = ["later", "never"].map(HostMethod::promise);
    HostApi {
        classes: vec![HostClass {
            name: "Box".to_owned(),
            methods: vec![HostMethod::new("open")],
        }],
        globals: globals.into_iter().chain(promised).collect(),
        unavailable: vec!["FS".to_owned()],
    }
}

/// One thread, so that runs follow each other in the same runtime if it is restored. One that is not warm has no memory between
/// its runs.
fn engine(restore: bool, warm: usize) -> Engine {
    let settings = EngineSettings {
        threads: 1,
        warm,
        restore,
        ..EngineSettings::default()
    };
    Engine::new(&settings, surface()).unwrap()
}

fn load(engine: &Engine, text: String) -> Arc<Program> {
    let files = BTreeMap::from([
        ("index.ts".to_owned(), text),
        ("look.ts".to_owned(), include_str!("look.ts").to_owned()),
    ]);
    let source = ProgramSource {
        file: "index.ts".to_owned(),
        folder: String::new(),
    };
    engine.load(&files, &source).unwrap()
}

fn limits() -> RunLimits {
    RunLimits {
        cpu: Duration::from_millis(150),
        heap: 8 << 20,
        stack: 256 << 10,
        ..RunLimits::default()
    }
}

/// What a run comes to, apart from the time that it took.
async fn outcome(engine: &Engine, program: &Arc<Program>) -> Result<RunOutcome, Error> {
    let run = ScriptRun {
        program: Arc::clone(program),
        function: "Create".to_owned(),
        arguments: Vec::new(),
        host: Arc::new(Boxes),
        limits: limits(),
        within: None,
    };
    let outcome = engine.run(run).await?;
    Ok(RunOutcome {
        cpu: Duration::ZERO,
        ..outcome
    })
}

/// Runs every so many-th script in both runtimes; returns how many returned what they had seen.
async fn compare(first: u64) -> u64 {
    let warm = usize::from(first.is_multiple_of(2));
    let (restored, fresh) = (engine(true, warm), engine(false, warm));
    // What all scripts import is compiled once.
    let templates = Templates::read();
    let _look = load(&fresh, templates.script(0));
    let mut returned = 0;
    for number in (first..SCRIPTS).step_by(THREADS as usize) {
        let text = templates.script(number);
        let program = load(&fresh, text.clone());
        let expected = outcome(&fresh, &program).await;
        let found = outcome(&restored, &program).await;
        assert_eq!(found, expected, "script {number}:\n{text}");
        assert!(
            !matches!(found, Err(Error::Internal(_))),
            "script {number}: {found:?}\n{text}"
        );
        let is_seen = |outcome: &RunOutcome| outcome.value.as_ref().is_some_and(Json::is_array);
        returned += u64::from(found.as_ref().is_ok_and(is_seen));
    }
    returned
}

#[test]
fn generated_scripts_do_the_same_in_restored_and_in_fresh_runtimes() {
    let run = |first| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.unwrap().block_on(compare(first))
    };
    let threads = (0..THREADS).map(|first| std::thread::spawn(move || run(first)));
    let threads: Vec<_> = threads.collect();
    let returned: u64 = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    // Most get as far as to say what they have seen.
    assert!(returned > SCRIPTS * 7 / 10, "{returned}");
}
