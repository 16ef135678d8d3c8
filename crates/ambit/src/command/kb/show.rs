//! `ambit kb ls` and `search`

use super::vectors::wait_for_vectors;
use super::{AppArguments, OpenCollections};
use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, Table, json_line, one_line, snippet};
use ambit_knowledge::{
    CollectionFilter, DocumentFilter, KnowledgeItem, KnowledgeQuery, MetadataFilter,
};
use clap::Args;
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct CollectionListArguments {
    /// The collection whose documents are listed; without it the collections
    collection: Option<String>,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

#[derive(Args, Debug)]
pub struct SearchArguments {
    /// The collection
    collection: String,
    /// What is looked for
    query: String,
    /// At most so many results
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// A filter on metadata, as in {"year": {"$gte": 2020}}
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,
    /// Shows how each result was ranked
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

pub(super) async fn list(
    open: &OpenCollections,
    arguments: &CollectionListArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    match &arguments.collection {
        Some(collection) => list_documents(open, collection, out).await?,
        None => list_collections(open, out).await?,
    }
    Ok(CommandOutcome::Done)
}

async fn list_collections(open: &OpenCollections, out: &mut Output) -> Result<()> {
    let all = open
        .base
        .collections(&open.reach, &CollectionFilter::default())
        .await;
    let all = all?;
    if open.is_json {
        all.iter()
            .try_for_each(|collection| json_line(out, collection))?;
        return Ok(());
    }
    let rows: Vec<[String; 4]> = all
        .iter()
        .map(|collection| {
            [
                collection.collection_id.clone(),
                collection.documents.to_string(),
                collection.chunks.to_string(),
                one_line(&collection.name),
            ]
        })
        .collect();
    if rows.is_empty() {
        eprintln!("ambit: there are no collections; `ambit kb add COLLECTION PATH` makes one");
    }
    Table::new(["COLLECTION", "DOCUMENTS", "CHUNKS", "NAME"]).print(out, &rows)?;
    Ok(())
}

async fn list_documents(open: &OpenCollections, collection: &str, out: &mut Output) -> Result<()> {
    let filter = DocumentFilter {
        collection_id: Some(collection.to_owned()),
        ..DocumentFilter::default()
    };
    let all = open.base.documents(&open.reach, &filter).await?;
    if open.is_json {
        all.iter()
            .try_for_each(|document| json_line(out, document))?;
        return Ok(());
    }
    let rows: Vec<[String; 4]> = all
        .iter()
        .map(|document| {
            let status = serde_json::to_value(document.status).unwrap_or_default();
            [
                one_line(&document.document_id),
                status.as_str().unwrap_or_default().to_owned(),
                document.chunks.to_string(),
                one_line(&match &document.error {
                    Some(why) => format!("{}: {why}", document.title),
                    None => document.title.clone(),
                }),
            ]
        })
        .collect();
    if rows.is_empty() {
        eprintln!(
            "ambit: {collection} holds no documents; `ambit kb add {collection} PATH` adds some"
        );
    }
    Table::new(["DOCUMENT", "STATUS", "CHUNKS", "TITLE"]).print(out, &rows)?;
    Ok(())
}

pub(super) async fn search(
    open: &OpenCollections,
    arguments: &SearchArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    if arguments.query.trim().is_empty() {
        let reason = "the query is empty: say what to look for";
        return Err(CommandError::Refused(reason.to_owned()));
    }
    if let Some(missing) = wait_for_vectors(open, &arguments.collection, Duration::ZERO).await? {
        eprintln!("ambit: {missing}");
    }
    let mut query = KnowledgeQuery::new(&arguments.query, &[&arguments.collection]);
    query.limit = arguments.limit;
    query.metadata = arguments.filter.as_deref().map(filter).transpose()?;
    let found = open.base.search(&open.reach, &query).await?;
    if let Some(error) = found.error {
        return Err(CommandError::Refused(error));
    }
    for note in &found.notes {
        eprintln!("ambit: {}", one_line(note));
    }
    if found.items.is_empty() {
        eprintln!("ambit: nothing is found");
    }
    for item in &found.items {
        match open.is_json {
            true => json_line(out, item)?,
            false => show(item, arguments.explain, out)?,
        }
    }
    Ok(CommandOutcome::Done)
}

fn show(item: &KnowledgeItem, is_explained: bool, out: &mut Output) -> Result<()> {
    let place = match item.heading.is_empty() {
        true => item.title.clone(),
        false => item.heading.join(" > "),
    };
    let (id, place) = (one_line(&item.document_id), one_line(&place));
    writeln!(out, "{:.3}  {id}  {place}", item.score)?;
    if is_explained {
        let ranking = item.metadata.get("ranking").unwrap_or(&Value::Null);
        writeln!(out, "       {ranking}")?;
    }
    writeln!(out, "       {}", snippet(&item.content))?;
    Ok(())
}

fn filter(text: &str) -> Result<MetadataFilter> {
    let given: Value = serde_json::from_str(text).map_err(|error| {
        CommandError::option("--filter", format!("must be a JSON object: {error}"))
    })?;
    MetadataFilter::parse(&given).map_err(|fault| {
        let (path, reason) = (fault.path, fault.reason);
        CommandError::option("--filter", format!("is refused: {path:?} {reason}"))
    })
}
