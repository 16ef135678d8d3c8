//! Values across the border.

use crate::support::{ENTRY, create, engine, given, load, message, program, returned, run};
use ambit_script::{Error, RunLimits, ScriptRun};
use serde_json::json;

#[tokio::test]
async fn typescript_runs_with_values_both_ways() {
    let text = "
        enum Size { Small = 1, Large }
        interface Pet { name: string; age?: number }
        class Kennel { constructor(private readonly pets: Pet[]) {} get names(): string[] { return this.pets.map(p => p.name as string); } }
        export async function Create(pets: Pet[]): Promise<unknown> {
            const kennel = new Kennel(pets);
            return { names: kennel.names, size: Size.Large, first: pets[0]!.age satisfies unknown };
        }";
    let value = given(
        text,
        json!([{"name": "Rex", "age": 3.5}, {"name": "Zoë 🐕"}]),
    )
    .await;
    assert_eq!(
        value,
        json!({"names": ["Rex", "Zoë 🐕"], "size": 2, "first": 3.5})
    );
}

#[tokio::test]
async fn values_come_back_as_they_went() {
    let value = json!({"null": null, "yes": true, "int": -7, "big": 9_007_199_254_740_991_i64, "float": 1e-7, "text": "a\u{0}b\"\\",
        "list": [[], {}, [1, [2, [3]]]], "": "empty", "__proto__x": 1, "10": "ten", "2": "two"});
    let back = given("export const Create = (v: unknown) => v;", value.clone()).await;
    assert_eq!(back, value);
}

#[tokio::test]
async fn integers_that_would_lose_digits_become_strings() {
    let text = "export const Create = (v: any) => v.map((x: any) => [typeof x, String(x)]);";
    let value = given(
        text,
        json!([
            9_007_199_254_740_992_u64,
            -9_007_199_254_740_993_i64,
            9_007_199_254_740_991_u64
        ]),
    )
    .await;
    assert_eq!(
        value,
        json!([
            ["string", "9007199254740992"],
            ["string", "-9007199254740993"],
            ["number", "9007199254740991"]
        ])
    );
}

#[tokio::test]
async fn what_json_leaves_out_is_left_out() {
    let text = "export const Create = () => ({
        undefined: undefined, function: () => 1, symbol: Symbol('s'), list: [undefined, () => 1, 1],
        date: new Date(0), nan: NaN, infinity: -Infinity, zero: -0, map: new Map([[1, 2]]), regexp: /a/, half: '\\ud800x',
        own: { toJSON() { return 'own'; } }, error: null, boxed: [new Number(1)].length,
    });";
    let expected = json!({"list": [null, null, 1], "date": "1970-01-01T00:00:00.000Z", "nan": null, "infinity": null, "zero": 0,
        "map": {}, "regexp": {}, "half": "\u{fffd}x", "own": "own", "error": null, "boxed": 1});
    assert_eq!(returned(text).await, expected);
}

#[tokio::test]
async fn undefined_and_null_are_told_apart() {
    assert_eq!(
        run("export function Create() {}")
            .await
            .map(|outcome| outcome.value),
        Ok(None)
    );
    let null = run("export function Create() { return null; }").await;
    assert_eq!(null.map(|outcome| outcome.value), Ok(Some(json!(null))));
}

#[tokio::test]
async fn an_outcome_names_the_first_member_that_json_does_not_have() {
    for (value, name) in [
        ("{ a: 1, b: undefined, c: undefined }", Some("b")),
        ("{ a: NaN }", Some("a")),
        ("{ a: () => 1 }", Some("a")),
        ("{ a: null, b: { c: undefined }, d: [undefined] }", None),
    ] {
        let outcome = run(&format!("export const Create = () => ({value});")).await;
        let left_out = outcome.map(|outcome| outcome.left_out);
        assert_eq!(left_out, Ok(name.map(str::to_owned)), "{value}");
    }
}

#[tokio::test]
async fn what_is_not_json_is_refused_with_its_reason() {
    let cases = [
        ("({ n: 1n })", "it holds a BigInt"),
        (
            "(() => { const a: any = {}; a.a = a; return a; })()",
            "it is cyclic or nested more than 100 deep",
        ),
        ("[new Uint8Array(2)]", "it holds a binary array"),
        ("new ArrayBuffer(2)", "it holds a binary array"),
        (
            "new DataView(new ArrayBuffer(2))",
            "it holds a binary array",
        ),
    ];
    for (value, reason) in cases {
        let text = format!("export function Create() {{ return {value}; }}");
        let error = message(run(&text).await);
        assert_eq!(
            error,
            format!("TypeError: value is not JSON: {reason}"),
            "{value}"
        );
    }
}

#[tokio::test]
async fn g117_a_returned_value_larger_than_allowed_fails_alone() {
    let engine = engine();
    let program = program(
        &engine,
        "export function Create() { return 'x'.repeat(5 << 20); }\nexport const Next = () => 1;",
    );
    let result = engine.run(create(&program)).await;
    let expected = Error::ReturnedTooMuch {
        function: "Create".to_owned(),
        limit: 4 << 20,
    };
    assert_eq!(result, Err(expected));
    let next = ScriptRun {
        function: "Next".to_owned(),
        ..create(&program)
    };
    assert_eq!(
        engine.run(next).await.map(|outcome| outcome.value),
        Ok(Some(json!(1)))
    );
}

#[tokio::test]
async fn a_value_that_shares_its_parts_cannot_grow_without_end() {
    let engine = engine();
    let text = "export function Create() { let a: unknown[] = []; for (let i = 0; i < 60; i++) a = [a, a]; return a; }";
    let program = load(&engine, &[(ENTRY, text)]);
    let run = ScriptRun {
        limits: RunLimits {
            returned: 1 << 20,
            ..RunLimits::default()
        },
        ..create(&program.unwrap())
    };
    let error = message(engine.run(run).await);
    assert_eq!(error, "Create returned more than 1048576 bytes");
}
