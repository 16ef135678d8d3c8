//! What collections promise, on every driver: `driver::story`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a story fails by panicking"
)]

#[path = "../../../storage/tests/support/child.rs"]
#[expect(dead_code, reason = "some of it is for workers that are talked to")]
mod child;
mod crashes;
mod documents;
mod embedder_crashes;
mod embedding_requests;
mod erased_files;
mod erasure;
mod files;
mod hits;
mod hostile;
mod ids;
mod killed;
mod killed_sync;
mod limits;
mod meanwhile;
mod opening;
mod order;
mod permission;
mod person;
mod reindex;
mod reindex_crashes;
#[path = "../../../storage/tests/support/stores.rs"]
mod stores;
mod strangers;
#[path = "../../../storage/examples/own_driver/snapshot.rs"]
mod toy;
mod vectors;
mod world;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use stores::{STORES, Store, wait_for};
use world::World;

/// A behaviour of a knowledge base.
struct Story {
    name: &'static str,
    run: fn(World) -> BoxFuture<'static, ()>,
}

/// A table of stories, each named like the function that it runs.
macro_rules! stories {
    ($($module:ident::$name:ident),* $(,)?) => {
        &[$(Story {
            name: stringify!($name),
            run: |world| Box::pin($module::$name(world)),
        }),*]
    };
}

const STORIES: &[Story] = stories![
    documents::a_job_is_followed_to_its_end,
    documents::jobs_of_a_collection_are_followed,
    documents::a_text_is_found_when_its_job_is_done,
    documents::g205_a_replacement_is_found_as_a_whole,
    documents::equal_content_is_ready_at_once,
    documents::what_cannot_be_read_says_why_and_leaves_what_was_there,
    documents::a_page_is_read_by_a_process_of_its_own,
    documents::a_large_document_comes_in_steps_and_appears_at_once,
    documents::what_was_read_is_shown_as_text_and_chunks,
    erasure::g204_a_removed_collection_is_gone_and_its_ids_are_free,
    erased_files::g204_no_file_holds_a_byte_of_a_removed_document,
    erased_files::g204_no_file_holds_a_byte_of_a_replaced_text,
    erased_files::g204_no_file_holds_a_byte_of_a_text_that_was_replaced_before_it_was_read,
    erasure::g204_of_a_removed_document_no_byte_is_left,
    erasure::g204_of_an_erased_person_nothing_is_left,
    erasure::g204_what_is_gone_is_erased_whoever_says_something_meanwhile,
    erasure::g204_what_was_replaced_is_erased_and_what_stays_keeps_its_votes,
    erasure::the_chunks_of_a_large_document_are_erased_many_at_once,
    erasure::the_removal_of_a_document_ends_with_that_of_its_collection,
    erasure::weights_and_votes_rank,
    files::a_collection_of_files_is_read_only_and_goes_with_its_file,
    files::a_file_that_says_another_index_has_its_documents_indexed_anew,
    files::g202_ratings_on_files_are_each_tenants_own,
    files::g217_a_collection_goes_when_the_files_of_no_node_define_it,
    files::g217_two_nodes_that_follow_one_folder_agree,
    files::g217_documents_equal_the_files_whatever_becomes_of_them,
    hits::g204_uses_are_counted_for_their_person_and_go_with_them,
    hits::g212_a_user_tells_of_so_many_uses_of_a_chunk_and_no_more,
    hits::hits_of_a_document_that_cannot_be_written_lose_those_of_no_other,
    hits::of_a_store_that_is_away_hits_ask_once,
    hits::what_is_said_of_no_chunk_is_not_found,
    hits::who_told_of_a_use_takes_it_back_and_so_does_the_owner,
    hostile::g207_a_document_whose_reader_hangs_fails_with_the_limit_and_others_go_on,
    ids::g202_an_id_that_others_use_unseen_is_free,
    ids::g202_equal_documents_of_one_id_count_for_who_sees_them,
    limits::g212_chunks_for_which_there_is_no_room_fail_their_document,
    limits::g212_no_more_jobs_wait_than_a_tenant_may_have,
    limits::g212_of_several_documents_all_get_in_or_none,
    limits::g212_of_sixteen_uploads_at_the_last_free_place_one_gets_in,
    limits::g212_sizes_and_sums_are_refused_by_name,
    limits::g212_text_for_which_there_is_no_room_fails_its_document,
    limits::g212_what_is_said_of_documents_and_chunks_is_bounded,
    limits::several_documents_of_any_size_are_added_at_once,
    meanwhile::g212_a_collection_removed_while_it_is_read_gives_back_what_it_had,
    meanwhile::g201_a_name_that_is_given_while_a_document_waits_holds,
    meanwhile::g201_what_is_said_of_a_document_meanwhile_holds_and_it_is_read_once,
    opening::g205_a_collection_that_changes_meanwhile_is_opened_again_and_no_other,
    opening::a_collection_that_changes_each_time_is_not_opened_without_end,
    order::g200_what_ties_has_one_order_whatever_the_order_of_writes,
    permission::a_collection_that_is_named_twice_is_searched_once,
    permission::access_that_is_narrowed_counts_at_once_on_every_node,
    permission::g202_a_collection_of_others_is_as_if_there_were_none,
    permission::g202_a_re_index_tells_of_no_document_that_is_not_visible,
    permission::g202_what_is_not_visible_changes_nothing,
    permission::g203_filters_allow_and_as_many_as_are_wanted_are_found,
    embedding_requests::a_batch_has_at_most_thirty_two_thousand_tokens,
    embedding_requests::g206_two_documents_are_embedded_at_once_and_what_both_say_once,
    embedding_requests::texts_and_queries_are_embedded_behind_their_prefixes,
    reindex::a_re_index_that_cannot_be_done_says_why_and_changes_nothing,
    reindex::a_re_index_that_begins_by_itself_and_fails_begins_again_after_an_hour,
    reindex::g205_a_search_sees_the_old_or_the_new_index,
    reindex::g205_vectors_of_another_model_are_made_before_the_new_index_is_searched,
    reindex::g206_a_re_index_embeds_no_text_again,
    reindex::a_document_that_comes_to_an_index_with_other_terms_waits_for_the_new_one,
    reindex::an_index_with_terms_of_another_version_is_made_anew_by_itself,
    reindex::one_re_index_at_a_time_and_cancelling_erases_what_it_made,
    strangers::g202_nobody_learns_what_another_tenant_has_asked,
    strangers::g202_a_store_with_data_of_others_answers_as_one_without,
    vectors::a_job_that_is_called_off_asks_for_no_vectors,
    vectors::a_replacement_that_failed_is_not_painted_over_by_older_vectors,
    vectors::a_refused_text_is_a_warning_and_another_dimension_a_failure,
    vectors::g206_equal_content_is_left_alone_while_the_embedder_is_down,
    vectors::g206_a_search_asks_an_embedder_once_for_all_collections,
    vectors::g206_equal_texts_of_a_collection_are_embedded_once,
    vectors::g206_an_embedder_that_hangs_holds_up_no_other_collection,
    vectors::g206_a_text_whose_vector_another_chunk_has_is_not_embedded_again,
    vectors::g206_what_is_due_waits_for_nothing_that_is_postponed,
    vectors::g206_what_stays_of_a_text_is_not_embedded_again,
    vectors::g206_words_find_while_the_embedder_is_down_and_vectors_follow,
];

