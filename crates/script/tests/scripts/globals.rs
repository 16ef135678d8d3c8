//! The globals that need no later part.

use crate::support::{create, engine, engine_of, hosted, message, program, returned, run};
use ambit_script::{Host, HostApi, HostCall, HostError, HostValue, ScriptRun};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};

/// Runs a list of `[name, got, wanted]` in a script; gives those that differ.
async fn differing(checks: &str) -> Json {
    let text = format!(
        "export async function Create() {{ const name = (f: () => unknown) => {{ try {{ return String(f()); }} catch (e: any) {{ return e.name; }} }};
        const checks: [string, unknown, unknown][] = [{checks}];
        return checks.filter(([, got, wanted]) => JSON.stringify(got) !== JSON.stringify(wanted)); }}"
    );
    returned(&text).await
}

#[tokio::test]
async fn text_is_coded_by_the_standard() {
    let checks = r#"
        ['round', new TextDecoder().decode(new TextEncoder().encode('aä€🐕\u0000')), 'aä€🐕\u0000'],
        ['bytes', [...new TextEncoder().encode('é€')], [195, 169, 226, 130, 172]],
        ['half', [...new TextEncoder().encode('\ud800')], [239, 191, 189]],
        ['none', [new TextEncoder().encode().length, new TextDecoder().decode()], [0, '']],
        ['into', (() => { const b = new Uint8Array(4); return [new TextEncoder().encodeInto('a€b', b), [...b]]; })(), [{ read: 2, written: 4 }, [97, 226, 130, 172]]],
        ['broken', new TextDecoder().decode(new Uint8Array([0x61, 0xe2, 0x82, 0x62, 0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf0, 0x9f])), 'a\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd'],
        ['fatal', name(() => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))), 'TypeError'],
        ['bom', [new TextDecoder().decode(new Uint8Array([239, 187, 191, 97])), new TextDecoder('utf8', { ignoreBOM: true }).decode(new Uint8Array([239, 187, 191, 97])).length], ['a', 2]],
        ['stream', (() => { const d = new TextDecoder(); return d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + d.decode(new Uint8Array([0xac])); })(), '€'],
        ['view', new TextDecoder().decode(new DataView(new Uint8Array([97, 98, 99]).buffer, 1, 1)), 'b'],
        ['label', name(() => new TextDecoder('latin1')), 'RangeError'],
        ['base64', ['', 'a', 'ab', 'abc', '\u00ff\u00fe'].map(btoa), ['', 'YQ==', 'YWI=', 'YWJj', '//4=']],
        ['back', ['', 'YQ==', 'YWI', ' YW Jj\n', '//4='].map(atob), ['', 'a', 'ab', 'abc', '\u00ff\u00fe']],
        ['not base64', [name(() => atob('a')), name(() => atob('a*bc')), name(() => btoa('€'))], Array(3).fill('InvalidCharacterError')],
    "#;
    assert_eq!(differing(checks).await, json!([]));
}

