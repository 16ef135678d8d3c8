//! The limits and what they say.

use crate::pets::{Pets, pets, surface};
use crate::support::{ENTRY, create, engine, engine_of, hosted, message, program, returned, run};
use ambit_script::{
    Error, Host, HostApi, HostCall, HostError, HostMethod, HostValue, RunLimits, RunOutcome,
    ScriptRun,
};
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

async fn limited(text: &str, limits: RunLimits) -> Result<RunOutcome, Error> {
    let engine = engine();
    let program = program(&engine, text);
    engine
        .run(ScriptRun {
            limits,
            ..create(&program)
        })
        .await
}

fn limit(code: &'static str, text: &str) -> Result<RunOutcome, Error> {
    Err(Error::Limited {
        code,
        message: format!("{ENTRY} Create: {text}"),
    })
}

#[tokio::test]
async fn g116_an_endless_loop_is_named_with_file_hook_and_limit() {
    let limits = RunLimits {
        cpu: Duration::from_millis(250),
        ..RunLimits::default()
    };
    let result = limited("export function Create() { for (;;) {} }", limits).await;
    assert_eq!(
        result,
        limit("script_cpu_limit", "script used more than 0.25s of CPU")
    );
}

#[tokio::test]
async fn g116_a_host_call_that_never_returns_ends_at_the_time_limit() {
    struct Never;
    impl Host for Never {
        fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move { std::future::pending().await })
        }
    }
    for method in [HostMethod::new("never"), HostMethod::promise("never")] {
        let surface = HostApi {
            globals: vec![method],
            ..HostApi::default()
        };
        let engine = crate::support::engine_of(surface);
        let text =
            "export async function Create() { for (;;) { try { await never(); } catch {} } }";
        let program = program(&engine, text);
        let run = ScriptRun {
            host: Arc::new(Never),
            limits: RunLimits {
                wall: Duration::from_secs(1),
                ..RunLimits::default()
            },
            ..create(&program)
        };
        assert_eq!(
            engine.run(run).await,
            limit("script_timeout", "script ran longer than 1s")
        );
    }
}

#[tokio::test]
async fn g117_a_script_that_fills_its_memory_fails_alone() {
    let engine = Arc::new(engine());
    let waits = program(
        &engine,
        "export async function Create() { const mine = 'x'.repeat(20 << 20); await new Promise(r => setTimeout(r, 50)); return mine.length; }",
    );
    let fills = program(
        &engine,
        "export function Create() { const all = []; for (;;) all.push(new Uint8Array(1 << 20)); }",
    );
    let (kept, filled) = tokio::join!(engine.run(create(&waits)), engine.run(create(&fills)));
    assert_eq!(
        filled,
        limit("script_out_of_memory", "script used more than 64 MiB")
    );
    assert_eq!(kept.map(|outcome| outcome.value), Ok(Some(json!(20 << 20))));
}

#[tokio::test]
async fn the_end_of_a_run_cannot_be_caught() {
    let text = "export async function Create() {
        for (;;) { try { const all = []; for (;;) all.push(new Uint8Array(1 << 20)); } catch { } finally { await null; } } }";
    let limits = RunLimits {
        heap: 16 << 20,
        ..RunLimits::default()
    };
    assert_eq!(
        limited(text, limits).await,
        limit("script_out_of_memory", "script used more than 16 MiB")
    );
}

#[tokio::test]
async fn memory_that_is_given_back_can_be_used_again() {
    let text = "export function Create() { let n = 0; for (let i = 0; i < 200; i++) { const a: any = { b: 'x'.repeat(1 << 18) }; a.a = a; n += a.b.length; } return n; }";
    let limits = RunLimits {
        heap: 4 << 20,
        ..RunLimits::default()
    };
    let value = limited(text, limits).await.map(|outcome| outcome.value);
    assert_eq!(value, Ok(Some(json!(200 << 18))));
}

#[tokio::test]
async fn waiting_does_not_count_as_processor_time() {
    struct Sleeps;
    impl Host for Sleeps {
        fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(HostValue::Undefined)
            })
        }
    }
    let surface = HostApi {
        globals: vec![HostMethod::new("wait")],
        ..HostApi::default()
    };
    let text = "export async function Create() { wait(); wait(); wait(); await new Promise(r => setTimeout(r, 100)); return 1; }";
    let outcome = hosted(surface, Sleeps, text, vec![]).await.unwrap();
    assert!(
        outcome.cpu < Duration::from_millis(200),
        "{:?}",
        outcome.cpu
    );
    assert!(outcome.cpu > Duration::ZERO);
}

