//! `ambit why`

mod manifest_report;

use self::manifest_report::milliseconds;
use super::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, Table, json_line, one_line, or_dash};
use crate::settings::AppOption;
use ambit_runtime::inspect::calls::{self, TurnCalls};
use ambit_runtime::manifest::{ModelCallManifest, ModelCallSummary};
use ambit_runtime::{Authorized, ErrorCode, turn_location};
use ambit_storage::Ambit;
use clap::Args;
use std::io::Write;

#[derive(Args, Debug)]
pub struct WhyArguments {
    /// The request, by the header `X-Ambit-Request` of its answer, which is the `turn_id` of its messages
    request: String,
    /// Only this of its calls, counted from 0
    #[arg(long, value_name = "N")]
    call: Option<u64>,
    /// The calls as `GET /v1/chat/requests/REQUEST/calls` answers them, with --call the manifest as `GET /v1/calls/…/manifest` does
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub app: AppOption,
}

pub async fn run(
    ambit: &Ambit,
    arguments: &WhyArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let request = arguments.request.as_str();
    let who = operator(ambit);
    if let Err(error) = turn_location::find(ambit, &who, request).await {
        return Err(match error.code {
            ErrorCode::NotFound => unknown(request),
            _ => error.into(),
        });
    }
    let mut calls = calls::of_request(ambit, &who, request).await?;
    let ids = calls.manifests.iter().map(|call| call.call_id.clone());
    let ids: Vec<String> = ids.collect();
    for id in &ids {
        calls.name_messages(ambit, &who, id).await?;
    }
    let chosen = arguments.call.map(|index| find(&calls, request, index));
    match (chosen.transpose()?, arguments.json) {
        (Some(call), true) => json_line(out, call)?,
        (Some(call), false) => manifest_report::print(call, out)?,
        (None, true) => json_line(out, &calls.list())?,
        (None, false) => print_all(&calls, request, out)?,
    }
    Ok(CommandOutcome::Done)
}

/// Whoever may read the store may know all that is in it of the tenant.
pub(super) fn operator(ambit: &Ambit) -> Authorized {
    Authorized {
        user_id: Some("operator".to_owned()),
        tenant_id: Some(ambit.caller().tenant().to_owned()),
        ..Authorized::default()
    }
}

fn unknown(request: &str) -> CommandError {
    CommandError::NotFound {
        what: format!("request \"{request}\""),
        advice: "a request is known by the header X-Ambit-Request of its answer, as in 01m8j5ppgmd8t6mrm7sxadbm0d, which is \
            the request_id of messages in `ambit chats show CHAT --json`; `ambit chats ls` lists chats",
    }
}

fn find<'a>(calls: &'a TurnCalls, request: &str, index: u64) -> Result<&'a ModelCallManifest> {
    let mut manifests = calls.manifests.iter();
    let found = manifests.find(|call| call.index == index);
    found.ok_or_else(|| {
        CommandError::Refused(format!(
            "request \"{request}\" has no call {index}; `ambit why {request}` lists its calls"
        ))
    })
}

const HEADINGS: [&str; 8] = [
    "CALL",
    "AGENT",
    "CONNECTOR",
    "MODEL",
    "STATUS",
    "DURATION",
    "ESTIMATED",
    "USED",
];

fn print_all(calls: &TurnCalls, request: &str, out: &mut Output) -> std::io::Result<()> {
    if calls.manifests.is_empty() {
        eprintln!("request {} has called no model", one_line(request));
    }
    let rows: Vec<[String; 8]> = calls.list().items.iter().map(cells_of).collect();
    Table::new(HEADINGS).print(out, &rows)?;
    for call in &calls.manifests {
        writeln!(out)?;
        manifest_report::print(call, out)?;
    }
    Ok(())
}

fn cells_of(call: &ModelCallSummary) -> [String; 8] {
    let used = call.usage.as_ref().map(|usage| usage.total_tokens);
    [
        call.index.to_string(),
        one_line(&call.agent),
        one_line(&call.connector),
        one_line(&call.model),
        call.status.as_str().to_owned(),
        milliseconds(call.duration_ms),
        call.tokens.estimated.to_string(),
        or_dash(used.map(|tokens| tokens.to_string()).as_deref()),
    ]
}
