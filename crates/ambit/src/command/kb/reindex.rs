//! `ambit kb reindex`

use super::vectors::{PATIENCE, wait_for_vectors};
use super::{AppArguments, OpenCollections};
use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, json_line};
use ambit_knowledge::{ChunkLengths, EmbeddingSettings, JobStatus, ReindexRequest};
use ambit_search::terms::Language;
use clap::Args;
use std::io::Write;

#[derive(Args, Debug)]
pub struct ReindexArguments {
    /// The collection
    collection: String,
    /// The connector that makes its vectors from now on
    #[arg(long, value_name = "CONNECTOR")]
    embedding: Option<String>,
    /// How long its chunks are and how much two share, in tokens, as in 300,50
    #[arg(long, value_name = "SIZE,OVERLAP", value_parser = lengths)]
    chunk: Option<ChunkLengths>,
    /// The language of its documents, as in de
    #[arg(long)]
    language: Option<Language>,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

fn lengths(text: &str) -> std::result::Result<ChunkLengths, String> {
    let read = || {
        let (size, overlap) = text.split_once(',')?;
        Some(ChunkLengths {
            size: size.trim().parse().ok()?,
            overlap: overlap.trim().parse().ok()?,
        })
    };
    read().ok_or_else(|| "must be two whole numbers with a comma, as in 300,50".to_owned())
}

pub(super) async fn run(
    open: &OpenCollections,
    arguments: &ReindexArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let connector = arguments.embedding.clone();
    let request = ReindexRequest {
        chunk: arguments.chunk,
        language: arguments.language,
        embedding: connector.map(|connector| EmbeddingSettings {
            connector,
            ..EmbeddingSettings::default()
        }),
    };
    let collection = &arguments.collection;
    let begun = open.base.reindex(&open.reach, collection, &request).await?;
    if let Some(missing) = wait_for_vectors(open, collection, PATIENCE).await? {
        eprintln!("ambit: {missing}");
    }
    let job = open.base.job(&open.reach, &begun.job_id).await?;
    if matches!(job.status, JobStatus::Failed | JobStatus::Cancelled) {
        let why = job.error.as_deref().unwrap_or("it was called off");
        let why = format!("collection \"{collection}\" stays as it was: {why}");
        return Err(CommandError::Refused(why));
    }
    if open.is_json {
        json_line(out, &job)?;
    } else if job.status == JobStatus::Done {
        writeln!(out, "{collection} is indexed anew")?;
    } else {
        writeln!(out, "{collection} will be indexed anew")?;
    }
    Ok(CommandOutcome::Done)
}
