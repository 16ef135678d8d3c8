//! `cargo xtask test`: the one test command.

mod failures;
mod tally;

use crate::browser::Browser;
use crate::clients::Clients;
use crate::process::{Result, cargo, each_line, succeeds};
use crate::servers::Servers;
use crate::{console, docs, tidy, types};
use failures::Failures;
use std::process::Command;
use std::time::Instant;
use tally::Tally;

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

/// What tests need beside themselves. Without clients or a browser those that ask for them fail; the others have no need of them.
struct TestEnvironment {
    servers: Servers,
    clients: Option<Clients>,
    browser: Option<Browser>,
}

impl TestEnvironment {
    fn start() -> Result<Self> {
        let clients = Clients::install().inspect_err(|why| println!("no official clients: {why}"));
        let browser = Browser::find().inspect_err(|why| println!("no browser: {why}"));
        Ok(Self {
            servers: Servers::for_tests()?,
            clients: clients.ok(),
            browser: browser.ok(),
        })
    }

    /// `cargo test` in this environment.
    fn cargo_test(&self, arguments: &[&str]) -> Command {
        let mut command = cargo(&["test", "--no-fail-fast"]);
        command.args(arguments);
        self.servers.tell(&mut command);
        if let Some(clients) = &self.clients {
            clients.tell(&mut command);
        }
        if let Some(browser) = &self.browser {
            browser.tell(&mut command);
        }
        command
    }
}

fn tests(arguments: &[String], tally: &mut Tally, failures: &mut Failures) -> Result<bool> {
    let environment = TestEnvironment::start()?;
    let mut given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments.is_empty() {
        given.push("--workspace");
    }
    // Their output is shown, their results are counted, and what the failed ones printed is kept.
    let have_passed = each_line(&mut environment.cargo_test(&given), |line| {
        println!("{line}");
        failures.read(line);
        tally.read(line);
    })?;
    if have_passed || !arguments.is_empty() {
        return Ok(have_passed);
    }
    let names = &failures.names;
    // A check, an example of the documentation and a program that ends early have no name here: they fail for good.
    let are_few = names.len() <= MOST_FLAKY && tally.fails_by(names.len());
    if !are_few || !pass_alone(&environment, names)? {
        return Ok(false);
    }
    tally.count_failed_as_flaky();
    Ok(true)
}

/// A test that fails beside the others and passes so many times in a row by itself is flaky. What holds only with luck hardly
/// passes that often.
const TRIES: usize = 3;
/// More failed tests than these are no matter of luck.
const MOST_FLAKY: usize = 3;

/// Whether each of these tests passes each time by itself.
fn pass_alone(environment: &TestEnvironment, names: &[String]) -> Result<bool> {
    for name in names {
        for number in 1..=TRIES {
            let mut alone = Tally::default();
            let arguments = ["--workspace", "--tests", "--", "--exact", name];
            let mut command = environment.cargo_test(&arguments);
            let has_succeeded = each_line(&mut command, |line| alone.read(line))?;
            // Where the name finds no test, none fails.
            let has_passed = has_succeeded && alone.passed > 0;
            let outcome = if has_passed { "passed" } else { "failed" };
            println!("── {name} {outcome} by itself ({number} of {TRIES})");
            if !has_passed {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// What is said of a check that did not pass.
fn failure(name: &str, outcome: Result<bool>) -> Option<String> {
    match outcome {
        Ok(true) => None,
        Ok(false) => Some(name.to_owned()),
        Err(message) => Some(format!("{name} ({message})")),
    }
}
