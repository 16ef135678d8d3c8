//! What is erased is gone from every value and every name.

use super::index_of;
use super::model::{IndexModel, ModelDocument, Random, counts, exact};
use crate::allowed::AllowedChunks;
use crate::index::{CachedPage, ChunkErasure, PageCache, SearchIndex};
use crate::ranking::{SearchScope, rank_words};
use crate::terms::TermCounts;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, Json};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::sync::Arc;

/// All that the index has, names and pages, as bytes.
pub(super) async fn contents(driver: &Arc<dyn Driver>) -> Vec<u8> {
    let space = Space::settings("t");
    let mut pages = ValuePages::of(driver.as_ref(), &space, Pattern::all(), ValuePart::Whole);
    let mut bytes = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        for (name, entry) in page {
            bytes.extend(name.into_bytes());
            let text = entry.value.as_str();
            match STANDARD_NO_PAD.decode(text.trim_matches('"')) {
                Ok(page) => bytes.extend(page),
                Err(_) => bytes.extend(text.bytes()),
            }
        }
    }
    bytes
}

pub(super) fn has(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// A document with a term that sorts before, among and behind all others: first on a page, in it, and last.
fn canary() -> Vec<TermCounts> {
    vec![counts(&["a-canary", "w1", "wcanary", "zz-canary"]); 2]
}

pub(super) async fn g204_nothing_of_what_was_erased_is_left(driver: Arc<dyn Driver>) {
    let mut random = Random(204);
    let mut model = IndexModel::new(index_of(&driver));
    for round in 0..12 {
        let mut erased = Vec::new();
        for label in 0..10 {
            let chunks = (0..4).map(|_| random.chunk()).collect();
            model.add(label, chunks).await;
            if label == random.below(10) {
                model.add(1000, canary()).await;
                erased.push(*model.documents.keys().next_back().unwrap());
            }
            // A merge may be at any of its steps when something is erased.
            for _ in 0..random.below(3) {
                model.index.keep_up().await.unwrap();
            }
        }
        let before = contents(&driver).await;
        assert_eq!(has(&before, "canary"), !erased.is_empty(), "round {round}");
        for first in erased {
            model.remove(first).await;
        }
        assert!(!has(&contents(&driver).await, "canary"), "round {round}");
    }
    let labels: Vec<u32> = model.documents.keys().copied().collect();
    for first in labels {
        model.remove(first).await;
    }
    model.keep_up().await;
    let left = contents(&driver).await;
    assert!(!has(&left, "page/"), "{}", String::from_utf8_lossy(&left));
}

pub(super) async fn g204_erasing_goes_on_where_it_was_left(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    // More pages than one step rewrites: terms of a page each.
    let terms: Vec<String> = (0..400)
        .map(|at| format!("{at:03}{}", "x".repeat(120)))
        .collect();
    let others: Vec<TermCounts> = (0..2_000)
        .map(|at| counts(&[terms[at % 400].as_str(), "w1"]))
        .collect();
    model.add(1, others).await;
    let all: Vec<&str> = terms.iter().map(String::as_str).collect();
    model.add(2, vec![counts(&all), counts(&["canary"])]).await;
    model.keep_up().await;
    let first = *model.documents.keys().next_back().unwrap();
    let erasure = model.documents[&first].erasure();
    // Somebody who began before and stopped behind the first commit.
    let mut change = model.index.change().await.unwrap();
    change.hide(&erasure.ranges[0]);
    change.commit().await.unwrap();
    model.remove(first).await;
    assert!(!has(&contents(&driver).await, "canary"));
    let totals = model.index.snapshot().await.unwrap().manifest.totals;
    assert_eq!(totals.chunks, 2_000);
}

pub(super) async fn g204_chunks_are_erased_together_by_number_alone(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    let mut random = Random(7);
    for label in 0..40 {
        let chunks = (0..4).map(|_| random.chunk()).collect();
        model.add(label, chunks).await;
        if label % 3 == 0 {
            model.add(1000 + label, canary()).await;
        }
    }
    model.keep_up().await;
    let gone = model
        .documents
        .extract_if(.., |_, document| document.label >= 1000);
    let gone: Vec<ModelDocument> = gone.map(|(_, document)| document).collect();
    for document in &gone {
        model.hide(document).await;
    }
    let erasure = ChunkErasure {
        ranges: gone.iter().map(|document| document.range).collect(),
        terms: None,
    };
    for _ in 0..2 {
        let erased = model.index.erase(&erasure, &Batch::default()).await;
        erased.unwrap();
    }
    assert!(!has(&contents(&driver).await, "canary"));
    let manifest = model.index.snapshot().await.unwrap().manifest.clone();
    assert_eq!((manifest.totals.chunks, manifest.hidden.len()), (160, 0));
    let query = exact(&["w1", "w2", "w4", "w6", "w12"]);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
}

pub(super) async fn g204_erasing_again_takes_nothing_of_others(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    let mut random = Random(1);
    for label in 0..8 {
        let chunks = (0..4).map(|_| random.chunk()).collect();
        model.add(label, chunks).await;
    }
    model.keep_up().await;
    let erasure = model.documents[&0].erasure();
    model.remove(0).await;
    for _ in 0..8 {
        let again = model.index.erase(&erasure, &Batch::default()).await;
        again.unwrap();
    }
    model.keep_up().await;
    let manifest = model.index.snapshot().await.unwrap().manifest.clone();
    assert_eq!((manifest.totals.chunks, manifest.parts[0].chunks), (28, 28));
    let query = exact(&["w1", "w2", "w4", "w6", "w12"]);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
}

pub(super) async fn g204_erased_chunks_that_are_hidden_again_are_named(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    model.add(0, canary()).await;
    model.add(1, canary()).await;
    let document = model.documents.remove(&0).unwrap();
    let erasure = document.erasure();
    model.hide(&document).await;
    model
        .index
        .erase(&erasure, &Batch::default())
        .await
        .unwrap();
    model.hide(&document).await;
    let again = model.index.erase(&erasure, &Batch::default()).await;
    assert!(matches!(again, Err(Error::Corrupt { .. })), "{again:?}");
    let totals = model.index.snapshot().await.unwrap().manifest.totals;
    assert_eq!(totals.chunks, 2);
}

pub(super) async fn g204_an_erasure_goes_on_while_others_write(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    for label in 0..7 {
        model.add(label, canary()).await;
    }
    for (first, has_merge) in [(0, false), (2, true)] {
        let document = model.documents.remove(&first).unwrap();
        let erasure = document.erasure();
        model.hide(&document).await;
        let change = model.index.change().await.unwrap();
        let step = change.erasure_step(&erasure).await.unwrap();
        model.add(7, vec![counts(&["w1"])]).await;
        if has_merge {
            // Now the chunks are on other pages too.
            model.keep_up().await;
        }
        let done = step.commit(&Batch::default()).await;
        assert_eq!(done.is_err(), has_merge, "{done:?}");
        model
            .index
            .erase(&erasure, &Batch::default())
            .await
            .unwrap();
        let query = exact(&["a-canary", "w1"]);
        assert_eq!(
            model.found(&query, None).await,
            model.expected(&query, None)
        );
    }
    let totals = model.index.snapshot().await.unwrap().manifest.totals;
    assert_eq!(totals.chunks, 12);
}

/// Whether a term with this in it is in memory.
fn is_cached(cache: &PageCache, text: &str) -> bool {
    let has_it = |page: CachedPage| {
        let CachedPage::Postings(page) = page else {
            return false;
        };
        let mut terms = page.terms();
        std::iter::from_fn(|| terms.next_term().map(|(term, _)| term.contains(text))).any(|it| it)
    };
    cache.pages().into_iter().any(has_it)
}

pub(super) async fn g204_what_is_in_memory_is_erased_too(driver: Arc<dyn Driver>) {
    let (cache, space) = (PageCache::new(64 << 20), Space::settings("t"));
    let mut model = IndexModel::new(SearchIndex::new(
        driver.clone(),
        space.clone(),
        cache.clone(),
    ));
    // So many terms that a merge takes several steps, and those of the canary are on all pages.
    for label in 0..8 {
        let (name, terms) = if label < 7 {
            ("canary", 6_000)
        } else {
            ("other", 10)
        };
        let term = |at: usize| (format!("{at:04}-{label}-{}", name.repeat(9)), 1);
        model.add(label, vec![(0..terms).map(term).collect()]).await;
    }
    for _ in 0..2 {
        assert!(model.index.keep_up().await.unwrap());
    }
    let before = model.index.snapshot().await.unwrap();
    let after = before.manifest.merge.as_ref().unwrap().after.clone();
    assert!(after.unwrap().term.contains("canary") && is_cached(&cache, "canary"));
    for first in 0..7 {
        model.remove(first).await;
    }
    assert!(!has(&contents(&driver).await, "canary"));
    assert!(!is_cached(&cache, "canary") && is_cached(&cache, "other"));
    // Somebody who has read it before comes late.
    cache.keep_snapshot(&space, &before);
    let canary = format!("0000-0-{}", "canary".repeat(9));
    let found = found_by(&model.index, &canary).await;
    assert!(found == 0 && !is_cached(&cache, "canary"));
    let now = cache.snapshot(&space).unwrap();
    assert!(now.manifest.hidden.is_empty() && now.manifest.totals.chunks == 1);
}

pub(super) async fn g204_what_stands_beside_an_erasure_keeps_its_conditions(
    driver: Arc<dyn Driver>,
) {
    let mut model = IndexModel::new(index_of(&driver));
    model.add(0, canary()).await;
    let document = model.documents.remove(&0).unwrap();
    model.hide(&document).await;
    let record = Space::settings("t").key("record");
    let set = Operation::Set(Json::of("theirs").unwrap().into());
    let theirs = Batch::of([BatchWrite::apply(record.clone(), set, None)]);
    driver.commit(theirs).await.unwrap();
    let delete = BatchWrite::apply(record.clone(), Operation::Del, None);
    let ours = Batch::of([delete]).checking(BatchCheck::version(record.clone(), None));
    let refused = model.index.erase(&document.erasure(), &ours).await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
    let kept = driver
        .get(&record, ValuePart::Whole)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.value.as_str(), "\"theirs\"");
}

