//! `ambit context show`

use super::CommandOutcome;
use super::context_summary::{ContextSummary, find, word};
use crate::command_error::Result;
use crate::output::{Output, json_line, one_line, or_dash, print_field};
use crate::timestamp;
use ambit_storage::Ambit;
use ambit_storage::directory::IndexRow;
use clap::Args;

#[derive(Args, Debug)]
pub struct ShowArguments {
    /// The context's id, as `ambit context ls` shows it
    id: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub async fn run(
    ambit: &Ambit,
    arguments: &ShowArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let tracked = find(ambit, &arguments.id).await?;
    let row = ContextSummary::of(ambit, &tracked).await?;
    if arguments.json {
        json_line(out, &row)?;
    } else {
        print(&row, &tracked, out)?;
    }
    Ok(CommandOutcome::Done)
}

fn print(row: &ContextSummary<'_>, tracked: &IndexRow, out: &mut Output) -> std::io::Result<()> {
    let items = row
        .items
        .map_or_else(|| "?".to_owned(), |items| items.to_string());
    let fields = [
        ("id", row.id.to_owned()),
        ("key", one_line(&row.key)),
        ("tenant", one_line(&tracked.tenant)),
        ("agent", one_line(row.agent_name)),
        ("user", or_dash(row.user_id)),
        ("chat", or_dash(row.chat_name)),
        ("group", or_dash(row.group)),
        ("scope", or_dash(row.scope)),
        ("state", word(row.state).to_owned()),
        ("items", items),
        ("drivers", row.drivers.join(", ")),
        ("created", timestamp::show(row.created_at)),
        ("last active", timestamp::show(row.last_activity_at)),
        ("created by", or_dash(tracked.created_by.as_deref())),
        ("team", or_dash(tracked.team.as_deref())),
    ];
    for (name, value) in fields {
        print_field(out, name, &value)?;
    }
    for (name, value) in row.labels {
        let label = format!("{}={}", one_line(name), one_line(value));
        print_field(out, "label", &label)?;
    }
    for touch in &tracked.touches {
        let (first, last) = (
            timestamp::show(touch.first_at),
            timestamp::show(touch.last_at),
        );
        let (agent, base) = (one_line(&touch.agent), one_line(&touch.base.key()));
        let touched_by = format!("{agent} as {base}, {first} to {last}");
        print_field(out, "touched by", &touched_by)?;
    }
    Ok(())
}
