//! Documents come, go and are replaced, parts are merged, and each search says what the plain model says.

use super::index_of;
use super::model::{IndexModel, Random, exact};
use ambit_storage::driver::Driver;
use std::collections::BTreeSet;
use std::sync::Arc;

/// So many documents are there at once: the plain model looks at each for each query.
const DOCUMENTS: usize = 100;

pub(super) async fn g200_random_changes_rank_as_the_plain_model_does(
    driver: Arc<dyn Driver>,
    changes: usize,
) {
    let mut random = Random(200);
    let mut model = IndexModel::new(index_of(&driver));
    for step in 0..changes {
        change(&mut random, &mut model, step).await;
    }
    model.keep_up().await;
    for _ in 0..50 {
        compare(&mut random, &model).await;
    }
    let manifest = model.index.snapshot().await.unwrap().manifest.clone();
    let chunks: usize = model.documents.values().map(|it| it.chunks.len()).sum();
    assert_eq!(manifest.totals.chunks as usize, chunks);
    assert!(manifest.parts.len() < 40 && manifest.obsolete.is_empty());
}

async fn change(random: &mut Random, model: &mut IndexModel, step: usize) {
    let count = model.documents.len();
    match random.below(10) {
        0..=3 if count < DOCUMENTS => add(random, model, step).await,
        0..=5 if count > 0 => {
            let label = remove(random, model).await;
            add(random, model, label).await;
        }
        6 | 7 if count > 0 => {
            remove(random, model).await;
        }
        8 => {
            // One step, so that a merge is under way while others change the index.
            model.index.keep_up().await.unwrap();
        }
        _ => compare(random, model).await,
    }
}

async fn add(random: &mut Random, model: &mut IndexModel, label: usize) {
    let chunks = (0..=random.below(12)).map(|_| random.chunk()).collect();
    model.add(label, chunks).await;
}

/// Removes one of the documents; its label.
async fn remove(random: &mut Random, model: &mut IndexModel) -> usize {
    let at = random.below(model.documents.len());
    let (first, document) = model.documents.iter().nth(at).unwrap();
    let (first, label) = (*first, document.label);
    model.remove(first).await;
    label
}

async fn compare(random: &mut Random, model: &IndexModel) {
    let words: Vec<String> = (0..=random.below(8))
        .map(|_| format!("w{}", random.below(400)))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let query = exact(&words);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None),
        "{words:?}"
    );
    let labels = model.documents.values().map(|it| it.label);
    let labels: BTreeSet<usize> = labels.filter(|_| random.below(5) == 0).collect();
    let found = model.found(&query, Some(&labels)).await;
    assert_eq!(
        found,
        model.expected(&query, Some(&labels)),
        "{words:?} in {labels:?}"
    );
}
