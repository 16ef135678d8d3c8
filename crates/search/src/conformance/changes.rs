//! What a change has in its hands, and what its commit leaves in memory.

use super::hybrid::HybridModel;
use super::index_of;
use super::model::{Random, counts};
use super::vectors::{nearest_to, vector};
use crate::index::{CachedPage, PageCache, SearchIndex};
use crate::vectors::ChunkVector;
use ambit_storage::address::Space;
use ambit_storage::driver::Driver;
use std::sync::Arc;

pub(super) async fn vectors_of_a_change_are_seen_with_its_commit(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    model.model.add(0, vec![counts(&["w"]); 200]).await;
    let vectors = (0..200).map(|chunk| vector(chunk, &[1.0, chunk as f32]));
    let vectors: Vec<ChunkVector> = vectors.collect();
    model.embed(vectors[50..60].to_vec()).await;
    let query = nearest_to(&[1.0, 0.0]);
    // The page is in memory now.
    let before = model.found(&query, None).await;
    let mut change = model.model.index.change().await.unwrap();
    // To and fro between two pages, and some of them twice: the first one stays.
    for from in [150, 10, 140, 0, 55] {
        let mut some = vectors[from..from + 20].to_vec();
        some.push(vector(from as u32, &[1.0, -0.5]));
        change.add_vectors(&model.space, &some).await.unwrap();
        for vector in &vectors[from..from + 20] {
            let known = model.vectors.entry(vector.chunk);
            known.or_insert_with(|| vector.vector.clone());
        }
        assert_eq!(model.found(&query, None).await, before);
    }
    change.commit().await.unwrap();
    let found = model.found(&query, None).await;
    assert_ne!(found, before);
    assert_eq!(found, model.expected(&query, None));
}

pub(super) async fn what_a_commit_leaves_is_known_without_a_look(driver: Arc<dyn Driver>) {
    let (cache, space) = (PageCache::new(16 << 20), Space::settings("t"));
    let index = SearchIndex::new(driver.clone(), space.clone(), cache.clone());
    let mut model = HybridModel::new(index, 2);
    let mut random = Random(31);
    model.model.add(0, vec![counts(&["w"])]).await;
    model.embed(vec![vector(0, &[1.0, 2.0])]).await;
    let is_code = |page: CachedPage| matches!(page, CachedPage::Codes(_));
    assert!(cache.pages().into_iter().any(is_code));
    for step in 1..80 {
        match step % 8 {
            3 | 6 => {
                let chunks = model.chunks().into_iter().rev().take(step);
                let vectors = chunks.map(|chunk| vector(chunk, &random.vector(2)));
                let vectors = vectors.collect();
                model.embed(vectors).await;
            }
            4 => {
                let first = *model.model.documents.keys().next().unwrap();
                model.remove(first).await;
            }
            5 => {
                model.model.index.keep_up().await.unwrap();
            }
            _ => {
                let chunks = vec![random.chunk(), random.chunk()];
                model.model.add(step, chunks).await;
            }
        }
        let known = cache.snapshot(&space).unwrap();
        let read = index_of(&driver).snapshot().await.unwrap();
        assert_eq!(known, read, "step {step}");
    }
}
