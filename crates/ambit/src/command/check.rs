//! `ambit check`

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, escape_control};
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
}

/// Prints everything that is wrong with an app or has no effect there.
pub fn run(arguments: &CheckArguments, out: &mut Output) -> Result<CommandOutcome> {
    let mut problems = ambit_runtime::check(&arguments.app, &environment())
        .map_err(|error| CommandError::Refused(error.message))?;
    if let Ok(app) = App::load(&arguments.app, &environment()) {
        match AuthConfig::of(&app) {
            Ok(config) => problems.extend(config.notices),
            Err(problem) => problems.push(problem),
        }
    }
    for problem in &problems {
        writeln!(out, "{}", escape_control(&problem.to_string()))?;
    }
    out.flush()?;
    if problems.iter().any(FileProblem::is_error) {
        return Err(CommandError::Refused(counts(&problems)));
    }
    writeln!(out, "nothing is broken: {}", counts(&problems))?;
    Ok(CommandOutcome::Done)
}

/// How many problems of each kind there are.
fn counts(problems: &[FileProblem]) -> String {
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
