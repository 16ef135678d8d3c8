//! Putting items in order once more: by the agent or tool that `uses.rerank` names, else by weight and score.

use super::searcher::SearchNode;
use super::{SearchItem, Searcher, answers};
use crate::uses::{UsesRequest, UsesTarget};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

/// How long whoever is asked may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Characters of a content that are sent.
const CONTENT: usize = 2_000;

impl Searcher {
    /// The first `top_n` items in their new order. Where whoever is asked gives none, all stay as they are. The items are
    /// numbered from 1 for whoever is asked, and have no ids afterwards.
    pub async fn rerank(
        &self,
        query: &str,
        items: Vec<SearchItem>,
        top_n: usize,
    ) -> Vec<SearchItem> {
        self.rerank_within(PATIENCE, query, items, top_n).await
    }

    /// The same for a search that has no more time than this.
    pub(super) async fn rerank_within(
        &self,
        left: Duration,
        query: &str,
        mut items: Vec<SearchItem>,
        top_n: usize,
    ) -> Vec<SearchItem> {
        if items.len() > 1 {
            let by = self.context.uses("rerank").unwrap_or("builtin");
            let input = json!({"by": by, "count": items.len()});
            let node = SearchNode::begin(&self.node, "rerank", input);
            for (number, item) in (1..).zip(&mut items) {
                item.citation_id = u32::to_string(&number);
            }
            let order = self.new_order(by, query, &items, top_n);
            let order = timeout(left.min(PATIENCE), order).await;
            match order.unwrap_or_else(|_| Err("timed out".to_owned())) {
                Ok(order) => items = answers::reorder(items, &order, top_n),
                Err(why) => node.warn(&format!("uses.rerank \"{by}\": {why}")),
            }
            items.iter_mut().for_each(|item| item.citation_id.clear());
            node.complete(json!({"count": items.len()}));
        }
        items
    }

    /// The ids of the items in their new order.
    async fn new_order(
        &self,
        by: &str,
        query: &str,
        items: &[SearchItem],
        top_n: usize,
    ) -> Result<Vec<String>, String> {
        let target = match UsesTarget::read(&self.app, by)? {
            UsesTarget::Disabled => return Ok(Vec::new()),
            UsesTarget::Builtin => return Ok(answers::by_weight(items)),
            target => target,
        };
        let shown: Vec<Value> = items.iter().map(shown).collect();
        let request = json!({"action": "rerank", "query": query, "items": shown, "top_n": top_n});
        let wanted = UsesRequest::of("rerank", request);
        let answer = self.asker.ask(&target, wanted).await;
        let answer = answer.map_err(|failure| failure.to_string())?;
        answers::order(&answer).map_err(|error| error.to_string())
    }
}

/// The item as it is sent: a part of its content, and no row.
fn shown(item: &SearchItem) -> Value {
    let mut item = item.clone();
    if let Some((end, _)) = item.content.char_indices().nth(CONTENT) {
        item.content.truncate(end);
    }
    let mut shown = json!(item);
    if let Some(members) = shown.as_object_mut() {
        members.remove("data");
    }
    shown
}
