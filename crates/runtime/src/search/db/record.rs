//! A row as a result.

use crate::model::TableModel;
use crate::search::item::RecordFields;
use crate::search::{SearchItem, SearchKind};
use serde_json::{Map, Value};

/// Columns that are a row's title, the first that is there.
pub const TITLES: &[&str] = &["title", "name", "subject", "label"];
/// Columns that are its content.
const CONTENTS: &[&str] = &["content", "description", "summary", "text", "body"];
/// Characters of a content.
const CONTENT: usize = 500;

/// The item for a row of a model.
pub fn item(model: &TableModel, data: Map<String, Value>, score: f64) -> SearchItem {
    let content = match first_text(&data, CONTENTS) {
        Some(text) => text.to_owned(),
        None => Value::Object(data.clone()).to_string(),
    };
    let record_id = model.key().and_then(|key| data.get(&key.name)).cloned();
    SearchItem {
        kind: SearchKind::Db,
        title: first_text(&data, TITLES).unwrap_or_default().to_owned(),
        content: content.chars().take(CONTENT).collect(),
        score,
        record: Some(RecordFields {
            model: model.id.clone(),
            record_id,
            data,
        }),
        ..SearchItem::default()
    }
}

fn first_text<'d>(data: &'d Map<String, Value>, names: &[&str]) -> Option<&'d str> {
    let texts = names.iter().filter_map(|name| data.get(*name)?.as_str());
    let mut texts = texts.filter(|text| !text.is_empty());
    texts.next()
}
