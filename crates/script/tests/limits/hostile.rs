//! A table of hostile scripts. Each ends within its limit and 250 ms, while others go on.

use crate::run_tally::RunTally;
use crate::watch::{AFTER, Code, Ended, Stage, alone};
use ambit_script::RunLimits;
use std::time::Duration;

/// How a script ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Ended for its processor time.
    Cpu,
    /// Ended for its time.
    Wall,
    /// Ended for its memory.
    Heap,
    /// It got an error that it can catch, or ran out of one of the limits: which of them depends on the engine.
    Any,
    /// It ends by itself in time, also with an error.
    Itself,
}

use End::{Any, Cpu, Heap, Itself, Wall};

#[rustfmt::skip]
const HOSTILE: &[(&str, End, &str)] = &[
    ("loop", Cpu, "for (;;) {}"),
    ("loop with catch", Cpu, "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }"),
    ("loop in a promise", Cpu, "return Promise.resolve().then(() => { for (;;) {} });"),
    ("loop after await", Cpu, "return (async () => { await null; try { for (;;) {} } catch { for (;;) {} } })();"),
    ("endless promise jobs", Any, "const again = (): any => Promise.resolve().then(again); again(); return new Promise(() => {});"),
    ("endless queueMicrotask", Cpu, "const again = () => queueMicrotask(again); again(); return new Promise(() => {});"),
    ("endless generator", Cpu, "function* g() { for (;;) yield 1; } for (const x of g()) {}"),
    ("endless async generator", Cpu, "return (async () => { for await (const x of (async function* () { for (;;) yield 1; })()) {} })();"),
    ("endless spread", Heap, "const all = [...(function* () { for (;;) yield 1; })()];"),
    ("endless recursion by timers", Any, "const again = () => setTimeout(again, 0); again(); return new Promise(() => {});"),
    ("endless interval", Wall, "setInterval(() => {}, 1); return new Promise(() => {});"),
    ("sleep", Wall, "return new Promise(resolve => setTimeout(resolve, 60_000));"),
    ("getter while returning", Cpu, "return { get x() { for (;;) {} } };"),
    ("toJSON while returning", Cpu, "return { toJSON() { for (;;) {} } };"),
    ("proxy while returning", Cpu, "return new Proxy({}, { ownKeys() { for (;;) {} } });"),
    ("getter on an error", Cpu, "const e: any = new Error(); Object.defineProperty(e, 'message', { get() { for (;;) {} } }); throw e;"),
    ("stack of an error", Cpu, "const e: any = new Error(); Object.defineProperty(e, 'stack', { get() { for (;;) {} } }); throw e;"),
    ("then that loops", Cpu, "return { then() { for (;;) {} } };"),
    ("deep recursion", Itself, "const f = (): any => f(); f();"),
    ("deep recursion, caught", Cpu, "const f = (): any => { try { return f(); } catch { return f(); } }; f();"),
    ("recursion through natives", Itself, "const f = (): any => [1].map(f); f();"),
    ("recursion through toString", Itself, "const a: any = {}; a.toString = () => `${a}`; return `${a}`;"),
    ("deeply nested JSON", Itself, "return JSON.parse('['.repeat(1e6));"),
    ("deeply nested source", Itself, "return (0, eval)('['.repeat(1e6));"),
    ("deeply nested regexp", Itself, "return new RegExp('('.repeat(1e6));"),
    ("chain of proxies", Itself, "let p: any = {}; for (let i = 0; i < 2e4; i++) p = new Proxy(p, {}); return p.x;"),
    ("chain of prototypes", Itself, "let p: any = {}; for (let i = 0; i < 1e5; i++) p = Object.create(p); return p.x;"),
    ("chain of bound functions", Itself, "let f: any = () => 1; for (let i = 0; i < 2e3; i++) f = f.bind(null); return f();"),
    ("chain of ropes", Any, "let s = 'x'.repeat(9000); for (let i = 0; i < 1e5; i++) s = 'a' + s + 'b'; return s.charCodeAt(7) + s.length;"),
    ("chain of promises", Any, "let p: any = Promise.resolve(1); for (let i = 0; i < 1e5; i++) p = p.then((x: any) => x); return p;"),
    ("deeply nested arrays", Itself, "let a: any = []; for (let i = 0; i < 2e5; i++) a = [a]; try { String(a); } catch {} try { JSON.stringify(a); } catch {} return 1;"),
    ("deeply nested value for the host", Itself, "let a: any = {}; for (let i = 0; i < 2e5; i++) a = { a }; console.log(a);"),
    ("heap of arrays", Heap, "const all = []; for (;;) all.push(new Array(1000).fill(1));"),
    ("heap of strings", Any, "let s = 'x'; for (;;) s += s;"),
    ("heap of strings, flattened", Heap, "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length);"),
    ("heap of closures", Heap, "const all: any[] = []; for (;;) all.push(() => all);"),
    ("heap of buffers", Heap, "const all = []; for (;;) all.push(new Uint8Array(1 << 20));"),
    ("heap caught", Heap, "for (;;) { try { const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length); } catch {} }"),
    ("one huge buffer", Any, "return new ArrayBuffer(2 ** 40).byteLength;"),
    ("one huge string", Any, "return 'x'.repeat(2 ** 29).length;"),
    ("one huge array", Any, "return new Array(2 ** 31).fill(0).length;"),
    ("huge pad", Any, "return 'x'.padStart(2 ** 29, 'ab').length;"),
    ("array-like from", Any, "return Array.from({ length: 2 ** 40 });"),
    ("map of objects", Heap, "const m = new Map(); for (let i = 0; ; i++) m.set(i, {});"),
    ("reverse of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 1; a.reverse();"),
    ("reverse of an array-like", Any, "Array.prototype.reverse.call({ length: 2 ** 53 - 1 });"),
    ("reverse with a length that lies", Any, "let n = 0; Array.prototype.reverse.call({ get length() { return n++ ? 2 ** 53 - 1 : 1; } });"),
    ("reverse of a proxy that lies", Any, "let n = 0; Array.prototype.reverse.call(new Proxy([], { get(t, k) { return k === 'length' ? (n++ ? 2 ** 53 - 1 : 1) : Reflect.get(t, k); } }));"),
    ("sort of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 1; a.sort();"),
    ("sort of an array-like", Any, "Array.prototype.sort.call({ length: 2 ** 53 - 1 });"),
    ("sort of many numbers", Any, "const a = []; for (let i = 0; i < 2e6; i++) a.push((i * 7919) % 1000003); a.sort();"),
    ("sort of many bytes", Any, "const a = new Uint8Array(24 << 20); for (let i = 0; i < a.length; i += 97) a[i] = i; a.sort();"),
    ("join of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 1; a.join('');"),
    ("toString of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 1; String(a);"),
    ("fill of an array-like", Any, "Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 0);"),
    ("copyWithin of an array-like", Any, "Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 1, 0);"),
    ("unshift of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 2; a.unshift(1);"),
    ("shift of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 2; a.shift();"),
    ("splice of a huge length", Any, "const a: any = []; a.length = 2 ** 32 - 2; a.splice(0, 1, 1, 2);"),
    ("slice of an array-like", Any, "Array.prototype.slice.call({ length: 2 ** 53 - 1 }, 0);"),
    ("concat of huge lengths", Any, "const a: any = []; a.length = 2 ** 32 - 1; [].concat(a);"),
    ("flat of shared parts", Any, "let a: any = []; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity);"),
    ("join of shared parts", Any, "let a: any = []; for (let i = 0; i < 60; i++) a = [a, a]; a.join('');"),
    ("forEach of an array-like", Any, "Array.prototype.forEach.call({ length: 2 ** 53 - 1 }, () => {});"),
    ("indexOf of an array-like", Any, "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);"),
    ("includes of an array-like", Any, "Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);"),
    ("toSorted of an array-like", Any, "(Array.prototype as any).toSorted.call({ length: 2 ** 32 - 1 });"),
    ("toReversed of an array-like", Any, "(Array.prototype as any).toReversed.call({ length: 2 ** 32 - 1 });"),
    ("with of an array-like", Any, "(Array.prototype as any).with.call({ length: 2 ** 32 - 1 }, 0, 1);"),
    ("apply of an array-like", Any, "Math.max.apply(null, { length: 2 ** 32 - 1 } as any);"),
    ("set of a typed array", Any, "new Uint8Array(8).set({ length: 2 ** 53 - 1 } as any);"),
    ("typed array of an array-like", Any, "new Uint8Array({ length: 2 ** 53 - 1 } as any);"),
    ("native iterator without end", Any, "const it: any = { next: Object.prototype.valueOf, [Symbol.iterator]: Object.prototype.valueOf }; new Set(it);"),
    ("indexOf in a huge string", Any, "const n = 'a'.repeat(4 << 20), m = 'a'.repeat(1 << 20) + 'b'; return n.indexOf(m);"),
    ("lastIndexOf in a huge string", Any, "const n = 'a'.repeat(4 << 20), m = 'b' + 'a'.repeat(1 << 20); return n.lastIndexOf(m);"),
    ("includes in a huge string", Any, "const n = 'a'.repeat(4 << 20), m = 'a'.repeat(1 << 20) + 'b'; return n.includes(m);"),
    ("split of a huge string", Any, "const n = 'a'.repeat(4 << 20), m = 'a'.repeat(1 << 20) + 'b'; return n.split(m).length;"),
    ("replace in a huge string", Any, "const n = 'a'.repeat(4 << 20), m = 'a'.repeat(1 << 20) + 'b'; return n.replace(m, '').length;"),
    ("replaceAll in a huge string", Any, "const n = 'a'.repeat(4 << 20), m = 'a'.repeat(1 << 20) + 'b'; return n.replaceAll(m, '').length;"),
    ("replaceAll that grows", Any, "return 'a'.repeat(1 << 20).replaceAll('a', 'b'.repeat(1 << 20)).length;"),
    ("replaceAll of nothing", Any, "return 'a'.repeat(8 << 20).replaceAll('', 'b').length;"),
    ("normalize of a huge string", Any, "return 'a\\u0301\\u0323'.repeat(3 << 20).normalize('NFD').length;"),
    ("normalize of one huge cluster", Any, "return ('a' + '\\u0301\\u0323'.repeat(1 << 20)).normalize('NFD').length;"),
    ("localeCompare of huge strings", Any, "const s = 'a' + '\\u0301\\u0323'.repeat(1 << 20); return s.localeCompare(s + 'b');"),
    ("case of a huge string", Any, "return ('\\u03a3' + '\\u0301'.repeat(1000)).repeat(4000).toLowerCase().length;"),
    ("regexp that backtracks", Any, "return /^(a+)+$/.test('a'.repeat(40) + 'b');"),
    ("regexp that backtracks, replaced", Any, "return ('a'.repeat(40) + 'b').replace(/(a*)*c/g, 'x');"),
    ("regexp over a huge string", Any, "return 'ab'.repeat(8 << 20).split(/(?:)/).length;"),
    ("regexp with huge counts", Any, "return new RegExp('((a{0,9999}){0,9999}){0,9999}b').test('a'.repeat(100));"),
    ("regexp that looks behind", Any, "return /(?<=(a+)+)c/.test('a'.repeat(5000));"),
    ("JSON of shared parts", Any, "let a: any = {}; for (let i = 0; i < 40; i++) a = { a, b: a }; return JSON.stringify(a).length;"),
    ("JSON of many numbers", Any, "return JSON.stringify(new Array(1e6).fill(1.1e-7)).length;"),
    ("JSON of a huge string", Any, "return JSON.parse(JSON.stringify('\\u0001'.repeat(2 << 20))).length;"),
    ("clone of shared parts", Any, "let a: any = [1]; for (let i = 0; i < 60; i++) a = [a, [...a]]; return structuredClone(a).length;"),
    ("power of a BigInt", Any, "return String(3n ** 600000n).length;"),
    ("huge power of a BigInt", Any, "return String(3n ** (2n ** 60n)).length;"),
    ("products of BigInts", Any, "let n = 3n; for (let i = 0; i < 40; i++) n *= n; return 1;"),
    ("BigInt from text", Any, "return BigInt('9'.repeat(300000)) > 1n;"),
    ("number from text", Any, "return Number('9'.repeat(8 << 20));"),
    ("digits of a number", Any, "let s = ''; for (;;) s = (1.1).toString(7);"),
    ("dates", Any, "for (;;) new Date(NaN).getTime(), Date.parse('x'.repeat(1000));"),
    ("encoding", Any, "return encodeURIComponent('\\u00e9'.repeat(4 << 20)).length;"),
    ("escape", Any, "return escape('\\u00e9'.repeat(4 << 20)).length;"),
    ("function of huge source", Any, "return Function('return ' + '1+'.repeat(4e5) + '1')();"),
    ("many properties", Heap, "const o: any = {}; for (let i = 0; ; i++) o['k' + i] = i;"),
    ("sparse then short", Any, "const a: any = []; a[2 ** 32 - 2] = 1; a.length = 0; return 1;"),
    ("many timers", Itself, "for (let i = 0; i < 1e5; i++) setTimeout(() => {}, 1e6);"),
    ("finalizers", Any, "const r = new FinalizationRegistry(() => { for (;;) {} }); for (let i = 0; i < 1e5; i++) r.register({}, i); return new Promise(resolve => setTimeout(resolve, 5));"),
    ("atob of a huge string", Any, "return atob(btoa('x'.repeat(4 << 20))).length;"),
    ("engine's function of a stack", Itself, STACK_FUNCTION),
    ("clear of a map that keeps its iterator", Itself, "const m: any = new Map([['a', 0], ['b', 1], ['c', 2]]); let it: any = m.keys(); it.next(); it.next(); m.delete('b'); m.set('a', it); it = null; m.clear();"),
    ("forEach that frees an iterator", Itself, "const m: any = new Map([['a', 0], ['b', 1], ['c', 2]]); let it: any = m.keys(); it.next(); it.next(); m.delete('b'); m.forEach(() => { const kept = it; it = null; return kept; });"),
    ("unregister that frees a target", Itself, "const r: any = new FinalizationRegistry(() => {}), token: any = {}; let b: any = {}; r.register({}, b, token); r.register(b, 1, token); b = null; r.unregister(token);"),
    ("symbol that keeps the next symbol", Itself, "let w: any = new WeakMap(), a: any = Symbol(), b: any = Symbol(); w.set(a, b); w.set(b, 1); b = null; w = null;"),
    ("symbol with a reference to itself", Itself, "let s: any = Symbol(); const w: any = new WeakMap(); w.set(s, new WeakRef(s)); s = null;"),
    ("text coding", Any, "return new TextDecoder().decode(new TextEncoder().encode('x'.repeat(4 << 20))).length;"),
];

