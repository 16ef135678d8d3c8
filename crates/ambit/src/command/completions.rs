//! `ambit completions`: what a shell needs to complete commands and options.

use super::CommandOutcome;
use crate::command_error::Result;
use crate::output::Output;
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use std::io::Write;

#[derive(Args, Debug)]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Prints the script for the commands of the program.
pub fn run(
    mut program: Command,
    arguments: &CompletionsArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    // Written in one go: the generator cannot say that the output takes no more.
    let mut script = Vec::new();
    generate(arguments.shell, &mut program, "ambit", &mut script);
    out.write_all(&script)?;
    Ok(CommandOutcome::Done)
}
