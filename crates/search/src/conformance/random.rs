//! Documents come, go and are replaced, parts are merged, and each search says what the plain model says.

use super::index_of;
use super::model::{IndexModel, Random, exact};
use ambit_storage::driver::Driver;
use std::collections::BTreeSet;
use std::sync::Arc;

const STEPS: usize = 400;

pub(super) async fn g200_random_changes_rank_as_the_plain_model_does(driver: Arc<dyn Driver>) {
    let mut random = Random(200);
    let mut model = IndexModel::new(index_of(&driver));
    for step in 0..STEPS {
        match random.below(10) {
            0..=5 => {
                let chunks = (0..=random.below(12)).map(|_| random.chunk()).collect();
                model.add(step, chunks).await;
            }
            6 | 7 if !model.documents.is_empty() => {
                let at = random.below(model.documents.len());
                let first = *model.documents.keys().nth(at).unwrap();
                model.remove(first).await;
            }
            8 => {
                // One step, so that a merge is under way while others change the index.
                model.index.keep_up().await.unwrap();
            }
            _ => compare(&mut random, &model).await,
        }
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
