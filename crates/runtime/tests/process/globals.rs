//! The globals of scripts, each row once: they are the same in a process as in a hook.

use crate::place::value;
use serde_json::{Value, json};

/// What each row of the contract's table does, in short.
const ROWS: &[(&str, &str, &str)] = &[
    (
        "Process",
        "Process('scripts.rows.Echo', 1, 'a')",
        r#"[1, "a"]"#,
    ),
    (
        "All",
        "All([{process: 'scripts.rows.Echo', args: [1]}])",
        r#"[{"data": [1], "error": null, "index": 0}]"#,
    ),
    (
        "Any",
        "Any([{process: 'scripts.rows.Echo', args: [1]}])",
        r#"[{"data": [1], "error": null, "index": 0}]"#,
    ),
    (
        "Race",
        "Race([{process: 'scripts.rows.Echo', args: [1]}])",
        r#"[{"data": [1], "error": null, "index": 0}]"#,
    ),
    (
        "console",
        "[console.log({a: 1}), console.info(1), console.warn(1), console.error(1), console.debug(1)].length",
        "5",
    ),
    (
        "log",
        "[log.Trace('a %s', 1), log.Debug(1), log.Info(1), log.Warn(1), log.Error(1)].length",
        "5",
    ),
    (
        "log.Fatal",
        "(() => { try { log.Fatal('no %d', 3); } catch (e: any) { return e.message; } })()",
        r#""no 3""#,
    ),
    (
        "$L",
        "[$L('::hello'), $L('unknown text')]",
        r#"["Hi", "unknown text"]"#,
    ),
    (
        "Exception",
        "[new Exception('a', 404), (Exception as any)('b', 'own')].map((e: any) => [e.message, e.code, e.status ?? null, e instanceof Error, e instanceof Exception])",
        r#"[["a", 404, 404, true, true], ["b", "own", null, true, true]]"#,
    ),
    ("Authorized", "Authorized()", r#"{"user_id": "ann"}"#),
    (
        "Store",
        "(Store('s').Set('k', 1, 60), Store('s').Get('k'))",
        "1",
    ),
    (
        "http",
        "(() => { const { status, code } = http.Get('https://example.com'); return [status, code]; })()",
        "[0, 403]",
    ),
    (
        "fetch",
        "await fetch('https://example.com').catch((e: any) => [e.name, e.message])",
        r#"["TypeError", "host \"example.com\" is not allowed"]"#,
    ),
    (
        "time.Sleep",
        "(() => { const t = Date.now(); time.Sleep(10); return Date.now() - t >= 9; })()",
        "true",
    ),
    (
        "time.After",
        "[time.After(60_000, 'scripts.rows.Echo')]",
        "[null]",
    ),
    (
        "timers",
        "await new Promise(r => { clearTimeout(setTimeout(r, 0, 'no')); const i = setInterval(() => { clearInterval(i); queueMicrotask(() => r('yes')); }, 1); })",
        r#""yes""#,
    ),
    (
        "URL",
        "[new URL('/b?c=1', 'https://a.org').href, new URLSearchParams('a=1').get('a')]",
        r#"["https://a.org/b?c=1", "1"]"#,
    ),
    (
        "text",
        "[new TextDecoder().decode(new TextEncoder().encode('é')), structuredClone({a: [1]}), atob(btoa('x')), crypto.randomUUID().length]",
        r#"["é", {"a": [1]}, "x", 36]"#,
    ),
    (
        "Context",
        "(() => { const made = new Context({locale: 'de-de'}); const found = [made.locale, made.authorized.user_id]; made.Release(); return found; })()",
        r#"["de-de", "ann"]"#,
    ),
    (
        "unavailable",
        "['FS', 'WebSocket', 'Use', 'Eval', 'Plan', 'Job', 'Studio'].map(name => { try { (globalThis as any)[name](); } catch (e: any) { return e.message; } })",
        r#"["FS is not available in Ambit", "WebSocket is not available in Ambit", "Use is not available in Ambit", "Eval is not available in Ambit", "Plan is not available in Ambit", "Job is not available in Ambit", "Studio is not available in Ambit"]"#,
    ),
    (
        "absent",
        "['require', 'process', 'Buffer', 'Deno', 'WebAssembly', 'SharedArrayBuffer', '__yao_data'].map(name => typeof (globalThis as any)[name])",
        r#"["undefined", "undefined", "undefined", "undefined", "undefined", "undefined", "undefined"]"#,
    ),
];

#[tokio::test]
async fn every_row_does_the_same_in_a_hook_and_in_a_process() {
    let cases = ROWS
        .iter()
        .map(|(name, expression, _)| format!("'{name}': async () => ({expression})"));
    let cases = cases.collect::<Vec<_>>().join(",\n");
    let rows = format!(
        "export const Echo = (...all: any[]) => all;
        const cases: Record<string, () => Promise<any>> = {{ {cases} }};
        export async function Every() {{ const found: any = {{}}; for (const name in cases) {{ try {{ found[name] = await cases[name](); }} catch (e: any) {{ found[name] = ['threw', e.message]; }} }} return found; }}"
    );
    let files = [
        ("scripts/rows.ts", rows.as_str()),
        ("stores/s.lru.yao", "{}"),
        ("assistants/hello/locales/en-us.yml", "hello: Hi\n"),
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"paths": {"@scripts/*": ["./scripts/*"]}}}"#,
        ),
    ];
    let expected: Value = ROWS
        .iter()
        .map(|(name, _, expected)| ((*name).to_owned(), serde_json::from_str(expected).unwrap()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let found = value(&files, "Process('scripts.rows.Every')").await;
    assert_eq!(found, expected, "in a process");
    let hook = "import { Every } from '@scripts/rows'; export const Next = async () => ({ data: { value: await Every() } });";
    let in_a_hook = [&files[..], &[("assistants/hello/src/index.ts", hook)]].concat();
    let found = value(&in_a_hook, "").await;
    assert_eq!(found, expected, "in a hook");
}

#[tokio::test]
async fn a_script_sees_json_of_what_it_is_given() {
    let found = value(
        &[(
            "scripts/e.ts",
            "export const Echo = (...all: any[]) => all;",
        )],
        "Process('scripts.e.Echo', () => 1, NaN, new Date(0), undefined, {a: undefined, f() {}})",
    )
    .await;
    assert_eq!(
        found,
        json!([null, null, "1970-01-01T00:00:00.000Z", null, {}])
    );
    let found = value(
        &[("scripts/e.ts", "export const Big = () => 5n;")],
        "Process('scripts.e.Big')",
    )
    .await;
    let message = found[1].as_str().unwrap();
    assert!(message.contains("value is not JSON: "), "{message}");
}
