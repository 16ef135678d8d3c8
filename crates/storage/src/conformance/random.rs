//! One script of random operations, on this driver and on the memory driver: equal answers, step by step.

mod script;
mod script_run;

use super::{ConformanceCase, TestStore};
use crate::driver::DriverOptions;
use crate::driver::memory::MemoryDriver;
use script_run::ScriptRun;
use std::sync::Arc;

pub(super) const CASES: &[ConformanceCase] = cases![
    g100_ten_thousand_random_operations_answer_as_in_memory,
    g100_random_operations_from_two_handles_answer_as_in_memory,
];

async fn g100_ten_thousand_random_operations_answer_as_in_memory(store: TestStore) {
    compare(&store, 0x5eed_0000_0001, 10_000, 1).await;
}

async fn g100_random_operations_from_two_handles_answer_as_in_memory(store: TestStore) {
    compare(&store, 0x5eed_0000_0002, 1_000, 2).await;
}

/// Runs the script on both, its steps spread over so many handles of the store.
async fn compare(store: &TestStore, seed: u64, operations: usize, handles: usize) {
    let options = DriverOptions {
        limits: store.fixture.limits(),
        ..DriverOptions::default()
    };
    let reference_clock = options.clock.clone();
    let mut reference = ScriptRun::new(reference_clock, Arc::new(MemoryDriver::new(options)));
    let mut drivers = Vec::new();
    for _ in 0..handles {
        drivers.push(store.fixture.open().await);
    }
    let mut run = ScriptRun::new(store.clock(), drivers[0].clone());
    for (number, step) in script::script(seed, operations).iter().enumerate() {
        let expected = reference.step(step).await;
        run.driver = drivers[number % handles].clone();
        let found = run.step(step).await;
        assert_eq!(
            found, expected,
            "step {number} answers otherwise than in memory: {step:?}"
        );
    }
}
