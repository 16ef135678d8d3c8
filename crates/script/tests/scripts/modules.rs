//! Files, imports, and how a function is found.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::{ENTRY, create, engine, engine_of, load, program, returned};
use ambit_script::{
    Engine, EngineSettings, Error, HostApi, HostMethod, ProgramSource, ScriptRun, SourceFiles,
    SourceFolder,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

async fn linked(files: &[(&str, &str)]) -> Json {
    let engine = engine();
    let program = load(&engine, files).unwrap();
    engine.run(create(&program)).await.unwrap().value.unwrap()
}

#[tokio::test]
async fn a_function_is_found_in_every_form() {
    let forms = [
        "export function Create() { return 1; }",
        "export async function Create() { return 1; }",
        "export const Create = () => 1;",
        "function Create() { return 1; }\nexport { Create };",
        "const x = () => 1;\nexport { x as Create };",
        "export default { Create() { return 1; } };",
        "const Create = () => 1;\nexport default { Create, Next() {} };",
        "const all = { Create: () => 1 };\nexport default all;",
        "function Create() { return 1; }",
        "async function Create() { return 1; }",
        "export default { ...{}, other: 1 };\nfunction Create() { return 1; }",
        "// @ts-nocheck\nexport function Create(ctx: agent.Context, m: YaoAgent.Message[]): agent.Create { return 1; }",
    ];
    let engine = engine();
    for text in forms {
        let program = program(&engine, text);
        assert!(program.has("Create"), "{text}");
        let result = engine.run(create(&program)).await;
        assert_eq!(
            result.map(|outcome| outcome.value),
            Ok(Some(json!(1))),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_function_is_on_the_line_where_its_file_names_it() {
    let engine = engine();
    let line = |text: &str, name: &str| program(&engine, text).line(name);
    let text = [
        "// é",
        "export function Create() {}",
        "",
        "export const Next = () => 1,",
        "  Later = 2;",
        "function plain() {}",
        "const x = 1;",
        "export { x as Listed, plain };",
    ];
    for (name, expected) in [
        ("Create", Some(2)),
        ("Next", Some(4)),
        ("Later", Some(5)),
        ("plain", Some(6)),
        ("Listed", Some(8)),
        ("x", None),
    ] {
        assert_eq!(line(&text.join("\n"), name), expected, "{name}");
    }
    let members = "export default {\n  Create() {},\n  \"Next\": () => 1,\n};";
    assert_eq!(line(members, "Create"), Some(2));
    assert_eq!(line(members, "Next"), Some(3));
    let computed = "const all = { Create: () => 1 };\nexport default all;";
    assert_eq!(line(computed, "Create"), None);
}

#[tokio::test]
async fn an_export_wins_over_a_plain_function() {
    let text = "function Create() { return 'plain'; }\nconst other = () => 'export';\nexport { other as Create };";
    assert_eq!(returned(text).await, json!("export"));
}

#[tokio::test]
async fn a_function_that_is_not_there_is_said_to_be_absent() {
    let engine = engine();
    let none = program(&engine, "export const Next = 1; const Create = () => 1;");
    assert!(!none.has("Create"));
    let absent = Error::NoFunction {
        file: ENTRY.to_owned(),
        function: "Create".to_owned(),
    };
    assert_eq!(engine.run(create(&none)).await, Err(absent.clone()));
    let computed = program(&engine, "export default Object.fromEntries([]);");
    assert_eq!(engine.run(create(&computed)).await, Err(absent));
    let next = ScriptRun {
        function: "Next".to_owned(),
        ..create(&none)
    };
    assert_eq!(
        engine.run(next).await,
        Err(Error::NotAFunction("Next".to_owned()))
    );
}

#[tokio::test]
async fn files_import_each_other() {
    let value = linked(&[
        (ENTRY, "import { a } from './a';\nimport b, { type T } from '../lib/b.ts';\nimport * as c from './c/';\nimport data from './data.json';
            import { add } from '@scripts/math/add';\nimport { d } from './d.js';
            export function Create(): T { return [a, b(), c.c, c.deep, data.x, add(1, 2), d]; }"),
        ("assistants/pet/src/a.ts", "export const a: string = 'a';"),
        ("assistants/pet/lib/b.ts", "export type T = unknown;\nexport default function () { return 'b'; }"),
        ("assistants/pet/src/c/index.ts", "export * from './deep';\nexport const c = 'c';"),
        ("assistants/pet/src/c/deep.ts", "export const deep = 'deep';\nexport default 0;"),
        ("assistants/pet/src/data.json", "{\"x\": {\"y\": [1]}}"),
        ("assistants/pet/src/d.ts", "export const d = 'd';"),
        ("scripts/math/add.ts", "import { one } from '../one';\nexport const add = (a: number, b: number) => a + b + one;"),
        ("scripts/one.ts", "export const one = 1;"),
    ])
    .await;
    assert_eq!(value, json!(["a", "b", "c", "deep", {"y": [1]}, 4, "d"]));
}

#[tokio::test]
async fn cycles_and_types_passed_on_work() {
    let value = linked(&[
        (ENTRY, "import { even } from './even';\nimport { Pet, Cat } from './types';\nexport { Pet };
            export function Create(pet?: Pet) { const cat: Cat = { lives: 9 }; return [even(10), cat.lives]; }"),
        ("assistants/pet/src/even.ts", "import { odd } from './odd';\nexport const even = (n: number): boolean => n === 0 || odd(n - 1);"),
        ("assistants/pet/src/odd.ts", "import { even } from './even';\nexport const odd = (n: number): boolean => n !== 0 && even(n - 1);"),
        ("assistants/pet/src/types.ts", "export { Pet } from './pets';\nexport interface Cat { lives: number }"),
        ("assistants/pet/src/pets.ts", "export interface Pet { name: string }"),
    ])
    .await;
    assert_eq!(value, json!([true, 9]));
}

#[tokio::test]
async fn a_file_of_which_only_types_are_imported_is_not_loaded() {
    let value = linked(&[
        (ENTRY, "import { Pet, Food as Eats } from './types';\nimport Named, * as all from './types';\nimport { Shop } from './shop';
            import type { Gone } from './gone';\nimport { type Away } from './away';\nimport { unused } from './throws';\nimport { Row } from '../../../types';
            import { Context } from '@ambit/runtime';
            export function Create(ctx?: Context, pet?: Pet, eats?: Eats, named?: Named, shop?: Shop, gone?: Gone, away?: Away, row?: Row) { return 1; }"),
        ("assistants/pet/src/types.ts", "export type * from './food';\nexport interface Pet { name: string }\nexport default interface Named {}"),
        ("assistants/pet/src/food.ts", "type Food = string;\nexport { Food };"),
        ("assistants/pet/src/shop.d.ts", "interface Shop {}"),
        ("types/index.d.ts", "export interface Row {}"),
        ("assistants/pet/src/throws.ts", "export const unused = 1;\nthrow new Error('it is loaded');"),
    ])
    .await;
    assert_eq!(value, json!(1));
}

#[tokio::test]
async fn imports_made_while_running_find_only_what_the_file_names() {
    let value = linked(&[
        (ENTRY, "export async function Create() { const a = await import('./a'); const name = './a' + '2';
            return [a.a, await import(name).catch((e: Error) => e.constructor.name)]; }"),
        ("assistants/pet/src/a.ts", "export const a = 'a';"),
        ("assistants/pet/src/a2.ts", "export const a = 'a2';"),
    ])
    .await;
    assert_eq!(value, json!(["a", "ReferenceError"]));
}

#[tokio::test]
async fn the_built_in_modules_hold_the_globals() {
    let surface = HostApi {
        globals: vec![HostMethod::new("Process"), HostMethod::new("http.Get")],
        ..HostApi::default()
    };
    let engine = engine_of(surface);
    let text = "import { Process, http, Exception, type Context } from '@ambit/runtime';\nimport { Exception as Other } from '@yao/agent';
        import * as all from '@yao/runtime';
        export const Create = (ctx: Context) => [typeof Process, typeof http.Get, Exception === Other, all.Process === Process];";
    let program = program(&engine, text);
    let value = engine.run(create(&program)).await.unwrap().value;
    assert_eq!(value, Some(json!(["function", "function", true, true])));
}

#[tokio::test]
async fn paths_of_tsconfig_are_followed() {
    let tsconfig = "{ // paths\n \"compilerOptions\": { /* here */ \"baseUrl\": \".\", \"paths\": { \"@lib/*\": [\"./shared/*\"], \"@lib/special/*\": [\"special/*\"], }, }, }";
    let value = linked(&[
        (ENTRY, "import { a } from '@lib/a';\nimport { b } from '@lib/special/b';\nexport const Create = () => [a, b, 'http://x' + '\"// no'];"),
        ("tsconfig.json", tsconfig),
        ("shared/a.ts", "export const a = 1;"),
        ("special/b.ts", "export const b = 2;"),
    ])
    .await;
    assert_eq!(value, json!([1, 2, "http://x\"// no"]));
}

#[tokio::test]
async fn g120_every_run_has_fresh_globals_and_fresh_modules() {
    let engine = engine();
    let files = [
        (ENTRY, "import { count } from './count';
            export function Create() { const seen = [count(), typeof (globalThis as any).leak, typeof ([] as any).leak, typeof (Object as any).leak];
            (globalThis as any).leak = 1; (Array.prototype as any).leak = 1; (Object as any).leak = 1; Promise.resolve().then(() => { count(); });
            return seen; }"),
        ("assistants/pet/src/count.ts", "let n = 0;\nexport const count = () => ++n;"),
    ];
    let program = load(&engine, &files).unwrap();
    for _ in 0..50 {
        let value = engine.run(create(&program)).await.unwrap().value;
        assert_eq!(
            value,
            Some(json!([1, "undefined", "undefined", "undefined"]))
        );
    }
}

#[tokio::test]
async fn g122_a_loaded_program_keeps_its_code_when_files_change() {
    let engine = engine();
    let old = program(&engine, "export const Create = () => 'old';");
    let new = program(&engine, "export const Create = () => 'new';");
    assert!(load(&engine, &[(ENTRY, "export const Create = ;")]).is_err());
    let before = engine.run(create(&old)).await.unwrap().value;
    let after = engine.run(create(&new)).await.unwrap().value;
    assert_eq!((before, after), (Some(json!("old")), Some(json!("new"))));
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_gives_only_its_own_files() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.ts"), "export const secret = 1;").unwrap();
    let app = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.ts"), app.path().join("link.ts"))
        .unwrap();
    std::fs::write(
        app.path().join("index.ts"),
        "export const Create = () => 'file';",
    )
    .unwrap();
    std::fs::write(
        app.path().join("leaves.ts"),
        "import { secret } from './link';\nexport const Create = () => secret;",
    )
    .unwrap();
    let files = SourceFolder::new(app.path()).unwrap();
    let source = |file: &str| ProgramSource {
        file: file.to_owned(),
        folder: String::new(),
    };
    let engine = engine();
    let program = engine.load(&files, &source("index.ts")).unwrap();
    assert_eq!(
        engine.run(create(&program)).await.unwrap().value,
        Some(json!("file"))
    );
    let error = engine
        .load(&files, &source("leaves.ts"))
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        error,
        "leaves.ts:1:1: cannot import \"./link\": the link leaves the app"
    );
    assert!(files.read("../secret.ts").is_err());
}

#[tokio::test]
async fn an_engine_that_is_dropped_ends_its_threads() {
    let engine = Arc::new(Engine::new(&EngineSettings::default(), HostApi::default()).unwrap());
    let program = program(&engine, "export const Create = () => 1;");
    assert!(engine.run(create(&program)).await.is_ok());
    let weak = Arc::downgrade(&engine);
    drop(engine);
    assert!(weak.upgrade().is_none());
}