#[tokio::test]
async fn built_ins_that_are_guarded_keep_to_the_language() {
    let checks = r#"
        ['search', [new String('abc').indexOf('c'), 'a1b'.includes([1] as any), String.prototype.lastIndexOf.call(121, 1 as any), 'undefined'.indexOf(undefined as any)], [2, true, 2, 0]],
        ['split', [new String('a,b').split(','), 'a1b'.split([1] as any), 'a'.split(undefined as any), 'a-b_c'.split(/[-_]/, 2), 'abc'.split('')], [['a', 'b'], ['a', 'b'], ['a'], ['a', 'b'], ['a', 'b', 'c']]],
        ['replace', [new String('aa').replace('a', 'b'), 'a1'.replace([1] as any, (m: string, i: number) => m + i), 'aa'.replaceAll(/a/g, 'b'), 'aa'.replaceAll('a', (_, i) => i)], ['ba', 'a11', 'bb', '01']],
        ['matches', (() => { const p: any = /(?<x>a)b?/g, q: any = /-/; p.exec = 1; q.exec = 1; return ['abca'.match(p), p.lastIndex, 'a-b'.split(q), 'a'.match(/A/i)?.index, 'ab'.match(/b/y), 'aXb'.split(/(x)/i)]; })(), [['ab', 'a'], 0, ['a', 'b'], 0, null, ['a', 'X', 'b']]],
        ['own exec', (() => { let n = 0; class A extends RegExp { exec(s: string) { n++; return super.exec(s); } } return ['a1b2'.match(new A('.\\d', 'g')), 'a1b'.split(new A('1')), n, name(() => Object.assign(/a/, { exec: () => 1 as any })[Symbol.match]('a'))]; })(), [['a1', 'b2'], ['a', 'b'], 6, 'TypeError']],
        ['substitution', (() => {
            const put = (pattern: any, by: string) => [1, 5e5].map(n => { const s = '-'.repeat(n); return `${s}ab${s}`.replaceAll(pattern, by).split(/-+/).join('~'); });
            return [put(/a(b)(c)?/g, '[$$|$&|$`|$\'|$1|$2|$3|$0|$00|$01|$10|$21|$<x>|$'), put(/(?<x>a)(?<y>c)?/g, '[$$|$<x>|$<y>|$<z>|$<>|$1|$2|$3|$20|$02|$<x|$'),
                put('ab', '[$$|$&|$`|$\'|$1|$01|$<x>|$0|$$$$|$&|$'), put(/(a)(b)()()()()()()()()(c)?/g, '[$1|$2|$10|$11|$12|$020|$99|$100|$1')];
        })(), ['~[$|ab|~|~|b||$3|$0|$00|b|b0|1|$<x>|$~', '~[$|a||||a||$3|0||$<x|$b~', '~[$|ab|~|~|$1|$01|$<x>|$0|$$|ab|$~', '~[a|b|||a2|b0|9|0|a~'].map(text => [text, text])],
        ['results', (() => { const p: any = /a/g; let n = 3; p.exec = () => n-- ? { length: 2, 0: 'bc', 1: n, index: n, groups: 'xyz' } : null; return p[Symbol.replace]('abcd', '[$1$<length>$`$\'$&$2]'); })(), 'ab[23abbc$2]'],
        ['replace', [(() => { const p = /a/y; p.lastIndex = 1; return ['aab'.replace(p, '$&!'), p.lastIndex]; })(), (() => { const p = /a/g; p.lastIndex = 1; return ['aab'.replace(p, '$&!'), p.lastIndex]; })(), name(() => Object.freeze(/a/g)[Symbol.replace]('a', 'b'))], [['aa!b', 2], ['a!a!b', 0], 'TypeError']],
        ['functions', [(() => { const p: any = /./g; p.exec = 1; return 'ab'.replace(p, (m: string) => m + 'xy'.replace(/y/g, () => 'z' + 'q'.match(/q/g))); })(), name(() => Object.freeze(/a/g)[Symbol.replace]('a', () => 'b'))], ['axzqbxzq', 'TypeError']],
        ['setters', (() => { let n = 0; Object.defineProperty(Array.prototype, 1, { configurable: true, set() { if (n++ < 1) 'x'.match(/x/g); } }); try { const found: any = 'abc'.match(/./g); return `${found.length} ${found[2]}`; } finally { delete (Array.prototype as any)[1]; } })(), '3 c'],
        ['all', (() => { const p: any = /(?<n>\d)/g; p.lastIndex = 2; class A extends RegExp { exec(s: string) { return super.exec(s); } } return [[...'1a2b3'.matchAll(p)].map((m: any) => [m.index, m.groups.n]), p.lastIndex, [...'aba'.matchAll(new A('a', 'g'))].length, [...'ab'.matchAll('' as any)].length]; })(), [[[2, '2'], [4, '3']], 2, 2, 3]],
        ['own', 'ab'.split({ [Symbol.split]: (...all: unknown[]) => all } as any, 3), ['ab', 3]],
        ['refused', ['replaceAll', 'includes', 'startsWith'].map(key => name(() => ('a' as any)[key](/a/))), Array(3).fill('TypeError')],
        ['nothing', ['indexOf', 'split', 'match', 'search', 'normalize', 'repeat'].map(key => name(() => (String.prototype as any)[key].call(null, /a/))), Array(6).fill('TypeError')],
        ['normal', [new String('e\u0301').normalize(), new String('a').localeCompare(['a'] as any)], ['\u00e9', 0]],
        ['concat', [[1].concat([2], 3 as any, { length: 1, 0: 4, [Symbol.isConcatSpreadable]: true } as any), [1].concat(Object.assign([2], { [Symbol.isConcatSpreadable]: null })).length], [[1, 2, 3, 4], 2]],
        ['spread', (() => { const o: any = { length: 1, 0: 1, get [Symbol.isConcatSpreadable]() { return true; } }; return [].concat(o); })(), [1]],
        ['drop', [1, -1, NaN, { valueOf: () => 2 }].map(n => name(() => ([1, 2, 3].values() as any).drop(n).toArray())), ['2,3', 'RangeError', 'RangeError', '3']],
        ['bytes', [new Uint8Array([3, 1]).join('-'), [...Uint8Array.from('12')], [...Uint8Array.from(new Set([2]), n => n + 1)], name(() => Uint8Array.prototype.join.call([1] as any))], ['3-1', [1, 2], [3], 'TypeError']],
        ['size', [-1, NaN, '2', 1n].map(size => name(() => [...(new Set([1]) as any).union({ size, has: () => true, keys: () => [2].values() })])), ['RangeError', 'TypeError', '1,2', 'TypeError']],
        ['difference', (() => { const s: any = new Set([1, 2, 3]); return [...s.difference({ size: 3, keys() {}, has: (n: number) => n > 1 || s.delete(2) })]; })(), []],
    "#;
    assert_eq!(differing(checks).await, json!([]));
}

