//! Several processes on one store, some of them killed at the worst moment: `driver::case` for every driver that
//! processes can share.

#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

#[path = "support/child.rs"]
mod child;
#[path = "support/patience.rs"]
mod patience;
#[path = "support/stores.rs"]
mod stores;
#[path = "../examples/own_driver/snapshot.rs"]
mod toy;
#[path = "support/worker.rs"]
mod worker;

use ambit_storage::Json;
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::batch::{Batch, LogEntry, WriteOutcome};
use ambit_storage::conformance::DriverFixture;
use ambit_storage::directory::{IndexRow, PageRequest, RowFilter, RowOrder as Sorting};
use ambit_storage::driver::{Driver, LogRange, ValuePart};
use ambit_storage::operation::{Operation, OperationOutput};
use child::Worker;
use libtest_mimic::{Arguments, Trial};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use stores::{Fresh, STORES, Store, wait_for};
use worker::{Job, Order, acquire, append, apply, numbered, space};

type Case = (&'static str, fn(&'static Store));

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name)),*] };
}

const CASES: &[Case] = cases![
    g001_appends_of_eight_processes_are_dense,
    g002_a_holder_paused_beyond_its_lease_is_fenced,
    g003_the_lease_of_a_killed_holder_passes_on,
    g007_new_sessions_of_eight_processes_are_all_tracked,
    g015_what_was_acknowledged_survives_a_kill,
    g028_a_killed_write_is_seen_whole_or_not_at_all,
    g031_no_data_is_without_its_row_after_a_kill,
    a_killed_writer_stops_no_other,
    a_watch_wakes_on_writes_of_another_process,
    g093_increments_of_eight_processes_are_all_counted,
    g097_an_item_is_taken_by_one_of_eight_processes,
    g098_eight_processes_leave_no_duplicate_in_a_set,
];

