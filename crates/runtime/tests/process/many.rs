//! `All`, `Any` and `Race`.

use crate::place::value;
use serde_json::{Value, json};

const WORK: (&str, &str) = (
    "scripts/work.ts",
    "export const Say = (what: any) => what;
    export const Fail = (text: string) => { throw new Exception(text, 'own'); };
    export const Wait = (ms: number, what: any) => { time.Sleep(ms); return what; };
    export const After = (what: any) => { while (!Store('marks').Has('ticks')) time.Sleep(1); return what; };
    export const Never = () => { for (;;) { Store('marks').Incr('ticks'); time.Sleep(1); } };
    export const Ticks = () => { const before = Store('marks').Get('ticks'); time.Sleep(50); return [before > 0, Store('marks').Get('ticks') - before]; };
    let calls = 0;
    export const Count = (others: number) => {
        Store('marks').Push('counting', 1);
        while (Store('marks').ArrayLen('counting') < others) time.Sleep(1);
        return ++calls; };
    export const Meet = (others: number) => {
        const store = Store('marks'); store.Push('seen', store.Incr('now'));
        while (store.ArrayLen('seen') < others) time.Sleep(1);
        store.Decr('now'); };",
);

const MARKS: (&str, &str) = ("stores/marks.lru.yao", "{}");

async fn found(expression: &str) -> Value {
    value(&[WORK, MARKS], expression).await
}

#[tokio::test]
async fn all_waits_for_all_and_keeps_the_order() {
    let expression = "All([{process: 'scripts.work.Wait', args: [50, 'slow']}, {process: 'scripts.work.Say', args: [[1]]},
        {process: 'scripts.work.Fail', args: ['no']}, {process: 'scripts.nope.F'}, {process: 'scripts.work.Say'}])";
    let expected = json!([
        {"data": "slow", "error": null, "index": 0},
        {"data": [1], "error": null, "index": 1},
        {"data": null, "error": "no", "index": 2},
        {"data": null, "error": "process not found: scripts.nope.F", "index": 3},
        {"data": null, "error": null, "index": 4},
    ]);
    assert_eq!(found(expression).await, expected);
    assert_eq!(found("All([])").await, json!([]));
}

/// The others have begun, and do nothing any more.
fn cancelled() -> Value {
    json!([true, 0])
}

#[tokio::test]
async fn g133_any_returns_at_the_first_success_and_cancels_the_others() {
    let expression = "[Any([{process: 'scripts.work.Never'}, {process: 'scripts.work.Fail', args: ['no']}, {process: 'scripts.work.After', args: ['me']}]),
        Any([{process: 'scripts.work.Fail', args: ['a']}, {process: 'scripts.work.Fail', args: ['b']}]), Process('scripts.work.Ticks')]";
    let expected = json!([
        [null, {"data": null, "error": "no", "index": 1}, {"data": "me", "error": null, "index": 2}],
        [{"data": null, "error": "a", "index": 0}, {"data": null, "error": "b", "index": 1}],
        cancelled(),
    ]);
    assert_eq!(found(expression).await, expected);
}

#[tokio::test]
async fn g133_race_returns_at_the_first_end_and_cancels_the_others() {
    let expression = "[Race([{process: 'scripts.work.Never'}, {process: 'scripts.work.After', args: [1]}, {process: 'scripts.work.Never'}]),
        Process('scripts.work.Ticks'), Race([{process: 'scripts.work.Never'}, {process: 'scripts.nope.F'}])]";
    let expected = json!([
        [null, {"data": 1, "error": null, "index": 1}, null],
        cancelled(),
        [null, {"data": null, "error": "process not found: scripts.nope.F", "index": 1}],
    ]);
    assert_eq!(found(expression).await, expected);
}

#[tokio::test]
async fn each_has_its_own_time() {
    let expression = "All([{process: 'scripts.work.Never', timeout: 0.05}, {process: 'scripts.work.Wait', args: [20, 1], timeout: 30}])";
    let expected = json!([
        {"data": null, "error": "process scripts.work.Never timed out after 0.05s", "index": 0},
        {"data": 1, "error": null, "index": 1},
    ]);
    assert_eq!(found(expression).await, expected);
}

#[tokio::test]
async fn sixteen_run_at_once_and_more_than_64_are_refused() {
    let expression = "[All(Array.from({length: 64}, () => ({process: 'scripts.work.Meet', args: [16]}))).length, Math.max(...Store('marks').Get('seen')), Store('marks').Get('now')]";
    assert_eq!(found(expression).await, json!([64, 16, 0]));
    for name in ["All", "Any", "Race"] {
        let expression =
            format!("{name}(Array.from({{length: 65}}, () => ({{process: 'scripts.work.Say'}})))");
        assert_eq!(
            found(&expression).await,
            json!(["limit_exceeded", "at most 64 requests"])
        );
    }
}

#[tokio::test]
async fn what_runs_at_once_has_its_own_instance_and_the_first_is_kept() {
    let expression = "[All([0, 1, 2].map(() => ({process: 'scripts.work.Count', args: [3]}))).map((one: any) => one.data), Process('scripts.work.Count', 3)]";
    assert_eq!(found(expression).await, json!([[1, 1, 1], 2]));
}

#[tokio::test]
async fn wrong_requests_throw_before_anything_runs() {
    for (call, message) in [
        ("All()", "All requires a requests argument"),
        ("Any()", "Any requires a requests argument"),
        ("Race('x')", "requests must be a list"),
        (
            "All([{process: 'scripts.work.Never'}, {}])",
            "requests[1].process is required",
        ),
        (
            "All([{process: 'scripts.work.Say', args: 5}])",
            "requests[0].args must be a list",
        ),
        (
            "All([{process: 'scripts.work.Say', timeout: 0}])",
            "requests[0].timeout must be a number of seconds above 0",
        ),
    ] {
        assert_eq!(
            found(call).await,
            json!(["invalid_argument", message]),
            "{call}"
        );
    }
}
