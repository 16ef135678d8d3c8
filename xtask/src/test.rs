//! `cargo xtask test`: the one test command.

use crate::browser::Browser;
use crate::clients::Clients;
use crate::process::{Result, cargo, each_line, succeeds};
use crate::servers::Servers;
use crate::{console, docs, tidy, types};
use std::fmt;
use std::process::Command;
use std::time::Instant;

/// Runs every check, or with arguments only `cargo test ARGUMENTS`. The last line says how many tests ran.
pub fn run(arguments: &[String]) -> Result<bool> {
    let mut tally = Tally::default();
    let mut failures = Failures::default();
    let mut failed: Vec<String> = Vec::new();
    if arguments.is_empty() {
        for (name, check) in CHECKS {
            println!("── {name}");
            let begun = Instant::now();
            let outcome = check();
            println!("── {name} took {} s", begun.elapsed().as_secs());
            if let Some(why) = failure(name, outcome) {
                println!("{why}");
                failed.push(why);
                tally.failed += 1;
            }
        }
    }
    println!("── tests");
    if let Some(why) = failure("tests", tests(arguments, &mut tally, &mut failures)) {
        failed.push(why);
        // A run that ends without naming a failed test did not get as far as its tests.
        tally.failed = tally.failed.max(failed.len());
    }
    print!("{failures}");
    if !failed.is_empty() {
        println!("not passed: {}", failed.join(", "));
    }
    println!("{tally}");
    Ok(failed.is_empty())
}

/// A check; true where it finds nothing.
type Check = fn() -> Result<bool>;

/// What is checked beside the tests.
const CHECKS: &[(&str, Check)] = &[
    ("format", format),
    ("tidy", || tidy::run(&[])),
    ("lints", lints),
    ("features", features),
    ("documentation", documentation),
    ("pages", docs::check),
    ("types", || types::run(&[])),
    ("console", console::check),
];

