//! Where texts come from that this crate cannot read itself.

use ambit_extract::ExtractedDocument;
use async_trait::async_trait;

/// Reads documents for which no reader is built in: the agent or tool of `uses.extract`.
#[async_trait]
pub trait ForeignExtractor: Send + Sync {
    /// Whether it reads documents of a format that has a reader here too, or of one that has none.
    fn reads(&self, format: Option<&str>) -> bool;

    /// The text of a document, or the reason why there is none, as its owner is told.
    async fn extract(&self, file: &ForeignFile) -> Result<ExtractedDocument, String>;
}

/// A file that somebody else reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    /// Its name.
    pub name: String,
    /// Its media type, as far as it is known.
    pub media_type: Option<String>,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Fetches pages, by `uses.fetch` and within its list of addresses.
#[async_trait]
pub trait PageFetcher: Send + Sync {
    /// What is at an address, or the reason why there is nothing.
    async fn fetch(&self, url: &str) -> Result<FetchedPage, String>;
}

/// What was at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPage {
    /// Its media type, with its charset.
    pub media_type: Option<String>,
    /// All of it.
    pub bytes: Vec<u8>,
}