/// Stories that are too long for stores that promise little.
const LONG_STORIES: &[Story] = stories![
    vectors::g206_whatever_waits_for_an_embedder_waits_for_it_together,
    documents::a_collection_that_keeps_files_gives_them_back_as_they_came,
    crashes::g204_a_vote_beside_a_chunk_that_is_gone_keeps_nothing_of_it,
    crashes::g204_what_was_put_aside_of_another_text_is_erased,
    crashes::g201_killed_at_any_write_all_of_a_document_is_there_or_nothing,
    reindex_crashes::g201_killed_at_any_write_of_a_re_index_one_index_is_whole,
    reindex_crashes::g207_deaths_before_a_step_that_was_done_are_forgotten,
    reindex_crashes::g207_a_re_index_that_kills_its_node_three_times_is_given_up,
    crashes::g207_a_document_that_kills_its_reader_three_times_is_given_up,
    embedder_crashes::g206_killed_at_any_write_one_batch_of_a_document_is_embedded_again_at_most,
    embedder_crashes::g206_killed_at_any_write_one_batch_of_a_re_index_is_embedded_again_at_most,
];

/// Stories of two processes.
const PROCESS_STORIES: &[Story] = stories![
    killed::g201_a_document_whose_node_is_killed_is_indexed_once_or_not_at_all,
    killed::g201_a_removal_whose_node_is_killed_ends_and_shows_nothing,
    killed::g201_a_removed_collection_whose_node_is_killed_leaves_nothing,
    killed::g201_a_re_index_whose_node_is_killed_shows_one_index,
    killed_sync::g201_of_a_folder_whose_node_is_killed_each_file_is_indexed_once_or_not_at_all,
    killed::g206_of_a_document_whose_node_is_killed_one_batch_is_embedded_again_at_most,
    killed::g206_of_a_re_index_whose_node_is_killed_one_batch_is_embedded_again_at_most,
];

fn main() -> ExitCode {
    if killed::obey() {
        return ExitCode::SUCCESS;
    }
    // Documents of strangers are read by this program too.
    if std::env::args().nth(1).as_deref() == Some("extract") {
        return ambit_extract::run_child();
    }
    let trials = STORES.iter().flat_map(|store| {
        let long = if store.is_small { &[] } else { LONG_STORIES };
        let processes = if store.is_shared && !store.is_small {
            PROCESS_STORIES
        } else {
            &[]
        };
        let stories = STORIES.iter().chain(long).chain(processes);
        stories.map(move |story| tells(store, story))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn tells(store: &'static Store, story: &'static Story) -> Trial {
    let trial = Trial::test(format!("{}::{}", store.name, story.name), move || {
        wait_for(async move { (story.run)(World::new(store).await).await });
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