#[tokio::test]
async fn urls_are_read_and_changed_by_the_standard() {
    let checks = r#"
        ['parts', (() => { const u: any = new URL('https://me:pw@example.com:8080/a/../b?x=1&x=2#h'); return ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'].map(k => u[k]); })(),
            ['https://me:pw@example.com:8080/b?x=1&x=2#h', 'https://example.com:8080', 'https:', 'me', 'pw', 'example.com:8080', 'example.com', '8080', '/b', '?x=1&x=2', '#h']],
        ['base', new URL('../c?d', 'http://h/a/b/').href, 'http://h/a/c?d'],
        ['text', [String(new URL('HTTP://EXAMPLE.com:80')), JSON.stringify({ u: new URL('http://a b'.replace(' ', '')) })], ['http://example.com/', '{"u":"http://ab/"}']],
        ['wrong', [name(() => new URL('nope')), name(() => new URL('/x', 'nope')), URL.canParse('nope'), URL.parse('nope'), URL.canParse('x:y')], ['TypeError', 'TypeError', false, null, true]],
        ['change', (() => { const u = new URL('http://a/b'); u.pathname = '/c d'; u.search = 'q=ü'; u.hash = 'x'; u.host = 'z:1'; u.port = '2'; u.protocol = 'https'; return u.href; })(), 'https://z:2/c%20d?q=%C3%BC#x'],
        ['params', (() => { const u = new URL('http://a/?b=1'); u.searchParams.append('c', 'd e&f'); u.searchParams.delete('b'); const s = u.search; u.search = '?z=9'; return [s, u.searchParams.get('z'), u.searchParams.has('c')]; })(), ['?c=d+e%26f', '9', false]],
        ['query', (() => { const p = new URLSearchParams('?a=1&b=%20x+y&a=2&c'); p.set('a', '3'); p.sort(); return [p.toString(), p.getAll('a'), [...p.keys()], p.size, p.get('none')]; })(), ['a=3&b=+x+y&c=', ['3'], ['a', 'b', 'c'], 3, null]],
        ['from', [new URLSearchParams({ a: '1', b: 'ü' }).toString(), new URLSearchParams([['x', 'y']]).toString(), new URLSearchParams(new URLSearchParams('q=1')).get('q')], ['a=1&b=%C3%BC', 'x=y', '1']],
    "#;
    assert_eq!(differing(checks).await, json!([]));
}

#[tokio::test]
async fn copies_are_deep_and_keep_their_shape() {
    let checks = r#"
        ['plain', structuredClone({ a: [1, { b: null }], u: undefined, d: new Date(5) }).d.getTime(), 5],
        ['kinds', (() => { const m = structuredClone(new Map<any, any>([[{ k: 1 }, new Set([1, [2]])]])); const [[k, s]] = [...m]; return [k, [...s], structuredClone(/a/gi).flags, structuredClone(7n) === 7n]; })(), [{ k: 1 }, [1, [2]], 'gi', true]],
        ['cycle', (() => { const a: any = { x: 1 }; a.self = a; const b = structuredClone(a); return [b.self === b, b !== a, b.x]; })(), [true, true, 1]],
        ['buffers', (() => { const u = new Uint16Array([1, 2, 3]).subarray(1); const c = structuredClone(u); u[0] = 9; return [...c]; })(), [2, 3]],
        ['errors', (() => { const e = structuredClone(new RangeError('r', { cause: 1 })); return [e instanceof RangeError, e.message, e.cause]; })(), [true, 'r', 1]],
        ['holes', structuredClone([1, , 3]).length, 3],
        ['refused', [name(() => structuredClone(() => 1)), name(() => structuredClone({ s: Symbol('x') })), name(() => structuredClone(Promise.resolve()))], Array(3).fill('DataCloneError')],
        ['uuid', [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), crypto.randomUUID() === crypto.randomUUID()], [true, false]],
    "#;
    assert_eq!(differing(checks).await, json!([]));
}

#[tokio::test]
async fn timers_fire_in_order_and_can_be_stopped() {
    let text = "export async function Create() {
        const seen: unknown[] = [];
        const stopped = setTimeout(() => seen.push('never'), 1); clearTimeout(stopped); clearTimeout(undefined as any); clearInterval(12345);
        setTimeout((...args: unknown[]) => seen.push(args), 20, 'a', 1); setTimeout(() => seen.push('b'), 20); setTimeout(() => seen.push('c'), 20);
        queueMicrotask(() => seen.push('micro'));
        await new Promise(resolve => setTimeout(resolve, 20)); seen.push('end');
        let n = 0; await new Promise<void>(resolve => { const every = setInterval(() => { seen.push(++n); if (n === 3) { clearInterval(every); resolve(); } }, 1); });
        return [seen, typeof stopped]; }";
    let seen = json!([["micro", ["a", 1], "b", "c", "end", 1, 2, 3], "number"]);
    assert_eq!(returned(text).await, seen);
}

