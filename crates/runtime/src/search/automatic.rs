//! What the search before an agent's model call has found, as hooks, clients and the journal see it.

use super::injection::without_contents;
use super::{SearchItem, SearchKind, SearchReference, SearchResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The id of the search among calls of tools.
const TOOL_CALL: &str = "search";
/// What of an item is told where its contents are not.
const NAMES: [&str; 6] = ["id", "citation_id", "type", "source", "title", "url"];

/// A search before the call of a model that has come to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AutomaticSearch {
    /// What was asked.
    pub query: String,
    /// What was searched.
    pub types: Vec<SearchKind>,
    /// One for each type; their items have citation ids.
    pub results: Vec<SearchResult>,
}

impl AutomaticSearch {
    /// What was found by searches of different types; the items of all of them are these, the best first.
    pub fn of(query: String, mut results: Vec<SearchResult>, items: &[SearchItem]) -> Self {
        for result in &mut results {
            let own = items.iter().filter(|item| item.kind == result.kind);
            result.set_items(own.cloned().collect());
        }
        Self {
            query,
            types: results.iter().map(|result| result.kind).collect(),
            results,
        }
    }

    /// All items, in the order of their citation ids: the best first.
    pub fn items(&self) -> Vec<SearchItem> {
        let items = self.results.iter().flat_map(|result| &result.items);
        let mut items: Vec<SearchItem> = items.cloned().collect();
        items.sort_by_key(|item| item.citation_id.parse::<u64>().unwrap_or(u64::MAX));
        items
    }

    /// `payload.search`.
    pub fn payload(&self) -> Value {
        let items = self.items();
        let references: Vec<SearchReference> = items.iter().map(SearchReference::of).collect();
        json!({"query": self.query, "types": self.types, "references": references})
    }

    /// The first entry of `payload.tools`.
    pub fn tool_report(&self) -> Value {
        json!({
            "toolcall_id": TOOL_CALL,
            "server": "search",
            "tool": "search",
            "arguments": {"query": self.query, "types": self.types},
            "result": self.results,
            "error": null,
        })
    }
}

/// Takes out of a payload of `Next` what items say, which its trace does not keep.
pub fn clear_contents(payload: &mut Value) {
    list(payload, "/search/references").for_each(clear_item);
    let tools = list(payload, "/tools").filter(|report| report["toolcall_id"] == TOOL_CALL);
    let results = tools.flat_map(|report| list(report, "/result"));
    results
        .flat_map(|result| list(result, "/items"))
        .for_each(clear_item);
    for message in list(payload, "/messages").filter(|message| message["role"] == "system") {
        let kept = message["content"].as_str().and_then(without_contents);
        if let Some(kept) = kept {
            message["content"] = kept.into();
        }
    }
}

fn list<'a>(value: &'a mut Value, path: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let list = value.pointer_mut(path).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn clear_item(item: &mut Value) {
    if let Value::Object(members) = item {
        members.retain(|name, _| NAMES.contains(&name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stand_in_the_order_of_their_ids_whatever_their_type() {
        let item = |id: &str, kind: SearchKind| SearchItem {
            citation_id: id.to_owned(),
            kind,
            ..SearchItem::default()
        };
        let result = |kind: SearchKind| SearchResult {
            kind,
            ..SearchResult::default()
        };
        let mut items: Vec<SearchItem> = (1..=10)
            .map(|id| item(&id.to_string(), SearchKind::Web))
            .collect();
        items[0].kind = SearchKind::Db;
        let results = [SearchKind::Web, SearchKind::Db].map(result).to_vec();
        let found = AutomaticSearch::of("q".to_owned(), results, &items);
        assert_eq!(found.items(), items);
        assert_eq!((found.results[0].total, found.results[1].total), (9, 1));
        let payload = found.payload();
        assert_eq!(
            (&payload["types"], &payload["references"][9]["id"]),
            (&json!(["web", "db"]), &json!("10"))
        );
        assert_eq!(
            found.tool_report()["result"][1]["items"][0]["citation_id"],
            "1"
        );
    }
}
