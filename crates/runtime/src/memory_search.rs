//! Values of a memory, found by their words.

use crate::error::{Error, ErrorCode, Result};
use crate::text_terms::{analyzer, snippet_of, terms_of};
use ambit_search::filter::MetadataFilter;
use ambit_search::terms::TermCounts;
use ambit_search::text_ranking::rank_texts;
use ambit_storage::Json;
use ambit_storage::memory::Memory;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// How many values are answered where nobody says, and at most.
const LIMIT: usize = 10;
const MOST: usize = 100;
/// So many values, and bytes of them, are read for one search.
const VALUES: usize = 10_000;
const BYTES: usize = 16 << 20;
/// Read in one go.
const PAGE: usize = 500;

/// What a memory is searched for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySearch {
    text: String,
    limit: usize,
    filter: MetadataFilter,
    pattern: Option<String>,
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

    /// The values that are found, the best first; without words by their names.
    pub async fn of(&self, memory: &Memory) -> Result<Vec<MemoryMatch>> {
        let query = analyzer().query(&self.text);
        let has_words = !self.text.trim().is_empty();
        let values = self.read(memory, has_words).await?;
        let terms: Vec<TermCounts> = values.iter().map(|found| terms_of(&found.text)).collect();
        let order: Vec<(usize, Option<f64>)> = match has_words {
            true => {
                let ranked = rank_texts(&terms, query.clone()).await?.into_iter();
                ranked.map(|one| (one.text, Some(one.score))).collect()
            }
            false => (0..values.len()).map(|at| (at, None)).collect(),
        };
        let found = order.into_iter().take(self.limit).map(|(at, score)| {
            let found = &values[at];
            MemoryMatch {
                key: found.key.clone(),
                value: found.value.clone(),
                score,
                snippet: snippet_of(&found.text, &query).text,
            }
        });
        Ok(found.collect())
    }

    /// The values that may be found: without words no more than are answered.
    async fn read(&self, memory: &Memory, has_words: bool) -> Result<Vec<SearchedValue>> {
        let most = if has_words { usize::MAX } else { self.limit };
        let pattern = self.pattern.as_deref();
        let (mut values, mut after) = (Vec::new(), None);
        let (mut count, mut bytes) = (0, 0);
        loop {
            let page = memory.entries(pattern, after.take(), PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|(key, _)| key.clone());
            for (key, stored) in page {
                (count, bytes) = (count + 1, bytes + stored.as_str().len());
                if count > VALUES || bytes > BYTES {
                    return Err(too_much(memory));
                }
                let value: Value = stored.to()?;
                if self.filter.matches(&value) {
                    let mut text = key.clone();
                    add_strings(&value, &mut text);
                    values.push(SearchedValue {
                        key,
                        value: stored,
                        text,
                    });
                }
                if values.len() == most {
                    return Ok(values);
                }
            }
            if is_last {
                return Ok(values);
            }
        }
    }
}

/// All texts in a value, each on a line of its own.
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

fn too_much(memory: &Memory) -> Error {
    let message = format!(
        "the {} memory has more than {VALUES} values or {} MiB of them to be searched; name fewer of them by pattern",
        memory.space(),
        BYTES >> 20
    );
    Error::new(ErrorCode::LimitExceeded, message)
}
