//! What a caller may reach. Who may do what is decided by whoever implements this; here it is asked for.

use crate::collection::Collection;
use crate::document::Document;

/// A caller's rights over knowledge. What it does not allow does not exist for them.
pub trait KnowledgeReach: Send + Sync {
    /// The partition the caller lives in.
    fn tenant(&self) -> &str;

    /// The person, who becomes the creator of what they add.
    fn user(&self) -> Option<&str>;

    /// Their team, which goes with what they add.
    fn team(&self) -> Option<&str>;

    /// Whether a collection of the caller's tenant, or of the app's files, may be searched and read.
    fn may_use(&self, collection: &Collection) -> bool;

    /// Whether it may be changed, and its documents with it. Those of files never are.
    fn may_change(&self, collection: &Collection) -> bool;

    /// Whether a document of a collection that may be used may be found and read.
    fn may_read(&self, document: &Document) -> bool;
}
