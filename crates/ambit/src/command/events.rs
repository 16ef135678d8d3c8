//! `ambit events`

use super::CommandOutcome;
use super::why::operator;
use crate::command_error::Result;
use crate::output::{Output, json_line};
use crate::settings::{AppOption, StoreOptions};
use ambit_runtime::FeedItem;
use ambit_runtime::inspect::contexts::EventFollower;
use ambit_storage::{Ambit, Stores};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct EventsArguments {
    /// Goes on with what happens from now on, until it is stopped
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    app: AppOption,
}

/// Prints the events of the tenant, one JSON object a line, as `GET /v1/events` tells them.
pub async fn run(
    stores: &StoreOptions,
    arguments: &EventsArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let opened = stores.open_stores(&arguments.app.folder()).await?;
    let ambit = stores.as_system(&Ambit::builder(opened.clone()).build());
    let told = tell(&ambit, opened, arguments.follow, out).await;
    let closed = ambit.close().await;
    told?;
    closed?;
    Ok(CommandOutcome::Done)
}

async fn tell(
    ambit: &Ambit,
    stores: Arc<Stores>,
    is_followed: bool,
    out: &mut Output,
) -> Result<()> {
    let who = operator(ambit);
    let mut events = EventFollower::open(stores, ambit.clone(), &who).await?;
    while is_followed || !events.has_read_kept() {
        let Some(items) = events.next().await? else {
            break;
        };
        for item in &items {
            match item {
                FeedItem::Event { event, .. } => writeln!(out, "{}", event.as_str())?,
                FeedItem::Missed(count) => {
                    json_line(out, &json!({"type": "missed", "count": count}))?;
                }
            }
        }
        out.flush()?;
    }
    Ok(())
}
