//! What the values of a collection are called. Ids of documents are in no name: a name is a digest where it must be found by
//! an id, and else a number or an id that says nothing.

use crate::rating::Voter;
use ambit_storage::address::{Space, ValueKey, digest};
use ambit_storage::batch::BatchCheck;
use serde::{Deserialize, Serialize};

/// Where one collection keeps everything. A collection that is made anew under an old id has another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct CollectionPlace {
    /// Its tenant; none where it is a file of the app.
    pub tenant: Option<String>,
    /// Its id.
    pub id: String,
    /// By chance.
    pub key: String,
}

/// The name of a document within its collection: what its creator and its id are hashed to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DocumentKey(String);

pub(crate) const DOCUMENTS: &str = "document/";
pub(crate) const ERASURES: &str = "erase/";
pub(crate) const RATINGS: &str = "ratings/";
pub(crate) const VECTORS: &str = "vectors/";
pub(crate) const QUEUE: &str = "queue/";

/// Where a document is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DocumentPlace {
    pub collection: CollectionPlace,
    pub document: DocumentKey,
}

impl DocumentKey {
    /// Of the document with this id that somebody has added: others may have ones of this id that they do not see.
    pub fn of(creator: Option<&str>, id: &str) -> Self {
        match creator {
            Some(creator) => Self(short_digest(&[creator, id])),
            None => Self(short_digest(&[id])),
        }
    }

    /// Of what follows [`DOCUMENTS`] or the like.
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is known of a collection, by its id.
pub(crate) fn collection(tenant: Option<&str>, id: &str) -> ValueKey {
    Space::collections(tenant).key(format!("{COLLECTIONS}{id}"))
}

pub(crate) const COLLECTIONS: &str = "collection/";

/// That a node's files define a collection of the app.
pub(crate) fn definition(id: &str, node: &str) -> ValueKey {
    Space::collections(None).key(format!("{}{node}", definitions(id)))
}

/// The beginning of the names of what all nodes say so.
pub(crate) fn definitions(id: &str) -> String {
    format!("defined/{id}/")
}

/// The beginning of the names that say where the documents with an id are.
pub(crate) fn document_places(id: &str) -> String {
    format!("{DOCUMENTS}{}/", short_digest(&[id]))
}

fn short_digest(parts: &[&str]) -> String {
    let mut name = digest(parts);
    name.truncate(32);
    name
}

/// The sums of what a tenant has.
pub(crate) fn tenant_sums(tenant: Option<&str>) -> ValueKey {
    Space::collections(tenant).key("sums")
}

impl CollectionPlace {
    /// That a document with this id is here.
    pub fn document_place(&self, document: &DocumentKey, id: &str) -> ValueKey {
        let (prefix, document) = (document_places(id), document.as_str());
        let name = format!("{prefix}{}.{document}", self.key);
        Space::collections(self.tenant.as_deref()).key(name)
    }

    /// All but its indexes.
    pub fn values(&self) -> Space {
        Space::collection(self.tenant.as_deref(), &self.key)
    }

    /// Whose holder works on the collection.
    pub fn lease(&self) -> ValueKey {
        self.values().lease()
    }

    /// Whose holder compares the collection with its files.
    pub fn files_lease(&self) -> ValueKey {
        Space::collection(self.tenant.as_deref(), &format!("{}.files", self.key)).lease()
    }

    pub fn index(&self, version: u32) -> Space {
        Space::collection_index(self.tenant.as_deref(), &self.key, version)
    }

    /// That the collection was removed.
    pub fn removed(&self) -> ValueKey {
        self.values().key("removed")
    }

    /// Holds until the collection is removed: then its sums are taken off as a whole.
    pub fn not_removed(&self) -> BatchCheck {
        BatchCheck::version(self.removed(), None)
    }

    /// That there is something to be done.
    pub fn work(&self) -> ValueKey {
        Space::knowledge_work().key(&self.key)
    }

    /// The sums of its tenant.
    pub fn tenant_sums(&self) -> ValueKey {
        tenant_sums(self.tenant.as_deref())
    }

    pub fn job(&self, id: &str) -> ValueKey {
        Space::knowledge_jobs(self.tenant.as_deref()).key(id)
    }

    /// Counts the changes of what can be found, and by whom.
    pub fn changes(&self) -> ValueKey {
        self.values().key("changes")
    }

    /// The sums of what the collection has.
    pub fn sums(&self) -> ValueKey {
        self.values().key("sums")
    }

    pub fn document(&self, document: &DocumentKey) -> ValueKey {
        self.values()
            .key(format!("{DOCUMENTS}{}", document.as_str()))
    }

    /// Where the chunks of a document are in an index.
    pub fn content(&self, version: u32, document: &DocumentKey) -> ValueKey {
        let name = format!("{}{}", content_prefix(version), document.as_str());
        self.values().key(name)
    }

