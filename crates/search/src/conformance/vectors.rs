//! Vectors come behind their chunks, are found beside words, and go with them.

use super::erasure::{contents, has};
use super::hybrid::{HybridModel, HybridQuery, LIMIT, space_of};
use super::index_of;
use super::model::{Random, counts, exact};
use crate::fusion::{RankRequest, VectorLimits, rank, rank_within};
use crate::index::{PageCache, SearchIndex};
use crate::ranking::ChunkWeight;
use crate::vectors::ChunkVector;
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::driver::Driver;
use std::collections::BTreeSet;
use std::sync::Arc;

/// So many changes are made at least, and one of so many of those of words: the plain model compares all vectors.
const LEAST: usize = 250;
const SHARE: usize = 4;
/// So many documents are there at once.
const DOCUMENTS: usize = 40;
const DIMENSION: u32 = 8;

fn query_of(random: &mut Random) -> HybridQuery {
    let words: Vec<String> = (0..random.below(6))
        .map(|_| format!("w{}", random.below(400)))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has_vector = random.below(4) > 0;
    HybridQuery {
        words: exact(&words),
        vector: has_vector.then(|| random.vector(DIMENSION)),
        threshold: [0.0, 0.5, 0.7, 0.9][random.below(4)],
    }
}

pub(super) fn nearest_to(vector: &[f32]) -> HybridQuery {
    HybridQuery {
        words: Vec::new(),
        vector: Some(vector.to_vec()),
        threshold: 0.0,
    }
}

pub(super) fn vector(chunk: u32, vector: &[f32]) -> ChunkVector {
    let vector = vector.to_vec();
    ChunkVector { chunk, vector }
}

async fn compare(random: &mut Random, model: &HybridModel) {
    let query = query_of(random);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
    let labels = model.model.documents.values().map(|it| it.label);
    let labels: BTreeSet<usize> = labels.filter(|_| random.below(5) == 0).collect();
    let found = model.found(&query, Some(&labels)).await;
    assert_eq!(found, model.expected(&query, Some(&labels)), "{labels:?}");
}

async fn change(random: &mut Random, model: &mut HybridModel, step: usize) {
    let count = model.model.documents.len();
    match random.below(12) {
        0..=3 if count < DOCUMENTS => {
            let chunks = (0..=random.below(20)).map(|_| random.chunk()).collect();
            model.model.add(step, chunks).await;
        }
        4..=6 => {
            let mut chunks = model.chunks();
            chunks.retain(|_| random.below(8) == 0);
            let vectors = chunks.iter().rev();
            let vectors = vectors.map(|chunk| vector(*chunk, &random.vector(DIMENSION)));
            let vectors = vectors.collect();
            model.embed(vectors).await;
        }
        0..=3 | 7 if count > 0 => {
            let at = random.below(count);
            let first = *model.model.documents.keys().nth(at).unwrap();
            model.remove(first).await;
        }
        8 => {
            model.model.index.keep_up().await.unwrap();
        }
        9 if count > 1 => {
            let chunks = model.chunks();
            let weight = ChunkWeight {
                weight: [0.0, 0.5, 1.0, 3.0, f64::NAN][random.below(5)],
                positive: random.below(5) as u64,
                negative: random.below(5) as u64,
            };
            let chunk = chunks[random.below(chunks.len())];
            model.weights.insert(chunk, weight);
        }
        _ => compare(random, model).await,
    }
}

pub(super) async fn g200_words_and_vectors_rank_as_the_plain_model_does(
    driver: Arc<dyn Driver>,
    changes: usize,
) {
    let mut random = Random(2000);
    let mut model = HybridModel::new(index_of(&driver), DIMENSION);
    for step in 0..(changes / SHARE).max(LEAST) {
        change(&mut random, &mut model, step).await;
    }
    model.model.keep_up().await;
    for _ in 0..40 {
        compare(&mut random, &model).await;
    }
    let first: Vec<u32> = model.model.documents.keys().copied().collect();
    for first in first {
        model.remove(first).await;
    }
    model.model.keep_up().await;
    let left = contents(&driver).await;
    assert!(!has(&left, "vectors/") && !has(&left, "page/"));
}

