//! The ways in which a run does not end by itself.

use crate::watch::{AFTER, Code, Ended, Stage, alone};
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

/// Runs a script, up to three times as long as it is late: one that is late by itself is so each time, but the machine may also
/// keep a thread from its processor.
async fn ended(body: &str, limits: RunLimits, is_late: fn(&Ended) -> bool) -> Ended {
    let _alone = alone().await;
    for _ in 0..2 {
        let ended = Stage::new().run(body, limits).await;
        if !is_late(&ended) && ended.others > 0 {
            return ended;
        }
    }
    Stage::new().run(body, limits).await
}

/// True behind the end of its processor time.
fn has_used_more(ended: &Ended) -> bool {
    ended.used > CPU + AFTER
}

/// The run ended for its processor time, when it had used it up and not much later, and others ran. How long that took is
/// the machine's business.
fn assert_ended_at_its_processor_time(ended: &Ended) {
    assert_eq!(ended.code(), Code::Cpu, "{ended:?}");
    assert!(ended.used >= CPU && ended.used <= CPU + AFTER, "{ended:?}");
    assert!(ended.others > 0, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_an_endless_loop_ends_at_its_processor_time_while_others_go_on() {
    assert_ended_at_its_processor_time(&ended("for (;;) {}", busy(), has_used_more).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_an_endless_built_in_ends_at_its_processor_time_while_others_go_on() {
    let body = "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);";
    assert_ended_at_its_processor_time(&ended(body, busy(), has_used_more).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_a_built_in_that_cannot_be_stopped_is_given_up_at_its_processor_time() {
    let body = "return String(3n ** 600000n).length;";
    let ended = ended(body, busy(), |ended| ended.took > CPU + AFTER).await;
    assert_ended_at_its_processor_time(&ended);
    // It never lets others have its thread: only the machine can have kept it waiting.
    assert!(ended.took <= CPU + AFTER, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_a_promise_that_never_settles_ends_at_its_time_while_others_go_on() {
    let limits = RunLimits {
        wall: WALL,
        ..RunLimits::default()
    };
    let ended = ended("return never();", limits, |ended| ended.took > WALL + AFTER).await;
    assert_eq!(ended.code(), Code::Wall, "{ended:?}");
    assert!(ended.took <= WALL + AFTER, "{ended:?}");
    assert!(ended.others > 0, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g117_a_heap_bomb_ends_at_its_memory_while_others_go_on() {
    let body = "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length);";
    let limits = RunLimits {
        heap: 64 << 20,
        ..RunLimits::default()
    };
    let is_late = |ended: &Ended| ended.used > RunLimits::default().cpu + AFTER;
    let ended = ended(body, limits, is_late).await;
    assert_eq!(ended.code(), Code::Heap, "{ended:?}");
    assert!(ended.used <= limits.cpu + AFTER, "{ended:?}");
    assert!(ended.others > 0, "{ended:?}");
}
