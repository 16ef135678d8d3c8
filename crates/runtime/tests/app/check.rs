//! What `ambit check` tells.

use crate::support::{environment, fixture, folder, texts};
use ambit_runtime::check;
use std::collections::BTreeMap;

#[tokio::test]
async fn scripts_that_do_not_compile_are_told_with_the_other_problems() {
    let root = folder(&[
        ("assistants/a/package.yao", "name: A\nconector: x"),
        ("assistants/b/package.yao", "name: B"),
        (
            "assistants/b/src/index.ts",
            "import { x } from \"./missing\";\nexport const Create = x;\n",
        ),
        ("scripts/s.ts", "export function F( {\n"),
    ]);
    let problems = check(root.path(), &BTreeMap::new()).unwrap();
    let told = texts(&problems);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert_eq!(
        told[0],
        "Warning assistants/a/package.yao:2:1: unknown key \"conector\"; did you mean \"connector\"?"
    );
    assert!(
        told[1].starts_with("Error assistants/b/src/index.ts:1:"),
        "{}",
        told[1]
    );
    assert!(told[2].starts_with("Error scripts/s.ts:"), "{}", told[2]);
}

#[tokio::test]
async fn tools_whose_processes_are_not_there_are_told() {
    let tools = r#"{"transport": "process", "tools": {"add": "scripts.math.Add", "ad": "scripts.math.Ad",
        "none": "scripts.maths.Add", "own": "agents.a.notes.Own", "keep": "stores.s.Set", "odd": "scripts.odd.F", "id": "utils.str.UIID", "uuid": "utils.str.UUID", "pet": "models.pet.Get"}}"#;
    let mut files = vec![
        ("mcps/box.mcp.yao".to_owned(), tools.to_owned()),
        (
            "scripts/math.ts".to_owned(),
            "export function Add() {}\n".to_owned(),
        ),
        (
            "scripts/odd.ts".to_owned(),
            "export function F( {\n".to_owned(),
        ),
        ("assistants/a/package.yao".to_owned(), "name: A".to_owned()),
        (
            "assistants/a/src/notes.ts".to_owned(),
            "export const Own = () => 1;\n".to_owned(),
        ),
    ];
    for tool in [
        "add", "ad", "none", "own", "keep", "odd", "id", "uuid", "pet",
    ] {
        files.push((
            format!("mcps/mapping/box/schemes/{tool}.in.yao"),
            "{}".to_owned(),
        ));
    }
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let told = texts(&check(folder(&files).path(), &BTreeMap::new()).unwrap());
    let (scripts, servers): (Vec<_>, Vec<_>) = told
        .into_iter()
        .partition(|told| told.contains("scripts/odd.ts"));
    assert_eq!(scripts.len(), 1);
    let expected = [
        "Warning mcps/box.mcp.yao: \"tools.ad\": process not found: scripts.math.Ad (did you mean \"scripts.math.Add\"?)",
        "Warning mcps/box.mcp.yao: \"tools.none\": process not found: scripts.maths.Add (did you mean \"scripts.math.Add\"?)",
        "Warning mcps/box.mcp.yao: \"tools.keep\": process not found: stores.s.Set",
        "Warning mcps/box.mcp.yao: \"tools.id\": process not found: utils.str.UIID (did you mean \"utils.str.UUID\"?)",
        "Warning mcps/box.mcp.yao: \"tools.pet\": process not found: models.pet.Get",
    ];
    assert_eq!(servers, expected);
}

