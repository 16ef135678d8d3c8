//! Answers of the web, kept for a while in the node's memory.

use super::WebAnswer;
use crate::lock::lock;
use indexmap::IndexMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// Bytes of all answers together.
const BYTES: usize = 16 << 20;

/// What an answer is found by: the digest of the tenant, the settings, the key and the query. It gives none of them away.
pub type AnswerDigest = [u8; 32];

/// Answers by their digests, the oldest first.
#[derive(Default)]
pub struct WebAnswerCache(Mutex<IndexMap<AnswerDigest, CachedAnswer>>);

struct CachedAnswer {
    answer: WebAnswer,
    until: Instant,
    size: usize,
}

impl WebAnswerCache {
    /// An answer that is not too old.
    pub fn get(&self, digest: &AnswerDigest) -> Option<WebAnswer> {
        let answers = lock(&self.0);
        let cached = answers.get(digest);
        let cached = cached.filter(|cached| Instant::now() < cached.until)?;
        Some(cached.answer.clone())
    }

    /// Keeps an answer. The oldest ones go where there are too many.
    pub fn put(&self, digest: AnswerDigest, answer: &WebAnswer, time: Duration) {
        let now = Instant::now();
        let Some(until) = now.checked_add(time) else {
            return;
        };
        let cached = CachedAnswer {
            answer: answer.clone(),
            until,
            size: size(answer),
        };
        let mut answers = lock(&self.0);
        answers.shift_remove(&digest);
        answers.retain(|_, cached| now < cached.until);
        answers.insert(digest, cached);
        let mut bytes: usize = answers.values().map(|cached| cached.size).sum();
        while bytes > BYTES
            && let Some((_, oldest)) = answers.shift_remove_index(0)
        {
            bytes -= oldest.size;
        }
    }
}

/// Bytes of an answer, with what a result takes beside its texts.
fn size(answer: &WebAnswer) -> usize {
    let items = answer.items.iter();
    let items = items.map(|item| {
        let date = item.metadata.date.as_ref().map_or(0, String::len);
        256 + item.title.len() + item.url.len() + item.content.len() + date
    });
    let notes = answer.notes.iter().map(|note| 32 + note.len());
    128 + items.chain(notes).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{WebAnswer, WebAnswerCache};
    use crate::web_search::WebItem;
    use std::time::Duration;

    fn answer(bytes: usize) -> WebAnswer {
        WebAnswer {
            items: vec![WebItem {
                content: "x".repeat(bytes),
                ..WebItem::default()
            }],
            ..WebAnswer::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_its_time() {
        let cache = WebAnswerCache::default();
        cache.put([1; 32], &answer(1), Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(cache.get(&[1; 32]), Some(answer(1)));
        assert_eq!(cache.get(&[2; 32]), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.get(&[1; 32]), None);
    }

    #[tokio::test]
    async fn the_oldest_answers_go_when_there_is_no_room() {
        let cache = WebAnswerCache::default();
        for name in 1..=4 {
            cache.put([name; 32], &answer(5 << 20), Duration::from_secs(60));
        }
        let kept = (1..=4).filter(|name| cache.get(&[*name; 32]).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [2, 3, 4]);
        cache.put([5; 32], &answer(17 << 20), Duration::from_secs(60));
        assert_eq!(cache.get(&[5; 32]), None);
        let mut dated = answer(1);
        dated.items[0].metadata.date = Some("x".repeat(17 << 20));
        cache.put([6; 32], &dated, Duration::from_secs(60));
        assert_eq!(cache.get(&[6; 32]), None);
    }
}
