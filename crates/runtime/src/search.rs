//! Searching the web, collections of knowledge and tables of the app: what is asked, what is found, and the references of a turn.
//!
//! Below scripts and turns: what agents and tools do for a search is asked through `UsesAsker`.

pub mod answers;
pub mod item;
pub mod reference;
pub mod references;

pub use item::{ItemSource, KnowledgeFields, RecordFields, SearchItem, SearchKind, SearchResult};
pub use reference::{SearchReference, announce};
pub use references::TurnReferences;
