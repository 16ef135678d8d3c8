//! `ambit models`: the database of an app's models.

use super::CommandOutcome;
use crate::command::serve::load;
use crate::command_error::Result;
use crate::output::{Output, one_line};
use crate::settings::model_keys::new_model_key;
use crate::settings::{AppOption, StoreOptions};
use ambit::environment::environment;
use ambit_runtime::{RekeyReport, rekey_models};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::Path;

/// The app whose models are meant.
#[derive(Args, Debug)]
pub struct ModelsArguments {
    #[command(flatten)]
    app: AppOption,
    #[command(subcommand)]
    command: ModelsCommand,
}

/// What is done with models.
#[derive(Subcommand, Debug)]
pub enum ModelsCommand {
    /// Encrypts what AMBIT_MODEL_KEY has encrypted with AMBIT_MODEL_KEY_NEW, while no server runs; may be repeated. Exits with 2
    /// where neither key opens a value
    Rekey,
}

pub async fn run(
    arguments: &ModelsArguments,
    stores: &StoreOptions,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let ModelsCommand::Rekey = arguments.command;
    let folder = arguments.app.folder();
    let named = Some(folder.as_path()).filter(|folder| !folder.as_os_str().is_empty());
    let app = load(named.unwrap_or(Path::new(".")), &environment())?;
    let (place, new) = (stores.models(&folder)?, new_model_key()?);
    let ambit = stores.open_in(&folder).await?;
    let report = rekey_models(&app, ambit.stores(), place, &new).await;
    ambit.close().await?;
    print(&report?, out)
}

fn print(report: &RekeyReport, out: &mut Output) -> Result<CommandOutcome> {
    for (column, values) in &report.unreadable {
        let column = one_line(column);
        writeln!(
            out,
            "{column}: {values} values can be read with neither key, and are as they were"
        )?;
    }
    let changed = report.changed;
    writeln!(
        out,
        "{changed} values are encrypted anew; AMBIT_MODEL_KEY is the new key from now on"
    )?;
    Ok(match report.unreadable.is_empty() {
        true => CommandOutcome::Done,
        false => CommandOutcome::SomeFailed,
    })
}
