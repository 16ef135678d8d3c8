//! The examples of the library run, each in a process of its own, and print what the text file of their name says;
//! `AMBIT_BLESS=1` rewrites the files.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../examples/contexts.rs"]
mod contexts;
#[path = "../support/expected.rs"]
mod expected;
#[path = "../../examples/first_answer.rs"]
mod first_answer;
#[path = "../../examples/listeners.rs"]
mod listeners;
#[path = "../../examples/own_agent.rs"]
mod own_agent;
#[path = "../../examples/server_in_axum.rs"]
mod server_in_axum;
#[path = "../../examples/stream.rs"]
mod stream;
#[path = "../../examples/tool.rs"]
mod tool;

use libtest_mimic::{Arguments, Trial};
use std::path::Path;
use std::process::Command;

/// Names the example that a process of this test is to run.
const VARIABLE: &str = "AMBIT_TEST_EXAMPLE";

const EXAMPLES: &[(&str, fn())] = &[
    ("contexts", || contexts::main().unwrap()),
    ("first_answer", || first_answer::main().unwrap()),
    ("listeners", || listeners::main().unwrap()),
    ("own_agent", || own_agent::main().unwrap()),
    ("server_in_axum", || server_in_axum::main().unwrap()),
    ("stream", || stream::main().unwrap()),
    ("tool", || tool::main().unwrap()),
];

fn main() {
    if let Some(wanted) = std::env::var_os(VARIABLE) {
        let (_, run) = EXAMPLES.iter().find(|(name, _)| wanted == *name).unwrap();
        return run();
    }
    let trials = EXAMPLES.iter().map(|(name, _)| {
        Trial::test(*name, move || {
            prints_what_it_should(name);
            Ok(())
        })
    });
    let mut trials: Vec<Trial> = trials.collect();
    trials.push(Trial::test("every_example_is_run", || {
        every_example_is_run();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn prints_what_it_should(name: &str) {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).env(VARIABLE, name).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/examples/{name}.txt"));
    expected::check(&file, &String::from_utf8(output.stdout).unwrap());
}

/// `reference` writes pages of the documentation: `cargo xtask generate` runs it.
fn every_example_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.filter(|file| file.as_ref().unwrap().path().is_file());
    let names = files.map(|file| file.unwrap().path().file_stem().unwrap().to_owned());
    for name in names.filter(|name| name != "reference") {
        assert!(EXAMPLES.iter().any(|(known, _)| name == *known), "{name:?}");
    }
}