#[tokio::test]
async fn the_timer_that_is_due_first_fires_first() {
    // A busy machine may let time pass between setting two of them, so each says between which times it was due.
    let text = "export async function Create() {
        const fired: { name: string, from: number, to: number }[] = [];
        const set = (name: string, wait?: number) => new Promise<void>(resolve => {
            const from = Date.now(), timer = { name, from: from + (wait ?? 0), to: 0 };
            setTimeout(() => { fired.push(timer); resolve(); }, wait);
            timer.to = Date.now() + (wait ?? 0) + 1;
        });
        await Promise.all([set('last', 30), set('third', 20), set('second', 10), set('first')]);
        return [fired.map(timer => timer.name).sort(), fired.filter((timer, i) => i > 0 && fired[i - 1].from > timer.to)]; }";
    let names = ["first", "last", "second", "third"];
    assert_eq!(returned(text).await, json!([names, []]));
}

#[tokio::test]
async fn the_console_speaks_to_the_host_in_json() {
    struct Log(Mutex<Vec<(String, Vec<Json>)>>);
    impl Host for Log {
        fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
            Box::pin(async move {
                let line = (format!("{}.{}", call.class, call.method), call.arguments);
                self.0.lock().unwrap().push(line);
                Ok(HostValue::Undefined)
            })
        }
    }
    let log = Arc::new(Log(Mutex::default()));
    let engine = engine_of(HostApi::default());
    let program = program(
        &engine,
        "export function Create() { console.log('a', { b: [1] }, undefined); console.warn(1); console.debug(); console.log(1n); console.error(new TypeError('bad')); }",
    );
    let run = ScriptRun {
        host: Arc::clone(&log) as Arc<dyn Host>,
        ..create(&program)
    };
    assert!(engine.run(run).await.is_ok());
    let mut lines = log.0.lock().map(|lines| lines.clone()).unwrap_or_default();
    let error = lines
        .pop()
        .map(|(level, mut values)| (level, values[0]["message"].take(), values[0]["name"].take()));
    assert_eq!(
        error,
        Some(("console.error".to_owned(), json!("bad"), json!("TypeError")))
    );
    let expected = [
        ("console.info", json!(["a", {"b": [1]}, null])),
        ("console.warn", json!([1])),
        ("console.debug", json!([])),
        (
            "console.info",
            json!(["value is not JSON: it holds a BigInt"]),
        ),
    ];
    let got: Vec<_> = lines
        .into_iter()
        .map(|(level, values)| (level, Json::from(values)))
        .collect();
    assert_eq!(
        got,
        expected.map(|(level, values)| (level.to_owned(), values))
    );
}

