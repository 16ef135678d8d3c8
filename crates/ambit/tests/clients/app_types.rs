//! What `ambit types` writes of an app, read by TypeScript together with scripts that use it rightly and wrongly.

use crate::{beside, installed};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Names the folder that has `typescript`.
const NODE: &str = "TEST_CLIENTS_GENERATED_NODE";

/// An app in a folder of its own, with its declarations.
struct TypedApp {
    folder: TempDir,
}

impl TypedApp {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&beside("app_types/app"), folder.path());
        let app = Self { folder };
        let expected = "wrote ./types/index.d.ts\nwrote ./types/app.d.ts\n";
        assert_eq!(app.write_types(), expected);
        app
    }

    /// Writes the declarations; what is said of it.
    fn write_types(&self) -> String {
        let mut types = Command::new(env!("CARGO_BIN_EXE_ambit"));
        types.arg("types").current_dir(self.folder.path());
        let wrote = types.output().unwrap();
        assert!(wrote.status.success(), "{wrote:?}");
        String::from_utf8(wrote.stdout).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What TypeScript finds wrong.
    fn faults(&self) -> String {
        let mut compile = Command::new("node");
        compile.arg(installed(NODE).join("node_modules/typescript/bin/tsc"));
        let ran = compile.current_dir(self.folder.path()).output().unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(ran.status.success(), said.is_empty(), "{said}");
        said
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).unwrap();
        }
    }
}

/// Lines of the app's hook say by `@ts-expect-error` what is wrong in the next one: where it is not, that is a fault.
#[test]
fn processes_rows_and_tools_of_an_app_are_typed() {
    assert_eq!(TypedApp::new().faults(), "");
}

#[test]
fn a_column_that_is_renamed_is_found_by_typescript() {
    let app = TypedApp::new();
    let model = app.file("models/ticket.mod.yao");
    let text = std::fs::read_to_string(&model).unwrap();
    let renamed = text.replace("\"title\"", "\"subject\"");
    std::fs::write(&model, renamed).unwrap();
    app.write_types();
    let faults = app.faults();
    let expected =
        "assistants/clerk/src/index.ts(5,32): error TS2339: Property 'title' does not exist";
    assert!(faults.starts_with(expected), "{faults}");
}

#[test]
fn what_scripts_may_not_call_is_not_declared() {
    let app = TypedApp::new();
    let limited =
        r#"{"name": "Desk", "ambit": {"capabilities": {"process": ["scripts.prices.*"]}}}"#;
    std::fs::write(app.file("app.yao"), limited).unwrap();
    app.write_types();
    let written = std::fs::read_to_string(app.file("types/app.d.ts")).unwrap();
    let (_, processes) = written.split_once("  interface AppProcesses {\n").unwrap();
    let (processes, _) = processes.split_once("  }\n").unwrap();
    let expected = "    \"scripts.prices.Tax\": typeof import(\"../scripts/prices\").Tax;
    \"scripts.prices.Total\": typeof import(\"../scripts/prices\").Total;
    \"scripts.prices.Unexported\": (...args: any[]) => any;
";
    assert_eq!(processes, expected);
}