#[tokio::test]
async fn g146_what_a_listener_exports_that_is_no_event_is_told() {
    let events = "
        import { shout } from './words';
        type Event = { message: { content: string } };
        export interface Heard { text: string }
        function helper(text: string) { return shout(text); }
        export function BeforeSend(event: Event) { return { message: { content: helper(event.message.content) } }; }
        export function ToolChanged() {}
        export function ContextSavd() {}
        export const Whatever = () => {};";
    let words = "export const shout = (text: string) => text.toUpperCase();";
    let files = [
        ("assistants/a/package.yao", "name: A"),
        ("assistants/a/src/events.ts", events),
        ("assistants/a/src/words.ts", words),
    ];
    let told = texts(&check(folder(&files).path(), &BTreeMap::new()).unwrap());
    let file = "assistants/a/src/events.ts";
    let expected = [
        format!("Error {file}: \"ContextSavd\" is no event; did you mean \"ContextSaved\"?"),
        format!("Error {file}: \"Whatever\" is no event"),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn scripts_without_hooks_and_misspelt_hooks_are_told() {
    let files = [
        ("assistants/both/package.yao", "name: A"),
        (
            "assistants/both/src/index.ts",
            "export const Create = () => null; function Next() {}",
        ),
        ("assistants/computed/package.yao", "name: B"),
        (
            "assistants/computed/src/index.ts",
            "const hooks = () => ({}); export default hooks();",
        ),
        ("assistants/elsewhere/package.yao", "name: C"),
        (
            "assistants/elsewhere/src/index.ts",
            "export * from './own';",
        ),
        (
            "assistants/elsewhere/src/own.ts",
            "export function Next() { return null; }",
        ),
        ("assistants/empty/package.yao", "name: H"),
        ("assistants/empty/src/index.ts", ""),
        ("assistants/helped/package.yao", "name: D"),
        (
            "assistants/helped/src/index.ts",
            "export function Create() {}\nexport function created() {}",
        ),
        ("assistants/letter/package.yao", "name: I"),
        (
            "assistants/letter/src/index.ts",
            "export function Create() {}\nexport function Nxt() {}\nexport function Text() {}\nfunction Nex() {}",
        ),
        ("assistants/lower/package.yao", "name: E"),
        (
            "assistants/lower/src/index.ts",
            "export function create() {}",
        ),
        ("assistants/none/package.yao", "name: F"),
        (
            "assistants/none/src/index.ts",
            "export function Before() {}\nexport function After() {}",
        ),
        ("assistants/one/package.yao", "name: G"),
        (
            "assistants/one/src/index.ts",
            "export function Create() {}\nexport function next() {}",
        ),
    ];
    let told = texts(&check(folder(&files).path(), &BTreeMap::new()).unwrap());
    let expected = [
        "Warning assistants/empty/src/index.ts: the file exports no hook; hooks are \"Create\" and \"Next\"",
        "Warning assistants/letter/src/index.ts: nothing calls \"Nxt\"; hooks are \"Create\" and \"Next\"",
        "Warning assistants/lower/src/index.ts: nothing calls \"create\"; hooks are \"Create\" and \"Next\"",
        "Warning assistants/none/src/index.ts: nothing calls \"After\", \"Before\"; hooks are \"Create\" and \"Next\"",
        "Warning assistants/one/src/index.ts: nothing calls \"next\"; hooks are \"Create\" and \"Next\"",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_connector_whose_model_nothing_asks_is_told() {
    let script = "export function Create(ctx) { ctx.Send(\"hello\"); }";
    let files = [
        ("connectors/c.conn.yao", "type: scripted"),
        ("mcps/box.mcp.yao", "transport: process"),
        ("assistants/silent/package.yao", "name: A\nconnector: c"),
        ("assistants/named/package.yao", "name: A"),
        (
            "assistants/inline/package.yao",
            "name: A\nconnector: c\nprompts: [{ role: system, content: x }]",
        ),
        ("assistants/file/package.yao", "name: A\nconnector: c"),
        (
            "assistants/file/prompts.yml",
            "- { role: system, content: x }",
        ),
        (
            "assistants/tools/package.yao",
            "name: A\nconnector: c\nmcp: { servers: [box] }",
        ),
        ("assistants/script/package.yao", "name: A\nconnector: c"),
        ("assistants/script/src/index.ts", script),
    ];
    let told = texts(&check(folder(&files).path(), &BTreeMap::new()).unwrap());
    let expected = [
        "Warning assistants/silent/package.yao: \"connector\": the model is not asked, and nothing is answered: the agent has neither prompts nor \
            tool servers nor hooks; add prompts.yml beside this file, for instance `- { role: system, content: Be helpful. }`",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_agent_that_asks_a_model_and_has_none_is_told() {
    let prompts = "prompts: [{ role: system, content: x }]";
    let prompted = format!("name: A\n{prompts}");
    let named = format!("name: A\nconnector: c\n{prompts}");
    let role = format!("name: A\nconnector: use::lite\n{prompts}");
    let optional = format!("name: A\nconnector_options: {{ optional: true }}\n{prompts}");
    let files = [
        ("connectors/c.conn.yao", "type: scripted"),
        ("mcps/box.mcp.yao", "transport: process"),
        ("assistants/chosen/package.yao", &*prompted),
        (
            "assistants/chosen/src/index.ts",
            "export function Create() { return { connector: \"c\" }; }",
        ),
        ("assistants/named/package.yao", &*named),
        ("assistants/next/package.yao", &*prompted),
        (
            "assistants/next/src/index.ts",
            "export function Next() { return null; }",
        ),
        ("assistants/open/package.yao", &*optional),
        ("assistants/plain/package.yao", &*prompted),
        ("assistants/role/package.yao", &*role),
        ("assistants/script/package.yao", "name: A"),
        (
            "assistants/script/src/index.ts",
            "export function Next(ctx) { ctx.Send(\"hello\"); }",
        ),
        (
            "assistants/tools/package.yao",
            "name: A\nmcp: { servers: [box] }",
        ),
    ];
    let told = texts(&check(folder(&files).path(), &BTreeMap::new()).unwrap());
    let missing = |(id, role)| {
        format!(
            "Warning assistants/{id}/package.yao: each call of its model fails: no connector has the role \"{role}\": \
             set system.{role} in agent/agent.yml, or name another \"connector\" here"
        )
    };
    let agents = [
        ("next", "default"),
        ("plain", "default"),
        ("role", "lite"),
        ("tools", "default"),
    ];
    let expected = agents.map(missing);
    assert_eq!(told, expected);
    let default = ("agent/agent.yml", "system: { default: c, lite: c }");
    let files = [&files[..], &[default]].concat();
    let told = texts(&check(folder(&files).path(), &BTreeMap::new()).unwrap());
    assert_eq!(told, [""; 0]);
}

#[tokio::test]
async fn every_script_of_the_fixture_compiles() {
    let environment = environment(&[("MODEL_HOST", "http://localhost")]);
    let problems = check(fixture(), &environment).unwrap();
    let errors: Vec<String> = texts(&problems)
        .into_iter()
        .filter(|told| !told.starts_with("Notice"))
        .collect();
    let expected = [
        "Warning agent/agent.yml:3:11: \"uses.vision\": the app has no agent \"seer\"",
        "Warning agent/search.yml: \"web.results\": the provider \"scripted\" answers from here, and there is nothing",
    ];
    assert_eq!(errors, expected);
}
