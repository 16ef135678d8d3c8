//! Modules of scripts that are processes.

use crate::place::value;
use serde_json::json;

#[tokio::test]
async fn processes_import_files_of_the_app_and_built_in_modules() {
    let files = [
        ("tsconfig.json", r#"{"compilerOptions": {"paths": {"@scripts/*": ["./scripts/*"]}}}"#),
        ("scripts/lib/index.ts", "export * from './words'; export const own = 'own';"),
        ("scripts/lib/words.js", "import data from './words.json'; export const words = data.words;"),
        ("scripts/lib/words.json", r#"{"words": ["a"]}"#),
        (
            "scripts/deep/use.ts",
            "// @ts-nocheck
            import { own, words } from '../lib'; import { words as same } from '@scripts/lib/words.js';
            import { Process as run, type Context, Store } from '@yao/runtime'; import { Exception } from '@ambit/runtime';
            enum Kind { A = 'a' } namespace N { export const n = 1; }
            export const Use = (c?: agent.Context) => [own, words, words === same, typeof run, typeof Store, typeof Exception, Kind.A, N.n];",
        ),
    ];
    let found = value(&files, "Process('scripts.deep.use.Use')").await;
    let expected = json!([
        "own",
        ["a"],
        true,
        "function",
        "function",
        "function",
        "a",
        1
    ]);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn top_level_code_runs_once_per_run_before_the_first_call() {
    let files = [(
        "scripts/top.ts",
        "const id = Process('utils.str.UUID'); export const Id = () => id;",
    )];
    let found = value(
        &files,
        "new Set([1, 2, 3].map(() => Process('scripts.top.Id'))).size",
    )
    .await;
    assert_eq!(found, json!(1));
}

#[tokio::test]
async fn a_script_of_an_agent_stays_in_its_folder() {
    let files = [
        ("scripts/secret.ts", "export const secret = 1;"),
        (
            "assistants/hello/src/out.ts",
            "import { secret } from '../../../scripts/secret'; export const F = () => secret;",
        ),
    ];
    let found = value(&files, "Process('agents.hello.out.F')").await;
    assert_eq!(found[0], "config_error");
    assert!(
        found[1]
            .as_str()
            .unwrap()
            .contains("assistants/hello/src/out.ts:1:"),
        "{found}"
    );
}
