//! Searching the web.

mod settings;

pub use settings::{HttpSearchSettings, ItemFields, ScriptedSearch, TimeRange, WebSearchSettings};
