//! The ways in which a run does not end by itself.

use crate::run_tally::RunTally;
use crate::watch::{AFTER, Code, Stage, alone};
use ambit_script::RunLimits;
use std::time::Duration;

const CPU: Duration = Duration::from_millis(200);
const WALL: Duration = Duration::from_millis(500);

/// Short of processor time, with more than enough time even on a busy machine.
fn busy() -> RunLimits {
    RunLimits {
        cpu: CPU,
        ..RunLimits::default()
    }
}

/// The script ends for this reason, no later than it should by its limits and within this time, while others go on.
async fn assert_ends(body: &str, limits: RunLimits, code: Code, within: Duration) {
    let _alone = alone().await;
    let mut runs = RunTally::new();
    while runs.is_open() {
        let ended = Stage::new().run(body, limits).await;
        assert_eq!(ended.code(), code, "{ended:?}");
        let is_early = code == Code::Cpu && ended.used < limits.cpu;
        assert!(!is_early, "{ended:?}");
        let is_late = ended.used > limits.cpu + AFTER || ended.took > within + AFTER;
        let is_good = !is_late && ended.others > 0;
        runs.count(ended, is_good);
    }
}

/// It ends when it has used its processor time up. How long that takes is the machine's business.
async fn assert_ends_at_its_processor_time(body: &str) {
    let limits = busy();
    assert_ends(body, limits, Code::Cpu, limits.wall).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_an_endless_loop_ends_at_its_processor_time_while_others_go_on() {
    assert_ends_at_its_processor_time("for (;;) {}").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_an_endless_built_in_ends_at_its_processor_time_while_others_go_on() {
    let body = "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);";
    assert_ends_at_its_processor_time(body).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_a_built_in_that_cannot_be_stopped_is_given_up_at_its_processor_time() {
    // It never lets others have its thread: only the machine can have kept it waiting.
    assert_ends(
        "return String(3n ** 600000n).length;",
        busy(),
        Code::Cpu,
        CPU,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_a_promise_that_never_settles_ends_at_its_time_while_others_go_on() {
    let limits = RunLimits {
        wall: WALL,
        ..RunLimits::default()
    };
    assert_ends("return never();", limits, Code::Wall, WALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g117_a_heap_bomb_ends_at_its_memory_while_others_go_on() {
    let body = "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length);";
    let limits = RunLimits {
        heap: 64 << 20,
        ..RunLimits::default()
    };
    assert_ends(body, limits, Code::Heap, limits.wall).await;
}
