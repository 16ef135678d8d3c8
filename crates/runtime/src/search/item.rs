//! What a search gives, in one form for the web, for knowledge and for tables.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    /// The web.
    #[default]
    Web,
    /// Collections of knowledge.
    Kb,
    /// Tables of the app.
    Db,
}

impl SearchKind {
    /// All of them, in the order in which their items stand.
    pub const ALL: [Self; 3] = [Self::Web, Self::Kb, Self::Db];

    /// Its name in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Kb => "kb",
            Self::Db => "db",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Who looked for an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemSource {
    /// A person gave it.
    User,
    /// A hook.
    Hook,
    /// The search before the model's call.
    #[default]
    Auto,
}

impl ItemSource {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Hook => "hook",
            Self::Auto => "auto",
        }
    }
}

/// One result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchItem {
    /// What it is cited by; empty as long as it is no reference of a turn.
    pub citation_id: String,
    /// Where it was found.
    #[serde(rename = "type")]
    pub kind: SearchKind,
    /// Who looked for it.
    pub source: ItemSource,
    /// How much it counts, by who looked for it.
    pub weight: f64,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Its title.
    pub title: String,
    /// Its text, or a part of it.
    pub content: String,
    /// Its address.
    pub url: String,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
    /// Whether an agent or a tool says where it lies: nothing is read there for that.
    #[serde(rename = "foreign", skip_serializing_if = "std::ops::Not::not")]
    pub is_foreign: bool,
    /// What only knowledge has.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<KnowledgeFields>,
    /// What only rows have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordFields>,
}

/// Where an item of knowledge stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeFields {
    /// Its document.
    pub document_id: String,
    /// The document's collection.
    pub collection: String,
    /// The chunk.
    pub chunk_id: String,
    /// The headings above it.
    #[serde(default)]
    pub heading: Vec<String>,
    /// Its page, where the document has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u64>,
    /// Its characters in the text of the document: from, and to.
    #[serde(default)]
    pub range: [u64; 2],
}

/// Which row an item is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordFields {
    /// Its model.
    pub model: String,
    /// Its primary key, if that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<Value>,
    /// The row.
    pub data: Map<String, Value>,
}

/// What came of one search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// What was searched.
    #[serde(rename = "type")]
    pub kind: SearchKind,
    /// What for.
    pub query: String,
    /// By whom.
    pub source: ItemSource,
    /// What was found, best first.
    pub items: Vec<SearchItem>,
    /// How many items there are.
    pub total: usize,
    /// How long it took.
    pub duration_ms: u64,
    /// Why it failed; there are no items then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What did not fail but differs from what was wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The query of the app's tables, if one was made, without what restricts the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsl: Option<Value>,
    /// Always empty; there only where graphs were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_nodes: Option<Vec<Value>>,
}

impl SearchResult {
    /// The result with other items.
    pub fn set_items(&mut self, items: Vec<SearchItem>) {
        self.total = items.len();
        self.items = items;
    }

    /// The search has failed, and found nothing.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.set_items(Vec::new());
        self.error = Some(why.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_of_each_kind_have_their_fields_and_are_read_as_they_are_written() {
        let plain = json!({"citation_id": "1", "type": "web", "source": "hook", "weight": 0.8, "score": 1.0, "title": "",
            "content": "", "url": "https://a.com", "metadata": {"position": 1}});
        let mut knowledge = plain.clone();
        knowledge["type"] = "kb".into();
        for (name, value) in [
            ("document_id", json!("d")),
            ("collection", json!("c")),
            ("chunk_id", json!("x")),
        ] {
            knowledge[name] = value;
        }
        knowledge["heading"] = json!(["a"]);
        knowledge["range"] = json!([0, 5]);
        let mut record = plain.clone();
        record["type"] = "db".into();
        record["model"] = "user".into();
        record["record_id"] = 5.into();
        record["data"] = json!({"id": 5});
        for (written, has_knowledge, has_record) in [
            (plain, false, false),
            (knowledge, true, false),
            (record, false, true),
        ] {
            let item: SearchItem = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(
                (item.knowledge.is_some(), item.record.is_some()),
                (has_knowledge, has_record)
            );
            assert_eq!(json!(item), written);
        }
    }

    #[test]
    fn a_result_leaves_out_what_it_does_not_have() {
        let mut result = SearchResult {
            query: "x".to_owned(),
            source: ItemSource::Hook,
            ..SearchResult::default()
        };
        result.set_items(vec![SearchItem::default()]);
        result.fail("no");
        let expected = json!({"type": "web", "query": "x", "source": "hook", "items": [], "total": 0, "duration_ms": 0, "error": "no"});
        assert_eq!(json!(result), expected);
    }
}
