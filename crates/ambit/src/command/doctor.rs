//! `ambit doctor`

mod periods;
mod sizes;

use super::CommandOutcome;
use crate::command_error::Result;
use crate::output::{Output, one_line};
use crate::settings::data_parts::MODELS;
use crate::settings::{AppOption, StoreOptions};
use ambit_runtime::{ModelStore, accept_models, examine_models};
use ambit_storage::Ambit;
use ambit_storage::backup::{DataFile, accept_files, examine_files};
use ambit_storage::doctor::{DoctorMode, Finding, examine};
use clap::Args;
use std::io::Write;

#[derive(Args, Debug)]
pub struct DoctorArguments {
    /// Mends what can be mended
    #[arg(long)]
    repair: bool,
    /// Takes the files and the models' database that are there as belonging together, wherever they come from
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    pub app: AppOption,
    /// Says too what takes the room, how much there is of each kind of data, for which all of it is read; and for how long it is kept
    #[arg(long)]
    sizes: bool,
}

pub async fn run(
    ambit: &Ambit,
    stores: &StoreOptions,
    arguments: &DoctorArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let mut written = Ok(());
    let mut tell = |finding: &Finding| {
        let mended = if finding.is_mended { " (mended)" } else { "" };
        let (place, what) = (one_line(&finding.place), one_line(&finding.what));
        let said = writeln!(out, "{place}: {what}{mended}").and_then(|()| out.flush());
        if written.is_ok() {
            written = said;
        }
    };
    let mut left = examine_parts(ambit, stores, arguments, &mut tell).await?;
    let mode = match arguments.repair {
        true => DoctorMode::Repair,
        false => DoctorMode::Report,
    };
    let done = examine(ambit, mode, &mut tell).await?;
    written?;
    left += done.unmended;
    let verdict = if left == 0 { "healthy" } else { "not healthy" };
    write!(
        out,
        "{verdict}: {} contexts looked at, {left} findings left",
        done.rows
    )?;
    if arguments.repair {
        write!(
            out,
            ", {} mended, {} expired values erased",
            done.mended, done.swept
        )?;
    }
    writeln!(out)?;
    if arguments.sizes {
        for (name, driver) in ambit.stores().drivers() {
            sizes::write(name, driver.as_ref(), out).await?;
        }
        periods::write(ambit.stores(), &arguments.app.folder(), out).await?;
    }
    Ok(if left == 0 {
        CommandOutcome::Done
    } else {
        CommandOutcome::SomeFailed
    })
}

/// Tells which files and databases do not belong together, and answers how many are left once they are accepted, if they are.
async fn examine_parts(
    ambit: &Ambit,
    stores: &StoreOptions,
    arguments: &DoctorArguments,
    tell: &mut dyn FnMut(&Finding),
) -> Result<u64> {
    let app = arguments.app.folder();
    let (files, models) = (stores.parts(&app)?.files, stores.models(&app)?.store);
    let found = find_apart(ambit, &files, &models).await?;
    found.iter().for_each(tell);
    if !arguments.accept {
        return Ok(found.len() as u64);
    }
    // The models first: where that fails the files still tell where they come from.
    accept_models(ambit.stores(), &models).await?;
    accept_files(&files)?;
    Ok(find_apart(ambit, &files, &models).await?.len() as u64)
}

async fn find_apart(
    ambit: &Ambit,
    files: &[DataFile],
    models: &ModelStore,
) -> Result<Vec<Finding>> {
    let mut findings = examine_files(files)?;
    let unpaired = examine_models(ambit.stores(), models).await?;
    findings.extend(unpaired.map(|what| Finding {
        place: MODELS.to_owned(),
        what,
        is_mended: false,
    }));
    Ok(findings)
}
