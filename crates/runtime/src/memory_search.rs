//! Values of a memory, found by their words. Those of a small memory are read and ranked; a large one has an index.

mod index_note;
mod index_upkeep;
mod indexed_search;
mod value_index;
mod value_vectors;

pub use index_upkeep::erase_gone_values;
pub use value_vectors::embed_values;

use crate::error::{Error, Result};
use crate::index_vectors::{IndexEmbedding, SearchedVectors};
use crate::text_terms::{analyzer, snippet_of, terms_of};
use ambit_search::filter::MetadataFilter;
use ambit_search::terms::{QueryTerm, TermCounts};
use ambit_search::text_ranking::rank_texts;
use ambit_storage::Json;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::memory::{Memory, MemoryLocation};
use ambit_storage::pattern::Pattern;
use indexed_search::IndexedSearch;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// How many values are answered where nobody says, and at most.
const LIMIT: usize = 10;
const MOST: usize = 100;
/// More values, or bytes of them, are not read for one search: they get an index.
const VALUES: usize = 1_000;
const BYTES: usize = 1 << 20;
/// Read in one go.
const PAGE: usize = 250;

/// What a memory is searched for.
#[derive(Clone, Default)]
pub struct MemorySearch {
    text: String,
    limit: usize,
    filter: MetadataFilter,
    pattern: Option<String>,
    embedding: Option<IndexEmbedding>,
}

/// A value that was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MemoryMatch {
    /// Its name.
    pub key: String,
    /// What it is.
    #[schema(value_type = Value)]
    pub value: Json,
    /// How well it fits, from 0 to 1; nothing where no words were asked for.
    pub score: Option<f64>,
    /// The stretch of its text that shows best what was found.
    pub snippet: String,
}

/// A value, and its text.
struct SearchedValue {
    key: String,
    value: Json,
    text: String,
}

impl MemorySearch {
    /// For the values with any of these words, or for all.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            limit: LIMIT,
            ..Self::default()
        }
    }

    /// At most so many values.
    pub fn limit(mut self, limit: i64) -> Result<Self> {
        let within = usize::try_from(limit).ok();
        let within = within.filter(|limit| (1..=MOST).contains(limit));
        self.limit = within.ok_or_else(|| {
            Error::invalid("limit", format!("limit must be 1 to {MOST}, not {limit}"))
        })?;
        Ok(self)
    }

    /// Only values that are like this.
    pub fn filter(mut self, filter: &Value) -> Result<Self> {
        let parsed = MetadataFilter::parse(filter);
        let refused = |error: ambit_search::filter::InvalidFilter| {
            let param = match error.path.as_str() {
                "" => "filter".to_owned(),
                path => format!("filter.{path}"),
            };
            Error::invalid(&param, error.to_string())
        };
        self.filter = parsed.map_err(refused)?;
        Ok(self)
    }

    /// Only values with such a name; `*` stands for any text.
    pub fn pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// By meaning too, where somebody makes vectors of values.
    pub fn embedding(mut self, embedding: Option<IndexEmbedding>) -> Self {
        self.embedding = embedding;
        self
    }

    /// The values that are found, the best first; without words by their names.
    pub async fn of(&self, memory: &Memory) -> Result<Vec<MemoryMatch>> {
        if self.text.trim().is_empty() {
            return self.by_key(memory).await;
        }
        let location = memory.location();
        let read = match &location {
            // Vectors are kept in an index alone.
            Some(_) if self.embedding.is_some() => None,
            Some(location) if self.has_many(location).await? => None,
            Some(_) => self.read(memory, BYTES, usize::MAX).await?,
            None => self.read(memory, usize::MAX, usize::MAX).await?,
        };
        let terms = analyzer().query(&self.text);
        match (read, location) {
            (Some(values), _) => self.ranked(&values, terms).await,
            (None, Some(location)) => {
                let (embedding, tenant) = (self.embedding.as_ref(), location.space.tenant.clone());
                let search = IndexedSearch {
                    search: self,
                    terms,
                    location,
                    vectors: SearchedVectors::new(embedding, &tenant, &self.text),
                };
                search.matches().await
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    async fn by_key(&self, memory: &Memory) -> Result<Vec<MemoryMatch>> {
        let first = self.read(memory, usize::MAX, self.limit).await?;
        let first = first.unwrap_or_default().into_iter();
        Ok(first.map(|value| value.shown(None, &[])).collect())
    }

    async fn ranked(
        &self,
        values: &[SearchedValue],
        query: Vec<QueryTerm>,
    ) -> Result<Vec<MemoryMatch>> {
        let terms: Vec<TermCounts> = values.iter().map(|value| terms_of(&value.text)).collect();
        let ranked = rank_texts(&terms, query.clone()).await?;
        let best = ranked.into_iter().take(self.limit);
        let shown = best.map(|one| values[one.text].shown(Some(one.score), &query));
        Ok(shown.collect())
    }

    fn names(&self) -> Pattern {
        let pattern = self.pattern.as_deref();
        pattern.map_or_else(Pattern::all, Pattern::parse)
    }

    /// Whether so many values have such a name that they are not all read.
    async fn has_many(&self, location: &MemoryLocation) -> Result<bool> {
        let scan = ValueScan::first(self.names(), VALUES + 1, ValuePart::Nothing);
        let found = location.driver.scan(&location.space, &scan).await?;
        Ok(found.len() > VALUES)
    }

    /// The first values that may be found, at most so many; `None` where more bytes than these would have to be read.
    async fn read(
        &self,
        memory: &Memory,
        bytes: usize,
        most: usize,
    ) -> Result<Option<Vec<SearchedValue>>> {
        let pattern = self.pattern.as_deref();
        let (mut values, mut after, mut read) = (Vec::new(), None, 0);
        loop {
            let page = memory.entries(pattern, after.take(), PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|(key, _)| key.clone());
            for (key, stored) in page {
                read += stored.as_str().len();
                if read > bytes {
                    return Ok(None);
                }
                let value: Value = stored.to()?;
                if self.filter.matches(&value) {
                    values.push(SearchedValue {
                        text: text_of(&key, &value),
                        key,
                        value: stored,
                    });
                }
                if values.len() == most {
                    return Ok(Some(values));
                }
            }
            if is_last {
                return Ok(Some(values));
            }
        }
    }
}

impl SearchedValue {
    fn shown(&self, score: Option<f64>, query: &[QueryTerm]) -> MemoryMatch {
        MemoryMatch {
            key: self.key.clone(),
            value: self.value.clone(),
            score,
            snippet: snippet_of(&self.text, query).text,
        }
    }
}

/// What a value is found by: its key and all texts in it, each on a line of its own.
fn text_of(key: &str, value: &Value) -> String {
    let mut text = key.to_owned();
    add_strings(value, &mut text);
    text
}

fn add_strings(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => {
            text.push('\n');
            text.push_str(string);
        }
        Value::Array(items) => items.iter().for_each(|item| add_strings(item, text)),
        Value::Object(fields) => fields.values().for_each(|field| add_strings(field, text)),
        _ => {}
    }
}
