//! `ambit man`: pages for `man`.

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::Output;
use ambit::suggestion;
use clap::{Args, Command};
use clap_mangen::Man;

/// What the pages are of, in their last line.
const SOURCE: &str = concat!("ambit ", env!("CARGO_PKG_VERSION"));

#[derive(Args, Debug)]
pub struct ManArguments {
    /// The command whose page is wanted, as in `ambit man context ls`; without it the page of the program
    command: Vec<String>,
}

/// Prints a page about the program or one of its commands.
pub fn run(
    mut program: Command,
    arguments: &ManArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    // Names the commands as they are called, with those above them.
    program.build();
    let mut found = &program;
    for name in &arguments.command {
        let Some(next) = found.find_subcommand(name) else {
            let known: Vec<&str> = found.get_subcommands().map(Command::get_name).collect();
            let offer = suggestion::offer(name, known);
            let reason = format!("there is no command \"{name}\"{offer}");
            return Err(CommandError::Refused(reason));
        };
        found = next;
    }
    Man::new(found.clone()).source(SOURCE).render(out)?;
    Ok(CommandOutcome::Done)
}