#[tokio::test]
async fn a_full_stack_is_an_error_that_can_be_caught() {
    let text = "function deep(n: number): number { return 1 + deep(n + 1); }
        export function Create() { try { deep(0); } catch (e) { return [(e as Error).name, (e as Error).message, 1 + 1]; } }";
    assert_eq!(
        returned(text).await,
        json!(["RangeError", "Maximum call stack size exceeded", 2])
    );
    let uncaught = message(
        run("const deep = (): number => 1 + deep();\nexport const Create = () => deep();").await,
    );
    assert!(
        uncaught.starts_with("RangeError: Maximum call stack size exceeded"),
        "{uncaught}"
    );
}

#[tokio::test]
async fn a_stack_may_be_used_up_to_its_limit() {
    let text = "let most = 0; function deep(n: number): void { most = n; deep(n + 1); }
        export function Create() { try { deep(0); } catch {} return most; }";
    let large = returned(text).await.as_u64().unwrap();
    let limits = RunLimits {
        stack: 256 << 10,
        ..RunLimits::default()
    };
    let small = limited(text, limits)
        .await
        .unwrap()
        .value
        .unwrap()
        .as_u64()
        .unwrap();
    assert!(large > 3 * small && small > 100, "{large} {small}");
}

#[tokio::test]
async fn host_calls_work_at_the_end_of_the_stack() {
    struct Echo;
    impl Host for Echo {
        fn call(&self, mut call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move { Ok(call.arguments.remove(0).into()) })
        }
    }
    let surface = HostApi {
        globals: vec![HostMethod::new("echo")],
        ..HostApi::default()
    };
    let text = "export function Create() {
        let nested: any = 1; for (let i = 0; i < 90; i++) nested = [nested];
        let calls = 0; const deep = (): void => { echo(nested); calls++; deep(); };
        try { deep(); } catch (e) { return [(e as Error).name, calls > 10]; } }";
    let outcome = hosted(surface, Echo, text, vec![]).await.unwrap();
    assert_eq!(outcome.value, Some(json!(["RangeError", true])));
}

#[tokio::test]
async fn timers_are_limited() {
    let text = "export function Create() { let n = 0; try { for (;;) { setTimeout(() => {}, 1e6); n++; } } catch (e: any) { return [n, e.code, e.message]; } }";
    assert_eq!(
        returned(text).await,
        json!([1000, "limit_exceeded", "at most 1000 timers at once"])
    );
}

#[tokio::test]
async fn calls_without_an_answer_are_limited() {
    let text = "export async function Create() { let n = 0; try { for (;;) { void never(); n++; } } catch (e: any) { return [n, e.code, e.message]; } }";
    let message = "at most 10000 calls without an answer at once: await some of them";
    assert_eq!(pets(text).await, json!([10_000, "limit_exceeded", message]));
}

