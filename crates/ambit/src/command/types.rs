//! `ambit types`

use super::{CommandOutcome, new};
use crate::command_error::Result;
use crate::output::{Output, one_line};
use ambit_runtime::ctx::declarations;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct TypesArguments {
    /// The app's folder
    #[arg(default_value = ".")]
    app: PathBuf,
}

/// Where an app has the declarations; its `tsconfig.json` names the file.
pub(super) const FILE: &str = "types/index.d.ts";

/// Writes the declarations of this version.
pub fn run(arguments: &TypesArguments, out: &mut Output) -> Result<CommandOutcome> {
    let file = arguments.app.join(Path::new(FILE));
    new::write(&file, &declarations())?;
    writeln!(out, "wrote {}", one_line(&file.display().to_string()))?;
    Ok(CommandOutcome::Done)
}
