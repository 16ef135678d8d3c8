//! Whatever a run does to its runtime, the next one finds everything as it was made.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::{create, program};
use ambit_script::{Engine, EngineSettings, HostApi, Program, RunLimits, ScriptRun};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Describes everything that can be reached from the global object without calling anything.
const LOOK: &str = r#"
    let runs = 0;
    export function Create() {
        runs++;
        const seen = new Map(), lines = [`run ${runs} of this module`];
        const value = (of) => {
            if ((typeof of !== "object" && typeof of !== "function") || of === null) return `${typeof of} ${String(of)}`;
            if (!seen.has(of)) { seen.set(of, seen.size); later.push(of); }
            return `#${seen.get(of)}`;
        };
        const later = [globalThis];
        seen.set(globalThis, 0);
        while (later.length > 0) {
            const object = later.shift();
            lines.push(`#${seen.get(object)} ${typeof object} of ${value(Object.getPrototypeOf(object))} ${Object.isExtensible(object)}`);
            for (const key of Reflect.ownKeys(object)) {
                const { value: own, get, set, ...flags } = Object.getOwnPropertyDescriptor(object, key);
                lines.push(`  ${String(key)} ${Object.values(flags)} ${value(own)} ${value(get)} ${value(set)}`);
            }
        }
        return lines;
    }"#;

/// Bodies that leave nothing as it was.
const VANDALS: &[&str] = &[
    "for (const name of Reflect.ownKeys(globalThis)) delete (globalThis as any)[name];",
    "(Object.prototype as any).left = 1; (Array.prototype as any).push = null; (globalThis as any).left = () => 1;",
    "const all = [globalThis as any]; for (const one of all) { Object.freeze(one); for (const key of Reflect.ownKeys(one)) {
        const own = Object.getOwnPropertyDescriptor(one, key)!.value;
        if (own && typeof own === 'object' && !all.includes(own)) all.push(own); } }",
    "for (const name of ['URL', 'TextEncoder', 'crypto', 'structuredClone', 'console', 'http', 'FS']) try { (globalThis as any)[name].left = 1; } catch {}",
    "setTimeout(() => {}, 1e6); setInterval(() => {}, 1e6); new Promise(() => {}); Promise.resolve().then(() => { (globalThis as any).left = 1; });",
    "queueMicrotask(() => { throw new Error('left'); }); return new Promise(() => {});",
    "Error.stackTraceLimit = 1; (Error as any).prepareStackTrace = () => 'left'; throw new Error('left');",
    "throw Object.freeze([1, 2, 3]);",
    "throw { get message() { (globalThis as any).left = 1; return 'left'; } };",
    "const again = (): any => again(); again();",
    "for (;;) {}",
    "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length);",
    "const all: any[] = []; for (;;) all.push({ all });",
    "const all = []; for (let i = 0; i < 1e4; i++) all.push('left' + i, Symbol.for('left' + i), new Uint8Array(i));",
    "const o: any = {}; for (let i = 0; i < 3e4; i++) o['left' + i] = { ['left' + i]: i }; return o;",
    "const r = new FinalizationRegistry(() => {}); for (let i = 0; i < 1e4; i++) r.register({}, i); return new WeakRef({}).deref();",
    "let made = eval('(class { #own = 1; static left = 1 })'); Function.prototype.call = made; Symbol.iterator.toString = made; return made;",
    "Object.setPrototypeOf(Function.prototype, null); Object.setPrototypeOf(globalThis, new Proxy({}, {})); return [1].map(String);",
    "Object.getPrototypeOf(console).left = 1; Object.getPrototypeOf(async () => {}).constructor = null; return (async () => 1)();",
];

fn limits() -> RunLimits {
    RunLimits {
        cpu: Duration::from_millis(300),
        heap: 16 << 20,
        ..RunLimits::default()
    }
}

/// One thread, so that runs follow each other on the same runtime.
fn engine() -> Engine {
    let settings = EngineSettings {
        threads: 1,
        warm: 1,
        ..EngineSettings::default()
    };
    Engine::new(&settings, HostApi::default()).unwrap()
}

async fn seen(engine: &Engine, look: &Arc<Program>) -> Json {
    engine.run(create(look)).await.unwrap().value.unwrap()
}

#[tokio::test]
async fn nothing_of_a_run_is_there_in_the_next() {
    let engine = engine();
    let look = program(&engine, LOOK);
    let first = seen(&engine, &look).await;
    assert!(first.as_array().unwrap().len() > 1000);
    for body in VANDALS {
        let text = format!("let runs = 0; export function Create() {{ runs++; {body} }}");
        let vandal = program(&engine, &text);
        for _ in 0..3 {
            let run = ScriptRun {
                limits: limits(),
                ..create(&vandal)
            };
            // However it ends.
            let _ = engine.run(run).await;
            assert_eq!(seen(&engine, &look).await, first, "after {body}");
        }
    }
}

#[tokio::test]
async fn a_failure_of_the_host_that_a_script_catches_is_not_another_runs() {
    let engine = engine();
    let too_long = "const a: any[] = []; a.length = 2 ** 31; try { console.log(a); } catch {}";
    let attack = format!("export function Create() {{ {too_long} return 1; }}");
    let attack = program(&engine, &attack);
    let fails = "export function Create() { throw new Error('its own'); }";
    let fails = program(&engine, fails);
    assert_eq!(seen(&engine, &attack).await, Json::from(1));
    let failed = engine.run(create(&fails)).await.unwrap_err();
    assert!(failed.to_string().contains("its own"), "{failed}");
}

/// The engine miscounts what these are set to; objects that are left when a runtime is freed end the process.
#[tokio::test]
async fn a_runtime_of_its_own_is_freed_whatever_errors_were_set_to() {
    let settings = EngineSettings {
        restore: false,
        ..EngineSettings::default()
    };
    let engine = Engine::new(&settings, HostApi::default()).unwrap();
    let text = "export function Create() { const E = Error as any; for (const set of [[1], {}, () => 'mine', 'x', 2]) {
        E.stackTraceLimit = set; E.prepareStackTrace = set; try { (null as any).a; } catch {} }
        return [E.stackTraceLimit, E.prepareStackTrace]; }";
    let text = program(&engine, text);
    for _ in 0..3 {
        assert_eq!(seen(&engine, &text).await, serde_json::json!([2, 2]));
    }
}

#[tokio::test]
async fn runs_draw_numbers_of_their_own() {
    let engine = engine();
    let draw = program(
        &engine,
        "export const Create = () => String([Math.random(), Math.random()]);",
    );
    let mut drawn = BTreeSet::new();
    for _ in 0..20 {
        let two = seen(&engine, &draw).await.as_str().unwrap().to_owned();
        for number in two.split(',') {
            assert!((0.0..1.0).contains(&number.parse().unwrap()));
            drawn.insert(number.to_owned());
        }
    }
    assert_eq!(drawn.len(), 40);
}
