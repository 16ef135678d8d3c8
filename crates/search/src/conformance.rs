//! The suite that an index passes on every driver, yours too: run every [`CASES`] on a fresh store, with [`RANDOM_CHANGES`]. A case
//! fails by panicking.
//!
//! Names that begin with `g` and three digits prove the guarantee of that number.

#![expect(clippy::unwrap_used, reason = "a case fails by panicking")]

mod changes;
mod erasure;
mod hybrid;
mod merge;
mod model;
mod order;
mod quality;
mod random;
mod recorded_vectors;
mod vectors;

use crate::index::PageCache;
use crate::index::SearchIndex;
use ambit_storage::address::Space;
use ambit_storage::driver::Driver;
use futures::future::BoxFuture;
use std::sync::Arc;

/// One behaviour that an index has on every driver.
pub struct IndexCase {
    /// The behaviour, as a sentence.
    pub name: &'static str,
    /// Proves it on a fresh store, or panics. The number is that of the random changes of the cases that make such.
    pub run: fn(Arc<dyn Driver>, usize) -> BoxFuture<'static, ()>,
}

/// So many random changes are promised to rank as the plain model does.
pub const RANDOM_CHANGES: usize = 10_000;

/// A table of cases, each named like the function that it runs; those behind `random` take the number of changes.
macro_rules! cases {
    ($($module:ident::$name:ident),* ; random $($of:ident::$random:ident),* $(,)?) => {
        &[
            $(IndexCase {
                name: stringify!($name),
                run: |driver, _| Box::pin($module::$name(driver)),
            },)*
            $(IndexCase {
                name: stringify!($random),
                run: |driver, changes| Box::pin($of::$random(driver, changes)),
            },)*
        ]
    };
}

/// The suite.
pub const CASES: &[IndexCase] = cases![
    erasure::g204_nothing_of_what_was_erased_is_left,
    erasure::g204_erasing_goes_on_where_it_was_left,
    erasure::g204_chunks_are_erased_together_by_number_alone,
    erasure::g204_erasing_again_takes_nothing_of_others,
    erasure::g204_erased_chunks_that_are_hidden_again_are_named,
    erasure::g204_an_erasure_goes_on_while_others_write,
    erasure::g204_what_is_in_memory_is_erased_too,
    erasure::g204_what_stands_beside_an_erasure_keeps_its_conditions,
    erasure::g204_an_index_that_was_removed_is_begun_as_another_one,
    erasure::g204_an_index_made_anew_shows_nothing_of_the_one_before,
    merge::a_merge_goes_on_while_others_write,
    merge::a_short_merge_is_one_commit,
    merge::a_merge_of_two_nodes_is_done_once,
    merge::a_lost_page_is_an_error_and_not_tried_for_ever,
    merge::g204_a_merge_brings_nothing_back,
    order::g200_one_ranking_whatever_the_order_of_writes,
    order::g202_what_is_not_allowed_changes_no_score,
    order::g203_as_many_as_are_wanted_are_found_however_few_are_allowed,
    order::a_word_that_another_begins_counts_as_itself,
    order::a_term_that_is_only_begun_finds_the_first_64,
    order::a_term_that_is_only_begun_reads_few_pages,
    order::a_change_that_meets_another_is_refused,
    quality::g218_pairs_of_letters_find_in_chinese,
    quality::g218_words_and_vectors_find_in_cranfield,
    quality::g218_words_find_in_cranfield,
    vectors::g200_vectors_rank_alike_whatever_the_order_of_writes,
    vectors::g203_the_nearest_of_few_allowed_chunks_are_found,
    vectors::g204_no_byte_of_an_erased_vector_is_left,
    vectors::g205_vectors_of_two_embedding_spaces_never_meet,
    vectors::g206_a_query_with_a_wrong_vector_is_answered_by_words,
    vectors::collections_reach_what_their_lists_allow,
    vectors::too_many_vectors_are_compared_where_words_are_found,
    vectors::g202_vectors_that_are_not_allowed_are_not_too_many,
    vectors::vectors_of_chunks_far_apart_are_found,
    changes::vectors_of_a_change_are_seen_with_its_commit,
    changes::what_a_commit_leaves_is_known_without_a_look;
    random
    random::g200_random_changes_rank_as_the_plain_model_does,
    vectors::g200_words_and_vectors_rank_as_the_plain_model_does,
];

/// An index whose pages are read from the store each time, as by another node.
fn index_of(driver: &Arc<dyn Driver>) -> SearchIndex {
    SearchIndex::new(
        driver.clone(),
        Space::settings("t"),
        PageCache::new(1 << 20),
    )
}