pub(super) async fn g200_vectors_rank_alike_whatever_the_order_of_writes(driver: Arc<dyn Driver>) {
    let mut rankings = Vec::new();
    for order in 0..3 {
        let space = Space::settings(&format!("t{order}"));
        let index = SearchIndex::new(driver.clone(), space, PageCache::new(1 << 20));
        let mut model = HybridModel::new(index, DIMENSION);
        let mut random = Random(20);
        let documents = (0..150).map(|label| (label, random.chunk(), random.vector(DIMENSION)));
        let mut documents: Vec<_> = documents.collect();
        let query = HybridQuery {
            words: exact(&["w6", "w12", "w30"]),
            vector: Some(random.vector(DIMENSION)),
            threshold: 0.0,
        };
        if order == 1 {
            documents.reverse();
        }
        for (label, chunk, numbers) in documents {
            model.model.add(label, vec![chunk]).await;
            let last = *model.model.documents.keys().next_back().unwrap();
            if order == 2 && label % 3 == 0 {
                model.embed(vec![vector(last, &[1.0; 8])]).await;
                let again = model.model.documents[&last].chunks.clone();
                model.remove(last).await;
                model.model.add(label, again).await;
            }
            let last = *model.model.documents.keys().next_back().unwrap();
            model.embed(vec![vector(last, &numbers)]).await;
        }
        rankings.push(model.found(&query, None).await);
    }
    assert_eq!(rankings[0].len(), LIMIT);
    assert!(rankings.iter().all(|it| *it == rankings[0]), "{rankings:?}");
}

pub(super) async fn g203_the_nearest_of_few_allowed_chunks_are_found(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    model.model.add(0, vec![counts(&["x"]); 600]).await;
    model.model.add(1, vec![counts(&["y"]); 12]).await;
    // Those that are allowed are the farthest of all.
    let angle = |chunk: u32| (f64::from(chunk) / 300.0) as f32;
    let vectors = (0..612).map(|chunk| vector(chunk, &[angle(chunk).cos(), angle(chunk).sin()]));
    let vectors = vectors.collect();
    model.embed(vectors).await;
    let query = nearest_to(&[1.0, 0.0]);
    let labels = BTreeSet::from([1]);
    let found = model.found(&query, Some(&labels)).await;
    let places: Vec<usize> = found.iter().map(|(_, place, _)| *place).collect();
    assert_eq!(places, (0..LIMIT).collect::<Vec<usize>>());
    assert_eq!(found, model.expected(&query, Some(&labels)));
    assert!(model.found(&query, None).await.iter().all(|it| it.0 == 0));
}

pub(super) async fn g204_no_byte_of_an_erased_vector_is_left(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 4);
    for label in 0..3 {
        model.model.add(label, vec![counts(&["w"]); 100]).await;
    }
    let canary = [1234.5, -0.25, 77.125, 3.5];
    let vectors = (0..300).map(|chunk| match chunk / 100 {
        1 => vector(chunk, &canary),
        _ => vector(chunk, &[1.0, 2.0, 3.0, chunk as f32]),
    });
    model.embed(vectors.collect()).await;
    let bytes: Vec<u8> = canary
        .iter()
        .flat_map(|it: &f32| it.to_le_bytes())
        .collect();
    let is_there = |contents: &[u8]| contents.windows(16).any(|it| it == bytes);
    assert!(is_there(&contents(&driver).await));
    let reader = index_of(&driver);
    model.remove(100).await;
    let left = contents(&driver).await;
    assert!(!is_there(&left));
    let (first, last) = ("of/00000064", "of/000000c7");
    assert!(!has(&left, first) && !has(&left, last) && has(&left, "of/000000c8"));
    let snapshot = reader.snapshot().await.unwrap();
    for chunk in [99, 100, 199, 200] {
        let vector = reader.vector_of_chunk(&snapshot, &model.space, chunk);
        let is_there = vector.await.unwrap().is_some();
        assert_eq!(is_there, !(100..200).contains(&chunk), "{chunk}");
    }
    let query = nearest_to(&canary);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
}

