//! `ambit context ls`

use super::CommandOutcome;
use super::context_summary::{ContextSummary, word};
use crate::command_error::Result;
use crate::context_filters::ContextFilters;
use crate::output::{Output, Table, json_line, one_line, or_dash};
use crate::timestamp;
use ambit_storage::Ambit;
use clap::Args;
use std::io::Write;
use std::path::Path;

#[derive(Args, Debug)]
pub struct ListArguments {
    /// The agent, if only its contexts are wanted
    agent: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: ContextFilters,
}

const HEADINGS: [&str; 9] = [
    "ID",
    "AGENT",
    "USER",
    "CHAT",
    "GROUP",
    "SCOPE",
    "STATE",
    "ITEMS",
    "LAST ACTIVE",
];

/// Prints page after page, so that any number of contexts takes the same memory.
pub async fn run(
    ambit: &Ambit,
    app: &Path,
    arguments: &ListArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let query = arguments
        .filters
        .query(ambit, app, arguments.agent.as_deref())
        .await?;
    let (mut rows, mut table) = (query.rows(), Table::new(HEADINGS));
    let mut is_empty = true;
    while let Some(page) = rows.next().await? {
        is_empty &= page.is_empty();
        let mut cells = Vec::with_capacity(page.len());
        for tracked in &page {
            let row = ContextSummary::of(ambit, tracked).await?;
            if arguments.json {
                json_line(out, &row)?;
            } else {
                cells.push(cells_of(&row));
            }
        }
        table.print(out, &cells)?;
        out.flush()?;
    }
    if is_empty && !arguments.json {
        eprintln!("no context matches");
    }
    Ok(CommandOutcome::Done)
}

fn cells_of(row: &ContextSummary<'_>) -> [String; 9] {
    [
        row.id.to_owned(),
        one_line(row.agent_name),
        or_dash(row.user_id),
        or_dash(row.chat_name),
        or_dash(row.group),
        or_dash(row.scope),
        word(row.state).to_owned(),
        row.items
            .map_or_else(|| "?".to_owned(), |items| items.to_string()),
        timestamp::show(row.last_activity_at),
    ]
}
