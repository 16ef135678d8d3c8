//! `ambit types`

use super::{CommandOutcome, new};
use crate::command_error::{CommandError, Result};
use crate::output::{Output, one_line};
use ambit::environment::environment;
use ambit_runtime::app_declarations;
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

/// Where it has those of what is its own.
const APP_FILE: &str = "types/app.d.ts";

/// Writes the declarations of this version, and where there is an app, those of what it has itself.
pub fn run(arguments: &TypesArguments, out: &mut Output) -> Result<CommandOutcome> {
    if !arguments.app.is_dir() {
        let folder = one_line(&arguments.app.display().to_string());
        let reason = format!("there is no folder {folder}; name that of an app");
        return Err(CommandError::Refused(reason));
    }
    write(&arguments.app, FILE, &declarations(), out)?;
    if arguments.app.join("app.yao").is_file() {
        let own = app_declarations(&arguments.app, &environment())
            .map_err(|error| CommandError::Refused(error.message))?;
        write(&arguments.app, APP_FILE, &own, out)?;
    }
    Ok(CommandOutcome::Done)
}

fn write(app: &Path, name: &str, text: &str, out: &mut Output) -> Result<()> {
    let file = app.join(name);
    new::write(&file, text)?;
    writeln!(out, "wrote {}", one_line(&file.display().to_string()))?;
    Ok(())
}
