//! Calls that run beside the script, and runs beside each other; what becomes of them when a run ends.

use crate::pets::{Pets, pets, surface};
use crate::support::{ENTRY, create, engine_of, hosted, message, program};
use ambit_script::{
    Engine, EngineSettings, Host, HostApi, HostCall, HostError, HostMethod, HostValue, ScriptRun,
};
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

#[tokio::test]
async fn promised_calls_run_side_by_side_and_do_not_block() {
    let text = "export async function Create() {
        const order: unknown[] = [];
        const slow = waits().then(() => order.push('slow'));
        order.push('first'); late(1); order.push('second');
        await later(1); order.push('fast'); await lets(); await slow; return order; }";
    assert_eq!(pets(text).await, json!(["first", "second", "fast", "slow"]));
}

#[tokio::test]
async fn functions_given_to_a_promised_call_run_while_it_is_under_way() {
    let text = "export async function Create() {
        const seen: unknown[] = [];
        const once = (items: number[]) => eachLater(items, { onChunk: (item: number) => { seen.push(item); return item === 2 ? echo(item).arguments : item * 10; } });
        const both = [once([1, 2]), once([3])];
        seen.push('first'); late(1); seen.push('second');
        return [await Promise.all(both), seen.slice(0, 2), seen.slice(2).sort()]; }";
    let expected = json!([[[10, [2]], [30]], ["first", "second"], [1, 2, 3]]);
    assert_eq!(pets(text).await, expected);
}

#[tokio::test]
async fn what_a_callback_of_a_promised_call_throws_rejects_its_promise() {
    let text = "export async function Create() {
        const mine = new TypeError('mine');
        const soft = await eachLater([1], () => { throw new Error('carry on'); });
        try { await eachLater([1, 2], () => { throw mine; }); } catch (e) { return [soft, e === mine]; } }";
    let soft = json!([format!("Error: carry on ({ENTRY}:3:61)")]);
    assert_eq!(pets(text).await, json!([soft, true]));
}

#[tokio::test]
async fn work_left_over_is_dropped_and_counted() {
    let text = "export function Create() { never(); setTimeout(() => {}, 10_000); return 1; }";
    let outcome = hosted(surface(), Pets::new(), text, vec![]).await.unwrap();
    assert_eq!((outcome.value, outcome.dropped), (Some(json!(1)), 2));
}

#[tokio::test]
async fn a_promise_that_nothing_can_settle_fails_the_run() {
    let text = "export async function Create() { await new Promise(() => {}); }";
    let error = message(hosted(surface(), Pets::new(), text, vec![]).await);
    assert_eq!(error, "Create returned a promise that never settles");
}

#[tokio::test]
async fn g013_two_interleaved_runs_on_one_engine_see_their_own_host() {
    struct Named(&'static str);
    impl Host for Named {
        fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move {
                tokio::task::yield_now().await;
                Ok(json!(self.0).into())
            })
        }
    }
    let engine = engine_of(surface());
    let program = program(
        &engine,
        "export function Create() { const seen = new Set(); for (let i = 0; i < 200; i++) seen.add(echo()); return [...seen]; }",
    );
    let runs = ["a", "b", "c", "d"].map(|name| {
        let host = Arc::new(Named(name));
        engine.run(ScriptRun {
            host,
            ..create(&program)
        })
    });
    let values = futures::future::join_all(runs).await;
    let values: Vec<_> = values
        .into_iter()
        .map(|outcome| outcome.unwrap().value.unwrap())
        .collect();
    assert_eq!(
        values,
        [json!(["a"]), json!(["b"]), json!(["c"]), json!(["d"])]
    );
}

