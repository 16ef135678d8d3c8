//! `ambit kb add`

use super::{AppArguments, OpenCollections, failure};
use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, json_line, one_line};
use ambit_knowledge::{KnowledgeError, NewCollection, NewContent, NewDocument};
use clap::Args;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct AddArguments {
    /// The collection
    collection: String,
    /// Files, folders with all that is in them, and addresses of pages
    #[arg(required = true, value_name = "PATH|URL")]
    sources: Vec<String>,
    /// What is to be known of each document, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Waits until all of them are found
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

/// One document that is to be added.
struct NamedContent {
    name: String,
    content: NewContent,
}

pub(super) async fn run(
    open: &OpenCollections,
    arguments: &AddArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let metadata = match &arguments.metadata {
        None => Map::new(),
        Some(text) => serde_json::from_str::<Map<String, Value>>(text).map_err(|error| {
            CommandError::option("--metadata", format!("must be a JSON object: {error}"))
        })?,
    };
    let mut contents = Vec::new();
    for source in &arguments.sources {
        contents.extend(read(source)?);
    }
    make_collection(open, &arguments.collection).await?;
    let mut outcome = CommandOutcome::Done;
    for NamedContent { name, content } in contents {
        let new = NewDocument {
            metadata: metadata.clone(),
            ..NewDocument::of(content)
        };
        let added = open
            .base
            .add_document(&open.reach, &arguments.collection, new)
            .await;
        let added = added?;
        let job = match (&added.job_id, arguments.wait) {
            (Some(id), true) => Some(open.finished(id).await?),
            _ => None,
        };
        let failed = job.as_ref().and_then(failure);
        if let Some(why) = &failed {
            eprintln!("ambit: {}: {}", one_line(&name), one_line(why));
            outcome = CommandOutcome::SomeFailed;
        }
        if open.is_json {
            let line = json!({"name": name, "document_id": added.document_id, "job_id": added.job_id, "error": failed});
            json_line(out, &line)?;
        } else if failed.is_none() {
            let what = if arguments.wait { "is found" } else { "waits" };
            writeln!(out, "{} {what} as {}", one_line(&name), added.document_id)?;
        }
    }
    Ok(outcome)
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

fn read(source: &str) -> Result<Vec<NamedContent>> {
    if source.starts_with("http://") || source.starts_with("https://") {
        return Ok(vec![NamedContent {
            name: source.to_owned(),
            content: NewContent::Url(source.to_owned()),
        }]);
    }
    let mut files = Vec::new();
    list(Path::new(source), &mut files)?;
    files.iter().map(|path| read_file(path)).collect()
}

/// The files at a path, those of folders in the order of their names. Names with a leading dot are left out.
fn list(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error: std::io::Error| {
        CommandError::Refused(format!("cannot read {}: {error}", path.display()))
    };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries: Result<Vec<PathBuf>, std::io::Error> = fs::read_dir(path)
        .map_err(failed)?
        .map(|entry| Ok(entry?.path()))
        .collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort();
    let is_shown = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| !name.starts_with('.'))
    };
    entries
        .iter()
        .filter(is_shown)
        .try_for_each(|entry| list(entry, files))
}

fn read_file(path: &Path) -> Result<NamedContent> {
    let bytes = fs::read(path).map_err(|error| {
        CommandError::Refused(format!("cannot read {}: {error}", path.display()))
    })?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| path.display().to_string());
    Ok(NamedContent {
        content: NewContent::File {
            name: name.clone(),
            media_type: None,
            bytes,
        },
        name,
    })
}
