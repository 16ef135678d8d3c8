//! Items are small enough that all references of a turn fit into one entry of its journal and of its stream.

use super::SearchItem;
use super::answers::is_within;
use crate::web_search::truncate;
use serde_json::{Value, json};

/// Bytes of an item as JSON.
const MOST: usize = 20 << 10;
/// Bytes to which texts are cut, one after the other, until that is enough.
const LENGTHS: [usize; 4] = [8_192, 2_048, 512, 128];

impl SearchItem {
    /// Cuts its texts until it is small enough to be a reference. Whether that was needed.
    pub fn shorten(&mut self) -> bool {
        if is_within(self, MOST) {
            return false;
        }
        for length in LENGTHS {
            let mut whole = json!(self);
            cut(&mut whole, length);
            if let Ok(item) = serde_json::from_value(whole) {
                *self = item;
            }
            if is_within(self, MOST) {
                return true;
            }
        }
        self.leave_texts();
        true
    }

    /// Leaves its own texts alone, and where it lies.
    fn leave_texts(&mut self) {
        self.metadata.clear();
        if self.is_foreign {
            (self.knowledge, self.record) = (None, None);
        }
        if let Some(place) = &mut self.knowledge {
            place.heading.clear();
        }
        if let Some(record) = &mut self.record {
            let values = record.data.values_mut();
            values.for_each(|value| *value = Value::Null);
        }
    }
}

fn cut(value: &mut Value, length: usize) {
    match value {
        Value::String(text) => truncate(text, length),
        Value::Array(values) => values.iter_mut().for_each(|value| cut(value, length)),
        Value::Object(members) => members.values_mut().for_each(|value| cut(value, length)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::RecordFields;
    use serde_json::Map;

    #[test]
    fn a_large_item_is_cut_and_keeps_where_it_lies() {
        let row = |columns: usize, bytes: usize| {
            let texts = (0..columns).map(|at| (format!("c{at}"), json!("é".repeat(bytes / 2))));
            let mut data = Map::from_iter(texts);
            data.insert("id".to_owned(), json!(7));
            SearchItem {
                title: "t".to_owned(),
                record: Some(RecordFields {
                    model: "note".to_owned(),
                    record_id: Some(json!(7)),
                    data,
                }),
                ..SearchItem::default()
            }
        };
        for (columns, bytes, is_cut) in [(1, 100, false), (1, 1 << 20, true), (500, 10_000, true)] {
            let mut item = row(columns, bytes);
            assert_eq!(item.shorten(), is_cut, "{columns} columns");
            assert!(is_within(&item, MOST));
            let record = item.record.unwrap();
            assert_eq!((item.title.as_str(), record.data.len()), ("t", columns + 1));
            assert_eq!(record.record_id, Some(json!(7)));
        }
        let mut foreign = row(50_000, 2);
        foreign.is_foreign = true;
        assert!(foreign.shorten() && foreign.record.is_none());
    }
}
