//! What must hold when something breaks: reads and writes that fail, values that leak, processes that are killed,
//! disks that are full or lose power. `driver::case` for every driver, then what only files can suffer.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test"
)]

mod app;
mod bulk;
#[path = "../support/child.rs"]
mod child;
mod disk;
mod firsts;
mod leaks;
mod leases;
mod leavers;
mod orders;
mod outage;
#[path = "../support/patience.rs"]
mod patience;
mod power;
mod proxy;
mod reads;
#[path = "../support/run_tally.rs"]
mod run_tally;
#[path = "../support/shim.rs"]
mod shim;
#[path = "../support/stores.rs"]
mod stores;
#[path = "../../examples/own_driver/snapshot.rs"]
mod toy;
mod turns;
mod writes;

use libtest_mimic::{Arguments, Trial};
use stores::{STORES, Store};

/// A test of one store.
type Case = (&'static str, fn(&'static Store));

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($module:ident::$name:ident),* $(,)?) => { &[$((stringify!($name), $module::$name)),*] };
}

const EVERYWHERE: &[Case] = cases![
    reads::g020_a_failed_read_fails_the_operation_and_changes_nothing,
    reads::g020_a_failed_read_of_an_erasure_keeps_what_it_reports,
    reads::g021_after_a_failed_read_a_context_writes_nothing_until_one_succeeds,
    reads::g022_absent_empty_and_failed_are_three_answers,
    writes::g023_a_failed_write_reaches_the_caller_and_is_done_once_when_repeated,
    writes::g023_a_write_whose_answer_was_lost_is_done_once_when_repeated,
    leaks::g025_leaked_agents_lose_nothing_that_was_committed,
    leaks::g025_opening_counting_and_listing_write_nothing,
    leaks::g025_a_dropped_dirty_context_writes_nothing_and_logs_its_key,
    leaks::a_chat_s_name_makes_no_line_and_no_field_of_the_log,
    leases::g014_a_grant_of_which_a_waiter_does_not_hear_is_given_back,
    leases::g014_a_place_in_the_queue_of_which_its_waiter_does_not_hear_is_left,
    leases::g014_a_waiter_that_cannot_leave_the_queue_holds_its_lease,
    leavers::g026_a_save_whose_caller_left_is_done_once,
    leavers::g026_two_saves_at_once_are_done_once,
    bulk::g034_a_bulk_report_names_each_identity_that_failed,
];

const SHARED: &[Case] = cases![
    bulk::g034_a_killed_bulk_operation_ends_like_an_undisturbed_one_when_repeated,
    firsts::g031_a_first_commit_over_two_stores_leaves_no_data_without_its_row,
    turns::g001_turns_of_two_processes_are_in_order_or_refused_busy,
    turns::g003_a_killed_holders_turn_is_followed_by_the_next,
    turns::g004_a_second_turn_is_rejected_on_two_nodes,
    turns::g004_waiting_turns_run_in_order_of_arrival_on_two_nodes,
    turns::g004_the_queue_is_bounded_on_two_nodes,
    turns::g004_a_running_turn_is_interrupted_from_another_node,
    turns::g007_sessions_opened_by_eight_processes_are_all_tracked,
];

const FILES: &[Case] = cases![
    power::g015_what_was_acknowledged_survives_a_loss_of_power,
    power::g015_without_syncs_a_loss_of_power_is_noticed,
    power::g015_writers_share_their_syncs,
    disk::g140_a_full_or_read_only_disk_refuses_writes_and_works_again,
];

/// With a Redis server as the secondary.
const CHAINED: &[Case] = cases![
    outage::g029_a_save_in_an_outage_is_partial_and_done_once_when_repeated,
    outage::g030_what_was_erased_in_an_outage_never_comes_back,
    outage::g033_an_outage_of_the_secondary_stops_nobody_where_it_is_best_effort,
];

fn main() {
    if orders::obey() {
        return;
    }
    leaks::listen_to_all();
    let shared = |store: &&Store| store.is_shared;
    let files = |store: &&Store| ["file", "sqlite"].contains(&store.name);
    let mut trials = of(EVERYWHERE, |store| store.name != "toy");
    trials.extend(of(SHARED, shared));
    trials.extend(of(FILES, files));
    let primary = |store: &&Store| ["sqlite", "postgres"].contains(&store.name);
    let redis = STORES.iter().find(|store| store.name == "redis");
    let has_no_redis = redis.is_none_or(Store::is_missing);
    let chained = of(CHAINED, primary).into_iter();
    trials.extend(chained.map(|trial| trial.with_ignored_flag(has_no_redis)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn of(cases: &'static [Case], fits: impl Fn(&&Store) -> bool) -> Vec<Trial> {
    let stores = STORES.iter().filter(fits);
    stores
        .flat_map(|store| cases.iter().map(move |case| trial(store, case)))
        .collect()
}

fn trial(store: &'static Store, (name, run): &'static Case) -> Trial {
    let trial = Trial::test(format!("{}::{name}", store.name), move || {
        run(store);
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}
