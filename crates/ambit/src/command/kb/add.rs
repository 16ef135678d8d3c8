//! `ambit kb add`

mod sources;

use super::vectors::{PATIENCE, wait_for_vectors};
use super::{AppArguments, OpenCollections};
use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, json_line, one_line};
use ambit_knowledge::{
    AcceptedDocument, DocumentStatus, DocumentUpdate, KnowledgeError, NewCollection, NewDocument,
};
use clap::Args;
use serde_json::{Map, Value, json};
use sources::DocumentSource;
use std::collections::HashSet;
use std::io::Write;

#[derive(Args, Debug)]
pub struct AddArguments {
    /// The collection
    collection: String,
    /// Files, folders with all that is in them, and addresses of pages
    #[arg(required = true, value_name = "PATH|URL")]
    sources: Vec<String>,
    /// The id of the document, where it is one; else it is COLLECTION:NAME, of a folder's files COLLECTION:FOLDER/NAME. A document
    /// that has this id already is replaced
    #[arg(long)]
    id: Option<String>,
    /// What is to be known of each document, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Waits until all of them are found, and have their vectors unless the embedder is silent for a minute
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

/// One document that was added.
struct AddedSource {
    name: String,
    accepted: AcceptedDocument,
}

pub(super) async fn run(
    open: &OpenCollections,
    arguments: &AddArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let metadata = match &arguments.metadata {
        None => None,
        Some(text) => Some(
            serde_json::from_str::<Map<String, Value>>(text).map_err(|error| {
                CommandError::option("--metadata", format!("must be a JSON object: {error}"))
            })?,
        ),
    };
    let largest = open.base.settings().limits.file;
    let sources = sources::find(&arguments.sources, largest)?;
    let ids = ids(arguments, &sources)?;
    let collection = &arguments.collection;
    make_collection(open, collection).await?;
    let mut added = Vec::new();
    let mut refused = None;
    for (source, id) in sources.into_iter().zip(ids) {
        let adding = async {
            let new = NewDocument {
                id: Some(id),
                metadata: metadata.clone().unwrap_or_default(),
                ..NewDocument::of(source.read(largest).await?)
            };
            add(open, collection, new, metadata.is_some()).await
        };
        match adding.await {
            Ok(accepted) => added.push(AddedSource {
                name: source.name,
                accepted,
            }),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let outcome = match arguments.wait {
        true => tell_found(open, collection, &added, out).await?,
        false => tell_waiting(open, collection, &added, out)?,
    };
    refused.map_or(Ok(outcome), Err)
}

/// The id of each document, of which no two are the same.
fn ids(arguments: &AddArguments, sources: &[DocumentSource]) -> Result<Vec<String>> {
    let collection = &arguments.collection;
    if let Some(id) = &arguments.id {
        return match sources.len() {
            1 => Ok(vec![id.clone()]),
            count => Err(CommandError::option(
                "--id",
                format!("is for one document, and these are {count}"),
            )),
        };
    }
    let (mut ids, mut known) = (Vec::with_capacity(sources.len()), HashSet::new());
    for DocumentSource { path, .. } in sources {
        let id = format!("{collection}:{path}");
        if !known.insert(path) {
            let reason = format!(
                "two of them are called \"{path}\" and would replace each other: add the folder above them, or one at a time with --id"
            );
            return Err(CommandError::Refused(reason));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// Adds a document, or replaces the one that has its id.
async fn add(
    open: &OpenCollections,
    collection: &str,
    new: NewDocument,
    has_metadata: bool,
) -> Result<AcceptedDocument> {
    let id = new.id.clone().unwrap_or_default();
    let known = match open.base.document(&open.reach, &id).await {
        Ok(known) => known,
        Err(KnowledgeError::NotFound { .. }) => {
            let added = open.base.add_document(&open.reach, collection, new).await;
            return Ok(added?);
        }
        Err(error) => return Err(error.into()),
    };
    if known.collection_id != collection {
        let other = &known.collection_id;
        let reason = format!("document \"{id}\" is one of collection \"{other}\": choose another");
        return Err(CommandError::option("--id", reason));
    }
    let update = DocumentUpdate {
        content: Some(new.content),
        metadata: has_metadata.then_some(new.metadata),
        ..DocumentUpdate::default()
    };
    let replaced = open.base.update_document(&open.reach, &id, update).await;
    Ok(replaced?)
}

async fn make_collection(open: &OpenCollections, id: &str) -> Result<()> {
    match open.base.collection(&open.reach, id).await {
        Ok(_) => return Ok(()),
        Err(KnowledgeError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let new = NewCollection {
        id: id.to_owned(),
        ..NewCollection::default()
    };
    open.base.create_collection(&open.reach, new).await?;
    Ok(())
}

/// Says of each document what became of it.
async fn tell_found(
    open: &OpenCollections,
    collection: &str,
    added: &[AddedSource],
    out: &mut Output,
) -> Result<CommandOutcome> {
    if let Some(missing) = wait_for_vectors(open, collection, PATIENCE).await? {
        eprintln!("ambit: {missing}");
    }
    let mut outcome = CommandOutcome::Done;
    for document in added {
        let id = &document.accepted.document_id;
        let now = open.base.document(&open.reach, id).await?;
        let failed = now.error.filter(|_| now.status == DocumentStatus::Failed);
        if let Some(why) = &failed {
            eprintln!("ambit: {}: {}", one_line(&document.name), one_line(why));
            outcome = CommandOutcome::SomeFailed;
        }
        if open.is_json {
            document.print_json(failed.as_deref(), out)?;
        } else if failed.is_none() {
            writeln!(
                out,
                "{} is found as {}",
                one_line(&document.name),
                one_line(id)
            )?;
        }
    }
    Ok(outcome)
}

fn tell_waiting(
    open: &OpenCollections,
    collection: &str,
    added: &[AddedSource],
    out: &mut Output,
) -> Result<CommandOutcome> {
    let mut is_waiting = false;
    for document in added {
        let (name, id) = (one_line(&document.name), &document.accepted.document_id);
        is_waiting |= document.accepted.job_id.is_some();
        if open.is_json {
            document.print_json(None, out)?;
        } else if document.accepted.job_id.is_some() {
            writeln!(out, "{name} waits as {}", one_line(id))?;
        } else {
            writeln!(out, "{name} is there as {}", one_line(id))?;
        }
    }
    if is_waiting {
        eprintln!(
            "ambit: they are read by a server of this app, or before the next `ambit kb search`; `ambit kb ls {}` shows how far they are",
            one_line(collection)
        );
    }
    Ok(CommandOutcome::Done)
}

impl AddedSource {
    fn print_json(&self, error: Option<&str>, out: &mut Output) -> Result<()> {
        let AcceptedDocument {
            document_id,
            job_id,
        } = &self.accepted;
        let line = json!({"name": self.name, "document_id": document_id, "job_id": job_id, "error": error});
        json_line(out, &line)?;
        Ok(())
    }
}
