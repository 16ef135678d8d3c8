//! What `ambit check` tells.

use crate::support::{environment, fixture, folder, texts};
use ambit_runtime::app::check::check;
use ambit_script::{Engine, Settings, Surface};
use std::collections::BTreeMap;

fn engine() -> Engine {
    let settings = Settings {
        threads: 1,
        warm: 0,
        ..Settings::default()
    };
    Engine::new(&settings, Surface::default()).unwrap()
}

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
    let problems = check(root.path(), &BTreeMap::new(), &engine());
    let told = texts(&problems);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert_eq!(
        told[0],
        "Error assistants/a/package.yao:2:1: unknown key \"conector\"; did you mean \"connector\"?"
    );
    assert!(
        told[1].starts_with("Error assistants/b/src/index.ts:1:"),
        "{}",
        told[1]
    );
    assert!(told[2].starts_with("Error scripts/s.ts:"), "{}", told[2]);
}

#[tokio::test]
async fn every_script_of_the_fixture_compiles() {
    let environment = environment(&[("MODEL_HOST", "http://localhost")]);
    let problems = check(fixture(), &environment, &engine());
    let errors: Vec<String> = texts(&problems)
        .into_iter()
        .filter(|told| !told.starts_with("Notice"))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}
