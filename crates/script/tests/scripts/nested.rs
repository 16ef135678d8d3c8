//! Runs within runs.

use crate::support::{ENTRY, create, engine_of, program};
use ambit_script::{
    Engine, Error, Host, HostApi, HostCall, HostError, HostMethod, HostValue, Program, RunLimits,
    RunOutcome, ScriptRun,
};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Runs a function of the same program for a script, within its run.
struct Within {
    engine: OnceLock<(Weak<Engine>, Arc<Program>)>,
    own: OnceLock<Weak<Self>>,
}

impl Host for Within {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            let host = self.own.get().and_then(Weak::upgrade);
            let setting = self
                .engine
                .get()
                .and_then(|(engine, program)| Some((engine.upgrade()?, program)));
            let (Some(host), Some((engine, program))) = (host, setting) else {
                return Err(HostError::default());
            };
            let mut arguments = call.arguments;
            let run = ScriptRun {
                function: arguments.remove(0).as_str().unwrap_or_default().to_owned(),
                arguments: arguments.into_iter().map(HostValue::Json).collect(),
                host,
                within: Some(call.run),
                ..create(program)
            };
            match engine.run(run).await {
                Ok(outcome) => Ok(outcome.value.unwrap_or_default().into()),
                Err(error) => Err(HostError::new("nested", error.to_string())),
            }
        })
    }
}

async fn nested(text: &str, limits: RunLimits) -> Result<RunOutcome, Error> {
    let surface = HostApi {
        globals: vec![HostMethod::new("Process"), HostMethod::promise("Start")],
        ..HostApi::default()
    };
    let engine = Arc::new(engine_of(surface));
    let program = program(&engine, text);
    let host = Arc::new(Within {
        engine: OnceLock::new(),
        own: OnceLock::new(),
    });
    // They cannot be set already.
    let _ = host
        .engine
        .set((Arc::downgrade(&engine), Arc::clone(&program)));
    let _ = host.own.set(Arc::downgrade(&host));
    let run = ScriptRun {
        host,
        limits,
        ..create(&program)
    };
    engine.run(run).await
}

fn limit(code: &'static str, text: &str) -> Result<RunOutcome, Error> {
    Err(Error::Limited {
        code,
        message: format!("{ENTRY} Create: {text}"),
    })
}

#[tokio::test]
async fn runs_within_runs_have_their_own_state_and_go_deep() {
    let text = "let n = 0; export const Create = (depth: number): unknown => Sum(32);
        export function Sum(depth: number): number { n++; if (n > 1) throw new Error('state is shared'); return depth === 0 ? 0 : depth + Process('Sum', depth - 1); }";
    let value = nested(text, RunLimits::default())
        .await
        .map(|outcome| outcome.value);
    assert_eq!(value, Ok(Some(json!(32 * 33 / 2))));
}

#[tokio::test]
async fn the_thirty_third_run_within_a_run_is_refused() {
    let text = "export const Create = () => Deep(0);
        export function Deep(n: number): unknown { try { return Process('Deep', n + 1); } catch (e: any) { return [n, e.message]; } }";
    let value = nested(text, RunLimits::default())
        .await
        .map(|outcome| outcome.value);
    let refused = json!([32, "process depth limit 32 exceeded"]);
    assert_eq!(value, Ok(Some(refused)));
}

#[tokio::test]
async fn processor_time_within_a_run_is_the_runs() {
    let text = "export function Create() { for (;;) { try { Process('Work'); } catch {} } }
        export function Work() { for (let i = 0; i < 1e6; i++); }";
    let limits = RunLimits {
        cpu: Duration::from_millis(300),
        wall: Duration::from_secs(120),
        ..RunLimits::default()
    };
    assert_eq!(
        nested(text, limits).await,
        limit("script_cpu_limit", "script used more than 0.3s of CPU")
    );
}

#[tokio::test]
async fn memory_within_a_run_is_the_runs_while_it_lasts() {
    // Those that are started together last so long that they meet on a busy machine too.
    let text = "export async function Create() { for (let i = 0; i < 20; i++) Process('Fill', 2, 1);
        return Promise.all([1, 2, 3, 4].map(() => Start('Fill', 2, 5_000))); }
        export async function Fill(mib: number, wait: number) {
            const kept = 'x'.repeat(mib << 20); await new Promise(r => setTimeout(r, wait)); return kept.length; }";
    let small = RunLimits {
        heap: 6 << 20,
        ..RunLimits::default()
    };
    assert_eq!(
        nested(text, small).await,
        limit("script_out_of_memory", "script used more than 6 MiB")
    );
    let sizes: Json = json!([2 << 20, 2 << 20, 2 << 20, 2 << 20]);
    let value = nested(text, RunLimits::default())
        .await
        .map(|outcome| outcome.value);
    assert_eq!(value, Ok(Some(sizes)));
}

#[tokio::test]
async fn the_end_of_a_run_within_is_the_end_of_its_time() {
    let text =
        "export const Create = () => { try { Process('Wait'); } catch (e) { return 'caught'; } };
        export const Wait = () => new Promise(r => setTimeout(r, 60_000));";
    let limits = RunLimits {
        wall: Duration::from_millis(500),
        ..RunLimits::default()
    };
    assert_eq!(
        nested(text, limits).await,
        limit("script_timeout", "script ran longer than 0.5s")
    );
}
