//! The files of a collection that is defined by the app.

use crate::spooled_file::FileSpool;
use ambit_storage::clock::Millis;
use async_trait::async_trait;
use std::io;

/// The documents of a collection, as files.
#[async_trait]
pub trait CollectionFiles: Send + Sync {
    /// All of them, each path once.
    async fn list(&self) -> io::Result<Vec<FileEntry>>;

    /// Writes what a file holds. Where that fails, nothing that was written counts.
    async fn read(&self, path: &str, into: &mut FileSpool) -> io::Result<()>;
}

/// A file, without what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its path in the app, with slashes. The document's id ends in it.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// When it was last changed.
    pub modified: Millis,
}

/// What was done to make a collection equal to its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// New files.
    pub added: u64,
    /// Files with another content.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that were not looked into, or hold what they held before.
    pub unchanged: u64,
    /// Files that could not be taken in, with their reasons.
    pub failed: Vec<(String, String)>,
}
