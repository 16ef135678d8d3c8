//! The pages of what the web has found, in the place of what was cut out of them.

use super::{SearchItem, Searcher, answers};
use crate::uses::{UsesRequest, UsesTarget};
use crate::web_search::truncate;
use futures::{StreamExt, stream};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Pages that are fetched at once.
const AT_ONCE: usize = 8;
/// Bytes of a page.
const PAGE: usize = 8 << 10;
/// How long all of them may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Searcher {
    /// Puts the pages of the first items in the place of their contents, as far as they can be had in time.
    pub(super) async fn fetch_pages(&self, items: &mut [SearchItem], notes: &mut Vec<String>) {
        let most = self.settings.web.fetch.min(items.len());
        if most == 0 {
            return;
        }
        let by = self.context.uses("fetch").unwrap_or("builtin");
        let target = match UsesTarget::read(&self.app, by) {
            Ok(UsesTarget::Disabled) => return,
            Ok(target) => target,
            Err(why) => return notes.push(format!("uses.fetch: {why}")),
        };
        let until = Instant::now() + PATIENCE.min(self.settings.options.timeout / 2);
        let urls = items[..most].iter().map(|item| item.url.clone());
        let pages: Vec<_> = urls.map(|url| self.page(&target, url, until)).collect();
        let pages = stream::iter(pages).buffered(AT_ONCE);
        let pages: Vec<Result<String, String>> = pages.collect().await;
        for (item, page) in items.iter_mut().zip(pages) {
            match page {
                Ok(page) if page.is_empty() => {}
                Ok(page) => item.content = page,
                Err(why) => notes.push(format!("{} was not fetched: {why}", item.url)),
            }
        }
    }

    async fn page(&self, by: &UsesTarget, url: String, until: Instant) -> Result<String, String> {
        if url.is_empty() {
            return Ok(url);
        }
        let wanted = UsesRequest::of("fetch", json!({"url": url}));
        let answer = timeout_at(until, self.asker.ask(by, wanted)).await;
        let answer = answer
            .map_err(|_| "timed out".to_owned())?
            .map_err(|failure| failure.to_string())?;
        let page = answers::fetched(&answer);
        let mut page = page.map_err(|error| error.to_string())?;
        truncate(&mut page, PAGE);
        Ok(page)
    }
}
