//! The file that a document was read from is given back, part by part.

use super::lookup::AccessKind;
use super::{KnowledgeBase, retried};
use crate::error::{KnowledgeError, Result};
use crate::names::CollectionPlace;
use crate::reach::KnowledgeReach;
use crate::records::TextRecord;

/// A file on its way out, of which no more than a part is in memory.
pub struct DocumentFile {
    /// Its size.
    pub bytes: u64,
    base: KnowledgeBase,
    place: CollectionPlace,
    source: TextRecord,
    /// The number of the part that is next.
    block: u32,
    /// That part, where it was read already.
    part: Option<Vec<u8>>,
}

impl DocumentFile {
    /// The next part, nothing behind the last. Fails where the document is replaced or removed meanwhile.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let part = match self.part.take() {
            None if self.block == self.source.blocks => return Ok(None),
            None => self.read().await?,
            Some(part) => part,
        };
        self.block += 1;
        Ok(Some(part))
    }

    async fn read(&self) -> Result<Vec<u8>> {
        let mut part = Vec::new();
        let read = self
            .base
            .read_block(&self.place, &self.source, self.block, &mut part);
        read.await?;
        Ok(part)
    }
}

impl KnowledgeBase {
    /// The file that a document was read from, as it came. Only a collection that keeps files has it.
    pub async fn document_file(
        &self,
        reach: &dyn KnowledgeReach,
        id: &str,
    ) -> Result<DocumentFile> {
        retried!(async {
            let found = self.find_document(reach, id, AccessKind::Read).await?;
            let record = found.document.value;
            let Some(source) = record.file else {
                let what = "the file of document";
                return Err(KnowledgeError::not_found(what, id));
            };
            let mut file = DocumentFile {
                bytes: record.document.bytes,
                base: self.clone(),
                place: found.collection.value.place,
                source,
                block: 0,
                part: None,
            };
            match file.read().await {
                Ok(part) => file.part = Some(part),
                Err(error) => {
                    // Replaced meanwhile, its parts go one by one.
                    let now = self.find_document(reach, id, AccessKind::Read).await?;
                    let is_there = now.document.value.file.as_ref() == Some(&file.source);
                    return Err(match is_there {
                        true => error,
                        false => KnowledgeError::race(format!("document \"{id}\"")),
                    });
                }
            }
            Ok(file)
        })
    }
}
