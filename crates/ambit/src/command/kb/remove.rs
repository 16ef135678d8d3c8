//! `ambit kb rm`

use super::{AppArguments, OpenCollections};
use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, json_line, one_line};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::time::Duration;
use tokio::time::timeout;

/// How long is waited until nothing of a document is stored. It is found by nobody before.
const ERASED: Duration = Duration::from_secs(60);

#[derive(Args, Debug)]
pub struct RemoveArguments {
    /// The collection
    collection: String,
    /// The ids of the documents, as `ambit kb ls COLLECTION` lists them
    #[arg(required = true, value_name = "DOCUMENT")]
    documents: Vec<String>,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

pub(super) async fn run(
    open: &OpenCollections,
    arguments: &RemoveArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let collection = &arguments.collection;
    for id in &arguments.documents {
        let document = open.base.document(&open.reach, id).await?;
        if document.collection_id != *collection {
            let reason = format!("document \"{id}\" is none of collection \"{collection}\"");
            return Err(CommandError::Refused(reason));
        }
        open.base.check_change(&open.reach, id).await?;
    }
    for id in &arguments.documents {
        let job = open.base.remove_document(&open.reach, id).await?;
        let erased = timeout(ERASED, open.base.finished_job(&open.reach, &job)).await;
        let is_erased = erased.map_or(Ok(false), |job| job.map(|_| true))?;
        if open.is_json {
            json_line(out, &json!({"document_id": id, "is_erased": is_erased}))?;
            continue;
        }
        let what = match is_erased {
            true => "is removed",
            false => "is found no more, and is being erased",
        };
        writeln!(out, "{} {what}", one_line(id))?;
    }
    Ok(CommandOutcome::Done)
}
