//! What the files say. The first line is a header: kind, tenant and path in clear, and the SHA-256 of what follows.
//! Behind it comes one JSON text a line (a body that was stored with line breaks keeps them).

use super::folder::{self, StoreFolder};
use crate::address::{ITEMS, Space, hex};
use crate::batch::{Head, LogEntry};
use crate::clock::Millis;
use crate::directory::IndexRow;
use crate::driver::state::{LogContents, SpaceContents, ValueContents};
use crate::json::Json;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const FORMAT: u32 = 1;

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHeader {
    ambit: FileKind,
    format: u32,
    tenant: String,
    path: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub logs: BTreeMap<String, Head>,
    /// When the first value ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_end: Option<Millis>,
    sha256: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileKind {
    Space,
    Row,
}

/// A line of a space's file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileRecord {
    Log {
        name: String,
        generation: u64,
    },
    Entry(LogEntry),
    Value {
        name: String,
        version: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Millis>,
        json: Json,
    },
}

impl FileHeader {
    pub fn space(&self) -> Space {
        Space::new(self.tenant.clone(), self.path.clone())
    }

    fn new(ambit: FileKind, space: &Space, body: &str) -> Self {
        Self {
            ambit,
            format: FORMAT,
            tenant: space.tenant.clone(),
            path: space.path.clone(),
            logs: BTreeMap::new(),
            first_end: None,
            sha256: checksum(body),
        }
    }
}

pub fn space_text(space: &Space, contents: &SpaceContents) -> Result<String> {
    let mut body = String::new();
    for (name, log) in &contents.logs {
        let (name, generation) = (name.clone(), log.head().generation);
        push(&mut body, &FileRecord::Log { name, generation })?;
        for entry in log.entries() {
            push(&mut body, &FileRecord::Entry(entry.clone()))?;
        }
    }
    for (name, stored) in &contents.values {
        let line = FileRecord::Value {
            name: name.clone(),
            version: stored.version,
            expires_at: stored.expires_at,
            json: stored.value.json(),
        };
        push(&mut body, &line)?;
    }
    let header = FileHeader {
        logs: heads(contents),
        first_end: first_end(contents),
        ..FileHeader::new(FileKind::Space, space, &body)
    };
    Ok(format!("{}\n{body}", Json::of(&header)?))
}

pub fn row_text(row: &IndexRow) -> Result<String> {
    let space = row.space();
    let mut body = String::new();
    push(&mut body, row)?;
    let header = FileHeader::new(FileKind::Row, &space, &body);
    Ok(format!("{}\n{body}", Json::of(&header)?))
}

/// What a space holds; `None` where it has no file.
pub fn read_space(folder: &StoreFolder, space: &Space) -> Result<Option<SpaceContents>> {
    read_space_file(folder, &folder::space_file(space)).map(|found| found.map(|(_, kept)| kept))
}

pub fn read_space_file(folder: &StoreFolder, name: &str) -> Result<Option<(Space, SpaceContents)>> {
    let Some((header, body)) = read_file(folder, name, FileKind::Space)? else {
        return Ok(None);
    };
    let corrupt = |reason: String| Error::corrupt(folder.place(name), reason);
    let contents = contents(&body).map_err(corrupt)?;
    if heads(&contents) != header.logs {
        let reason = "its logs do not end where its header says";
        return Err(corrupt(reason.to_owned()));
    }
    Ok(Some((header.space(), contents)))
}

/// The header of a space's file, without looking at the rest.
pub fn read_header(folder: &StoreFolder, name: &str) -> Result<Option<FileHeader>> {
    let Some(line) = folder.read_line(name)? else {
        return Ok(None);
    };
    header_of(line.trim_end(), name, FileKind::Space, &folder.place(name)).map(Some)
}

pub fn read_items_head(folder: &StoreFolder, space: &Space) -> Result<Option<Head>> {
    let header = read_header(folder, &folder::space_file(space))?;
    Ok(header.and_then(|header| header.logs.get(ITEMS).copied()))
}

