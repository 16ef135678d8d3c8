//! Results of a search that an agent or a tool has made.

use super::{AnswerError, number, plain, read};
use crate::search::{ItemSource, KnowledgeFields, RecordFields, SearchItem, SearchKind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads `{"items": […]}`. Of who looked for an item only `user` is taken over; what an item counts is not the answer's to say.
pub fn items(answer: &Value) -> Result<Vec<SearchItem>, AnswerError> {
    read(
        answer,
        "{\"items\": [{\"title\", \"content\", \"url\", \"score\"}]}",
        |answer| of(answer.as_object()?),
    )
}

/// The items of an answer that say something.
pub(super) fn of(answer: &Map<String, Value>) -> Option<Vec<SearchItem>> {
    let list = answer.get("items")?.as_array()?;
    let mut items = Vec::with_capacity(list.len());
    for (position, item) in list.iter().enumerate() {
        items.push(item_of(item.as_object()?, position));
    }
    let scores = items.iter().map(|item| item.score);
    let highest = scores.fold(1.0, f64::max);
    for item in &mut items {
        item.score = (item.score / highest).max(0.0);
    }
    items.retain(|item| {
        ![&item.title, &item.url, &item.content]
            .iter()
            .all(|text| text.is_empty())
    });
    Some(items)
}

fn item_of(given: &Map<String, Value>, position: usize) -> SearchItem {
    let text = |names: &[&str]| {
        let texts = names.iter().filter_map(|name| plain(given.get(*name)?));
        let mut texts = texts.filter(|text| !text.is_empty());
        texts.next().unwrap_or_default()
    };
    let named = |name: &str| Some(given.get(name)?.as_str()?.trim().to_lowercase());
    let kind = named("type").and_then(|kind| SearchKind::named(&kind));
    let kind = kind.unwrap_or_default();
    let metadata = given.get("metadata").and_then(Value::as_object);
    let knowledge = fields::<KnowledgeFields>(given).filter(|_| kind == SearchKind::Kb);
    let record = fields::<RecordFields>(given).filter(|_| kind == SearchKind::Db);
    SearchItem {
        kind,
        source: match named("source").as_deref() {
            Some("user") => ItemSource::User,
            _ => ItemSource::default(),
        },
        // The first one 1, each further one 0.05 less, and none less than 0.1.
        score: match given.get("score").and_then(number) {
            Some(score) => score,
            None => (20 - position.min(18)) as f64 / 20.0,
        },
        title: text(&["title", "name"]),
        content: text(&["content", "snippet", "text"]),
        url: text(&["url", "link"]),
        metadata: metadata.cloned().unwrap_or_default(),
        is_foreign: knowledge.is_some() || record.is_some(),
        knowledge,
        record,
        ..SearchItem::default()
    }
}

fn fields<T: DeserializeOwned>(given: &Map<String, Value>) -> Option<T> {
    serde_json::from_value(given.clone().into()).ok()
}
