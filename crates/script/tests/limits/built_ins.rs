//! Built-in functions and operators of the engine, with large values: the thread of a run is free soon after its limit.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::watch::alone;
use ambit_script::{
    Engine, EngineSettings, Error, HostApi, HostValue, NoHost, ProgramSource, RunLimits, RunOutcome,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Processor time of a run.
const CPU: Duration = Duration::from_millis(200);

/// How long behind its limit the thread of a run is free.
const BEHIND: Duration = Duration::from_secs(1);

/// What the engine does in one step, again and again.
#[rustfmt::skip]
const LOOPS: &[(&str, &str, &str)] = &[
    ("reverse", "const a = new Uint8Array(32 << 20);", "a.reverse();"),
    ("trim", "const s = ' '.repeat(8 << 20) + 'x';", "s.trim();"),
    ("startsWith", "const s = 'a'.repeat(16 << 20), t = 'a'.repeat(16 << 20);", "s.startsWith(t);"),
    ("keys", "const o: any = {}; for (let i = 0; i < 1e5; i++) o['k' + i] = i;", "Object.keys(o);"),
    ("parseFloat", "const s = '1'.repeat(8 << 20);", "parseFloat(s);"),
    ("replace", "const s = 'a'.repeat(8 << 20);", "s.replace('a', '$`');"),
    ("union", "const s = new Set<number>(); for (let i = 0; i < 2e5; i++) s.add(i);", "(s as any).union(s);"),
    ("includes", "const a: any[] = new Array(1e6).fill(1);", "a.includes(2);"),
    ("raw", "const a: any[] = new Array(1e5).fill('a');", "String.raw({ raw: a } as any);"),
    ("isWellFormed", "const s = '\\u03b1'.repeat(8 << 20);", "(s as any).isWellFormed();"),
    ("spread", "const a: any[] = new Array(1e6).fill(1);", "[...a];"),
    ("from", "const a: any[] = new Array(1e6).fill(1);", "Array.from(a);"),
    ("indexOf of numbers", "const a = new Float64Array(4 << 20);", "a.indexOf(2);"),
    ("includes of bytes", "const a = new Uint8Array(32 << 20);", "a.includes(2);"),
    ("comparison", "const s = '\\u03b1'.repeat(8 << 20) + 'a', t = '\\u03b1'.repeat(8 << 20) + 'b';", "s < t;"),
    ("concatenation", "const s = 'a'.repeat(8 << 20);", "(s + s).charCodeAt(1);"),
    ("template", "const s = '\\u03b1'.repeat(4 << 20), t = 'a'.repeat(4 << 20);", "`${s}${t}`.charCodeAt(1);"),
    ("property of a text", "const s = 'a'.repeat(8 << 20), o: any = {};", "o[s + '1'];"),
    ("product", "const n = 3n ** 150000n;", "n * n;"),
    ("number", "const s = '1'.repeat(8 << 20);", "Number(s);"),
    ("arguments", "const a: any[] = new Array(5e4).fill(1);", "Math.max(...a);"),
    ("drop", "const s = 'a'.repeat(16 << 20);", "(s[Symbol.iterator]() as any).drop(2 ** 40).next();"),
    ("includes of letters", "const s = 'a'.repeat(16 << 20);", "(s[Symbol.iterator]() as any).includes('b');"),
    ("sum", "const a = new Uint8Array(56 << 20);", "(Math as any).sumPrecise(a);"),
    ("raw of a text", "const s = 'a'.repeat(24 << 20);", "try { String.raw({ raw: s } as any); } catch {}"),
    ("names of JSON", "const a = Object.keys(new Array(65536).fill(1));", "try { JSON.stringify(a, a); } catch {}"),
    ("names of a proxy", NAMES_OF_A_PROXY, "try { Reflect.ownKeys(p); } catch {}"),
    ("pattern of the prototype", PATTERN, "try { new RegExp(RegExp.prototype); } catch {}"),
    ("another Number", "const o: any = { length: 2 ** 32 }; (globalThis as any).Number = () => 0;", REVERSE),
    ("another Object", ANOTHER_OBJECT, "try { (Math as any).sumPrecise(items); } catch {}"),
    ("another length of a view", LENGTH_OF_A_VIEW, REVERSE),
    ("another length of a function", LENGTH_OF_A_FUNCTION, REVERSE),
    ("a function's own length", OWN_LENGTH, REVERSE),
    ("concat of a function", SPREAD_FUNCTION, CONCAT),
    ("concat of what is spread at times", SPREAD_AT_TIMES, CONCAT),
    ("concat of what a setter lengthens", SETTER, CONCAT),
    ("bytes from a function", "const f: any = () => 0; Object.defineProperty(f, 'length', { value: 2 ** 25 });", FROM_FUNCTION),
    ("search in an object", "const s: any = new String('a'.repeat(4e6)), t = 'a'.repeat(2e6) + 'b';", "s.indexOf(t);"),
    ("search for an object", "const s = 'a'.repeat(4e6), t: any = ['a'.repeat(2e6) + 'b'];", "s.includes(t); s.split(t);"),
    ("marks of an object", "const s: any = new String('\\u0301\\u0316'.repeat(4e5));", "try { s.normalize('NFD'); } catch {}"),
    ("marks to compare with", "const s: any = ['\\u0301\\u0316'.repeat(4e5)];", "try { 'a'.localeCompare(s); } catch {}"),
    ("union of one hash", ONE_HASH, "(new Set() as any).union({ size: 1, has: Boolean, keys: () => a.values() });"),
    ("match where exec is no function", GROUPS, "p.exec = 1; s.match(p);"),
    ("match whose exec makes it none", GROUPS, "p.exec = () => { p.exec = 1; return exec.call(p, s); }; s.match(p);"),
    ("match whose flags make exec none", GROUPS, FLAGS),
    ("split where exec is no function", "(RegExp.prototype as any).exec = 1; const s = 'a'.repeat(16 << 20);", "s.split(/b/);"),
    ("replace by a function where exec is none", SLOW, "s.replace(p, () => '');"),
    ("matches where exec is no function", SLOW, "(RegExp.prototype as any).exec = 1; [...s.matchAll(p)];"),
    ("replace with $1", "const s = 'a'.repeat(2e4), t = '$1'.repeat(1e5);", "s.replace(/()a/g, t);"),
    ("replaceAll with $&", "const s = 'a'.repeat(2e4), t = '$&'.repeat(1e5);", "s.replaceAll('', t);"),
    ("replace with names that do not end", "const t = '$<'.repeat(1e6);", "'a'.replace(/(?<x>a)/, t);"),
    ("replace with a long name", "const s = 'a'.repeat(1e4), t = `$<${'y'.repeat(1e6)}>`;", "s.replace(/(?<x>a)/g, t);"),
    ("replace with texts that are dropped", FOUND, "p.exec = exec; p[Symbol.replace]('a', t);"),
    ("replace with many groups", FOUND, "found.length = 3e5; p.exec = exec; try { p[Symbol.replace]('a', 'b'); } catch {}"),
    ("replace whose flags give it an exec", FOUND, "Object.defineProperty(p, 'flags', flags); p[Symbol.replace]('a', t);"),
];

const GROUPS: &str = "const groups = Array.from({ length: 100 }, (_, i) => `(?<g${i}>)`).join(''), s = 'a'.repeat(1 << 20); \
    const p: any = new RegExp(`${groups}a`, 'g'), { exec } = p;";
const FLAGS: &str = "const get = () => { p.exec = 1; return 'g'; }; delete p.exec; \
    Object.defineProperty(p, 'flags', { get, configurable: true }); s.match(p);";

/// A pattern that looks at a thousand letters for each of its matches.
const SLOW: &str = "const s = 'a'.repeat(1e6), p: any = /(?=(?:a|b){1000})a/g; p.exec = 1;";

/// A pattern with many results, of which the first alone counts.
const FOUND: &str = "const p: any = /a/g, t = 'b'.repeat(8e6), found = { length: 1, 0: 'a', index: 0 }; let asked = 0; \
    const exec = () => ++asked % 1e4 ? found : null; \
    const flags = { get: () => { p.exec = exec; return 'g'; }, configurable: true };";

const REVERSE: &str = "try { Array.prototype.reverse.call(o); } catch {}";

const NAMES_OF_A_PROXY: &str = "const names = Object.keys(new Array(2e5).fill(1)), p: any = new Proxy({}, { ownKeys: () => names });";

const PATTERN: &str =
    "Object.defineProperty(RegExp.prototype, 'source', { value: 'a|'.repeat(1 << 17) });";

/// Numbers without end, from native functions alone.
const ANOTHER_OBJECT: &str = "const { valueOf } = Object.prototype; (globalThis as any).Object = () => 0; \
    const items = { next: valueOf, value: 1, [Symbol.iterator]: valueOf };";

/// Lengths that are others when they are read again.
const LENGTH_OF_A_VIEW: &str = "const o = new DataView(new ArrayBuffer(1)); let reads = 0; \
    Object.defineProperty(o, 'length', { get: () => reads++ % 2 * 2 ** 32 });";
const LENGTH_OF_A_FUNCTION: &str = "let reads = 0; const length: any = () => 0, o: any = { length }; \
    length.valueOf = () => reads++ % 2 * 2 ** 32;";

const OWN_LENGTH: &str = "const o: any = () => 0; let reads = 0; \
    Object.defineProperty(o, 'length', { get: () => reads++ % 2 * 2 ** 32 });";

const CONCAT: &str = "try { [].concat(o); } catch {}";
const SPREAD_FUNCTION: &str = "const o: any = () => 0; o[Symbol.isConcatSpreadable] = true; \
    Object.defineProperty(o, 'length', { value: 2 ** 32 });";
const SPREAD_AT_TIMES: &str = "let asked = 0; const o: any = { length: 2 ** 32 }; \
    Object.defineProperty(o, Symbol.isConcatSpreadable, { get: () => asked++ % 2 > 0 });";
const SETTER: &str = "const o: any = new Proxy([1], {}); \
    Object.defineProperty(Array.prototype, 0, { set() { this.length = 2 ** 32 - 1; } });";
const FROM_FUNCTION: &str = "try { Uint8Array.from(f); } catch {}";

/// What takes long with names of one hash: with many, or with few that are looked for again and again.
#[rustfmt::skip]
const NAMES: &[(&str, &str)] = &[
    ("many in a text", "JSON.parse(many);"),
    ("few in a long text", "const kept = JSON.parse(few); JSON.parse('[' + (few + ',').repeat(29) + few + ']');"),
    ("few that are written", "const kept = JSON.parse(few), copied = Object.keys(kept).map(name => `${name}!`.slice(0, -1)); \
        JSON.stringify(new Array(30).fill(kept), copied);"),
    ("one in entries", "const kept = JSON.parse(few), pair = [Object.keys(kept)[0], 1]; \
        for (const pairs = new Array(3e5).fill(pair);;) Object.fromEntries(pairs);"),
];

/// Numbers that a set has in one chain.
const ONE_HASH: &str = "const a = new Float64Array(6e4), u = new Uint32Array(a.buffer); \
    for (let i = 0; i < 6e4; i++) { u[2 * i] = i ^ 0x12345; u[2 * i + 1] = i ^ 0x40000000; }";

struct Finished {
    result: Result<RunOutcome, Error>,
    /// Processor time until its thread was free.
    used: Duration,
}

fn engine() -> Engine {
    let settings = EngineSettings {
        threads: 1,
        ..EngineSettings::default()
    };
    Engine::new(&settings, HostApi::default()).unwrap()
}

impl Finished {
    /// It ended for its processor time, and its thread was free soon after.
    fn is_in_time(&self) -> bool {
        let is_ended = matches!(
            self.result,
            Err(Error::Limited {
                code: "script_cpu_limit",
                ..
            })
        );
        is_ended && self.used <= CPU + BEHIND
    }
}

/// Runs a function, and waits until its thread is free.
async fn finish(engine: &Engine, text: &str, arguments: Vec<HostValue>) -> Finished {
    let limits = RunLimits {
        cpu: CPU,
        ..RunLimits::default()
    };
    let file = "index.ts".to_owned();
    let files = BTreeMap::from([(file.clone(), text.to_owned())]);
    let folder = String::new();
    let program = engine
        .load(&files, &ProgramSource { file, folder })
        .unwrap();
    let mut instance = engine
        .open(program, Arc::new(NoHost), limits, None)
        .unwrap();
    let result = instance.call("Create", arguments).await;
    while result.is_err() && engine.counts().running > 0 {
        tokio::task::yield_now().await;
    }
    let used = instance.used();
    Finished { result, used }
}

#[tokio::test]
async fn g116_a_loop_of_slow_steps_leaves_its_thread_soon_after_its_limit() {
    let _alone = alone().await;
    let engine = engine();
    let mut late = Vec::new();
    for (name, given, step) in LOOPS {
        let text = format!("export function Create(): any {{ {given} for (;;) {{ {step} }} }}");
        let run = finish(&engine, &text, Vec::new()).await;
        if !run.is_in_time() {
            late.push(format!("{name}: {:?}: {:?}", run.used, run.result));
        }
    }
    assert_eq!(late, Vec::<String>::new());
}

/// Names of one hash: in both pairs 263 times the first character and the second one are the same in sum.
fn name_of_one_hash(number: u32) -> String {
    let pair = |bit: u32| match (number >> bit) & 1 {
        0 => "\u{100}\u{300}",
        _ => "\u{101}\u{1f9}",
    };
    (0..16).map(pair).collect()
}

fn object_of_one_hash(count: u32) -> Value {
    let names = (0..count).map(name_of_one_hash);
    Value::Object(names.map(|name| (name, Value::Null)).collect())
}

#[tokio::test]
async fn g116_names_of_one_hash_that_a_run_is_given_end_it_at_its_limit() {
    let _alone = alone().await;
    let arguments = vec![object_of_one_hash(60_000).into()];
    let text = "export function Create(): any {}";
    let run = finish(&engine(), text, arguments).await;
    assert!(run.is_in_time(), "{:?}: {:?}", run.used, run.result);
}

#[tokio::test]
async fn g116_names_of_one_hash_in_json_leave_the_thread_soon_after_the_limit() {
    let _alone = alone().await;
    let engine = engine();
    let texts = [40_000, 4_000].map(|count: u32| object_of_one_hash(count).to_string());
    let mut late = Vec::new();
    for (name, step) in NAMES {
        let text = format!(
            "export function Create(many: string, few: string): any {{ for (;;) {{ {step} }} }}"
        );
        let given = texts
            .iter()
            .map(|text| HostValue::from(Value::from(text.as_str())));
        let run = finish(&engine, &text, given.collect()).await;
        if !run.is_in_time() {
            late.push(format!("{name}: {:?}: {:?}", run.used, run.result));
        }
    }
    assert_eq!(late, Vec::<String>::new());
}
