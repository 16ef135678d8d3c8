//! Apps from the command line: made, checked, and talked to.

use crate::conversation::converse;
use crate::place::{Place, Ran, told};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// What is said to a conversation, and what came of it.
pub fn talk(mut chat: Command, lines: &str) -> Ran {
    told(converse(&mut chat, lines))
}

#[test]
fn a_new_app_is_whole_and_answers() {
    let place = Place::new();
    let made = place.run_as(&["new", "shop"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let app: String = std::fs::read_to_string(place.path("shop/app.yao")).unwrap();
    assert!(app.contains("\"name\": \"shop\""), "{app}");
    let checked = place.run_as(&["check", "shop"]);
    let clean = Ran::printed("nothing is broken: 0 errors, 0 warnings, 0 notices\n");
    assert_eq!(checked, clean);
    let chat = place.command(&["chat", "hello", "--app", "shop"]);
    let said = talk(chat, "hello\n\nand you?\n");
    let expected = "Hello from your new app.\necho: and you?\n";
    assert_eq!(said, Ran::printed(expected));
}

#[test]
fn what_a_new_app_has_in_comments_can_be_taken_in() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    for (file, line) in [
        ("shop/app.yao", "// \"ambit\":"),
        ("shop/assistants/hello/package.yao", "// \"public\":"),
    ] {
        let written = std::fs::read_to_string(place.path(file)).unwrap();
        let taken_in = written.replace(line, &line[3..]);
        assert_ne!(taken_in, written, "{file}");
        std::fs::write(place.path(file), taken_in).unwrap();
    }
    let clean = Ran::printed("nothing is broken: 0 errors, 0 warnings, 0 notices\n");
    assert_eq!(place.run_as(&["check", "shop"]), clean);
}

#[test]
fn a_new_app_is_not_put_over_what_is_there() {
    let place = Place::new();
    std::fs::write(place.path("note.txt"), "mine").unwrap();
    let folder = place.path("");
    let ran = place.run_as(&["new", folder.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("is not empty"), "{}", ran.err);
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn an_empty_folder_can_be_made_an_app() {
    let place = Place::new();
    std::fs::create_dir(place.path("shop")).unwrap();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
}

#[test]
fn check_names_the_place_of_what_is_wrong() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    let hooks = place.path("shop/assistants/hello/src/index.ts");
    std::fs::write(hooks, "export function Create() {\n  return {;\n}\n").unwrap();
    let ran = place.run_as(&["check", "shop"]);
    assert_eq!(ran.code, 1);
    let found = ran.out.lines().next().unwrap_or_default();
    assert!(
        found.starts_with("assistants/hello/src/index.ts:2:11: "),
        "{found}"
    );
    assert_eq!(ran.err, "ambit: 1 error, 0 warnings, 0 notices\n");
}

#[test]
fn warnings_are_errors_where_check_is_strict() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    let package = place.path("shop/assistants/hello/package.yao");
    std::fs::write(package, "name: Hello\nconector: x\nversion: 1\n").unwrap();
    let told = "assistants/hello/package.yao:2:1: unknown key \"conector\"; did you mean \"connector\"? (warning)\n\
        assistants/hello/package.yao:3:1: \"version\" has no effect in Ambit (notice)\n";
    let counts = "0 errors, 1 warning, 1 notice";
    let usual = Ran::printed(&format!("{told}nothing is broken: {counts}\n"));
    assert_eq!(place.run_as(&["check", "shop"]), usual);
    let strict = Ran {
        out: told.to_owned(),
        ..Ran::refused(counts)
    };
    assert_eq!(place.run_as(&["check", "shop", "--strict"]), strict);
}

#[test]
fn notices_alone_pass_where_check_is_strict() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    let package = place.path("shop/assistants/hello/package.yao");
    std::fs::write(package, "name: Hello\nversion: 1\n").unwrap();
    let ran = place.run_as(&["check", "shop", "--strict"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn check_says_what_would_stop_the_server() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    std::fs::create_dir(place.path("shop/openapi")).unwrap();
    let access = r#"{"auth": {"mode": "token"}}"#;
    std::fs::write(place.path("shop/openapi/openapi.yao"), access).unwrap();
    let ran = place.run_as(&["check", "shop"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("openapi/openapi.yao: "), "{}", ran.out);
}

#[test]
fn every_example_is_without_fault() {
    let place = Place::new();
    let examples = std::fs::read_dir(repository("examples")).unwrap();
    let apps = examples
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    for app in apps {
        let ran = place.run_as(&["check", app.to_str().unwrap()]);
        let clean = Ran::printed("nothing is broken: 0 errors, 0 warnings, 0 notices\n");
        assert_eq!(ran, clean, "{}", app.display());
    }
}

#[test]
fn types_writes_the_declarations_of_this_version() {
    let place = Place::new();
    let ran = place.run_as(&["types"]);
    assert_eq!(ran, Ran::printed("wrote ./types/index.d.ts\n"));
    let written = std::fs::read_to_string(place.path("types/index.d.ts")).unwrap();
    let shipped = std::fs::read_to_string(repository("types/index.d.ts")).unwrap();
    assert_eq!(written, shipped);
    let gone = place.run_as(&["types", "none"]);
    assert_eq!(
        gone,
        Ran::refused("there is no folder none; name that of an app")
    );
}

#[test]
fn schema_writes_one_schema_for_each_kind_of_file() {
    let place = Place::new();
    let ran = place.run_as(&["schema", "schemas"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains("wrote schemas/package.json\n"),
        "{}",
        ran.out
    );
    let package = std::fs::read_to_string(place.path("schemas/package.json")).unwrap();
    let package: Value = serde_json::from_str(&package).unwrap();
    let key = &package["properties"]["mcp"]["properties"]["options"]["properties"]["max_turn"];
    assert_eq!(
        (&key["default"], &key["description"]),
        (&json!(5), &json!("The most rounds of calls."))
    );
    assert_eq!(package["additionalProperties"], json!(false));
}

#[test]
fn schema_replaces_schemas_and_no_other_file() {
    let place = Place::new();
    assert_eq!(place.run_as(&["schema", "schemas"]).code, 0);
    assert_eq!(place.run_as(&["schema", "schemas"]).code, 0);
    std::fs::create_dir(place.path("shop")).unwrap();
    let mine = "{\"name\": \"mine\", \"dependencies\": {}}";
    std::fs::write(place.path("shop/package.json"), mine).unwrap();
    let words = "shop/package.json is there and no schema, and nothing was written; name a folder for schemas alone, \
        as in `ambit schema .vscode/schemas`";
    assert_eq!(place.run_as(&["schema", "shop"]), Ran::refused(words));
    let left = std::fs::read_to_string(place.path("shop/package.json")).unwrap();
    assert_eq!(left, mine);
    let entries = std::fs::read_dir(place.path("shop")).unwrap();
    assert_eq!(entries.count(), 1);
    std::fs::write(place.path("shop/app.yao"), "{}").unwrap();
    let words = "shop is the folder of an app; name one for schemas alone, as in `ambit schema shop/.vscode/schemas`";
    assert_eq!(place.run_as(&["schema", "shop"]), Ran::refused(words));
}

#[test]
fn an_editor_finds_the_schemas_of_a_new_app() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    let settings = std::fs::read_to_string(place.path("shop/.vscode/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["files.associations"], json!({"*.yao": "jsonc"}));
    let of_json = settings["json.schemas"].as_array().unwrap().iter();
    let mut named: Vec<&str> = of_json
        .map(|entry| entry["url"].as_str().unwrap())
        .collect();
    let of_yaml = settings["yaml.schemas"].as_object().unwrap();
    named.extend(of_yaml.keys().map(String::as_str));
    for url in &named {
        let schema = std::fs::read_to_string(place.path("shop").join(url)).unwrap();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        assert_eq!(
            schema["$schema"],
            json!("https://json-schema.org/draft/2020-12/schema")
        );
    }
    named.sort_unstable();
    named.dedup();
    let written = std::fs::read_dir(place.path("shop/.vscode/schemas")).unwrap();
    assert_eq!(named.len(), written.count());
}

#[test]
fn a_turn_that_fails_is_told_and_the_conversation_goes_on() {
    let place = Place::new();
    let app = repository("crates/ambit/tests/stories/app");
    let app = app.to_str().unwrap();
    let chat = |agent| place.command(&["--data", ".", "chat", agent, "--app", app]);
    let said = talk(chat("plain"), "break off\nhello\n");
    assert_eq!(said.code, 2);
    assert!(said.out.ends_with("\necho: hello\n"), "{}", said.out);
    assert!(said.err.contains("broke off"), "{}", said.err);
}

#[test]
fn a_chat_with_an_agent_that_is_not_there_is_refused_before_anything_is_said() {
    let place = Place::new();
    let app = repository("crates/ambit/tests/stories/app");
    let app = app.to_str().unwrap();
    let chat = ["--data", ".", "chat", "nobody", "--app", app];
    let ran = place.run_as(&chat);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("\"nobody\" not found"), "{}", ran.err);
}

#[test]
fn a_chat_goes_on_where_it_was() {
    let place = Place::new();
    let app = repository("crates/ambit/tests/clients/app");
    let app = app.to_str().unwrap();
    let chat = |name| {
        let chat = ["--data", ".", "chat", "plain", "--app", app, "--chat", name];
        talk(place.command(&chat), "count\n").out
    };
    assert_eq!(
        [chat("one"), chat("one"), chat("two")],
        ["2\n", "4\n", "2\n"]
    );
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_conversation() {
    let place = Place::new();
    let app = repository("crates/ambit/tests/clients/app");
    let app = app.to_str().unwrap();
    let mut chat = place.command(&["--data", ".", "chat", "plain", "--app", app]);
    let chat = chat.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut chat = chat.spawn().unwrap();
    let mut input = chat.stdin.take().unwrap();
    let mut output = BufReader::new(chat.stdout.take().unwrap());
    input.write_all(b"forever\n").unwrap();
    let mut first = Vec::new();
    output.read_until(b' ', &mut first).unwrap();
    let id = chat.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    let mut rest = String::new();
    output.read_line(&mut rest).unwrap();
    assert!(rest.len() < 500, "the whole answer came: {rest}");
    input.write_all(b"hello\n").unwrap();
    let mut next = String::new();
    output.read_line(&mut next).unwrap();
    assert_eq!(next, "echo: hello\n");
    drop(input);
    assert!(chat.wait().unwrap().success());
}
