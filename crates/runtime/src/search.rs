//! Searching the web, collections of knowledge and tables of the app: what is asked, what is found, and the references of a turn.
//!
//! Below scripts and turns: what agents and tools do for a search is asked through `UsesAsker`.

pub mod answers;
pub mod automatic;
pub mod context;
pub mod db;
pub mod injection;
pub mod item;
mod item_size;
pub mod kb;
pub mod reference;
pub mod references;
pub mod request;
mod rerank;
pub mod searcher;
pub mod stored;
mod web;
mod web_pages;

pub use automatic::AutomaticSearch;
pub use context::{SearchContext, TurnSearches, UsageBooking, book_embedding};
pub use item::{ItemSource, KnowledgeFields, RecordFields, SearchItem, SearchKind, SearchResult};
pub use reference::{SearchReference, announce};
pub use references::TurnReferences;
pub use request::{SearchRequest, SearchTarget};
pub use searcher::Searcher;