#[tokio::test]
async fn guarded_functions_do_what_they_did() {
    let text = r#"export function Create() {
        const big = Array.from({ length: 6000 }, (_, i) => (i * 7919) % 6007), n = 'ab'.repeat(40000), m = 'ab'.repeat(2000) + 'c';
        const like: any = { length: 3, 0: 'c', 1: 'a', 2: 'b' }, proxied = new Proxy([3, 1, 2], {});
        const handler: any = {}, guided = new Proxy({ a: 1, b: 2 }, handler), names: any = { 0: 'b', length: 1 };
        const failure = (run: () => unknown) => { try { run(); } catch (e: any) { return e.message; } };
        const check: [string, unknown, unknown][] = [
            ['sort', [10, 9, 1, undefined, 'b'].sort(), [1, 10, 9, 'b', undefined]],
            ['forEach of a map', (() => { const m = new Map([[1, 'a']]), seen: any[] = []; m.forEach((v, k, of) => { seen.push(k, v, of === m); if (k < 3) m.set(k + 1, 'b'); }); return seen; })(), [1, 'a', true, 2, 'b', true, 3, 'b', true]],
            ['forEach of a set', (() => { const s = new Set([1, 2, 3]), seen: any[] = []; s.forEach(function (this: any, v, k, of) { seen.push(v, k, of === s, this.own); s.delete(2); }, { own: 7 }); return seen; })(), [1, 1, true, 7, 3, 3, true, 7]],
            ['clear', (() => { const m = new Map([[1, 1], [2, 2]]), it = m.keys(); it.next(); return [m.clear(), m.size, it.next().done, m.clear.length, m.forEach.length, m.forEach.name]; })(), [undefined, 0, true, 0, 1, 'forEach']],
            ['of others', [Map.prototype.clear, Map.prototype.forEach, Set.prototype.clear].map(own => typeof failure(() => own.call(new (WeakSet as any)(), () => 1))), ['string', 'string', 'string']],
            ['symbols', [() => new WeakMap([[Symbol(), 1]] as any), () => new WeakSet([Symbol()] as any), () => new WeakRef(Symbol() as any), () => new FinalizationRegistry(() => {}).register(Symbol() as any, 1)].map(failure),
                Array(4).fill('a symbol cannot be referred to weakly in Ambit')],
            ['weak', (() => { const key = {}, w = new WeakMap([[key, 1]]), r = new FinalizationRegistry(() => {}); r.register(key, 1, key); return [w.get(key), new WeakSet([key]).has(key), r.unregister(key), r.unregister(key), class extends WeakRef<any> {}.name]; })(), [1, true, true, false, '']],
            ['sort by', [3, 1, 2].sort((a, b) => b - a), [3, 2, 1]],
            ['sort many', big.slice().sort().slice(0, 4), [0, 1, 10, 100]],
            ['toSorted', [3, 1].toSorted(), [1, 3]],
            ['sort like', Array.prototype.sort.call(like), { length: 3, 0: 'a', 1: 'b', 2: 'c' }],
            ['bytes', [...new Float64Array([NaN, 1, -0, 0, -1]).sort()].map(x => Object.is(x, -0) ? '-0' : String(x)), ['-1', '-0', '0', '1', 'NaN']],
            ['bytes many', [...Float64Array.from(big).sort().slice(0, 3)], [0, 1, 2]],
            ['reverse', [1, , 3].reverse().length, 3],
            ['join', [1, null, [2, [3]]].join('-'), '1--2,3'],
            ['join proxy', proxied.join(), '3,1,2'],
            ['slice proxy', proxied.slice(1), [1, 2]],
            ['toString', String([1, [2, 3]]), '1,2,3'],
            ['concat', [1].concat([2], 3 as any, [[4]] as any), [1, 2, 3, [4]]],
            ['concat proxy', [0].concat(proxied), [0, 3, 1, 2]],
            ['flat', [1, [2, [3, [4]]]].flat(), [1, 2, [3, [4]]]],
            ['flat all', [1, [2, [3, [4]]]].flat(Infinity), [1, 2, 3, 4]],
            ['flat none', [1, [2]].flat(0), [1, [2]]],
            ['flatMap', [1, 2].flatMap((x, i) => [x, [i]]), [1, [0], 2, [1]]],
            ['fill', new Array(3).fill(0, 1), [null, 0, 0]],
            ['splice', [1, 2, 3].splice(1, 1), [2]],
            ['with', [1, 2].with(0, 5), [5, 2]],
            ['names', [[].sort.name, ''.indexOf.name, [].splice.length, ''.replaceAll.length], ['sort', 'indexOf', 2, 2]],
            ['indexOf', ['abcabc'.indexOf('c', 3), 'abc'.indexOf(''), 'abc'.indexOf('x'), 'a1'.indexOf(1 as any)], [5, 0, -1, 1]],
            ['indexOf long', [n.indexOf(m), (n + m).indexOf(m), (n + m).lastIndexOf(m), (n + m + m).indexOf(m, 80001)], [-1, 80000, 80000, 84001]],
            ['includes long', [n.includes(m), (n + m).includes(m)], [false, true]],
            ['split long', (m + 'x' + m + 'y').split(m + '').map(s => s.length), [0, 1, 1]],
            ['split far', (n + m + 'x' + m).split(m).map(s => s.length), [80000, 1, 0]],
            ['replace far', [(n + m + m).replace(m, '-').length, (n + m + m).replaceAll(m, (_: string, at: number) => `<${at}>`).length], [84002, 80014]],
            ['split', ['a,b,c'.split(',', 2), 'abc'.split(''), 'a1b'.split(/\d/)], [['a', 'b'], ['a', 'b', 'c'], ['a', 'b']]],
            ['replace', ['aXbX'.replace('X', '$&$&'), 'aXbX'.replaceAll('X', '-'), 'a1'.replace(/(\d)/, '<$1>')], ['aXXbX', 'a-b-', 'a<1>']],
            ['normalize', 'e\u0301'.normalize() === '\u00e9', true],
            ['compare', ['a'.localeCompare('b') < 0, 'x'.localeCompare('x')], [true, 0]],
            ['case', 'Straße'.toUpperCase(), 'STRASSE'],
            ['pad', ['x'.padStart(3, 'ab'), 'x'.padEnd(2), 'ab'.repeat(2)], ['abx', 'x ', 'abab']],
            ['json', JSON.stringify({ a: [1, undefined], b: undefined }, null, 1), '{\n "a": [\n  1,\n  null\n ]\n}'],
            ['proxy', [Proxy.length, typeof Proxy.revocable({}, {}).revoke, (() => { try { (Proxy as any)({}, {}); } catch (e: any) { return e.name; } })()], [2, 'function', 'TypeError']],
            ['entries', [Object.fromEntries(new Map([['a', 1]])), failure(() => Object.fromEntries(undefined as any)) !== undefined], [{ a: 1 }, true]],
            ['descriptors', Object.getOwnPropertyDescriptors('a'), { 0: { value: 'a', writable: false, enumerable: true, configurable: false }, length: { value: 1, writable: false, enumerable: false, configurable: false } }],
            ['names of a proxy', [Object.keys(guided), (handler.ownKeys = function () { return this === handler ? names : []; }, { ...guided }), (names.length = 9000, failure(() => Object.keys(guided)))], [['a', 'b'], { b: 2 }, 'ownKeys of a proxy returns 9000 names: at most 8192 are available']],
        ];
        return check.filter(([, got, wanted]) => JSON.stringify(got) !== JSON.stringify(wanted)).map(([name, got]) => [name, got]);
    }"#;
    assert_eq!(returned(text).await, json!([]));
}

