//! The console in Chromium, over the real server: each case of `console/tests` is a test, named by its file and itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Names the browser.
const CHROMIUM: &str = "TEST_CHROMIUM";
/// What the names of files with cases end with.
const ENDING: &str = ".test.mjs";

fn main() {
    let mut arguments = Arguments::from_args();
    // The cases of a file come from one process in their order, and two browsers at once would be too much.
    arguments.test_threads = Some(1);
    let is_wanted = |test: &str| !arguments.is_filtered_out(&Trial::test(test, || Ok(())));
    let mut trials = Vec::new();
    for name in file_names() {
        let mut cases = case_names(&name);
        cases.retain(|case| is_wanted(&test_name(&name, case)));
        let file = CaseFile {
            name,
            cases,
            process: None,
        };
        trials.extend(file.into_trials());
    }
    if !arguments.list && !trials.is_empty() {
        check_needs();
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console")
}

/// Once for all cases: each of them would say the same.
fn check_needs() {
    assert!(
        sources().join("node_modules/installed").is_file(),
        "the packages of console/ are not installed: `cargo xtask console` does it"
    );
    assert!(
        std::env::var_os(CHROMIUM).is_some(),
        "{CHROMIUM} is not set; run the tests with `cargo xtask test`"
    );
}

/// The files with cases, without their ending.
fn file_names() -> Vec<String> {
    let entries = std::fs::read_dir(sources().join("tests")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(ENDING).map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// The cases of a file, in its order, read without running it.
fn case_names(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(sources().join(path(file))).unwrap();
    let begins = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("test("));
    let names = begins.map(|begin| {
        let quoted = begin
            .strip_prefix('"')
            .and_then(|rest| rest.split_once("\","));
        let (name, _) = quoted.unwrap_or_else(|| {
            panic!(
                "{file}: a case's name is a text in double quotes, so that it can be read: {begin}"
            )
        });
        name.to_owned()
    });
    let names: Vec<String> = names.collect();
    assert!(!names.is_empty(), "{file} has no case");
    names
}

/// Where a file is in the console's folder.
fn path(file: &str) -> String {
    format!("tests/{file}{ENDING}")
}

/// The name of a case as a test.
fn test_name(file: &str, case: &str) -> String {
    format!("{file}::{case}")
}

/// A file of cases. One process runs them, with one server and one browser.
struct CaseFile {
    name: String,
    /// The wanted ones, in the order of the file.
    cases: Vec<String>,
    /// From the first case to the last one.
    process: Option<CaseProcess>,
}

impl CaseFile {
    fn into_trials(self) -> Vec<Trial> {
        let cases = self.cases.clone();
        let tests = cases.iter().map(|case| test_name(&self.name, case));
        let tests: Vec<String> = tests.collect();
        let file = Arc::new(Mutex::new(self));
        let trials = tests.into_iter().zip(cases).map(|(test, case)| {
            let file = Arc::clone(&file);
            Trial::test(test, move || file.lock().unwrap().wait_for(&case))
        });
        trials.collect()
    }

    /// Waits until a case has ended; behind the last one until the process has, whose errors are the case's too.
    fn wait_for(&mut self, case: &str) -> Result<(), Failed> {
        let is_last = self.cases.last().is_some_and(|last| last == case);
        let mut process = match self.process.take() {
            Some(process) => process,
            None => CaseProcess::start(&self.name, &self.cases)?,
        };
        let mut errors = Vec::new();
        let mut printed = String::new();
        let mut has_run = false;
        for line in process.lines.by_ref() {
            let line = line?;
            let Ok(end) = serde_json::from_str::<CaseEnd>(&line) else {
                printed.push_str(&line);
                printed.push('\n');
                continue;
            };
            errors.extend(end.error);
            has_run |= end.case == case;
            if has_run && !is_last {
                break;
            }
        }
        if is_last {
            process.node.wait()?;
        } else {
            self.process = Some(process);
        }
        if !has_run {
            errors.push("the case has not run".to_owned());
        }
        match errors.is_empty() {
            true => Ok(()),
            false => Err(format!("{}\n{printed}", errors.join("\n")).into()),
        }
    }
}

/// What runs the cases of a file.
struct CaseProcess {
    node: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl CaseProcess {
    fn start(file: &str, cases: &[String]) -> Result<Self, String> {
        let mut node = Command::new("node");
        node.args(["--test", "--test-reporter=./tests/support/reporter.mjs"]);
        // A pattern: its marks stand for any letter.
        let patterns = cases
            .iter()
            .map(|case| case.replace(|letter: char| letter.is_ascii_punctuation(), "."));
        node.args(patterns.map(|pattern| format!("--test-name-pattern=^{pattern}$")));
        node.arg(path(file)).current_dir(sources());
        node.env("AMBIT_BINARY", env!("CARGO_BIN_EXE_ambit"));
        let node = node.stdout(Stdio::piped()).spawn();
        let mut node = node.map_err(|error| format!("cannot start node: {error}"))?;
        let lines = BufReader::new(node.stdout.take().unwrap()).lines();
        Ok(Self { node, lines })
    }
}

/// What the reporter says of a case that has run, or of its file.
#[derive(Deserialize)]
struct CaseEnd {
    case: String,
    error: Option<String>,
}
