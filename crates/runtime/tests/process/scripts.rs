//! Functions of scripts as processes.

use crate::place::{person, place, value};
use ambit_runtime::Authorized;
use serde_json::{Value, json};

const COUNT: (&str, &str) = (
    "scripts/count.ts",
    "let n = 0; (globalThis as any).mark = (globalThis as any).mark ?? 'count';
    export function Next() { return ++n; }
    export function Through() { return [++n, Process('scripts.count.Next'), Process('scripts.other.Next'), ++n]; }
    export const Mark = () => (globalThis as any).mark;",
);

const OTHER: (&str, &str) = (
    "scripts/other.ts",
    "(globalThis as any).mark = 'other';
    export function Next() { return ['other', Process('scripts.count.Next')]; }
    export const Mark = () => (globalThis as any).mark;",
);

#[tokio::test]
async fn a_script_is_instantiated_once_per_run_and_apart_from_its_caller() {
    let files = [COUNT, OTHER];
    let expression = "[Process('scripts.count.Next'), Process('scripts.count.Next'), Process('scripts.other.Next'),
        Process('scripts.count.Mark'), Process('scripts.other.Mark'), typeof (globalThis as any).mark]";
    let place = place(&files, expression).await;
    let expected = json!([1, 2, ["other", 3], "count", "other", "undefined"]);
    assert_eq!(place.answer(&person("ann")).await, expected);
    assert_eq!(
        place.answer(&person("ann")).await,
        expected,
        "another run begins anew"
    );
}

#[tokio::test]
async fn a_script_that_calls_itself_gets_an_instance_of_its_own_meanwhile() {
    let expression = "[Process('scripts.count.Through'), Process('scripts.count.Next')]";
    let found = value(&[COUNT, OTHER], expression).await;
    assert_eq!(found, json!([[1, 1, ["other", 1], 2], 3]));
}

#[tokio::test]
async fn values_cross_as_json_and_functions_may_be_async() {
    let tools = (
        "scripts/a/tools.js",
        "export async function Later(...all) { await new Promise(r => setTimeout(r, 5)); return { all, none: undefined, at: new Date(0) }; }
        function Plain(a) { a.n = 2; return a; }
        export const Nothing = () => undefined;
        export default { Member() { return 'member'; } };",
    );
    let expression = "(() => { const own = {n: 1}; return [Process('scripts.a.tools.Later', 1, undefined, {b: [2]}),
        Process('scripts.a.tools.Plain', own), own, Process('scripts.a.tools.Nothing'), Process('scripts.a.tools.Member')]; })()";
    let expected = json!([
        {"all": [1, null, {"b": [2]}], "at": "1970-01-01T00:00:00.000Z"},
        {"n": 2}, {"n": 1}, null, "member"
    ]);
    assert_eq!(value(&[tools], expression).await, expected);
}

#[tokio::test]
async fn scripts_of_agents_are_processes_too() {
    let orders = (
        "assistants/shop/src/lib/orders.ts",
        "import { tax } from '../tax'; export const List = (n: number) => [Authorized().user_id, n * tax];",
    );
    let files = [
        ("assistants/shop/package.yao", r#"{"name": "Shop"}"#),
        ("assistants/shop/src/tax.ts", "export const tax = 2;"),
        orders,
    ];
    let found = value(&files, "Process('agents.shop.lib.orders.List', 21)").await;
    assert_eq!(found, json!(["ann", 42]));
}

async fn refused(files: &[(&str, &str)], name: &str) -> Value {
    value(files, &format!("Process({name})")).await
}

#[tokio::test]
async fn unknown_names_are_not_found_and_the_nearest_is_named() {
    let files = [
        (
            "scripts/tools.ts",
            "export function Add() {} export function _hidden() {}",
        ),
        ("scripts/tools_test.ts", "export function Add() {}"),
        (
            "assistants/hello/src/context.ts",
            "export function Name() {}",
        ),
        (
            "assistants/hello/src/lib/index.ts",
            "export function List() {}",
        ),
    ];
    let near = " (did you mean \"scripts.tools.Add\"?)";
    for (name, meant) in [
        ("scripts.tools.Ad", near),
        ("scripts.tool.Add", near),
        ("scripts.tools.add", near),
        ("scripts.tools._hidden", ""),
        ("scripts.tools", ""),
        ("scripts.tools_test.Add", ""),
        ("agents.hello.index.Next", ""),
        ("agents.hello.context.Name", ""),
        ("agents.hello.lib.index.List", ""),
        ("fs.system.ReadFile", ""),
        ("nothing", ""),
        ("", ""),
    ] {
        let message = format!("process not found: {name}{meant}");
        assert_eq!(
            refused(&files, &format!("'{name}'")).await,
            json!(["not_found", message])
        );
    }
    let wrong = json!(["invalid_argument", "name must be a string"]);
    assert_eq!(refused(&files, "5").await, wrong);
    let missing = json!(["invalid_argument", "Process requires a name argument"]);
    assert_eq!(refused(&files, "").await, missing);
}

#[tokio::test]
async fn errors_are_thrown_with_their_code() {
    let files = [(
        "scripts/fails.ts",
        "export function Plain() { throw new Error('plain'); }
        export function Own() { throw new Exception('closed', 'shop_closed'); }
        export function Number() { throw new Exception('gone', 410); }
        export function Defect() {\n  return (undefined as any).x;\n}
        export function Host() { return Process('scripts.none.F'); }
        export const Value = 5;
        export async function Rejects() { await null; throw new Error('late'); }
        export const Huge = () => 'x'.repeat(5 << 20);
        export function Never() { return new Promise(() => {}); }",
    )];
    let expression = "['Plain', 'Own', 'Number', 'Host', 'Rejects', 'Value', 'Never', 'Huge'].map(name => {
        try { return Process(`scripts.fails.${name}`); } catch (e: any) { return [e.code, e.status, e.message, e instanceof Error]; } })";
    let found = value(&files, expression).await;
    let expected = json!([
        ["hook_error", null, "plain", true],
        ["shop_closed", null, "closed", true],
        [410, 410, "gone", true],
        ["not_found", null, "process not found: scripts.none.F", true],
        ["hook_error", null, "late", true],
        ["hook_error", null, "Value is not a function", true],
        [
            "hook_error",
            null,
            "Never returned a promise that never settles",
            true
        ],
        [
            "hook_error",
            null,
            "scripts/fails.ts scripts.fails.Huge: Huge returned more than 4194304 bytes",
            true
        ],
    ]);
    assert_eq!(found, expected);
    let found = refused(&files, "'scripts.fails.Defect'").await;
    let message = found[1].as_str().unwrap();
    assert!(message.starts_with("TypeError: "), "{message}");
    assert!(message.ends_with("(scripts/fails.ts:5:11)"), "{message}");
}

