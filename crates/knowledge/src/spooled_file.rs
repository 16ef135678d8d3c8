//! Files on their way in: a small one is in memory, a larger one in a temporary file without a name, so that neither senders nor
//! readers of large files hold one as a whole.

use crate::error::Result;
use ambit_storage::Error;
use ambit_storage::address::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// So many bytes are in memory, and so many more of a file that is being written.
const IN_MEMORY: usize = 256 << 10;

/// A file that was written to its end.
#[derive(Clone, Debug)]
pub struct SpooledFile {
    content: SpooledContent,
    bytes: u64,
    /// SHA-256, in hex digits.
    hash: String,
}

#[derive(Clone, Debug)]
enum SpooledContent {
    Memory(Arc<Vec<u8>>),
    /// Nobody else has it, and it ends with its last clone.
    Temporary(Arc<File>),
}

/// A file that is being written.
#[derive(Debug, Default)]
pub struct FileSpool {
    /// What is not in the temporary file.
    rest: Vec<u8>,
    file: Option<Arc<File>>,
    bytes: u64,
    digest: Sha256,
}

impl FileSpool {
    /// How many bytes were written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes some more.
    pub async fn write(&mut self, piece: &[u8]) -> Result<()> {
        self.digest.update(piece);
        self.bytes += piece.len() as u64;
        self.rest.extend_from_slice(piece);
        match self.rest.len() > IN_MEMORY {
            true => self.spill().await,
            false => Ok(()),
        }
    }

    /// Writes what somebody else has, piece by piece.
    pub async fn copy(&mut self, mut from: impl Read + Send + 'static) -> io::Result<()> {
        loop {
            let read = blocking(move || {
                let mut piece = Vec::with_capacity(IN_MEMORY);
                let mut some = from.by_ref().take(IN_MEMORY as u64);
                some.read_to_end(&mut piece)?;
                Ok((from, piece))
            });
            let piece;
            (from, piece) = read.await?;
            if piece.is_empty() {
                return Ok(());
            }
            self.write(&piece).await.map_err(io::Error::other)?;
        }
    }

    async fn spill(&mut self) -> Result<()> {
        let (rest, file) = (std::mem::take(&mut self.rest), self.file.take());
        let at = self.bytes - rest.len() as u64;
        let written = blocking(move || {
            let file = match file {
                Some(file) => file,
                None => Arc::new(tempfile::tempfile()?),
            };
            file.write_all_at(&rest, at)?;
            Ok((file, rest))
        });
        let (file, mut rest) = written.await.map_err(unusable)?;
        rest.clear();
        (self.file, self.rest) = (Some(file), rest);
        Ok(())
    }

    /// Ends it.
    pub async fn finish(mut self) -> Result<SpooledFile> {
        if self.file.is_some() {
            self.spill().await?;
        }
        Ok(SpooledFile {
            content: match self.file {
                Some(file) => SpooledContent::Temporary(file),
                None => SpooledContent::Memory(self.rest.into()),
            },
            bytes: self.bytes,
            hash: hex(&self.digest.finalize()),
        })
    }
}

impl SpooledFile {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of it, in hex digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The bytes from one on, at most so many.
    pub async fn part(&self, from: u64, most: usize) -> Result<Vec<u8>> {
        let mut reader = SpoolReader {
            file: self.clone(),
            at: from,
        };
        let read = blocking(move || {
            let mut part = Vec::new();
            reader.by_ref().take(most as u64).read_to_end(&mut part)?;
            Ok(part)
        });
        Ok(read.await.map_err(unusable)?)
    }

    /// Reads it from its beginning, and blocks for that.
    pub fn reader(&self) -> impl Read + Send + use<> {
        SpoolReader {
            file: self.clone(),
            at: 0,
        }
    }
}

/// What is in memory already.
impl From<Vec<u8>> for SpooledFile {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.len() as u64,
            hash: hex(&Sha256::digest(&bytes)),
            content: SpooledContent::Memory(bytes.into()),
        }
    }
}

/// Files with the same bytes are equal.
impl PartialEq for SpooledFile {
    fn eq(&self, other: &Self) -> bool {
        (self.bytes, &self.hash) == (other.bytes, &other.hash)
    }
}

impl Eq for SpooledFile {}

struct SpoolReader {
    file: SpooledFile,
    at: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &self.file.content {
            SpooledContent::Temporary(file) => file.read_at(into, self.at)?,
            SpooledContent::Memory(bytes) => {
                let at = usize::try_from(self.at).unwrap_or(usize::MAX);
                bytes.get(at..).unwrap_or_default().read(into)?
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

/// Does what waits for a disk where nothing else waits with it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|ended| Err(io::Error::other(ended)))
}

fn unusable(error: io::Error) -> Error {
    Error::unavailable("the temporary file of an upload", error)
}

#[cfg(test)]
mod tests {
    use super::{FileSpool, IN_MEMORY, SpooledContent, SpooledFile};
    use std::io::Read;

    #[tokio::test]
    async fn a_file_comes_back_as_it_was_written() {
        let bytes: Vec<u8> = (0..3 * IN_MEMORY + 17).map(|at| (at % 251) as u8).collect();
        for (length, is_in_memory) in [(0, true), (IN_MEMORY, true), (bytes.len(), false)] {
            let bytes = &bytes[..length];
            let mut spool = FileSpool::default();
            for piece in bytes.chunks(1_000) {
                spool.write(piece).await.unwrap();
                assert!(spool.rest.len() <= IN_MEMORY);
            }
            let file = spool.finish().await.unwrap();
            let memory = matches!(file.content, SpooledContent::Memory(_));
            assert_eq!(memory, is_in_memory, "{length}");
            assert_eq!(file, SpooledFile::from(bytes.to_vec()));
            let mut read = Vec::new();
            file.reader().read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
            let from = (length / 2) as u64;
            let part = file.part(from, 100).await.unwrap();
            let end = length.min(length / 2 + 100);
            assert_eq!(part, bytes[length / 2..end]);
        }
    }
}
