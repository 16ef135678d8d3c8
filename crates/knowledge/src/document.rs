//! Documents as callers see and add them.

use crate::spooled_file::SpooledFile;
use ambit_storage::clock::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A document of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Document {
    /// Its id, of which its tenant has one.
    pub document_id: String,
    /// Its collection.
    pub collection_id: String,
    /// The name of its file, or what it was called.
    pub name: String,
    /// What it calls itself, else its name.
    pub title: String,
    /// The name of its format.
    #[serde(rename = "type")]
    pub format: Option<String>,
    /// Its media type, as it was sent.
    pub media_type: Option<String>,
    /// The size of its file.
    pub bytes: u64,
    /// SHA-256 of its file, in hex digits.
    pub hash: String,
    /// How far it is.
    pub status: DocumentStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// What could not be read of it.
    pub warnings: Vec<String>,
    /// The last job that worked on it.
    pub job_id: Option<String>,
    /// Chunks that have their vector.
    pub done: u64,
    /// Chunks that get one.
    pub total: u64,
    /// How many chunks it has.
    pub chunks: u64,
    /// How many pages or slides, where its format has any.
    pub pages: Option<u32>,
    /// The language that it declares.
    pub language: Option<String>,
    /// Where it was fetched.
    pub url: Option<String>,
    /// What is known of it.
    pub metadata: Map<String, Value>,
    /// Who may read it beside its creator; none where whoever may use the collection may.
    pub access: Option<DocumentAccess>,
    /// Who added it; nobody where it is a file of the app.
    pub created_by: Option<String>,
    /// When it was added.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
    /// When its text was last indexed.
    pub indexed_at: Option<Millis>,
}

/// How far a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentStatus {
    /// It waits.
    Queued,
    /// Its text is being read.
    Extracting,
    /// Its text is cut and indexed.
    Chunking,
    /// Words find it; its vectors follow.
    Embedding,
    /// All is done.
    Ready,
    /// It could not be read.
    Failed,
}

/// Who may read a document beside its creator and callers without constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentAccess {
    /// Users, by id.
    pub users: Vec<String>,
    /// Members of teams, by id.
    pub teams: Vec<String>,
    /// Holders of roles.
    pub roles: Vec<String>,
}

/// A document that is to be added, or the new content of one that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDocument {
    /// Its id; one is made where there is none.
    pub id: Option<String>,
    /// What it consists of.
    pub content: NewContent,
    /// What is known of it.
    pub metadata: Map<String, Value>,
    /// Who may read it.
    pub access: Option<DocumentAccess>,
}

/// What a document consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewContent {
    /// A file.
    File {
        /// Its name, of which the end says its format.
        name: String,
        /// The media type that the sender declares.
        media_type: Option<String>,
        /// All of it.
        content: SpooledFile,
    },
    /// A page that is fetched when its turn comes.
    Url(String),
}

/// Changes of a document; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentUpdate {
    /// New content.
    pub content: Option<NewContent>,
    /// What it is called.
    pub name: Option<String>,
    /// In the place of what there is.
    pub metadata: Option<Map<String, Value>>,
    /// Who may read it; `Some(None)` lifts what there is.
    pub access: Option<Option<DocumentAccess>>,
}

/// A document that has been accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AcceptedDocument {
    /// Its id.
    pub document_id: String,
    /// The job that reads it; none where nothing is to be done.
    pub job_id: Option<String>,
}

impl NewDocument {
    /// A plain text with a name.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        let name = name.into();
        let has_end = name
            .rsplit_once('.')
            .is_some_and(|(_, end)| !end.contains(' '));
        let media_type = (!has_end).then(|| "text/markdown".to_owned());
        let content = SpooledFile::from(text.into().into_bytes());
        Self::of(NewContent::File {
            name,
            media_type,
            content,
        })
    }

    /// This content with nothing said of it.
    pub fn of(content: NewContent) -> Self {
        Self {
            id: None,
            content,
            metadata: Map::new(),
            access: None,
        }
    }
}
