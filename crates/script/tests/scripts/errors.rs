//! Errors, in terms of the source that was written.

use crate::support::{ENTRY, create, engine, load, message, run};
use ambit_script::{Error, ScriptException, SourceLocation, StackFrame};

async fn thrown(text: &str) -> ScriptException {
    match run(text).await {
        Err(Error::Thrown(thrown)) => *thrown,
        other => panic!("it throws, but gave {other:?}"),
    }
}

fn frame(function: &str, file: &str, line: u32, column: u32) -> StackFrame {
    StackFrame {
        function: Some(function.to_owned()),
        at: SourceLocation {
            file: file.to_owned(),
            line,
            column,
        },
    }
}

#[tokio::test]
async fn g118_an_error_has_the_typescript_file_line_and_stack() {
    let engine = engine();
    let lib = "assistants/pet/src/lib.ts";
    let files = [
        (
            ENTRY,
            "import { inner } from './lib';\n\ninterface A { x: number }\ntype B = A;\n\nexport function Create(): B {\n  const a: A = { x: 1 };\n\n  return outer(a);\n}\nfunction outer(a: A): A { return [a].map(one => inner(one))[0]; }",
        ),
        (
            lib,
            "export enum E { One }\n\nexport function inner(a: any): any {\n  return (undefined as any).missing;\n}",
        ),
    ];
    let program = load(&engine, &files).unwrap();
    let Err(Error::Thrown(thrown)) = engine.run(create(&program)).await else {
        panic!("it throws");
    };
    let anonymous = StackFrame {
        function: None,
        at: SourceLocation {
            file: ENTRY.to_owned(),
            line: 11,
            column: 55,
        },
    };
    let expected = ScriptException {
        name: "TypeError".to_owned(),
        message: "cannot read property 'missing' of undefined".to_owned(),
        stack: vec![
            frame("inner", lib, 4, 11),
            anonymous,
            frame("outer", ENTRY, 11, 38),
            frame("Create", ENTRY, 9, 16),
        ],
        ..ScriptException::default()
    };
    assert_eq!(*thrown, expected);
}

#[tokio::test]
async fn g118_every_way_to_throw_is_reported_with_its_line() {
    let at = |line: u32| format!("({ENTRY}:{line}:");
    let cases = [
        (
            "export function Create() {\n  return (missing as any).x;\n}",
            "ReferenceError: missing is not defined",
            2,
        ),
        (
            "export async function Create() {\n  await null;\n  throw new RangeError('late');\n}",
            "RangeError: late",
            3,
        ),
        (
            "export function Create() {\n  return new Promise((_, reject) =>\n    reject(new Error('rejected')));\n}",
            "Error: rejected",
            3,
        ),
        (
            "const x: any = null;\nx.y;\nexport function Create() {}",
            "TypeError: cannot read property 'y' of null",
            2,
        ),
        (
            "class Own extends Error { name = 'Own' }\nexport function Create() {\n  throw new Own('mine');\n}",
            "Own: mine",
            3,
        ),
        (
            "export function Create() {\n  const f = () => {\n    throw new Exception('no', 403);\n  };\n  f();\n}",
            "Exception: no",
            3,
        ),
        (
            "export function Create() {\n  return new Promise(() => setTimeout(() => {\n    throw new Error('timer');\n  }, 1));\n}",
            "Error: timer",
            3,
        ),
        (
            "export async function Create() {\n  for await (const x of (async function* () {\n    throw new Error('generator');\n  })()) {}\n}",
            "Error: generator",
            3,
        ),
    ];
    for (text, expected, line) in cases {
        let error = message(run(text).await);
        assert!(
            error.starts_with(&format!("{expected} {}", at(line))),
            "{text}\ngave {error}"
        );
    }
}

#[tokio::test]
async fn exceptions_keep_code_and_status() {
    let number = thrown("export function Create() { throw Exception('gone', 410); }").await;
    assert_eq!(
        (number.name.as_str(), number.code, number.status),
        ("Exception", None, Some(410.0))
    );
    let string =
        thrown("export function Create() { throw new Exception('busy', 'chat_busy'); }").await;
    assert_eq!(
        (string.code.as_deref(), string.status),
        (Some("chat_busy"), None)
    );
    let derived = thrown("class Mine extends Exception { constructor() { super('m', 'mine'); } }\nexport function Create() { throw new Mine(); }").await;
    assert_eq!(
        (derived.code.as_deref(), derived.name.as_str()),
        (Some("mine"), "Exception")
    );
    let checks = "export function Create() { const e = new Exception('x', 1); if (!(e instanceof Error && e instanceof Exception && e.code === 1)) throw 'no'; throw 'yes'; }";
    assert_eq!(thrown(checks).await.message, "yes");
}

#[tokio::test]
async fn what_is_thrown_need_not_be_an_error() {
    for (value, expected) in [
        ("'text'", "text"),
        ("{ a: 1 }", "{\"a\":1}"),
        ("undefined", "undefined"),
        ("null", "null"),
        ("1n", "1"),
        ("Symbol('s')", "symbol"),
    ] {
        let plain = thrown(&format!("export function Create() {{ throw {value}; }}")).await;
        assert_eq!(plain.message, expected, "{value}");
    }
}

#[tokio::test]
async fn errors_that_make_trouble_when_looked_at_are_reported_anyway() {
    let text = "export function Create() {
        const e: any = new Error('x');
        Object.defineProperty(e, 'message', { get() { throw new Error('again'); } });
        Object.defineProperty(e, 'code', { get() { throw 1; } });
        e.stack = 7; e.name = { toString() { throw 1; } };
        throw e; }";
    assert_eq!(thrown(text).await, ScriptException::default());
}

#[tokio::test]
async fn stacks_that_scripts_read_name_the_source_too() {
    let text = "interface A {}\n\n\nenum E { One }\nexport function Create() {\n  const stack = new Error('x').stack!;\n  throw stack.split('\\n')[0]!.trim();\n}";
    assert_eq!(
        thrown(text).await.message,
        format!("at Create ({ENTRY}:6:21)")
    );
}
