//! The references of a turn as they are stored with its conversation: what lies in a collection or a table is stored as a pointer,
//! and shown as whoever reads it may see it then.

use super::{AutomaticSearch, ItemSource, SearchItem, SearchKind, SearchReference};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The most characters of a stored content.
const CONTENT: usize = 4_000;

/// What the searches of a turn have found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredReferences {
    /// What was asked before the last call of a model that was searched for.
    pub query: Option<String>,
    /// What was searched.
    pub types: Vec<SearchKind>,
    /// The items, by their ids.
    pub items: Vec<SearchItem>,
}

impl StoredReferences {
    /// What is stored of these items.
    pub fn of(items: &[SearchItem], search: Option<&AutomaticSearch>) -> Self {
        let kinds = SearchKind::ALL.into_iter();
        let found = kinds.filter(|kind| items.iter().any(|item| item.kind == *kind));
        Self {
            query: search.map(|search| search.query.clone()),
            types: search.map_or_else(|| found.collect(), |search| search.types.clone()),
            items: items.iter().map(stored).collect(),
        }
    }
}

/// The item without what belongs to a collection or a table.
fn stored(item: &SearchItem) -> SearchItem {
    let mut stored = item.clone();
    if let Some((end, _)) = stored.content.char_indices().nth(CONTENT) {
        stored.content.truncate(end);
    }
    if item.is_pointer() {
        stored.clear();
    }
    stored
}

impl SearchItem {
    /// Whether the item was found in a collection or a table, where it may change or go. What an agent or a tool says to lie there
    /// is none: it would show whoever reads it any row.
    pub fn is_pointer(&self) -> bool {
        let is_placed = self.knowledge.is_some() || self.record.is_some();
        self.kind != SearchKind::Web && is_placed && !self.is_foreign
    }

    /// Leaves nothing of it but where it lies.
    fn clear(&mut self) {
        for text in [&mut self.title, &mut self.content, &mut self.url] {
            text.clear();
        }
        self.metadata = Map::new();
        if let Some(place) = &mut self.knowledge {
            place.heading.clear();
        }
        if let Some(record) = &mut self.record {
            record
                .data
                .values_mut()
                .for_each(|value| *value = Value::Null);
        }
    }
}

/// The references of a turn as somebody may see them.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReferenceList {
    /// The turn.
    pub request_id: String,
    /// What was asked before the model was called; none where only hooks have searched.
    pub query: Option<String>,
    /// What was searched.
    #[schema(value_type = Vec<String>)]
    pub types: Vec<SearchKind>,
    /// What was found, by citation ids.
    pub references: Vec<ReferenceView>,
}

/// A reference as somebody may see it, with the fields of its type.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReferenceView {
    /// The id it is cited by.
    pub id: String,
    /// The same as a number.
    pub index: u64,
    /// `web`, `kb` or `db`.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: SearchKind,
    /// Who looked for it: `user`, `hook` or `auto`.
    #[schema(value_type = String)]
    pub source: ItemSource,
    /// How much it counts, by who looked for it.
    pub weight: f64,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its text, or a part of it; null where it is gone.
    pub content: Option<String>,
    /// The beginning of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// Whether it is deleted, or not to be seen by who asks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
    /// What only its type has.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl ReferenceView {
    /// Of an item as it is now; `is_gone` where it lies somewhere and was not found there.
    pub fn of(item: &SearchItem, is_gone: bool) -> Self {
        let SearchReference {
            id, index, snippet, ..
        } = SearchReference::of(item);
        let shown = |text: &String| (!is_gone).then(|| text.clone());
        Self {
            id,
            index,
            kind: item.kind,
            source: item.source,
            weight: item.weight,
            score: item.score,
            title: shown(&item.title),
            url: shown(&item.url),
            content: shown(&item.content),
            snippet: shown(&snippet),
            gone: is_gone,
            metadata: item.metadata.clone(),
            fields: match is_gone {
                true => Map::new(),
                false => fields(item),
            },
        }
    }
}

fn fields(item: &SearchItem) -> Map<String, Value> {
    let parts = [json!(item.knowledge), json!(item.record)];
    let objects = parts.into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    objects.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::RecordFields;

    #[test]
    fn g204_a_row_is_stored_as_a_pointer() {
        let mut row = SearchItem {
            citation_id: "1".to_owned(),
            kind: SearchKind::Db,
            title: "canary".to_owned(),
            content: "canary".to_owned(),
            record: Some(RecordFields {
                model: "user".to_owned(),
                record_id: Some(json!(7)),
                data: Map::from_iter([("name".to_owned(), json!("canary"))]),
            }),
            ..SearchItem::default()
        };
        let stored = StoredReferences::of(&[row.clone()], None);
        let text = serde_json::to_string(&stored).unwrap();
        assert!(
            !text.contains("canary") && text.contains("\"record_id\":7"),
            "{text}"
        );
        assert_eq!(stored.types, [SearchKind::Db]);
        // What an agent has answered with lies nowhere, whatever it says.
        row.is_foreign = true;
        assert_eq!(StoredReferences::of(&[row.clone()], None).items, [row]);
    }

    #[test]
    fn what_is_gone_has_no_text() {
        let item = SearchItem {
            citation_id: "3".to_owned(),
            kind: SearchKind::Db,
            ..SearchItem::default()
        };
        let expected = json!({"id": "3", "index": 3, "type": "db", "source": "auto", "weight": 0.0, "score": 0.0,
            "content": null, "gone": true, "metadata": {}});
        assert_eq!(json!(ReferenceView::of(&item, true)), expected);
    }
}
