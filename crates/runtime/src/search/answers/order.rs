//! The order of results, and putting them in it.

use super::{AnswerError, plain, read};
use crate::search::SearchItem;
use serde_json::Value;
use std::collections::HashMap;

/// Reads citation ids, the best first.
pub fn order(answer: &Value) -> Result<Vec<String>, AnswerError> {
    read(
        answer,
        "{\"order\": [\"id\"]} or {\"items\": [{\"citation_id\"}]}",
        |answer| {
            let ids = |list: &Value| list.as_array()?.iter().map(plain).collect();
            if let Some(order) = answer.get("order") {
                return ids(order);
            }
            let Some(items) = answer.get("items") else {
                return ids(answer);
            };
            let items = items.as_array()?.iter();
            items.map(|item| plain(item.get("citation_id")?)).collect()
        },
    )
}

/// The items in this order of their ids: unknown ids and repetitions count nothing, what the order does not name comes behind, and
/// all is cut to a number.
pub fn reorder(items: Vec<SearchItem>, order: &[String], most: usize) -> Vec<SearchItem> {
    let mut open: Vec<Option<SearchItem>> = items.into_iter().map(Some).collect();
    let ids = open.iter().flatten().map(|item| item.citation_id.clone());
    let positions: HashMap<String, usize> = ids.zip(0..).collect();
    let named = order
        .iter()
        .filter_map(|id| open[*positions.get(id)?].take());
    let mut ranked: Vec<SearchItem> = named.collect();
    ranked.extend(open.into_iter().flatten());
    ranked.truncate(most);
    ranked
}

/// The order without anybody's help: by weight and score, then by id.
pub fn by_weight(items: &[SearchItem]) -> Vec<String> {
    let mut sorted: Vec<&SearchItem> = items.iter().collect();
    let value = |item: &SearchItem| item.weight * item.score;
    sorted.sort_by(|one, other| value(other).total_cmp(&value(one)));
    sorted.iter().map(|item| item.citation_id.clone()).collect()
}
