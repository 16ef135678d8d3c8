//! What questions may call the documents of a collection: their ids, or their own `metadata.id`.

use crate::command::kb::OpenCollections;
use crate::command_error::Result;
use ambit_knowledge::{Document, DocumentFilter};
use ambit_search::quality::JudgedQuestion;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// Formats whose sections have ids of their own.
const RECORDS: &[&str] = &["csv", "json", "jsonl"];
/// So many chunks are read at once.
const PAGE: u32 = 1_000;

/// The documents of a collection, and what they call themselves.
pub struct DocumentNames {
    documents: Vec<Document>,
    names: HashMap<String, String>,
}

impl DocumentNames {
    /// Those of a collection.
    pub async fn of(open: &OpenCollections, collection: &str) -> Result<Self> {
        let filter = DocumentFilter {
            collection_id: Some(collection.to_owned()),
            ..DocumentFilter::default()
        };
        let documents = open.base.documents(&open.reach, &filter).await?;
        let name = |document: &Document| {
            let name = own_id(&document.metadata)?.to_owned();
            Some((document.document_id.clone(), name))
        };
        Ok(Self {
            names: documents.iter().filter_map(name).collect(),
            documents,
        })
    }

    /// A document as a question names it.
    pub fn as_judged<'a>(&'a self, id: &'a str, question: &JudgedQuestion) -> &'a str {
        match self.names.get(id) {
            Some(name) if question.relevant.contains_key(name) => name,
            _ => id,
        }
    }

    /// The ids that questions name and nothing in the collection has.
    pub async fn unknown(
        &self,
        open: &OpenCollections,
        asked: &[JudgedQuestion],
    ) -> Result<BTreeSet<String>> {
        let wanted = asked.iter().flat_map(|question| question.relevant.keys());
        let mut unknown: BTreeSet<String> = wanted.cloned().collect();
        for document in &self.documents {
            unknown.remove(&document.document_id);
        }
        for name in self.names.values() {
            unknown.remove(name);
        }
        for document in &self.documents {
            if unknown.is_empty() {
                break;
            }
            let format = document.format.as_deref().unwrap_or_default();
            if RECORDS.contains(&format) {
                forget_sections(open, document, &mut unknown).await?;
            }
        }
        Ok(unknown)
    }
}

/// Takes away what sections of a document call themselves.
async fn forget_sections(
    open: &OpenCollections,
    document: &Document,
    unknown: &mut BTreeSet<String>,
) -> Result<()> {
    let (base, id) = (&open.base, &document.document_id);
    let mut from = 0;
    loop {
        let places = from..from + PAGE;
        let chunks = base.document_chunks(&open.reach, id, places).await?;
        for chunk in &chunks {
            if let Some(name) = own_id(&chunk.metadata) {
                unknown.remove(name);
            }
        }
        if chunks.len() < PAGE as usize {
            return Ok(());
        }
        from += PAGE;
    }
}

fn own_id(metadata: &Map<String, Value>) -> Option<&str> {
    metadata.get("id")?.as_str()
}
