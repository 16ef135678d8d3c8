//! `time.After`.

use crate::place::{person, place, value};
use serde_json::json;

const FILES: [(&str, &str); 2] = [
    ("stores/marks.lru.yao", "{}"),
    (
        "scripts/mark.ts",
        "let n = 0;
        export const Add = (what: any) => Store('marks').Push('all', [[what, ++n]]);
        export const Again = (times: number) => { Store('marks').Push('all', times); if (times) time.After(0, 'scripts.mark.Again', times - 1); };
        export const Fail = () => { throw new Error('too late'); };",
    ),
];

/// Waits, without letting timers of the script itself run, until so many marks are there.
const UNTIL: &str = "const until = (n: number) => { while ((Store('marks').Get('all') ?? []).length < n) time.Sleep(5); };";

#[tokio::test]
async fn a_process_runs_later_in_the_same_run_whatever_the_run_does() {
    // The script may still be busy with its second call when the third one comes, which then has an instance of its own.
    let expression = format!(
        "(() => {{ {UNTIL} const set = [time.After(5_000, 'scripts.mark.Add', 'b'), time.After(1, 'scripts.mark.Add', 'a')];
        until(2); Process('scripts.mark.Add', 'c'); const [a, b, c] = Store('marks').Get('all'); return [set, a, b, c[0]]; }})()"
    );
    let expected = json!([[null, null], ["a", 1], ["b", 2], "c"]);
    assert_eq!(value(&FILES, &expression).await, expected);
}

#[tokio::test]
async fn one_timer_after_another_is_not_one_process_within_another() {
    let expression = format!(
        "(() => {{ {UNTIL} Process('scripts.mark.Again', 50); until(51); return Store('marks').Get('all')[50]; }})()"
    );
    assert_eq!(value(&FILES, &expression).await, json!(0));
}

#[tokio::test]
async fn it_is_dropped_when_the_run_ends_and_a_failure_of_it_is_not_the_runs() {
    let expression = format!(
        "(() => {{ {UNTIL} time.After(0, 'scripts.mark.Fail'); time.After(1, 'scripts.mark.Add', 'a'); time.After(8_000, 'scripts.mark.Add', 'dropped');
        until(1); const all = Store('marks').Get('all'); Store('marks').Clear(); return all; }})()"
    );
    let place = place(&FILES, &expression).await;
    assert_eq!(place.answer(&person("ann")).await, json!([["a", 1]]));
    let expression = "(() => { time.Sleep(8_500); return Store('marks').Get('all'); })()";
    let hooks = place.app.path().join("assistants/hello/src/index.ts");
    let text =
        format!("export function Next() {{ return {{ data: {{ value: {expression} }} }}; }}");
    std::fs::write(hooks, text).unwrap();
    place.runtime.reload().await.unwrap();
    assert_eq!(place.answer(&person("ann")).await, json!(null));
}

#[tokio::test]
async fn wrong_calls_throw_at_once_and_timers_are_counted() {
    for (call, code, message) in [
        (
            "time.After(1)",
            "invalid_argument",
            "time.After requires milliseconds and process arguments",
        ),
        (
            "time.After('x', 'scripts.mark.Add')",
            "invalid_argument",
            "ms must be a number of milliseconds, 0 or more",
        ),
        (
            "time.After(1, 5)",
            "invalid_argument",
            "process must be a string",
        ),
        (
            "time.After(1, 'scripts.mark.Ad')",
            "not_found",
            "process not found: scripts.mark.Ad (did you mean \"scripts.mark.Add\"?)",
        ),
        (
            "time.After(1, 'crypto.Hash')",
            "permission_denied",
            "permission_denied: process crypto.Hash",
        ),
    ] {
        assert_eq!(value(&FILES, call).await, json!([code, message]), "{call}");
    }
    let expression =
        "(() => { for (let i = 0; i < 1001; i++) time.After(60_000, 'scripts.mark.Add'); })()";
    let expected = json!(["limit_exceeded", "at most 1000 timers at once"]);
    assert_eq!(value(&FILES, expression).await, expected);
}