#[tokio::test]
async fn cancelling_a_run_cancels_its_host_call_and_its_code() {
    struct Watched(Arc<Notify>, Arc<Notify>);
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    impl Host for Watched {
        fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move {
                assert_eq!(
                    call.method, "never",
                    "nothing runs after the call that was cancelled"
                );
                let _dropped = Dropped(Arc::clone(&self.1));
                self.0.notify_one();
                std::future::pending().await
            })
        }
    }
    let (called, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let text = "export async function Create() { for (;;) { try { await never(); } catch {} finally { echo(); } } }";
    let host = Watched(Arc::clone(&called), Arc::clone(&dropped));
    let run = hosted(surface(), host, text, vec![]);
    tokio::select! {
        _ = run => panic!("it cannot end"),
        () = called.notified() => {}
    }
    dropped.notified().await;
}

#[tokio::test]
async fn a_call_that_a_script_waits_for_is_asked_twice_on_a_thread_for_scripts() {
    struct Asked;
    impl Host for Asked {
        fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move {
                let is_for_scripts = || thread::current().name() == Some("script");
                let first = is_for_scripts();
                tokio::task::yield_now().await;
                let second = is_for_scripts();
                tokio::task::yield_now().await;
                Ok(json!([first, second, is_for_scripts()]).into())
            })
        }
    }
    let surface = HostApi {
        globals: vec![HostMethod::new("ask"), HostMethod::promise("askLater")],
        ..HostApi::default()
    };
    let text = "export async function Create() { return [ask(), await askLater()]; }";
    let outcome = hosted(surface, Asked, text, vec![]).await.unwrap();
    // What a promise stands for goes on while the script does.
    let expected = json!([[true, true, false], [true, false, false]]);
    assert_eq!(outcome.value, Some(expected));
}

/// A host whose calls are all answered at once.
struct Ready {
    /// Calls of `hold` that have begun.
    holds: Notify,
    /// Lets such a call end.
    others_wait: Mutex<mpsc::Receiver<()>>,
    held: OnceLock<ThreadId>,
    marked: OnceLock<ThreadId>,
}

impl Host for Ready {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            let failed = HostError::default;
            match call.method.as_str() {
                "mark" => _ = self.marked.set(thread::current().id()),
                "isMarked" => return Ok(json!(self.marked.get().is_some()).into()),
                _ => {
                    _ = self.held.set(thread::current().id());
                    let start = Instant::now();
                    self.holds.notify_one();
                    let others_wait = self.others_wait.lock().map_err(|_| failed())?;
                    others_wait.recv().map_err(|_| failed())?;
                    // Longer than a run may keep its thread while others wait.
                    while start.elapsed() < Duration::from_millis(6) {
                        std::hint::spin_loop();
                    }
                }
            }
            Ok(HostValue::Undefined)
        })
    }
}

#[tokio::test]
async fn calls_that_are_answered_at_once_let_others_have_the_thread() {
    let names = ["hold", "mark", "isMarked"];
    let surface = HostApi {
        globals: names.into_iter().map(HostMethod::new).collect(),
        ..HostApi::default()
    };
    let settings = EngineSettings {
        threads: 1,
        ..EngineSettings::default()
    };
    let engine = Engine::new(&settings, surface).unwrap();
    let holds = "export function Create() { hold(); return isMarked(); }";
    let holds = program(&engine, holds);
    let marks = program(&engine, "export function Create() { mark(); }");
    loop {
        let (go_on, others_wait) = mpsc::channel();
        let host = Arc::new(Ready {
            holds: Notify::new(),
            others_wait: Mutex::new(others_wait),
            held: OnceLock::new(),
            marked: OnceLock::new(),
        });
        let run = |program| ScriptRun {
            host: Arc::clone(&host) as Arc<dyn Host>,
            ..create(program)
        };
        let first = tokio::spawn({
            let (engine, run) = (engine.clone(), run(&holds));
            async move { engine.run(run).await }
        });
        host.holds.notified().await;
        let (second, ()) = futures::join!(engine.run(run(&marks)), async {
            go_on.send(()).unwrap();
        });
        second.unwrap();
        let first = first.await.unwrap().unwrap();
        // On a busy machine the second had a thread that was lent; then the first gave nothing up.
        if host.held.get() == host.marked.get() {
            assert_eq!(first.value, Some(json!(true)));
            return;
        }
    }
}