pub(super) async fn g205_vectors_of_two_embedding_spaces_never_meet(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    model.model.add(0, vec![counts(&["w"]); 4]).await;
    let old = [vector(0, &[1.0, 0.0]), vector(1, &[0.0, 1.0])];
    model.embed(old.to_vec()).await;
    let before = model.ranking(&nearest_to(&[1.0, 0.0]), None).await;
    let old = model.space.clone();
    for other in [space_of("other", 2), space_of("e", 3)] {
        let numbers = vec![1.0; other.dimension as usize];
        let mut change = model.model.index.change().await.unwrap();
        let vectors = [vector(2, &numbers), vector(3, &numbers)];
        change.add_vectors(&other, &vectors).await.unwrap();
        change.commit().await.unwrap();
        model.space = other;
        let found = model.ranking(&nearest_to(&numbers), None).await;
        let chunks: Vec<u32> = found.chunks.iter().map(|it| it.chunk).collect();
        assert_eq!(chunks, [2, 3]);
        model.space.clone_from(&old);
        assert_eq!(model.ranking(&nearest_to(&[1.0, 0.0]), None).await, before);
    }
    let mut change = model.model.index.change().await.unwrap();
    let wrong = change.add_vectors(&old, &[vector(2, &[1.0; 3])]).await;
    assert!(matches!(wrong, Err(Error::Invalid { .. })), "{wrong:?}");
}

pub(super) async fn g206_a_query_with_a_wrong_vector_is_answered_by_words(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    let chunks = vec![counts(&["w"]), counts(&["x"])];
    model.model.add(0, chunks).await;
    let vectors = vec![vector(0, &[1.0, 0.0]), vector(1, &[1.0, 0.0])];
    model.embed(vectors).await;
    let mut query = HybridQuery {
        words: exact(&["w"]),
        vector: None,
        threshold: 0.0,
    };
    let by_words = model.ranking(&query, None).await;
    for wrong in [vec![1.0], vec![f32::NAN, 1.0], vec![0.0, 0.0]] {
        query.vector = Some(wrong.clone());
        let answer = model.ranking(&query, None).await;
        assert_eq!(answer.chunks, by_words.chunks, "{wrong:?}");
        assert_eq!(answer.refused_vectors.len(), 1, "{wrong:?}");
    }
}

pub(super) async fn collections_reach_what_their_lists_allow(driver: Arc<dyn Driver>) {
    let mut with = HybridModel::new(index_of(&driver), 2);
    let space = Space::settings("without");
    let index = SearchIndex::new(driver.clone(), space, PageCache::new(1 << 20));
    let mut without = HybridModel::new(index, 2);
    with.model.add(0, vec![counts(&["w", "x"]); 2]).await;
    without.model.add(0, vec![counts(&["w"])]).await;
    with.embed(vec![vector(0, &[1.0, 0.0])]).await;
    let query = HybridQuery {
        words: exact(&["w"]),
        vector: Some(vec![2.0, 0.0]),
        threshold: 0.7,
    };
    let scopes = [
        with.scope(&query, None).await,
        without.scope(&query, None).await,
    ];
    let (limit, threshold) = (LIMIT, query.threshold);
    let ranking = rank(
        &scopes,
        &RankRequest {
            limit,
            threshold,
            nearest: None,
        },
    )
    .await
    .unwrap();
    let found = ranking
        .chunks
        .iter()
        .map(|it| (it.scope, it.chunk, it.score));
    // First in its only list; second and first of two; second in one of two.
    let expected = [
        (1, 0, 1.0),
        (0, 0, (1.0 / 62.0 + 1.0 / 61.0) / (2.0 / 61.0)),
        (0, 1, (1.0 / 62.0) / (2.0 / 61.0)),
    ];
    for (found, expected) in found.zip(expected) {
        assert_eq!((found.0, found.1), (expected.0, expected.1));
        assert!((found.2 - expected.2).abs() < 1e-9, "{found:?}");
    }
    let json = serde_json::to_value(ranking.chunks[2].ranking).unwrap();
    assert_eq!(
        (&json["words"]["rank"], json.get("vector")),
        (&2.into(), None)
    );
}

