//! Where texts come from that this crate cannot read itself.

use crate::spooled_file::SpooledFile;
use ambit_extract::ExtractedDocument;
use futures::future::BoxFuture;

/// For whom the jobs of a collection work, and on whom they are booked: its creator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionOwner {
    /// The tenant; none where the collection is a file of the app.
    pub tenant: Option<String>,
    /// The person.
    pub user: Option<String>,
    /// Their team.
    pub team: Option<String>,
}

/// Reads documents for which no reader is built in: the agent or tool of `uses.extract`.
pub trait ForeignExtractor: Send + Sync {
    /// Whether it reads documents of a format that has a reader here too, or of one that has none.
    fn reads(&self, format: Option<&str>) -> bool;

    /// The text of a document, or the reason why there is none, as its owner is told. Whoever reads it acts for the owner of its
    /// collection.
    fn extract<'a>(
        &'a self,
        file: &'a ForeignFile,
        owner: &'a CollectionOwner,
    ) -> BoxFuture<'a, Result<ExtractedDocument, String>>;
}

/// A file that somebody else reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    /// Its name.
    pub name: String,
    /// Its media type, as far as it is known.
    pub media_type: Option<String>,
    /// The address that it was fetched from.
    pub url: Option<String>,
    /// All of it.
    pub content: SpooledFile,
}

/// Fetches pages, by `uses.fetch` and within its list of addresses.
pub trait PageFetcher: Send + Sync {
    /// What is at an address, or the reason why there is nothing, for the owner of a collection.
    fn fetch<'a>(
        &'a self,
        url: &'a str,
        owner: &'a CollectionOwner,
    ) -> BoxFuture<'a, Result<FetchedPage, String>>;
}

/// What was at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPage {
    /// Its media type, with its charset.
    pub media_type: Option<String>,
    /// All of it.
    pub bytes: Vec<u8>,
}