pub(super) async fn g204_an_index_that_was_removed_is_begun_as_another_one(
    driver: Arc<dyn Driver>,
) {
    let index = index_of(&driver);
    index.snapshot().await.unwrap();
    let first = index.change().await.unwrap();
    let incarnation = first.manifest.incarnation;
    first.commit().await.unwrap();
    let space = Space::settings("t");
    let removed = Batch::of([BatchWrite::Remove { space }]);
    driver.commit(removed).await.unwrap();
    let second = index.change().await.unwrap();
    assert_ne!(second.manifest.incarnation, incarnation);
}

pub(super) async fn g204_an_index_made_anew_shows_nothing_of_the_one_before(
    driver: Arc<dyn Driver>,
) {
    let (mut model, other) = (IndexModel::new(index_of(&driver)), index_of(&driver));
    model.add(0, canary()).await;
    let old = IndexModel::new(other.clone());
    assert_eq!(found_by(&other, "zz-canary").await, 2);
    let clear = BatchWrite::Clear {
        space: Space::settings("t"),
    };
    driver.commit(Batch::of([clear])).await.unwrap();
    let mut anew = IndexModel::new(index_of(&driver));
    anew.add(1, vec![counts(&["w1"])]).await;
    assert_eq!(found_by(&old.index, "zz-canary").await, 0);
    assert_eq!(found_by(&old.index, "w1").await, 1);
}

async fn found_by(index: &SearchIndex, term: &str) -> usize {
    let snapshot = index.snapshot().await.unwrap();
    let allowed = AllowedChunks::all(&snapshot.manifest);
    let (index, query) = (index.clone(), exact(&[term]));
    let scope = SearchScope::of_words(index, snapshot, query, allowed);
    rank_words(&[scope], 10).await.unwrap().chunks.len()
}
