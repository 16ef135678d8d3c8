//! Finding items: by the fields of their values, and by the words in them.

use super::BYTES;
use super::body::StoreSearchBody;
use super::filter::ItemFilter;
use super::item::StoreItem;
use super::pages::ItemPages;
use super::read::too_much;
use super::space::StoreSpace;
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_search::terms::{Analyzer, TermCounts};
use ambit_search::text_ranking::rank_texts;
use ambit_storage::batch::ValueEntry;
use ambit_storage::driver::ValuePart;
use serde_json::Value;
use std::sync::Arc;

/// How many items are answered where nobody says.
const LIMIT: u64 = 10;
/// More items are not ranked.
const RANKED: usize = 10_000;

/// The items that a search finds.
pub async fn find(space: &StoreSpace, asked: &StoreSearchBody) -> Result<Vec<StoreItem>> {
    let filter = match &asked.filter {
        None => ItemFilter::default(),
        Some(filter) => ItemFilter::parse(filter)?,
    };
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let search = StoreSearch {
        space,
        prefix: &asked.prefix,
        filter: Arc::new(filter),
        limit: count(asked.limit.map_or(LIMIT, |limit| limit.0)),
        offset: count(asked.offset.map_or(0, |offset| offset.0)),
    };
    let query = asked.query.as_deref().unwrap_or_default();
    match query.trim().is_empty() {
        true => search.by_key().await,
        false => search.by_words(query).await,
    }
}

struct StoreSearch<'a> {
    space: &'a StoreSpace,
    prefix: &'a str,
    filter: Arc<ItemFilter>,
    limit: usize,
    offset: usize,
}

/// An item whose words are ranked.
struct RankedItem {
    name: String,
    terms: TermCounts,
}

impl StoreSearch<'_> {
    fn pages(&self) -> ItemPages<'_> {
        ItemPages::of(self.space, self.space.pattern(self.prefix))
    }

    async fn by_key(&self) -> Result<Vec<StoreItem>> {
        let (mut pages, mut skipped, mut found) = (self.pages(), 0, AnswerItems::default());
        while let Some(page) = pages.next(usize::MAX).await? {
            for (name, entry) in page {
                let item = StoreItem::of(&entry)?;
                if !self.filter.is_empty() && !matches(&self.filter, &item)? {
                    continue;
                }
                if skipped < self.offset {
                    skipped += 1;
                    continue;
                }
                found.add(item.named(self.space.key(&name)))?;
                if found.items.len() == self.limit {
                    return Ok(found.items);
                }
            }
        }
        Ok(found.items)
    }

    async fn by_words(&self, query: &str) -> Result<Vec<StoreItem>> {
        let (mut pages, mut candidates) = (self.pages(), Vec::new());
        while let Some(page) = pages.next(usize::MAX).await? {
            let filter = self.filter.clone();
            let counted = tokio::task::spawn_blocking(move || ranked_items(page, &filter)).await;
            let counted = counted.map_err(|_| Error::internal("reading words failed"))??;
            candidates.extend(counted);
            if candidates.len() > RANKED {
                return Err(too_many());
            }
        }
        let (names, terms): (Vec<String>, Vec<TermCounts>) = candidates
            .into_iter()
            .map(|item| (item.name, item.terms))
            .unzip();
        let ranked = rank_texts(&terms, Analyzer::default().query(query)).await?;
        let mut found = AnswerItems::default();
        for best in ranked.into_iter().skip(self.offset).take(self.limit) {
            let name = &names[best.text];
            let place = self.space.owned.key(name.as_str());
            // One that went meanwhile is not found.
            if let Some(entry) = self.space.driver.get(&place, ValuePart::Whole).await? {
                let item = StoreItem::of(&entry)?.named(self.space.key(name));
                let score = Some(best.score);
                found.add(StoreItem { score, ..item })?;
            }
        }
        Ok(found.items)
    }
}

/// Items within what an answer holds.
#[derive(Default)]
struct AnswerItems {
    items: Vec<StoreItem>,
    bytes: usize,
}

impl AnswerItems {
    fn add(&mut self, item: StoreItem) -> Result<()> {
        self.bytes += item.size();
        self.items.push(item);
        match self.bytes > BYTES {
            true => Err(too_much()),
            false => Ok(()),
        }
    }
}

fn too_many() -> Error {
    let message = format!(
        "more than {RANKED} items match; a longer prefix or a narrower filter leaves fewer to rank"
    );
    Error::new(ErrorCode::LimitExceeded, message)
}

/// Whether an item has such fields; bytes have none.
fn matches(filter: &ItemFilter, item: &StoreItem) -> Result<bool> {
    match &item.value {
        Some(value) => Ok(filter.matches(&value.to()?)),
        None => Ok(false),
    }
}

/// The items of a page that match, with the terms of their texts.
fn ranked_items(page: Vec<(String, ValueEntry)>, filter: &ItemFilter) -> Result<Vec<RankedItem>> {
    let analyzer = Analyzer::default();
    let mut items = Vec::new();
    for (name, entry) in page {
        let Some(value) = StoreItem::of(&entry)?.value else {
            continue;
        };
        let value: Value = value.to()?;
        if filter.matches(&value) {
            let mut terms = TermCounts::new();
            count(&analyzer, &value, &mut terms);
            items.push(RankedItem { name, terms });
        }
    }
    Ok(items)
}

/// Counts the terms of all texts in a value.
fn count(analyzer: &Analyzer, value: &Value, terms: &mut TermCounts) {
    match value {
        Value::String(text) => analyzer.count(text, 1, terms),
        Value::Array(items) => items.iter().for_each(|item| count(analyzer, item, terms)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| count(analyzer, field, terms)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
