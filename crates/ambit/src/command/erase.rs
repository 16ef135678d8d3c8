//! `ambit context clear` and `ambit context remove`

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::context_filters::ContextFilters;
use crate::output::{Output, one_line};
use ambit_storage::{Ambit, BulkReport, SessionIdentity, SessionQuery};
use clap::Args;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::Path;

#[derive(Args, Debug)]
pub struct EraseArguments {
    /// The agent
    agent: String,
    /// Says what would be done and changes nothing
    #[arg(long)]
    dry_run: bool,
    /// Does not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    filters: ContextFilters,
}

/// `ambit context clear`
pub async fn clear(
    ambit: &Ambit,
    app: &Path,
    arguments: &EraseArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let Some(query) = confirmed_query(ambit, app, arguments, "clear").await? else {
        return Ok(CommandOutcome::Done);
    };
    let mut tally = EraseSummary::new(out);
    query.clear_each(|_, one| tally.add(&one)).await?;
    tally.end(arguments.dry_run)
}

/// `ambit context remove`
pub async fn remove(
    ambit: &Ambit,
    app: &Path,
    arguments: &EraseArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let Some(query) = confirmed_query(ambit, app, arguments, "remove").await? else {
        return Ok(CommandOutcome::Done);
    };
    let mut tally = EraseSummary::new(out);
    query.remove_each(|_, one| tally.add(&one)).await?;
    tally.end(arguments.dry_run)
}

/// The query, if it may be acted on; nothing where nothing matches.
async fn confirmed_query(
    ambit: &Ambit,
    app: &Path,
    arguments: &EraseArguments,
    verb: &str,
) -> Result<Option<SessionQuery>> {
    let agent = arguments.agent.as_str();
    let query = arguments.filters.query(ambit, app, Some(agent)).await?;
    if arguments.dry_run {
        return Ok(Some(query.dry_run()));
    }
    if arguments.yes {
        return Ok(Some(query));
    }
    let count = query.count().await?;
    if count == 0 {
        eprintln!("no context matches");
        return Ok(None);
    }
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::Refused(format!(
            "{verb} would erase the data of {count} contexts of {agent}, and there is no terminal to ask at; \
             give --yes to do it, or --dry-run to see what it would do"
        )));
    }
    eprint!("{verb} {count} contexts of {}? [y/N] ", one_line(agent));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(Some(query)),
        _ => Err(CommandError::Refused("nothing was changed".to_owned())),
    }
}

/// What was done so far, told as it comes.
struct EraseSummary<'a> {
    out: &'a mut Output,
    done: usize,
    unchanged: usize,
    skipped: usize,
    failed: usize,
    shared_with: BTreeSet<String>,
    written: std::io::Result<()>,
}

impl<'a> EraseSummary<'a> {
    fn new(out: &'a mut Output) -> Self {
        Self {
            out,
            done: 0,
            unchanged: 0,
            skipped: 0,
            failed: 0,
            shared_with: BTreeSet::new(),
            written: Ok(()),
        }
    }

    /// An output that fails does not stop the work; the end tells.
    fn add(&mut self, report: &BulkReport) {
        self.done += report.done.len();
        self.unchanged += report.unchanged.len();
        self.skipped += report.skipped.len();
        self.failed += report.failed.len();
        self.shared_with.extend(report.shared_with.iter().cloned());
        for (identity, why) in &report.skipped {
            self.say("skipped", identity, why);
        }
        for (identity, error) in &report.failed {
            self.say("failed", identity, &error.to_string());
        }
    }

    fn say(&mut self, word: &str, identity: &SessionIdentity, why: &str) {
        let (key, why) = (one_line(&identity.key()), one_line(why));
        let written = writeln!(self.out, "{word} {key}: {why}");
        if self.written.is_ok() {
            self.written = written;
        }
    }

    fn end(self, is_dry: bool) -> Result<CommandOutcome> {
        self.written?;
        if !self.shared_with.is_empty() {
            let agents: Vec<String> = self.shared_with.iter().map(|name| one_line(name)).collect();
            writeln!(self.out, "shared with {}", agents.join(", "))?;
        }
        let note = if is_dry { " (nothing was changed)" } else { "" };
        writeln!(
            self.out,
            "done {}, unchanged {}, skipped {}, failed {}{note}",
            self.done, self.unchanged, self.skipped, self.failed
        )?;
        Ok(if self.failed == 0 {
            CommandOutcome::Done
        } else {
            CommandOutcome::SomeFailed
        })
    }
}