/// Asks for the function of each frame of a stack; the last is the one by which the engine goes on with a generator.
const STACK_FUNCTION: &str = "let inner: any;
    (Error as any).prepareStackTrace = (_: any, sites: any[]) => { inner = sites[sites.length - 1].getFunction(); };
    async function* generator() { await null; try { (null as any).x; } catch {} inner(1); yield 1; }
    return (async () => { for await (const _ of generator()) {} })();";

/// Little of what is to end it, but enough to fill the memory or to end by itself, and of the rest so much that it does not end
/// it on a busy machine.
fn limits(expected: End) -> RunLimits {
    let (cpu, wall) = match expected {
        Heap | Itself => (3_000, 60_000),
        Cpu | Any => (150, 60_000),
        Wall => (3_000, 500),
    };
    RunLimits {
        cpu: Duration::from_millis(cpu),
        wall: Duration::from_millis(wall),
        heap: 32 << 20,
        ..RunLimits::default()
    }
}

/// What is wrong with an end.
#[derive(Debug, Clone, Copy)]
enum EndFault {
    OtherEnd,
    TooEarly,
    TooMuchProcessorTime,
    TooLate,
    /// Nothing else ran.
    Alone,
}

impl EndFault {
    /// True where the machine may have done it, which keeps threads from their processors.
    fn may_be_the_machines(self) -> bool {
        matches!(
            self,
            Self::TooMuchProcessorTime | Self::TooLate | Self::Alone
        )
    }
}

