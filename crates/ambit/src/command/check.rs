//! `ambit check`

use super::Outcome;
use crate::failure::{Failure, Result};
use crate::output::{Output, harmless};
use crate::settings::environment;
use ambit::auth::Config;
use ambit_runtime::app::{App, Problem, Severity};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct Arguments {
    /// The app's folder
    #[arg(default_value = ".")]
    app: PathBuf,
}

/// Prints everything that is wrong with an app or has no effect there.
pub fn run(arguments: &Arguments, out: &mut Output) -> Result<Outcome> {
    let mut problems = ambit_runtime::check(&arguments.app, &environment())
        .map_err(|error| Failure::Refused(error.message))?;
    if let Ok(app) = App::load(&arguments.app, &environment()) {
        match Config::of(&app) {
            Ok(config) => problems.extend(config.notices),
            Err(problem) => problems.push(problem),
        }
    }
    for problem in &problems {
        writeln!(out, "{}", harmless(&problem.to_string()))?;
    }
    out.flush()?;
    if problems.iter().any(Problem::is_error) {
        return Err(Failure::Refused(counts(&problems)));
    }
    writeln!(out, "nothing is broken: {}", counts(&problems))?;
    Ok(Outcome::Done)
}

/// How many problems of each kind there are.
fn counts(problems: &[Problem]) -> String {
    let count = |severity, what: &str| {
        let those = problems
            .iter()
            .filter(|problem| problem.severity == severity);
        let number = those.count();
        let plural = if number == 1 { "" } else { "s" };
        format!("{number} {what}{plural}")
    };
    let counts = [
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Notice, "notice"),
    ];
    counts.join(", ")
}
