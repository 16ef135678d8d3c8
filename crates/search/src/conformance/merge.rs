//! Merges while others write.

use super::erasure::{contents, has};
use super::index_of;
use super::model::{IndexModel, Random, counts, exact};
use crate::index::{MergeStep, SearchIndex};
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::Driver;
use ambit_storage::pattern::Pattern;
use std::sync::Arc;

/// Eight small documents whose merge has begun, and a step of it that is not committed yet.
async fn begun(driver: &Arc<dyn Driver>) -> (IndexModel, MergeStep) {
    let mut random = Random(77);
    let mut model = IndexModel::new(index_of(driver));
    for label in 0..8 {
        model
            .add(label, vec![random.chunk(), counts(&["canary"])])
            .await;
    }
    begin(&model.index).await;
    let change = model.index.change().await.unwrap();
    (model, change.merge_step().await.unwrap())
}

/// Begins a merge as that of large parts begins: with a commit of its own.
async fn begin(index: &SearchIndex) {
    let mut change = index.change().await.unwrap();
    assert!(change.manifest.begin_merge());
    change.commit().await.unwrap();
}

pub(super) async fn a_short_merge_is_one_commit(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    for label in 0..8 {
        model.add(label, vec![counts(&["w6", "canary"])]).await;
    }
    assert!(model.index.keep_up().await.unwrap());
    let after = model.index.snapshot().await.unwrap();
    let manifest = &after.manifest;
    assert_eq!((manifest.parts.len(), &manifest.merge), (1, &None));
    assert!(manifest.obsolete.is_empty() && manifest.parts[0].chunks == 8);
    assert!(!has(&contents(&driver).await, "page/1/"));
    assert!(!model.index.keep_up().await.unwrap());
    let query = exact(&["canary", "w6"]);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
}

pub(super) async fn a_merge_goes_on_while_others_write(driver: Arc<dyn Driver>) {
    let (mut model, step) = begun(&driver).await;
    model.add(8, vec![counts(&["w6", "later"])]).await;
    let first = model.documents[&16].range;
    let mut change = model.index.change().await.unwrap();
    change.hide(&first);
    change.show(&first);
    change.commit().await.unwrap();
    step.commit().await.unwrap();
    let snapshot = model.index.snapshot().await.unwrap();
    let parts = snapshot.manifest.parts.iter().map(|part| part.chunks);
    assert_eq!(parts.collect::<Vec<u32>>(), [16, 1]);
    model.keep_up().await;
    let query = exact(&["canary", "later", "w6", "w12"]);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
}

pub(super) async fn a_lost_page_is_an_error_and_not_tried_for_ever(driver: Arc<dyn Driver>) {
    let mut model = IndexModel::new(index_of(&driver));
    for label in 0..8 {
        model.add(label, vec![counts(&["w"])]).await;
    }
    begin(&model.index).await;
    let space = Space::settings("t");
    let pattern = Pattern::parse("page/1/*");
    let lost = Batch::of([BatchWrite::Wipe { space, pattern }]);
    driver.commit(lost).await.unwrap();
    // One node knows the directory from before, the other does not.
    let errors = [
        model.index.keep_up().await.unwrap_err(),
        index_of(&driver).keep_up().await.unwrap_err(),
        index_of(&driver).snapshot().await.err().unwrap(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}

pub(super) async fn g204_a_merge_brings_nothing_back(driver: Arc<dyn Driver>) {
    let (mut model, step) = begun(&driver).await;
    for first in [0, 2, 4, 6, 8, 10, 12] {
        model.remove(first).await;
    }
    let refused = step.commit().await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
    model.remove(14).await;
    assert!(!has(&contents(&driver).await, "canary"));
    model.keep_up().await;
    assert!(!has(&contents(&driver).await, "page/"));
}

pub(super) async fn a_merge_of_two_nodes_is_done_once(driver: Arc<dyn Driver>) {
    let (model, step) = begun(&driver).await;
    let other = model.index.change().await.unwrap();
    let other = other.merge_step().await.unwrap();
    step.commit().await.unwrap();
    let refused = other.commit().await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
    let query = exact(&["canary", "w6", "w12"]);
    assert_eq!(
        model.found(&query, None).await,
        model.expected(&query, None)
    );
}
