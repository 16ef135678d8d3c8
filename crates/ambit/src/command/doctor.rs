//! `ambit doctor`

use super::CommandOutcome;
use crate::command_error::Result;
use crate::output::{Output, one_line};
use ambit_storage::Ambit;
use ambit_storage::doctor::{Finding, examine};
use clap::Args;
use std::io::Write;

#[derive(Args, Debug)]
pub struct DoctorArguments {
    /// Mends what can be mended
    #[arg(long)]
    repair: bool,
}

pub async fn run(
    ambit: &Ambit,
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
    let done = examine(ambit, arguments.repair, &mut tell).await?;
    written?;
    let verdict = if done.unmended == 0 {
        "healthy"
    } else {
        "not healthy"
    };
    write!(
        out,
        "{verdict}: {} contexts looked at, {} findings left",
        done.rows, done.unmended
    )?;
    if arguments.repair {
        write!(
            out,
            ", {} mended, {} expired values erased",
            done.mended, done.swept
        )?;
    }
    writeln!(out)?;
    Ok(if done.unmended == 0 {
        CommandOutcome::Done
    } else {
        CommandOutcome::SomeFailed
    })
}