/// A row's file by its name.
pub fn read_row_file(folder: &StoreFolder, name: &str) -> Result<Option<IndexRow>> {
    let Some((header, body)) = read_file(folder, name, FileKind::Row)? else {
        return Ok(None);
    };
    let corrupt = |reason: String| Error::corrupt(folder.place(name), reason);
    let row: IndexRow = serde_json::from_str(&body).map_err(|error| corrupt(error.to_string()))?;
    if row.space() != header.space() {
        let reason = "its row is not the one of its header";
        return Err(corrupt(reason.to_owned()));
    }
    Ok(Some(row))
}

/// The hex SHA-256 of a text.
pub fn checksum(body: &str) -> String {
    hex(&Sha256::digest(body.as_bytes()))
}

fn push(body: &mut String, line: &impl Serialize) -> Result<()> {
    body.push_str(Json::of(line)?.as_str());
    body.push('\n');
    Ok(())
}

/// A file's header and what follows it, each as it was written.
fn read_file(
    folder: &StoreFolder,
    name: &str,
    kind: FileKind,
) -> Result<Option<(FileHeader, String)>> {
    let Some(text) = folder.read(name)? else {
        return Ok(None);
    };
    let place = folder.place(name);
    let Some((line, body)) = text.split_once('\n') else {
        return Err(Error::corrupt(place, "it has no header line"));
    };
    let header = header_of(line, name, kind, &place)?;
    if checksum(body) != header.sha256 {
        let reason = "its content is not the one its header has the SHA-256 of";
        return Err(Error::corrupt(place, reason));
    }
    Ok(Some((header, body.to_owned())))
}

fn header_of(line: &str, name: &str, kind: FileKind, place: &str) -> Result<FileHeader> {
    let header: FileHeader =
        serde_json::from_str(line).map_err(|error| Error::corrupt(place, error))?;
    if header.format != FORMAT {
        let reason = format!(
            "it has format {}; this Ambit reads format {FORMAT}",
            header.format
        );
        return Err(Error::corrupt(place, reason));
    }
    let space = header.space();
    let expected = match kind {
        FileKind::Space => folder::space_file(&space),
        FileKind::Row => folder::row_file(&space),
    };
    if header.ambit != kind || expected != name {
        return Err(Error::corrupt(place, format!("it is the file of {space}")));
    }
    Ok(header)
}

fn contents(body: &str) -> Result<SpaceContents, String> {
    let mut logs: Vec<(String, u64, Vec<LogEntry>)> = Vec::new();
    let mut values = BTreeMap::new();
    for line in serde_json::Deserializer::from_str(body).into_iter::<FileRecord>() {
        match line.map_err(|error| error.to_string())? {
            FileRecord::Log { name, generation } => logs.push((name, generation, Vec::new())),
            FileRecord::Entry(entry) => {
                let (_, _, entries) = logs.last_mut().ok_or("an entry stands before any log")?;
                if entry.seq != entries.len() as u64 + 1 {
                    return Err(format!("entry {} is out of order", entry.seq));
                }
                entries.push(entry);
            }
            FileRecord::Value {
                name,
                version,
                expires_at,
                json,
            } => {
                let stored = ValueContents {
                    value: json.into(),
                    version,
                    expires_at,
                };
                values.insert(name, stored);
            }
        }
    }
    let logs = logs
        .into_iter()
        .map(|(name, generation, entries)| (name, LogContents::of(generation, entries)))
        .collect();
    Ok(SpaceContents { logs, values })
}

fn heads(contents: &SpaceContents) -> BTreeMap<String, Head> {
    let heads = contents.logs.iter();
    heads
        .map(|(name, log)| (name.clone(), log.head()))
        .collect()
}

fn first_end(contents: &SpaceContents) -> Option<Millis> {
    let ends = contents.values.values();
    ends.filter_map(|stored| stored.expires_at).min()
}
