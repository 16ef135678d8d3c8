//! What a ranking depends on, and what not.

use super::index_of;
use super::model::{IndexModel, Random, counts, exact};
use crate::allowed::AllowedChunks;
use crate::ranking::{SearchScope, rank_words};
use crate::terms::{ChunkTerms, QueryTerm, TermCounts};
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::driver::Driver;
use std::collections::BTreeSet;
use std::sync::Arc;

fn documents() -> Vec<Vec<TermCounts>> {
    let mut random = Random(7);
    let document = |random: &mut Random| (0..3).map(|_| random.chunk()).collect();
    (0..60).map(|_| document(&mut random)).collect()
}

pub(super) async fn g200_one_ranking_whatever_the_order_of_writes(driver: Arc<dyn Driver>) {
    let query = exact(&["w6", "w12", "w30", "w77", "w240"]);
    let mut rankings = Vec::new();
    for order in 0..3 {
        let cache = crate::index::PageCache::new(1 << 20);
        let space = Space::settings(&format!("t{order}"));
        let index = crate::index::SearchIndex::new(driver.clone(), space, cache);
        let mut model = IndexModel::new(index);
        let mut all: Vec<_> = documents().into_iter().enumerate().collect();
        if order == 1 {
            all.reverse();
        }
        for (label, chunks) in all {
            if order == 2 && label % 3 == 0 {
                // Replaced: other content first.
                model.add(1000, chunks[..1].to_vec()).await;
                let first = *model.documents.keys().next_back().unwrap();
                model.remove(first).await;
            }
            model.add(label, chunks).await;
            if order == 2 {
                model.keep_up().await;
            }
        }
        rankings.push(model.found(&query, None).await);
    }
    assert_eq!(rankings[0].len(), 10);
    assert!(
        rankings.iter().all(|ranking| *ranking == rankings[0]),
        "{rankings:?}"
    );
}

pub(super) async fn g202_what_is_not_allowed_changes_no_score(driver: Arc<dyn Driver>) {
    let query = exact(&["w6", "w12", "w30"]);
    let (mut alone, mut among) = (
        IndexModel::new(index_of(&driver)),
        IndexModel::new(crate::index::SearchIndex::new(
            driver.clone(),
            Space::settings("other"),
            crate::index::PageCache::new(1 << 20),
        )),
    );
    let allowed: BTreeSet<usize> = (0..60).filter(|label| label % 10 == 3).collect();
    for (label, chunks) in documents().into_iter().enumerate() {
        if allowed.contains(&label) {
            alone.add(label, chunks.clone()).await;
        }
        among.add(label, chunks).await;
    }
    let found = among.found(&query, Some(&allowed)).await;
    assert!(!found.is_empty());
    assert_eq!(found, alone.found(&query, None).await);
}

pub(super) async fn g203_as_many_as_are_wanted_are_found_however_few_are_allowed(
    driver: Arc<dyn Driver>,
) {
    let mut model = IndexModel::new(index_of(&driver));
    // Those that are allowed are the longest, and so the last of all.
    for label in 0..300 {
        let words = if label % 25 == 7 { 40 } else { 1 };
        let terms: Vec<String> = (0..words).map(|at| format!("x{label}-{at}")).collect();
        let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
        terms.push("everywhere");
        model.add(label, vec![counts(&terms)]).await;
    }
    model.keep_up().await;
    let query = exact(&["everywhere"]);
    let allowed: BTreeSet<usize> = (0..300).filter(|label| label % 25 == 7).collect();
    let all = model.found(&query, None).await;
    assert!(all.iter().all(|(label, ..)| !allowed.contains(label)));
    let found = model.found(&query, Some(&allowed)).await;
    assert_eq!((allowed.len(), found.len()), (12, 10));
    assert!(found.iter().all(|(label, ..)| allowed.contains(label)));
}