fn main() {
    if worker::obey() {
        return;
    }
    let trials = STORES
        .iter()
        .filter(|store| store.is_shared)
        .flat_map(|store| CASES.iter().map(move |case| trial(store, case)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn trial(store: &'static Store, (name, run): &'static Case) -> Trial {
    let trial = Trial::test(format!("{}::{name}", store.name), move || {
        run(store);
        Ok(())
    });
    trial.with_ignored_flag(store.is_missing())
}

fn order(fresh: &Fresh, job: Job) -> Order {
    Order {
        url: fresh.place.url.clone(),
        job,
        dies_at: None,
    }
}

/// Starts eight workers at once, waits for all, and gives what each said.
fn eight(fresh: &Fresh, job: impl Fn(usize) -> Job) -> Vec<Vec<String>> {
    let mut workers: Vec<Worker> = (0..8)
        .map(|number| Worker::start(&order(fresh, job(number))))
        .collect();
    let said: Vec<Vec<String>> = workers.iter_mut().map(Worker::rest).collect();
    for worker in &mut workers {
        assert!(worker.ended_well());
    }
    said
}

/// A worker that is killed at the point; what it said before.
fn killed(fresh: &Fresh, job: Job, point: &str, times: u64) -> Vec<String> {
    let mut worker = Worker::start(&Order {
        dies_at: Some((point.to_owned(), times)),
        ..order(fresh, job)
    });
    let said = worker.rest();
    assert!(
        !worker.ended_well(),
        "no write came to {point} {times} times"
    );
    said
}

async fn entries(driver: &dyn Driver, chat: &str) -> Vec<LogEntry> {
    let log = space(chat).log("items");
    let page = driver.read(&log, LogRange::from(1, 100_000)).await;
    let entries = page.expect("the log is read").entries;
    let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=entries.len() as u64).collect::<Vec<u64>>());
    entries
}

async fn value(driver: &dyn Driver, chat: &str, name: &str) -> Option<Json> {
    let found = driver.get(&space(chat).key(name), ValuePart::Whole).await;
    found.expect("the value is read").map(|entry| entry.value)
}

async fn rows(driver: &dyn Driver) -> Vec<IndexRow> {
    let page = PageRequest {
        order: Sorting::Oldest,
        after: None,
        limit: 100_000,
    };
    let filter = RowFilter::tenant(DEFAULT_TENANT);
    let found = driver.identities(&filter, &page).await;
    found.expect("the rows are read")
}

fn g093_increments_of_eight_processes_are_all_counted(store: &'static Store) {
    let fresh = store.fresh();
    eight(&fresh, |_| Job::Increment(100));
    wait_for(async {
        let driver = fresh.open().await;
        assert_eq!(
            value(&*driver, "s", "number").await,
            Some(Json::stored("800"))
        );
    });
}

fn g097_an_item_is_taken_by_one_of_eight_processes(store: &'static Store) {
    let fresh = store.fresh();
    let items = (0..1_000).map(|number| Json::stored(number.to_string()));
    let push = apply(&space("s").key("list"), Operation::Push(items.collect()));
    wait_for(async {
        let driver = fresh.open().await;
        driver.commit(Batch::of([push])).await.expect("a full list");
        driver.close().await.expect("closed");
    });
    let said = eight(&fresh, |_| Job::Pop);
    let mut taken: Vec<u32> = said
        .concat()
        .iter()
        .map(|line| line.parse().expect("a number"))
        .collect();
    taken.sort_unstable();
    assert_eq!(taken, (0..1_000).collect::<Vec<u32>>());
}

fn g098_eight_processes_leave_no_duplicate_in_a_set(store: &'static Store) {
    let fresh = store.fresh();
    let turned = |by: usize| (0..60).map(move |step| ((step * 7 + by * 11) % 60).to_string());
    eight(&fresh, |number| Job::AddToSet(turned(number).collect()));
    wait_for(async {
        let driver = fresh.open().await;
        let set = value(&*driver, "s", "set").await.expect("a set");
        let stored: Vec<String> = set.to().expect("a list of texts");
        let distinct: BTreeSet<String> = stored.iter().cloned().collect();
        assert_eq!((stored.len(), distinct), (60, turned(0).collect()));
    });
}

fn g001_appends_of_eight_processes_are_dense(store: &'static Store) {
    let fresh = store.fresh();
    let ids = |number: usize| (0..40).map(move |step| format!("{number}-{step}"));
    let said = eight(&fresh, |number| Job::Append(ids(number).collect()));
    wait_for(async {
        let driver = fresh.open().await;
        let stored = entries(&*driver, "s").await;
        let stored: BTreeSet<String> = stored
            .iter()
            .map(|entry| format!("{} {}", entry.seq, entry.id))
            .collect();
        assert_eq!(stored.len(), 320);
        assert_eq!(stored, said.concat().into_iter().collect());
        let rows = rows(&*driver).await;
        assert_eq!((rows.len(), rows[0].items), (1, 320));
    });
}

fn g007_new_sessions_of_eight_processes_are_all_tracked(store: &'static Store) {
    let fresh = store.fresh();
    let names = |number: usize| (0..125).map(move |step| format!("chat {number}-{step}"));
    let said = eight(&fresh, |number| Job::Begin(names(number).collect()));
    wait_for(async {
        let driver = fresh.open().await;
        let rows = rows(&*driver).await;
        let tracked: BTreeSet<String> = rows
            .iter()
            .filter_map(|row| Some(row.identity.chat_name()?.to_owned()))
            .collect();
        assert_eq!(rows.len(), 1_000);
        assert_eq!(tracked, said.concat().into_iter().collect());
        assert!(rows.iter().all(|row| row.items == 1));
    });
}

fn g002_a_holder_paused_beyond_its_lease_is_fenced(store: &'static Store) {
    let fresh = store.fresh();
    let mut paused = Worker::start(&order(&fresh, Job::Hold));
    let old: u64 = paused.next().expect("an epoch").parse().expect("a number");
    paused.send(Signal::STOP);
    wait_for(async {
        let driver = fresh.open().await;
        fresh.clock().advance(Duration::from_secs(2 * 3_600));
        let taken = driver.commit(Batch::of([acquire("other")])).await;
        let taken = taken.expect("the lease has expired");
        assert!(
            matches!(taken[0], WriteOutcome::Applied { output: OperationOutput::Epoch(new), .. } if new > old),
            "{taken:?} follows {old}"
        );
        driver.close().await.expect("closed");
    });
    paused.send(Signal::CONT);
    paused.say("go on");
    let lease = space("s").lease();
    assert_eq!(
        paused.rest(),
        [format!(
            "the lease {lease} with epoch {old} is no longer held"
        )]
    );
    wait_for(async {
        let driver = fresh.open().await;
        assert_eq!(entries(&*driver, "s").await, []);
    });
}

fn g003_the_lease_of_a_killed_holder_passes_on(store: &'static Store) {
    let fresh = store.fresh();
    let mut holder = Worker::start(&order(&fresh, Job::Hold));
    holder.next().expect("an epoch");
    holder.send(Signal::KILL);
    assert!(!holder.ended_well());
    wait_for(async {
        let driver = fresh.open().await;
        let refused = driver.commit(Batch::of([acquire("next")])).await;
        assert_eq!(
            refused.expect_err("it still lives").to_string(),
            "lease is busy: held by worker"
        );
        fresh.clock().advance(Duration::from_secs(3_601));
        let taken = driver.commit(Batch::of([acquire("next")])).await;
        taken.expect("it has expired");
    });
}

/// What a store shows of numbered batches: the number that everything stands at.
async fn stands_at(driver: &dyn Driver) -> u64 {
    let here = entries(driver, "s").await;
    let there = entries(driver, "t").await;
    let count = here.len() as u64;
    let number = (count > 0).then(|| Json::stored(count.to_string()));
    let list: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    let list = (count > 0).then(|| Json::stored(format!("[{}]", list.join(","))));
    assert_eq!(there.len() as u64, count);
    assert_eq!(value(driver, "s", "list").await, list);
    assert_eq!(value(driver, "t", "number").await, number);
    assert_eq!(value(driver, "t", "value").await, number);
    let rows: Vec<u64> = rows(driver).await.iter().map(|row| row.items).collect();
    assert_eq!(rows, Vec::from_iter((count > 0).then_some(count)));
    count
}

/// Kills a writer of numbered batches at each point; the store then stands where it said, or one further.
fn killed_at_each_point(store: &'static Store, look: fn(&Fresh, u64)) {
    for point in store.fault_points {
        for times in [1, 2, 7] {
            let fresh = store.fresh();
            let said = killed(&fresh, Job::Write(20), point, times);
            look(&fresh, said.len() as u64);
        }
    }
}

fn g015_what_was_acknowledged_survives_a_kill(store: &'static Store) {
    killed_at_each_point(store, |fresh, said| {
        wait_for(async {
            let driver = fresh.open().await;
            let stands = stands_at(&*driver).await;
            assert!((said..=said + 1).contains(&stands), "{said} of {stands}");
            let next = driver.commit(numbered(stands + 1)).await;
            next.expect("a write after the kill");
            assert_eq!(stands_at(&*driver).await, stands + 1);
            assert_eq!(driver.check().await.expect("a check"), Vec::<String>::new());
        });
    });
}

fn g028_a_killed_write_is_seen_whole_or_not_at_all(store: &'static Store) {
    for point in store.fault_points {
        let fresh = store.fresh();
        wait_for(async {
            let watching = fresh.open().await;
            watching.commit(numbered(1)).await.expect("the first");
            let said = killed(&fresh, Job::Append(vec!["2".to_owned()]), point, 1);
            assert!(said.len() <= 1);
            let other = fresh.open().await;
            let seen = entries(&*watching, "s").await;
            assert_eq!(entries(&*other, "s").await, seen, "killed at {point}");
            assert!((1..=2).contains(&seen.len()), "killed at {point}");
            let rows = rows(&*watching).await;
            assert_eq!(rows[0].items, seen.len() as u64, "killed at {point}");
        });
    }
}

fn g031_no_data_is_without_its_row_after_a_kill(store: &'static Store) {
    for point in store.fault_points {
        for times in [1, 4] {
            let fresh = store.fresh();
            let names: Vec<String> = (0..10).map(|number| format!("chat{number}")).collect();
            let said = killed(&fresh, Job::Begin(names.clone()), point, times);
            wait_for(async {
                let driver = fresh.open().await;
                let rows = rows(&*driver).await;
                let tracked: Vec<&str> = rows
                    .iter()
                    .filter_map(|row| row.identity.chat_name())
                    .collect();
                for name in &names {
                    let has_data = !entries(&*driver, name).await.is_empty();
                    let has_row = tracked.contains(&name.as_str());
                    assert_eq!(has_data, has_row, "{name} killed at {point}");
                    assert!(has_data || !said.contains(name), "{name} was acknowledged");
                }
            });
        }
    }
}

fn a_killed_writer_stops_no_other(store: &'static Store) {
    for point in store.fault_points {
        let fresh = store.fresh();
        let ids = |number: usize| (0..10).map(move |step| format!("{number}-{step}"));
        let mut others: Vec<Worker> = (0..3)
            .map(|number| Worker::start(&order(&fresh, Job::Append(ids(number).collect()))))
            .collect();
        let mut said = killed(&fresh, Job::Append(ids(3).collect()), point, 3);
        for other in &mut others {
            said.extend(other.rest());
            assert!(other.ended_well(), "beside one killed at {point}");
        }
        wait_for(async {
            let driver = fresh.open().await;
            let stored: BTreeSet<String> = entries(&*driver, "s")
                .await
                .iter()
                .map(|entry| format!("{} {}", entry.seq, entry.id))
                .collect();
            let lost: Vec<&String> = said.iter().filter(|line| !stored.contains(*line)).collect();
            assert_eq!(lost, Vec::<&String>::new(), "killed at {point}");
            assert!(stored.len() <= said.len() + 1, "killed at {point}");
        });
    }
}

fn a_watch_wakes_on_writes_of_another_process(store: &'static Store) {
    let fresh = store.fresh();
    let ids = (0..5).map(|number| number.to_string()).collect();
    wait_for(async {
        let driver: Arc<dyn Driver> = fresh.open().await;
        let mut watch = driver
            .watch(&space("s").log("items"))
            .await
            .expect("a watch");
        let first = driver.commit(Batch::of([append(&space("s"), "first")]));
        first.await.expect("an append");
        let mut writer = Worker::start(&order(&fresh, Job::Append(ids)));
        while entries(&*driver, "s").await.len() < 6 {
            let woken = tokio::time::timeout(Duration::from_secs(60), watch.changed()).await;
            assert!(woken.expect("a wake-up"));
        }
        assert!(writer.ended_well());
    });
}