pub(super) async fn too_many_vectors_are_compared_where_words_are_found(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    model
        .model
        .add(0, vec![counts(&["far"]), counts(&["near"])])
        .await;
    let vectors = vec![vector(0, &[0.0, 1.0]), vector(1, &[1.0, 0.0])];
    model.embed(vectors).await;
    let query = HybridQuery {
        words: exact(&["far"]),
        vector: Some(vec![1.0, 0.0]),
        threshold: 0.0,
    };
    let scope = [model.scope(&query, None).await];
    let (limit, threshold) = (LIMIT, 0.0);
    let request = RankRequest {
        limit,
        threshold,
        nearest: None,
    };
    for (chunks, expected) in [(2, vec![0, 1]), (1, vec![0])] {
        let by_words = 1;
        let limits = VectorLimits { chunks, by_words };
        let ranking = rank_within(&scope, &request, limits).await.unwrap();
        let mut found: Vec<u32> = ranking.chunks.iter().map(|it| it.chunk).collect();
        found.sort_unstable();
        assert_eq!(
            (found, ranking.has_partial_vectors),
            (expected, chunks == 1)
        );
    }
}

pub(super) async fn g202_vectors_that_are_not_allowed_are_not_too_many(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    model.model.add(0, vec![counts(&["w"]); 3]).await;
    model.model.add(1, vec![counts(&["w"]); 3]).await;
    let theirs = (3..6).map(|chunk| vector(chunk, &[1.0, 0.0])).collect();
    let labels = BTreeSet::from([0]);
    let limits = VectorLimits {
        chunks: 1,
        by_words: 1,
    };
    let (limit, threshold) = (LIMIT, 0.0);
    let request = RankRequest {
        limit,
        threshold,
        nearest: None,
    };
    // Three chunks are allowed; none, one and two of them have a vector.
    let ours = |chunk: u32| vec![vector(chunk, &[0.0, 1.0])];
    for (vectors, is_partial) in [(theirs, false), (ours(0), false), (ours(1), true)] {
        model.embed(vectors).await;
        let scope = model.scope(&nearest_to(&[1.0, 0.0]), Some(&labels)).await;
        let ranking = rank_within(&[scope], &request, limits).await.unwrap();
        assert_eq!(ranking.has_partial_vectors, is_partial);
    }
}

pub(super) async fn vectors_of_chunks_far_apart_are_found(driver: Arc<dyn Driver>) {
    let mut model = HybridModel::new(index_of(&driver), 2);
    model.model.add(0, vec![counts(&["w"]); 40_000]).await;
    let chunks = [5, 127, 128, 32_767, 32_768, 39_999];
    let vectors = chunks.map(|chunk| vector(chunk, &[1.0, chunk as f32]));
    model.embed(vectors[3..].to_vec()).await;
    model.embed(vectors[..4].to_vec()).await;
    let ranking = model.ranking(&nearest_to(&[1.0, 0.0]), None).await;
    let found: Vec<u32> = ranking.chunks.iter().map(|it| it.chunk).collect();
    assert_eq!(found, chunks);
    let snapshot = model.model.index.snapshot().await.unwrap();
    let range = model.model.documents[&0].range;
    let index = &model.model.index;
    let without = index.chunks_without_vectors(&snapshot, &model.space, &range);
    let without: BTreeSet<u32> = without.await.unwrap().into_iter().collect();
    assert_eq!(without.len(), 40_000 - chunks.len());
    assert!(chunks.iter().all(|chunk| !without.contains(chunk)));
}