pub(super) async fn a_term_that_is_only_begun_finds_the_first_64(driver: Arc<dyn Driver>) {
    let index = index_of(&driver);
    for at in 0..100 {
        let mut change = index.change().await.unwrap();
        let term = format!("pre{at:02}");
        let chunk = ChunkTerms::of(&[counts(&[term.as_str()])]);
        let added = change.add(&chunk).unwrap();
        if at == 0 {
            change.hide(&added);
        }
        change.commit().await.unwrap();
    }
    while index.keep_up().await.unwrap() {}
    let snapshot = index.snapshot().await.unwrap();
    let allowed = AllowedChunks::all(&snapshot.manifest);
    let query = vec![QueryTerm::Prefix("pre".to_owned())];
    let scope = SearchScope::of_words(index, snapshot, query, allowed);
    let ranking = rank_words(&[scope], 100).await.unwrap();
    // The rarest 32 of the first 64 that may be found; what is hidden does not count.
    let mut chunks: Vec<u32> = ranking.chunks.iter().map(|it| it.chunk).collect();
    chunks.sort_unstable();
    assert_eq!(chunks, (1..=32).collect::<Vec<u32>>());
}

pub(super) async fn a_term_that_is_only_begun_reads_few_pages(driver: Arc<dyn Driver>) {
    let cache = crate::index::PageCache::new(16 << 20);
    let index = crate::index::SearchIndex::new(driver, Space::settings("t"), cache.clone());
    for part in 0..3 {
        let term = |at: usize| (format!("p{at:05}-{part}"), 1);
        let mut change = index.change().await.unwrap();
        let terms = (0..20_000).map(term).collect();
        change.add(&ChunkTerms::of(&[terms])).unwrap();
        change.commit().await.unwrap();
    }
    let snapshot = index.snapshot().await.unwrap();
    let allowed = AllowedChunks::all(&snapshot.manifest);
    let query = [QueryTerm::Prefix("p".to_owned())];
    let found = index.find(&snapshot, &query, &allowed).await.unwrap();
    let found = found.iter().take(64).map(|it| it.term.clone());
    let first = (0..22).flat_map(|at| (0..3).map(move |part| format!("p{at:05}-{part}")));
    assert!(found.eq(first.take(64)));
    let pages: u32 = snapshot.manifest.parts.iter().map(|part| part.pages).sum();
    let read = cache.pages().len();
    assert!(pages > 40 && read <= 16, "{read} of {pages}");
}

pub(super) async fn a_word_that_another_begins_counts_as_itself(driver: Arc<dyn Driver>) {
    let index = index_of(&driver);
    let mut change = index.change().await.unwrap();
    for at in 0..79 {
        let term = format!("p{at:02}");
        let chunk = counts(&[term.as_str()]);
        let chunks = ChunkTerms::of(&[chunk.clone(), chunk]);
        change.add(&chunks).unwrap();
    }
    let last = ChunkTerms::of(&[counts(&["p79"])]);
    let last = change.add(&last).unwrap();
    change.commit().await.unwrap();
    let snapshot = index.snapshot().await.unwrap();
    let allowed = AllowedChunks::all(&snapshot.manifest);
    let exact = QueryTerm::Exact("p79".to_owned());
    let query = vec![QueryTerm::Prefix("p".to_owned()), exact];
    let scope = SearchScope::of_words(index, snapshot, query, allowed);
    let ranking = rank_words(&[scope], 1).await.unwrap();
    // Behind the first 64, and the rarest of all.
    assert_eq!(ranking.chunks[0].chunk, last.first);
}

pub(super) async fn a_change_that_meets_another_is_refused(driver: Arc<dyn Driver>) {
    let index = index_of(&driver);
    let mut one = index.change().await.unwrap();
    let mut other = index.change().await.unwrap();
    for (change, term) in [(&mut one, "one"), (&mut other, "other")] {
        change.add(&ChunkTerms::of(&[counts(&[term])])).unwrap();
    }
    one.commit().await.unwrap();
    let refused = other.commit().await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    assert_eq!(found(&index, &["one", "other"]).await, [0]);
}

async fn found(index: &crate::index::SearchIndex, terms: &[&str]) -> Vec<u32> {
    let snapshot = index.snapshot().await.unwrap();
    let allowed = AllowedChunks::all(&snapshot.manifest);
    let index = index.clone();
    let query = exact(terms);
    let scope = SearchScope::of_words(index, snapshot, query, allowed);
    let ranking = rank_words(&[scope], 10).await.unwrap();
    let mut chunks: Vec<u32> = ranking.chunks.iter().map(|it| it.chunk).collect();
    chunks.sort_unstable();
    chunks
}
