//! Turns whose process dies, and turns of two nodes: each case on every store that processes can share.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed assumption fails its case"
)]

#[path = "../../../storage/tests/support/child.rs"]
mod child;

mod added;
mod answers;
mod app;
mod calls;
#[expect(dead_code, reason = "the tests of turns use all of it")]
#[path = "../support/collector.rs"]
mod collector;
mod manifests;
mod nodes;
mod points;
mod processes;
mod restarts;
mod served;
#[path = "../support/stopwatch.rs"]
mod stopwatch;
mod store;
#[path = "../support/stores.rs"]
mod stores;
mod superseded;
mod telemetry;
mod tools;
mod turns;
mod usage;
mod worker;

use futures::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Trial};
use std::time::Duration;
use store::{Fresh, STORES};

/// A case: what it is called, and what it does with a fresh store.
pub type Case = (&'static str, fn(Fresh) -> LocalBoxFuture<'static, ()>);

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub const CASES: &[crate::Case] = &[$((stringify!($name), |fresh| Box::pin($name(fresh)))),*];
    };
}
pub(crate) use cases;

/// Cases that run at once.
const AT_ONCE: usize = 12;
/// No case takes longer than this, be it one of ten nodes beside as many others on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() {
    if worker::obey() {
        return;
    }
    let tables = [
        points::CASES,
        restarts::CASES,
        nodes::CASES,
        added::CASES,
        answers::CASES,
        calls::CASES,
        manifests::CASES,
        processes::CASES,
        served::CASES,
        superseded::CASES,
        telemetry::CASES,
        usage::CASES,
    ];
    let mut trials = Vec::new();
    for store in STORES {
        for (name, run) in tables.iter().flat_map(|table| table.iter()) {
            let trial = Trial::test(format!("{}::{name}", store.name), move || {
                let case =
                    async move { tokio::time::timeout(PATIENCE, run(Fresh::new(store))).await };
                wait_for(case).map_err(|_| "the case does not end".into())
            });
            trials.push(trial.with_ignored_flag((store.place)().is_none()));
        }
    }
    let mut arguments = Arguments::from_args();
    // Most of a case is waiting for a lease to end.
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Each case and each worker has a runtime of its own, so that what it spawned ends with it. A case that waits for a worker without
/// end leaves it behind.
fn wait_for<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(5));
    done
}