    /// A chunk by its number in an index.
    pub fn chunk(&self, version: u32, number: u32) -> ValueKey {
        let prefix = chunk_prefix(version);
        self.values().key(format!("{prefix}{number:08x}"))
    }

    /// A stretch of what was read of a document.
    pub fn text(&self, text: &str, block: u32) -> ValueKey {
        let prefix = text_prefix(text);
        self.values().key(format!("{prefix}{block:04x}"))
    }

    /// A stretch of an upload.
    pub fn source(&self, job: &str, block: u32) -> ValueKey {
        let prefix = source_prefix(job);
        self.values().key(format!("{prefix}{block:04x}"))
    }

    /// What a job has put aside for a document and not shown yet.
    pub fn staged(&self, job: &str) -> ValueKey {
        self.values().key(format!("staged/{job}"))
    }

    pub fn queued(&self, job: &str) -> ValueKey {
        self.values().key(format!("{QUEUE}{job}"))
    }

    pub fn erasure(&self, id: &str) -> ValueKey {
        self.values().key(format!("{ERASURES}{id}"))
    }

    /// That the vectors of a document are to be made.
    pub fn vector_task(&self, document: &DocumentKey) -> ValueKey {
        self.values().key(format!("{VECTORS}{}", document.as_str()))
    }

    /// That a chunk of an index has a vector, by the hash of its text.
    pub fn vector_place(&self, version: u32, hash: &str, number: u32) -> ValueKey {
        let prefix = vector_places(version, Some(hash));
        self.values().key(format!("{prefix}{number:08x}"))
    }

    /// That a document is to come into the index of a re-index.
    pub fn reindex_task(&self, version: u32, document: &DocumentKey) -> ValueKey {
        let name = format!("{}{}", reindex_prefix(version), document.as_str());
        self.values().key(name)
    }

    /// What a tenant's people think of the chunks of a document, where that is anything.
    pub fn ratings(&self, document: &DocumentKey, tenant: &str) -> ValueKey {
        let (prefix, end) = (ratings_prefix(document), self.ratings_end(tenant));
        self.values().key(format!("{prefix}{end}"))
    }

    /// The end of the names of a tenant's ratings: the app's files are searched by all tenants, each with its own.
    pub fn ratings_end(&self, tenant: &str) -> String {
        match self.tenant {
            Some(_) => String::new(),
            None => format!(".{}", digest(&[tenant])),
        }
    }

    /// The vote of a tenant's user on a chunk.
    pub fn vote(&self, document: &DocumentKey, chunk: &str, voter: &Voter<'_>) -> ValueKey {
        let prefix = votes_prefix(document, chunk);
        let end = digest(&[voter.tenant, voter.user]);
        self.values().key(format!("{prefix}{end}"))
    }

    /// A use of a chunk.
    pub fn hit(&self, document: &DocumentKey, chunk: &str, hit: &str) -> ValueKey {
        let prefix = hits_prefix(document, chunk);
        self.values().key(format!("{prefix}{hit}"))
    }
}

/// The beginning of the names of what documents have in an index.
pub(crate) fn content_prefix(version: u32) -> String {
    format!("content/{version}/")
}

/// The beginning of the names of the stretches of a text.
pub(crate) fn text_prefix(text: &str) -> String {
    format!("text/{text}/")
}

/// The beginning of the names of the stretches of an upload.
pub(crate) fn source_prefix(job: &str) -> String {
    format!("source/{job}/")
}

/// The beginning of the names of what is thought of the chunks of a document.
pub(crate) fn ratings_prefix(document: &DocumentKey) -> String {
    format!("{RATINGS}{}", document.as_str())
}

/// The beginning of the names of the chunks of an index.
pub(crate) fn chunk_prefix(version: u32) -> String {
    format!("chunk/{version}/")
}

/// The beginning of the names that say which chunks of an index have vectors: those with one text, or all.
pub(crate) fn vector_places(version: u32, hash: Option<&str>) -> String {
    let all = format!("vector/{version}/");
    hash.map_or(all.clone(), |hash| format!("{all}{hash}/"))
}

/// The beginning of the names of what is to come into the index of a re-index.
pub(crate) fn reindex_prefix(version: u32) -> String {
    format!("reindex/{version}/")
}

/// The beginning of the names of what is said of a chunk, or of all chunks of a document.
pub(crate) fn feedback_prefix(document: &DocumentKey, chunk: Option<&str>) -> String {
    let all = format!("feedback/{}/", document.as_str());
    chunk.map_or(all.clone(), |chunk| format!("{all}{chunk}/"))
}

/// The beginning of the names of the votes on a chunk.
pub(crate) fn votes_prefix(document: &DocumentKey, chunk: &str) -> String {
    format!("{}vote/", feedback_prefix(document, Some(chunk)))
}

/// The beginning of the names of the uses of a chunk.
pub(crate) fn hits_prefix(document: &DocumentKey, chunk: &str) -> String {
    format!("{}hit/", feedback_prefix(document, Some(chunk)))
}
