//! `ambit context move`

use super::CommandOutcome;
use super::context_summary::unknown;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, one_line};
use ambit_storage::{Ambit, Error, relocation};
use clap::Args;
use std::io::Write;

#[derive(Args, Debug)]
pub struct MoveArguments {
    /// The context's id, as `ambit context ls` shows it
    id: String,
    /// The store that it goes to; of several the primary first
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    to: Vec<String>,
}

pub async fn run(
    ambit: &Ambit,
    arguments: &MoveArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    if let Err(error) = ambit.stores().chain(&arguments.to) {
        let reason = format!("is refused: {error}");
        return Err(CommandError::option("--to", reason));
    }
    let moved = relocation::relocate(ambit, &arguments.id, &arguments.to).await;
    let moved = moved.map_err(|error| match error {
        Error::NotFound { .. } => unknown(&arguments.id),
        error => error.into(),
    })?;
    let key = one_line(&moved.identity.key());
    let (from, to) = (moved.from.join(", "), moved.to.join(", "));
    if from == to {
        writeln!(out, "{key} is in {to}")?;
    } else {
        writeln!(out, "moved {key} from {from} to {to}")?;
    }
    Ok(CommandOutcome::Done)
}
