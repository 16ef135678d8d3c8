//! What is searched for, and what is found.

use ambit_search::filter::MetadataFilter;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A search over collections.
#[derive(Clone, Debug, PartialEq)]
pub struct KnowledgeQuery {
    /// What is looked for.
    pub query: String,
    /// The ids of the collections that are searched.
    pub collections: Vec<String>,
    /// Whether nothing is said of collections that are not there. Whoever searches all that there are has not named those that
    /// go meanwhile.
    pub leaves_out_gone: bool,
    /// Only in this document.
    pub document_id: Option<String>,
    /// A filter on metadata.
    pub metadata: Option<MetadataFilter>,
    /// Vectors less similar than this find nothing, 0 to 1.
    pub threshold: f64,
    /// At most so many items.
    pub limit: usize,
    /// Whether a query counts towards the tenant's queries of a second, and is refused beyond them.
    pub is_counted: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KnowledgeAnswer {
    /// The best first.
    pub items: Vec<KnowledgeItem>,
    /// What did not fail and differs.
    pub notes: Vec<String>,
    /// Why nothing could be searched.
    pub error: Option<String>,
    /// What the vectors of the query took, one for each that was asked for.
    #[serde(skip)]
    pub used: Vec<EmbeddingTokens>,
}

/// What the vector of a query took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingTokens {
    /// The connector's id.
    pub connector: String,
    /// Its model.
    pub model: String,
    /// How many.
    pub tokens: u64,
}

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct KnowledgeItem {
    /// Its document.
    pub document_id: String,
    /// Its collection.
    pub collection: String,
    /// The chunk.
    pub chunk_id: String,
    /// The headings above it.
    pub heading: Vec<String>,
    /// The page on which it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Its characters in the document's text.
    pub range: [u64; 2],
    /// How well it fits, 0 to 1.
    pub score: f64,
    /// The title of its document.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Where its document was fetched, or nothing.
    pub url: String,
    /// The chunk's metadata, and `ranking`.
    pub metadata: Map<String, Value>,
}

impl KnowledgeQuery {
    /// Looks for this in some collections, with all else as it is by default.
    pub fn new(query: impl Into<String>, collections: &[&str]) -> Self {
        Self {
            query: query.into(),
            collections: collections.iter().map(|&id| id.to_owned()).collect(),
            leaves_out_gone: false,
            document_id: None,
            metadata: None,
            threshold: 0.7,
            limit: 10,
            is_counted: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KnowledgeItem;
    use serde_json::{Map, json};

    #[test]
    fn an_item_without_a_page_has_no_such_field() {
        let mut item = KnowledgeItem {
            document_id: "d".to_owned(),
            collection: "c".to_owned(),
            chunk_id: "k".to_owned(),
            heading: Vec::new(),
            page: None,
            range: [0, 5],
            score: 1.0,
            title: "T".to_owned(),
            content: "Boats".to_owned(),
            url: String::new(),
            metadata: Map::new(),
        };
        let mut expected = json!({"document_id": "d", "collection": "c", "chunk_id": "k", "heading": [], "range": [0, 5],
            "score": 1.0, "title": "T", "content": "Boats", "url": "", "metadata": {}});
        assert_eq!(json!(item), expected);
        item.page = Some(2);
        expected["page"] = 2.into();
        assert_eq!(json!(item), expected);
    }
}