#[tokio::test]
async fn an_exception_of_a_process_that_nobody_catches_is_the_turns() {
    let files = [
        (
            "scripts/fails.ts",
            "export function Own() { throw new Exception('closed', 'shop_closed'); }",
        ),
        (
            "assistants/hello/src/index.ts",
            "export function Create() { Process('scripts.fails.Own'); }",
        ),
    ];
    let ended = place(&files, "0").await.end(&person("ann")).await;
    let found = (&ended["status"], &ended["code"], &ended["error"]);
    assert_eq!(
        found,
        (&json!("error"), &json!("shop_closed"), &json!("closed"))
    );
}

#[tokio::test]
async fn a_broken_script_is_told_to_whoever_calls_it() {
    let files = [("scripts/broken.ts", "export function F( {")];
    let found = refused(&files, "'scripts.broken.F'").await;
    assert_eq!(found[0], "config_error");
    assert!(
        found[1].as_str().unwrap().contains("scripts/broken.ts:1:"),
        "{found}"
    );
}

#[tokio::test]
async fn processes_go_32_deep_and_no_deeper() {
    let deep = (
        "scripts/deep.ts",
        "export function Down(n: number): any { try { return Process('scripts.deep.Down', n + 1); } catch (e: any) { return [n, e.code, e.message]; } }
        export function Pair(n: number): any { try { return Process(n % 2 ? 'scripts.deep.Pair' : 'scripts.twin.Pair', n + 1); } catch (e: any) { return [n, e.code, e.message]; } }",
    );
    let twin = (
        "scripts/twin.ts",
        "export const Pair = (n: number): any => Process('scripts.deep.Pair', n + 1);",
    );
    let expression = "[Process('scripts.deep.Down', 1), Process('scripts.twin.Pair', 1), Process('scripts.deep.Down', 1)]";
    let found = value(&[deep, twin], expression).await;
    let at = |n: u32| json!([n, "limit_exceeded", "process depth limit 32 exceeded"]);
    assert_eq!(found, json!([at(32), at(32), at(32)]));
    let app = (
        "app.yao",
        r#"{"name": "T", "ambit": {"limits": {"process_depth": 2}}}"#,
    );
    let found = value(&[deep, app], "Process('scripts.deep.Down', 1)").await;
    assert_eq!(
        found,
        json!([2, "limit_exceeded", "process depth limit 2 exceeded"])
    );
}

const HUNGRY: (&str, &str) = (
    "scripts/hungry.ts",
    "let kept: string[] = [];
    export function Loop() { for (;;); }
    export function Work() { const end = Date.now() + 100; while (Date.now() < end); }
    export function Grow() { for (;;) kept.push('x'.repeat(10_000) + kept.length); }
    export function Wait() { time.Sleep(60_000); }",
);

