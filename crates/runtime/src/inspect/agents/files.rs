//! The files of an agent's folder as they are now. Nothing outside of it is read, whatever links lead there.

use crate::app::file_versions::{FileVersion, FileVersions};
use crate::error::{Error, ErrorCode, Result};
use crate::manifest::short_digest;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use utoipa::ToSchema;

/// Bytes of a text that is shown.
const MOST: u64 = 4 << 20;
/// Bytes of a file that are in memory while it is hashed.
const PIECE: usize = 64 << 10;

/// A file of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentFile {
    /// Its path below the agent's folder.
    pub path: String,
    /// Its size when it was first asked for since the app was loaded.
    pub bytes: u64,
    /// The first 128 bits of its SHA-256 at that time, in base64url.
    pub version: String,
}

impl AgentFile {
    /// The file at a path below a folder; nothing where it is gone, or not for others to see.
    pub(crate) fn of(versions: &FileVersions, folder: &Path, path: &str) -> Option<Self> {
        let place = place(folder, path)?;
        let known = versions.get_or_hash(&place, || hashed(&place))?;
        Some(Self {
            path: path.to_owned(),
            bytes: known.bytes,
            version: known.version,
        })
    }
}

fn hashed(place: &Path) -> Option<FileVersion> {
    let mut file = File::open(place).ok()?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0_u8; PIECE];
    loop {
        let count = file.read(&mut piece).ok()?;
        if count == 0 {
            break;
        }
        hash.update(&piece[..count]);
        bytes += count as u64;
    }
    Some(FileVersion {
        bytes,
        version: short_digest(&hash.finalize()),
    })
}

/// The text of the file at a path below a folder.
pub fn text(folder: &Path, path: &str) -> Result<String> {
    let missing = || Error::not_found("file", path);
    let place = place(folder, path).ok_or_else(missing)?;
    let file = File::open(place).map_err(|_| missing())?;
    let mut bytes = Vec::new();
    let read = file.take(MOST + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| {
        let message = format!("file \"{path}\" cannot be read: {error}");
        Error::new(ErrorCode::Unavailable, message)
    })?;
    if read as u64 > MOST {
        let message = format!("file \"{path}\" has more than {MOST} bytes, which are not shown");
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    String::from_utf8(bytes).map_err(|_| {
        let message = format!("file \"{path}\" is no text in UTF-8, so it is not shown");
        Error::unsupported("path", message)
    })
}

/// Where a file really is, if that is within the folder and not hidden there.
fn place(folder: &Path, path: &str) -> Option<PathBuf> {
    let own = folder.canonicalize().ok()?;
    let place = folder.join(path).canonicalize().ok()?;
    let below = place.strip_prefix(&own).ok()?;
    let is_hidden = below.iter().any(|part| {
        let part = part.to_string_lossy();
        part.starts_with('.') || part == "node_modules"
    });
    (!is_hidden && place.is_file()).then_some(place)
}
