//! `ambit check`

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, escape_control};
use crate::settings::{OTHER_APP, check_app};
use ambit::auth::AuthConfig;
use ambit::environment::environment;
use ambit_runtime::app::{App, FileProblem, Severity};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct CheckArguments {
    /// The app's folder
    #[arg(default_value = ".")]
    app: PathBuf,
    /// Warnings count as errors: where there is one, the program ends with 1
    #[arg(long)]
    strict: bool,
}

/// Prints everything that is wrong with an app or has no effect there.
pub fn run(arguments: &CheckArguments, out: &mut Output) -> Result<CommandOutcome> {
    check_app(&arguments.app, OTHER_APP)?;
    let mut problems = ambit_runtime::check(&arguments.app, &environment())
        .map_err(|error| CommandError::Refused(error.message))?;
    if let Ok(app) = App::load(&arguments.app, &environment()) {
        match AuthConfig::of(&app) {
            Ok(config) => problems.extend(config.notices),
            Err(problem) => problems.push(problem),
        }
    }
    for problem in &problems {
        writeln!(out, "{}", escape_control(&line(problem)))?;
    }
    out.flush()?;
    let least = match arguments.strict {
        true => Severity::Warning,
        false => Severity::Error,
    };
    if problems.iter().any(|problem| problem.severity >= least) {
        return Err(CommandError::Refused(counts(&problems)));
    }
    writeln!(out, "nothing is broken: {}", counts(&problems))?;
    Ok(CommandOutcome::Done)
}

/// A problem as it is printed. What is no error says so.
fn line(problem: &FileProblem) -> String {
    match problem.is_error() {
        true => problem.to_string(),
        false => format!("{problem} ({})", problem.severity.name()),
    }
}

/// How many problems of each kind there are.
fn counts(problems: &[FileProblem]) -> String {
    let count = |severity: Severity| {
        let those = problems
            .iter()
            .filter(|problem| problem.severity == severity);
        let number = those.count();
        let plural = if number == 1 { "" } else { "s" };
        format!("{number} {}{plural}", severity.name())
    };
    let counts = [Severity::Error, Severity::Warning, Severity::Notice].map(count);
    counts.join(", ")
}