#[tokio::test]
async fn g121_what_must_be_absent_is_absent() {
    let names = "require process Buffer Deno WebAssembly SharedArrayBuffer Atomics __yao_data module exports global window self std os bjson scriptArgs print gc native navigator performance fetch";
    let text = format!(
        "export function Create() {{ return '{names}'.split(' ').filter(name => name in globalThis); }}"
    );
    assert_eq!(returned(&text).await, json!([]));
    let own = returned("export function Create() { return Object.keys(globalThis); }").await;
    assert_eq!(own, json!([]));
}

#[tokio::test]
async fn what_is_not_available_says_so() {
    let surface = || HostApi {
        unavailable: ["FS", "Eval"].map(str::to_owned).to_vec(),
        ..HostApi::default()
    };
    for (code, name) in [
        ("FS.Read('x')", "FS"),
        ("new FS()", "FS"),
        ("Eval('1')", "Eval"),
        ("FS.x = 1, FS.y", "FS"),
    ] {
        let text = format!("export function Create() {{ return {code}; }}");
        let result = hosted(surface(), ambit_script::NoHost, &text, vec![]).await;
        let error = message(result);
        assert!(
            error.starts_with(&format!("Error: {name} is not available in Ambit")),
            "{code}: {error}"
        );
    }
    let text = "export const Create = () => [typeof FS, typeof Eval, (globalThis as any).Nope];";
    let outcome = hosted(surface(), ambit_script::NoHost, text, vec![]).await;
    assert_eq!(
        outcome.map(|outcome| outcome.value),
        Ok(Some(json!(["function", "function", null])))
    );
}

#[tokio::test]
async fn scripts_may_replace_globals_for_themselves_alone() {
    let engine = engine();
    let text = "export function Create() { const before = [typeof URL, typeof atob, typeof setTimeout];
        (globalThis as any).URL = 1; (globalThis as any).atob = 2; (globalThis as any).setTimeout = 3; (globalThis as any).Promise = class {};
        (Array.prototype as any).push = null; (Object as any).keys = null; (globalThis as any).JSON = null; (String.prototype as any).split = null;
        return { before, after: [URL, atob, setTimeout] }; }";
    let program = program(&engine, text);
    for _ in 0..3 {
        let value = engine
            .run(create(&program))
            .await
            .map(|outcome| outcome.value);
        let expected = json!({"before": ["function", "function", "function"], "after": [1, 2, 3]});
        assert_eq!(value, Ok(Some(expected)));
    }
    assert!(run("export function Create() { delete (globalThis as any).console; return typeof console; }").await.is_ok());
}