fn fault_of(expected: End, limits: &RunLimits, ended: &Ended) -> Option<EndFault> {
    let fits = match expected {
        Cpu => ended.code() == Code::Cpu,
        Wall => ended.code() == Code::Wall,
        Heap => ended.code() == Code::Heap,
        Itself => ended.code() == Code::None,
        Any => true,
    };
    let is_early = ended.code() == Code::Cpu && ended.used < limits.cpu;
    let findings = [
        (!fits, EndFault::OtherEnd),
        (is_early, EndFault::TooEarly),
        (
            ended.used > limits.cpu + AFTER,
            EndFault::TooMuchProcessorTime,
        ),
        (ended.took > limits.wall + AFTER, EndFault::TooLate),
        (ended.is_alone(), EndFault::Alone),
    ];
    let mut findings = findings.into_iter();
    findings.find_map(|(is_so, fault)| is_so.then_some(fault))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_every_hostile_script_ends_in_time_while_others_go_on() {
    let _alone = alone().await;
    let stage = Stage::new();
    let mut all = Vec::new();
    for (name, expected, body) in HOSTILE {
        let limits = limits(*expected);
        let mut runs = RunTally::new();
        while runs.is_open() {
            let ended = stage.run(body, limits).await;
            let fault = fault_of(*expected, &limits, &ended);
            let found = format!("{name}: {fault:?}: {ended:?}");
            if fault.is_none_or(EndFault::may_be_the_machines) {
                runs.count(found, fault.is_none());
            } else {
                all.push(found);
                break;
            }
        }
    }
    assert_eq!(all, Vec::<String>::new());
}
