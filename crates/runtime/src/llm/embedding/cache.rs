//! Vectors of queries, kept for a while in the node's memory.

use crate::lock::lock;
use indexmap::IndexMap;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes of all vectors together.
const BYTES: usize = 16 << 20;
/// What an entry takes beside its vector.
const ENTRY: usize = 128;

/// What a vector is found by. It does not give the query away.
pub type EmbeddingDigest = [u8; 32];

/// Vectors by their digests, the oldest first.
#[derive(Default)]
pub struct EmbeddingCache(Mutex<CachedVectors>);

#[derive(Default)]
struct CachedVectors {
    vectors: IndexMap<EmbeddingDigest, CachedVector>,
    bytes: usize,
}

struct CachedVector {
    vector: Arc<[f32]>,
    until: Instant,
}

/// The digest of all that a vector depends on.
pub fn digest(parts: &Value) -> EmbeddingDigest {
    Sha256::digest(parts.to_string()).into()
}

impl EmbeddingCache {
    /// A vector that is not too old.
    pub fn get(&self, digest: &EmbeddingDigest) -> Option<Arc<[f32]>> {
        let cached = lock(&self.0);
        let found = cached.vectors.get(digest);
        let found = found.filter(|cached| Instant::now() < cached.until)?;
        Some(found.vector.clone())
    }

    /// Keeps a vector. The oldest ones go where there are too many, and those whose time is over: all live equally long.
    pub fn put(&self, digest: EmbeddingDigest, vector: Arc<[f32]>, life: Duration) {
        let now = Instant::now();
        let mut cached = lock(&self.0);
        cached.remove(&digest);
        cached.bytes += size(&vector);
        let until = now + life;
        cached
            .vectors
            .insert(digest, CachedVector { vector, until });
        while let Some((oldest, entry)) = cached.vectors.get_index(0)
            && (cached.bytes > BYTES || entry.until <= now)
        {
            let oldest = *oldest;
            cached.remove(&oldest);
        }
    }
}

impl CachedVectors {
    fn remove(&mut self, digest: &EmbeddingDigest) {
        if let Some(cached) = self.vectors.shift_remove(digest) {
            self.bytes -= size(&cached.vector);
        }
    }
}

fn size(vector: &[f32]) -> usize {
    ENTRY + size_of_val(vector)
}

#[cfg(test)]
mod tests {
    use super::EmbeddingCache;
    use std::sync::Arc;
    use std::time::Duration;

    const LIFE: Duration = Duration::from_secs(600);

    fn vector(length: usize) -> Arc<[f32]> {
        vec![1.0; length].into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_vector_is_kept_for_its_time() {
        let cache = EmbeddingCache::default();
        cache.put([1; 32], vector(3), LIFE);
        tokio::time::advance(LIFE - Duration::from_secs(1)).await;
        assert_eq!(cache.get(&[1; 32]), Some(vector(3)));
        assert_eq!(cache.get(&[2; 32]), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.get(&[1; 32]), None);
    }

    #[tokio::test]
    async fn the_oldest_vectors_go_when_there_is_no_room() {
        let cache = EmbeddingCache::default();
        for name in 1..=4 {
            cache.put([name; 32], vector(5 << 18), LIFE);
        }
        let kept = (1..=4).filter(|name| cache.get(&[*name; 32]).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [2, 3, 4]);
        cache.put([5; 32], vector(17 << 18), LIFE);
        assert_eq!(cache.get(&[5; 32]), None);
    }
}
