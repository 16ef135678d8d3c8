//! `ambit context messages`

use super::{CommandOutcome, context_summary};
use crate::command_error::{CommandError, Result};
use crate::output::{Output, escape_control, json_line, one_line, or_dash};
use crate::timestamp;
use ambit_runtime::chat::role_name;
use ambit_storage::memory;
use ambit_storage::storage::{
    ChatHistoryStorage, Message, StorageKind, StorageSnapshot, StoredItem,
};
use ambit_storage::{Ambit, Json};
use clap::Args;
use serde::Serialize;
use std::io::Write;

#[derive(Args, Debug)]
pub struct MessagesArguments {
    /// The context's id, as `ambit context ls` shows it
    id: String,
    /// Only those before this position
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..))]
    before: Option<u64>,
    /// Only the last so many; all if not given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// The originals, instead of what a model sees in their place
    #[arg(long)]
    archive: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Items read in one go.
const PAGE_SIZE: u64 = 200;

pub async fn run(
    ambit: &Ambit,
    arguments: &MessagesArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let row = context_summary::find(ambit, &arguments.id).await?;
    let scope = row.identity.scope();
    if scope == Some(memory::SCOPE) {
        let reason = format!(
            "{} is a memory: it has values, not messages or items",
            row.id
        );
        return Err(CommandError::Refused(reason));
    }
    let stored = if arguments.archive {
        StorageSnapshot::archive(ambit, &row).await?
    } else {
        StorageSnapshot::view(ambit, &row).await?
    };
    if stored.is_stale_possible() {
        eprintln!("ambit: the primary is down; a secondary answered, which may be behind it");
    }
    let end = arguments
        .before
        .map_or(u64::MAX, |before| before - 1)
        .min(stored.count());
    let mut next = end.saturating_sub(arguments.limit.unwrap_or(u64::MAX));
    while next < end {
        let count = (end - next).min(PAGE_SIZE);
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        for item in stored.after(next, limit).await? {
            if arguments.json {
                print_json(&item, out)?;
            } else {
                print(&item, scope, out)?;
            }
        }
        next += count;
        out.flush()?;
    }
    Ok(CommandOutcome::Done)
}

#[derive(Serialize)]
struct ItemRecord<'a> {
    position: u64,
    id: &'a str,
    stored_at: Option<i64>,
    item: &'a Json,
}

fn print_json(item: &StoredItem, out: &mut Output) -> std::io::Result<()> {
    let line = ItemRecord {
        position: item.position,
        id: &item.id,
        stored_at: item.stored_at,
        item: &item.body,
    };
    json_line(out, &line)
}

fn print(item: &StoredItem, scope: Option<&str>, out: &mut Output) -> std::io::Result<()> {
    let at = or_dash(item.stored_at.map(timestamp::show).as_deref());
    let is_message = scope == Some(ChatHistoryStorage::PREFIX);
    // What an erased message leaves is no whole message, and is shown as it is.
    let text = match item.body.to::<Message>() {
        Ok(message) if is_message => message_text(&message),
        _ => one_line(item.body.as_str()),
    };
    writeln!(out, "{:>4}  {at}  {text}", item.position)
}

/// A message in words; further lines of its text stand below its beginning.
fn message_text(message: &Message) -> String {
    let role = role_name(message.role);
    let mut parts = Vec::new();
    let text = escape_control(&message.text()).replace('\n', "\n      ");
    if !text.is_empty() {
        parts.push(text);
    }
    let others = message
        .parts
        .iter()
        .filter(|part| part.get("text").is_none());
    parts.extend(others.map(|part| one_line(&part.to_string())));
    for call in &message.tool_calls {
        let arguments = one_line(&call.arguments.to_string());
        parts.push(format!(
            "calls {}({arguments}) as {}",
            one_line(&call.name),
            one_line(&call.id)
        ));
    }
    if let Some(result) = &message.tool_result {
        let verb = if result.is_error {
            "failed with"
        } else {
            "gave"
        };
        let (call, content) = (
            one_line(&result.call_id),
            one_line(&result.content.to_string()),
        );
        parts.push(format!("{call} {verb} {content}"));
    }
    if message.is_erased() {
        parts.push("(erased)".to_owned());
    }
    format!("{role}: {}", parts.join("\n      "))
}