fn format() -> Result<bool> {
    succeeds(&mut cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> Result<bool> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--"];
    succeeds(cargo(&arguments).args(["-D", "warnings"]))
}

/// Checks `ambit-storage` without features, and with each of them alone.
fn features() -> Result<bool> {
    let mut is_clean = true;
    for features in ["", "sqlite", "file", "postgres", "redis", "conformance"] {
        let arguments = ["clippy", "-p", "ambit-storage", "--no-default-features"];
        let mut command = cargo(&arguments);
        command.args(["--features", features, "--", "-D", "warnings"]);
        is_clean &= succeeds(&mut command)?;
    }
    Ok(is_clean)
}

fn documentation() -> Result<bool> {
    let mut command = cargo(&["doc", "--workspace", "--no-deps"]);
    succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests(arguments: &[String], tally: &mut Tally, failures: &mut Failures) -> Result<bool> {
    let servers = Servers::for_tests()?;
    let mut command = cargo(&["test", "--no-fail-fast"]);
    if arguments.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments);
    // Tests that ask for them fail where they are not there; the others have no need of them.
    match Clients::install() {
        Ok(clients) => {
            clients.tell(&mut command);
        }
        Err(message) => println!("no official clients: {message}"),
    }
    match Browser::find() {
        Ok(browser) => {
            browser.tell(&mut command);
        }
        Err(message) => println!("no browser: {message}"),
    }
    count(servers.tell(&mut command), tally, failures)
}

/// Runs the tests, showing their output, counting their results and keeping what the failed ones printed.
fn count(command: &mut Command, tally: &mut Tally, failures: &mut Failures) -> Result<bool> {
    each_line(command, |line| {
        println!("{line}");
        failures.read(line);
        if let Some(result) = Tally::of(line) {
            tally.passed += result.passed;
            tally.failed += result.failed;
            tally.skipped += result.skipped;
        }
    })
}

/// What is said of a check that did not pass.
fn failure(name: &str, outcome: Result<bool>) -> Option<String> {
    match outcome {
        Ok(true) => None,
        Ok(false) => Some(name.to_owned()),
        Err(message) => Some(format!("{name} ({message})")),
    }
}

/// How many tests did what.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// The numbers of one `test result:` line.
    fn of(line: &str) -> Option<Self> {
        let mut tally = Self::default();
        let words: Vec<&str> = line.strip_prefix("test result:")?.split(' ').collect();
        for pair in words.windows(2) {
            let number = pair[0].parse().unwrap_or(0);
            match pair[1] {
                "passed;" => tally.passed = number,
                "failed;" => tally.failed = number,
                "ignored;" => tally.skipped = number,
                _ => {}
            }
        }
        Some(tally)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// How many lines of a failed test's output are shown again.
const SHOWN: usize = 60;

/// What the failed tests printed, from where they panicked, for the end of the run: a log that is cut keeps its end.
#[derive(Debug, Default)]
struct Failures {
    lines: Vec<String>,
    /// Where the present test begins in the lines; `None` outside a section of failures.
    section: Option<usize>,
    has_panicked: bool,
    /// Whether what comes are the frames of a panic, which tell little and fill much.
    is_backtrace: bool,
}

impl Failures {
    fn read(&mut self, line: &str) {
        if line.starts_with("---- ") {
            self.section = Some(self.lines.len());
            self.has_panicked = false;
            self.is_backtrace = false;
        } else if line == "failures:" || line.starts_with("test result:") {
            self.section = None;
        }
        let Some(begin) = self.section else { return };
        if line.contains("panicked at ") {
            // The first is the cause: what waited for its thread panics too.
            if !self.has_panicked {
                self.lines.truncate(begin + 1);
            }
            self.has_panicked = true;
            self.is_backtrace = false;
        }
        self.is_backtrace |= line == "stack backtrace:";
        if self.lines.len() < begin + SHOWN && !self.is_backtrace {
            self.lines.push(line.to_owned());
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return Ok(());
        }
        writeln!(f, "── failed tests, once more")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Failures, SHOWN, Tally};

    #[test]
    fn what_failed_tests_printed_is_shown_once_more_up_to_a_bound() {
        let mut failures = Failures::default();
        assert_eq!(failures.to_string(), "");
        let begin = ["test a ... FAILED", "failures:", "---- a stdout ----"];
        let section = ["said", "thread 'a' panicked at a.rs:1:1:"];
        let backtrace = ["stack backtrace:", "   0: a::frame"];
        begin.iter().for_each(|line| failures.read(line));
        section.iter().for_each(|line| failures.read(line));
        (0..SHOWN).for_each(|_| failures.read("more"));
        backtrace.iter().for_each(|line| failures.read(line));
        ["failures:", "    a", "test result: FAILED."]
            .iter()
            .for_each(|line| failures.read(line));
        let shown = failures.to_string();
        assert_eq!(shown.lines().nth(1), Some("---- a stdout ----"));
        assert!(!shown.contains("said"));
        assert_eq!(shown.lines().count(), 1 + SHOWN);
        assert!(!shown.contains("    a"));
        failures.read("---- b stdout ----");
        backtrace.iter().for_each(|line| failures.read(line));
        assert!(failures.to_string().ends_with("---- b stdout ----\n"));
    }

    #[test]
    fn a_result_line_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s";
        let tally = Tally::of(line);
        let expected = Tally {
            passed: 12,
            failed: 3,
            skipped: 1,
        };
        assert_eq!(tally, Some(expected));
    }

    #[test]
    fn other_lines_are_not_counted() {
        assert_eq!(Tally::of("test tidy::tests::a ... ok"), None);
    }

    #[test]
    fn the_last_line_names_skipped_tests_only_where_there_are_some() {
        let mut tally = Tally {
            passed: 5,
            failed: 0,
            skipped: 0,
        };
        assert_eq!(tally.to_string(), "5 passed, 0 failed");
        tally.skipped = 2;
        assert_eq!(tally.to_string(), "5 passed, 0 failed, 2 skipped");
    }
}