#[tokio::test]
async fn g116_g117_a_process_counts_to_its_callers_run_and_its_end_cannot_be_caught() {
    for (name, code, part) in [
        (
            "Loop",
            "script_cpu_limit",
            "Create: script used more than 0.3s of CPU",
        ),
        (
            "Work",
            "script_cpu_limit",
            "Create: script used more than 0.3s of CPU",
        ),
        (
            "Grow",
            "script_out_of_memory",
            "Create: script used more than 8 MiB",
        ),
        (
            "Wait",
            "script_timeout",
            "Create: script ran longer than 1s",
        ),
    ] {
        let wall = if name == "Wait" { "1s" } else { "60s" };
        let limits = json!({"cpu": "300ms", "heap": "8MiB", "wall": wall});
        let app = json!({"name": "T", "ambit": {"limits": limits}}).to_string();
        let hooks = format!(
            "export function Create() {{ for (;;) {{ try {{ Process('scripts.hungry.{name}'); }} catch {{}} }} }}"
        );
        let files = [
            HUNGRY,
            ("app.yao", app.as_str()),
            ("assistants/hello/src/index.ts", hooks.as_str()),
        ];
        let ended = place(&files, "0").await.end(&person("ann")).await;
        assert_eq!(ended["code"], code, "{ended:?}");
        let message = ended["error"].as_str().unwrap();
        assert_eq!(message, format!("assistants/hello/src/index.ts {part}"));
    }
}

#[tokio::test]
async fn g121_processes_are_closed_to_scripts_unless_the_app_lists_them() {
    let tools = (
        "scripts/tools.ts",
        "export const Add = (a: number, b: number) => a + b; export const Hash = () => Process('crypto.Hash', 'MD5', '');",
    );
    let denied = |name: &str| {
        json!([
            "permission_denied",
            format!("permission_denied: process {name}")
        ])
    };
    let found = refused(&[tools], "'crypto.Hash', 'MD5', ''").await;
    assert_eq!(found, denied("crypto.Hash"));
    let app = (
        "app.yao",
        r#"{"name": "T", "ambit": {"capabilities": {"process": ["crypto.*", "scripts.tools.H*"]}}}"#,
    );
    let files = [tools, app];
    assert_eq!(
        refused(&files, "'scripts.tools.Add', 1, 2").await,
        denied("scripts.tools.Add")
    );
    assert_eq!(
        refused(&files, "'utils.str.UUID'").await,
        denied("utils.str.UUID")
    );
    let hash = json!("d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(refused(&files, "'scripts.tools.Hash'").await, hash);
    let missing = json!(["not_found", "process not found: os.Exec"]);
    assert_eq!(refused(&files, "'os.Exec'").await, missing);
}

#[tokio::test]
async fn g120_a_process_runs_with_the_callers_identity_and_cannot_change_it() {
    let who = (
        "scripts/who.ts",
        "export function Am() { const a = Authorized(); a.user_id = 'root'; return [Authorized(), Process('scripts.too.Am')]; }",
    );
    let too = (
        "scripts/too.ts",
        "export const Am = () => Authorized().user_id;",
    );
    let place = place(&[who, too], "Process('scripts.who.Am')").await;
    for name in ["ann", "bob"] {
        assert_eq!(
            place.answer(&person(name)).await,
            json!([{"user_id": name}, name])
        );
    }
    assert_eq!(
        place.answer(&Authorized::default()).await,
        json!([{}, null])
    );
}

#[tokio::test]
async fn g122_a_run_calls_the_scripts_that_its_app_was_loaded_with() {
    let first = ("scripts/v.ts", "export const Version = () => 1;");
    let place = place(&[first], "Process('scripts.v.Version')").await;
    let file = place.app.path().join("scripts/v.ts");
    std::fs::write(file, "export const Version = () => 2;").unwrap();
    assert_eq!(place.answer(&person("ann")).await, json!(1));
    place.runtime.reload().await.unwrap();
    assert_eq!(place.answer(&person("ann")).await, json!(2));
}

#[tokio::test]
async fn g116_a_process_that_never_ends_ends_with_its_turn() {
    let spin = ("scripts/spin.ts", "export function Spin() { for (;;); }");
    let hooks = "export function Create(ctx: any) { ctx.Send('begun'); try { Process('scripts.spin.Spin'); } catch { ctx.Send('caught'); } }";
    let files = [spin, ("assistants/hello/src/index.ts", hooks)];
    let place = place(&files, "").await;
    let mut started = place.start(&person("ann")).await;
    let mut texts = Vec::new();
    while let Some(entries) = started.stream.next().await.unwrap() {
        let begun = texts.len();
        texts.extend(entries.into_iter().map(|entry| entry.text.to_string()));
        if texts[begun..].iter().any(|text| text.contains("begun")) {
            let id = &started.request_id;
            place.runtime.cancel(&person("ann"), id).await.unwrap();
        }
    }
    let last: Value = serde_json::from_str(texts.last().unwrap()).unwrap();
    assert_eq!(last["props"]["data"]["status"], "cancelled");
    assert!(
        !texts.iter().any(|text| text.contains("caught")),
        "{texts:?}"
    );
}
