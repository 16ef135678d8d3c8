//! The files of a form, each read into a spool as far as it may be.

use super::{broken, larger_than};
use ambit_knowledge::{FileSpool, NewContent, TenantRoom};
use ambit_runtime::Result;
use axum::extract::multipart::Field;

/// How large the files of a form may be.
pub(super) struct FileLimits<'a> {
    /// Each of them.
    pub largest: u64,
    /// All together.
    pub room: &'a TenantRoom,
}

impl FileLimits<'_> {
    /// Reads a file of a form that has had so many bytes of files before.
    pub async fn file(&self, mut field: Field<'_>, before: u64) -> Result<NewContent> {
        let largest = self.largest;
        let name = field.file_name().unwrap_or("file").to_owned();
        let media_type = field.content_type().map(str::to_owned);
        let mut spool = FileSpool::default();
        while let Some(piece) = field.chunk().await.map_err(|error| broken(&error))? {
            let bytes = spool.bytes() + piece.len() as u64;
            if bytes > largest {
                let message = format!(
                    "file \"{name}\" has more than {largest} bytes (ambit.search.limits.file)"
                );
                return Err(larger_than(largest, message));
            }
            // One alone has its own limit, and needs no room where it replaces what is the same.
            if before > 0 {
                self.room.check(before + bytes)?;
            }
            spool.write(&piece).await?;
        }
        Ok(NewContent::File {
            name,
            media_type,
            content: spool.finish().await?,
        })
    }
}