/// What `Create` returns where the host may have a megabyte of it.
async fn handed(text: &str) -> Result<Option<serde_json::Value>, Error> {
    let engine = engine_of(surface());
    let program = program(&engine, text);
    let run = ScriptRun {
        limits: RunLimits {
            handed: 1 << 20,
            ..RunLimits::default()
        },
        host: Arc::new(Pets::new()),
        ..create(&program)
    };
    engine.run(run).await.map(|outcome| outcome.value)
}

#[tokio::test]
async fn g117_values_of_shared_parts_take_as_much_memory_as_the_host_may_have() {
    let text = "export function Create() {
        const parts = ['x'.repeat(100_000), [[]], {}, { a: 1 }, new Array(20_000)];
        return parts.map(part => {
            let shared: unknown = part;
            for (let i = 0; i < 16; i++) shared = [shared, shared];
            try { gone(shared); return 'taken'; } catch (e) { return String(e); }
        }).concat(typeof gone(parts[0]));
    }";
    let refused = "RangeError: the host has more than 1 MiB of values of this run";
    assert_eq!(
        handed(text).await,
        Ok(Some(json!([
            refused,
            refused,
            refused,
            refused,
            refused,
            "undefined"
        ])))
    );
}

#[tokio::test]
async fn g117_values_count_as_long_as_their_call_is_not_answered() {
    let text = "export function Create() {
        const part = 'x'.repeat(100_000);
        for (let i = 0; i < 100; i++) gone(part);
        let taken = 0;
        try { for (;;) { never(part); taken++; } } catch (e) { return [taken, String(e)]; }
    }";
    let refused = "RangeError: the host has more than 1 MiB of values of this run";
    assert_eq!(handed(text).await, Ok(Some(json!([10, refused]))));
}

#[tokio::test]
async fn g117_texts_count_as_they_are_written_in_json() {
    let engine = engine();
    let text = "export function Create() { return '\\0'.repeat(1 << 20); }";
    let result = engine.run(create(&program(&engine, text))).await;
    let expected = Error::ReturnedTooMuch {
        function: "Create".to_owned(),
        limit: 4 << 20,
    };
    assert_eq!(result, Err(expected));
}
