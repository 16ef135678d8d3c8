//! `ambit usage`

use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::context_filters::check_agent;
use crate::output::{Output, Table, filled_or_dash, json_line, one_line};
use crate::settings::AppOption;
use ambit_storage::{Ambit, Error, Usage, UsageField, UsageTotals};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Args, Debug)]
pub struct UsageArguments {
    /// Only this agent's
    #[arg(long)]
    agent: Option<String>,
    /// Only this user's
    #[arg(long)]
    user: Option<String>,
    /// Only this group's
    #[arg(long)]
    group: Option<String>,
    /// Only of this chat
    #[arg(long)]
    chat: Option<String>,
    /// Only of this model
    #[arg(long)]
    model: Option<String>,
    /// Only of this provider
    #[arg(long)]
    provider: Option<String>,
    /// Only of this day, as in 2026-11-21
    #[arg(long)]
    date: Option<String>,
    /// Only from this day on, the day included
    #[arg(long, value_name = "DATE")]
    date_from: Option<String>,
    /// Only up to this day, the day included
    #[arg(long, value_name = "DATE")]
    date_to: Option<String>,
    /// Where days begin and end, as in Europe/Berlin; UTC if not given
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// One line for each value of this
    #[arg(long, value_name = "FIELD", value_parser = FIELDS)]
    by: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub app: AppOption,
}

const FIELDS: [&str; 8] = [
    "agent", "user", "group", "chat", "model", "provider", "day", "hour",
];

pub async fn run(
    ambit: &Ambit,
    arguments: &UsageArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let usage = question(ambit, arguments);
    let by = arguments.by.as_deref().map(UsageField::parse).transpose()?;
    let groups = match by {
        Some(field) => usage.group_by(field).await,
        None => usage
            .aggregate()
            .await
            .map(|totals| totals.map(|totals| BTreeMap::from([("all".to_owned(), totals)]))),
    };
    let Some(groups) = groups.map_err(named_as_options)? else {
        eprintln!("usage is not tracked");
        return Ok(CommandOutcome::Done);
    };
    let is_nothing = groups.values().all(|totals| totals.records == 0);
    if let Some(agent) = arguments.agent.as_deref().filter(|_| is_nothing) {
        check_agent(ambit, &arguments.app.folder(), agent).await?;
    }
    if arguments.json {
        for (name, totals) in &groups {
            let group = arguments.by.as_deref().map(|by| (by, name.as_str()));
            print_json(group, totals, out)?;
        }
        return Ok(CommandOutcome::Done);
    }
    let cells: Vec<[String; 6]> = groups
        .iter()
        .map(|(name, totals)| cells_of(name, totals))
        .collect();
    let first = by.map_or("", |_| "OF");
    let mut table = Table::new([first, "PROMPT", "COMPLETION", "TOKENS", "RECORDS", "COST"]);
    table.print(out, &cells)?;
    if groups.is_empty() {
        eprintln!("no usage matches");
    }
    Ok(CommandOutcome::Done)
}

/// Adds a condition to a question.
type UsageCondition = fn(Usage, &str) -> Usage;

fn question(ambit: &Ambit, arguments: &UsageArguments) -> Usage {
    let all = || Usage::all(ambit);
    let of = |agent: &String| Usage::of(ambit, agent);
    let mut usage = arguments.agent.as_ref().map_or_else(all, of);
    let narrowings: [(&Option<String>, UsageCondition); 9] = [
        (&arguments.user, Usage::for_user),
        (&arguments.group, Usage::for_group),
        (&arguments.chat, Usage::for_chat),
        (&arguments.model, Usage::for_model),
        (&arguments.provider, Usage::for_provider),
        (&arguments.date, Usage::date),
        (&arguments.date_from, Usage::date_from),
        (&arguments.date_to, Usage::date_to),
        (&arguments.time_zone, Usage::time_zone),
    ];
    for (value, narrow) in narrowings {
        if let Some(value) = value {
            usage = narrow(usage, value);
        }
    }
    usage
}

/// What the library calls a field is an option here.
fn named_as_options(error: Error) -> CommandError {
    match error {
        Error::Invalid { field, reason } => {
            let words = |text: &str| text.replace("date_", "--date-");
            let option = format!("--{}", field.replace('_', "-"));
            CommandError::option(&option, words(&reason))
        }
        other => other.into(),
    }
}

#[derive(Serialize)]
struct UsageTotalsRow<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty", flatten)]
    group: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    totals: &'a UsageTotals,
}

fn print_json(
    group: Option<(&str, &str)>,
    totals: &UsageTotals,
    out: &mut Output,
) -> std::io::Result<()> {
    let line = UsageTotalsRow {
        group: group.into_iter().collect(),
        totals,
    };
    json_line(out, &line)
}

fn cells_of(name: &str, totals: &UsageTotals) -> [String; 6] {
    [
        one_line(name),
        totals.prompt_tokens.to_string(),
        totals.completion_tokens.to_string(),
        totals.total_tokens.to_string(),
        totals.records.to_string(),
        cost_text(&totals.cost),
    ]
}

/// What something cost, by currency.
pub(super) fn cost_text(cost: &BTreeMap<String, i64>) -> String {
    let sums = cost
        .iter()
        .map(|(currency, micros)| money(*micros, currency));
    filled_or_dash(&sums.collect::<Vec<_>>().join(", "))
}

/// Millionths as a decimal number.
fn money(micros: i64, currency: &str) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let (whole, part) = (
        micros.unsigned_abs() / 1_000_000,
        micros.unsigned_abs() % 1_000_000,
    );
    format!("{sign}{whole}.{part:06} {}", one_line(currency))
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, money};
    use ambit_storage::UsageField;

    #[test]
    fn every_field_offered_is_known() {
        for field in FIELDS {
            assert!(UsageField::parse(field).is_ok(), "{field}");
        }
    }

    #[test]
    fn millionths_are_shown_as_decimals() {
        assert_eq!(money(1_234_567, "EUR"), "1.234567 EUR");
        assert_eq!(money(-5, "USD"), "-0.000005 USD");
    }
}
