//! Group commit, backup, the WAL, handles, closing and watching: G141 and G143.

use crate::run_tally::RunTally;
use crate::{append, entry, last, log, sqlite};
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::driver::sqlite::SqliteDriver;
use ambit_storage::driver::{Driver, DriverOptions, LogRange, ValuePart, open};
use ambit_storage::operation::Operation;
use ambit_storage::{Json, StoredValue};
use futures::future::join_all;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[tokio::test]
async fn a_refused_batch_leaves_no_trace_and_hurts_no_neighbour() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(&folder.path().join("group.db"), "").await.unwrap();
    let space = log().space;
    let text = StoredValue::from(Json::of("text").unwrap());
    let set = |name: &str, op: Operation| BatchWrite::apply(space.key(name), op, None);
    let word = Batch::of([set("word", Operation::Set(text.clone()))]);
    store.commit(word).await.unwrap();
    let jobs = (0..60).map(|number| {
        let mut batch = append(&log(), number.to_string(), "x");
        if number % 3 == 0 {
            let odd = set(&format!("odd{number}"), Operation::Set(text.clone()));
            batch.writes.push(odd);
            batch.writes.push(set("word", Operation::Incr(1.into())));
        }
        store.commit(batch)
    });
    let answers = join_all(jobs).await;
    let mut seqs = Vec::new();
    for (number, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(outcomes) => seqs.push(outcomes),
            Err(error) => assert!(number % 3 == 0, "{error}"),
        }
    }
    assert_eq!(seqs.len(), 40);
    assert_eq!(last(&store, &log()).await, 40);
    for number in 0..60 {
        let odd = space.key(format!("odd{number}"));
        assert_eq!(store.get(&odd, ValuePart::Whole).await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g141_a_backup_during_writes_is_one_point_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("live.db");
    let store = Arc::new(sqlite(&file, "").await.unwrap());
    let other = log().space.log("usage");
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (store, stop, other) = (Arc::clone(&store), Arc::clone(&stop), other.clone());
        async move {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                let mut batch = append(&log(), number.to_string(), "text");
                batch
                    .writes
                    .extend(append(&other, number.to_string(), "x").writes);
                store.commit(batch).await.unwrap();
                number += 1;
            }
        }
    });
    while last(store.as_ref(), &log()).await < 20 {
        tokio::task::yield_now().await;
    }
    for number in 0..3 {
        let copy = folder.path().join(format!("copy{number}.db"));
        store.backup(&copy).await.unwrap();
        assert!(store.backup(&copy).await.is_err(), "a copy is overwritten");
        let copied = sqlite(&copy, "").await.unwrap();
        let length = last(&copied, &log()).await;
        assert!(length >= 20);
        assert_eq!(last(&copied, &other).await, length);
        assert_eq!(copied.check().await.unwrap(), Vec::<String>::new());
    }
    stop.store(true, Ordering::Relaxed);
    writing.await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_backup_is_open_to_whom_the_store_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("live.db");
    let store = sqlite(&file, "").await.unwrap();
    for mode in [0o600, 0o640, 0o644] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let copy = folder.path().join(format!("copy{mode:o}.db"));
        store.backup(&copy).await.unwrap();
        let rights = copy.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(rights, mode, "{rights:o}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g143_the_wal_stays_small_under_constant_readers_and_writers() {
    let mut runs = RunTally::new();
    // The machine may keep a reader from a processor in the middle of a read.
    while runs.is_open() {
        let largest = longest_wal().await;
        runs.count(largest, largest < 64 << 20);
    }
}

/// The bytes of the WAL at its longest while 80 MB are written and four readers never rest.
async fn longest_wal() -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wal.db");
    let store = Arc::new(sqlite(&file, "").await.unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let reading = (0..4).map(|_| {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                store.read(&log(), LogRange::last(5)).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    });
    let reading: Vec<_> = reading.collect();
    let text = "x".repeat(200_000);
    let mut largest = 0;
    for number in 0..400 {
        store
            .commit(append(&log(), number.to_string(), &text))
            .await
            .unwrap();
        let wal = folder.path().join("wal.db-wal");
        largest = largest.max(std::fs::metadata(wal).unwrap().len());
    }
    stop.store(true, Ordering::Relaxed);
    join_all(reading).await;
    assert_eq!(last(store.as_ref(), &log()).await, 400);
    largest
}

#[tokio::test]
async fn two_handles_write_by_turns_without_a_gap_and_use_no_number_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.db");
    let lease = log().space.lease();
    let mut epochs = Vec::new();
    for round in 0..3 {
        let handles = [
            sqlite(&file, "").await.unwrap(),
            sqlite(&file, "").await.unwrap(),
        ];
        for number in 0..40 {
            let store = &handles[number % 2];
            let mut batch = append(&log(), format!("{round}-{number}"), "x");
            batch.writes.push(BatchWrite::apply(
                lease.clone(),
                Operation::Acquire {
                    holder: "me".to_owned(),
                },
                None,
            ));
            let outcomes = store.commit(batch).await.unwrap();
            if let WriteOutcome::Applied {
                version: Some(version),
                ..
            } = outcomes[1]
            {
                epochs.push(version);
            }
        }
        // The lease's epoch rises also after it was removed.
        let space = lease.space.clone();
        let removal = Batch::of([BatchWrite::Remove { space }]);
        handles[0].commit(removal).await.unwrap();
        let [one, other] = handles;
        one.close().await.unwrap();
        other.close().await.unwrap();
    }
    let store = sqlite(&file, "").await.unwrap();
    assert_eq!(last(&store, &log()).await, 120);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    assert_eq!(epochs.len(), 120);
    assert!(epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
}

/// The files that this process has open below a folder.
fn handles(folder: &Path) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    links
        .filter_map(|link| std::fs::read_link(link.ok()?.path()).ok())
        .filter(|target| target.starts_with(folder))
        .count()
}

#[tokio::test]
async fn g143_opening_and_closing_leaks_no_handle_and_no_wal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cycle.db");
    for cycle in 0..300 {
        let store = sqlite(&file, "").await.unwrap();
        if cycle % 10 == 0 {
            let batch = append(&log(), cycle.to_string(), "x");
            store.commit(batch).await.unwrap();
        }
        last(&store, &log()).await;
        // Half are closed, the others only dropped.
        if cycle % 2 == 0 {
            store.close().await.unwrap();
        }
    }
    assert_eq!(handles(folder.path()), 0);
    assert!(!folder.path().join("cycle.db-wal").exists());
}

#[tokio::test]
async fn a_closed_store_answers_unavailable_and_its_path_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("closed.db");
    let store = sqlite(&file, "").await.unwrap();
    let waiting = join_all((0..50).map(|id| store.commit(append(&log(), id.to_string(), "x"))));
    assert_eq!(waiting.await.iter().filter(|one| one.is_ok()).count(), 50);
    store.close().await.unwrap();
    store.close().await.unwrap();
    let copy = folder.path().join("copy.db");
    for error in [
        store.commit(append(&log(), "1", "x")).await.unwrap_err(),
        store.read(&log(), LogRange::head()).await.unwrap_err(),
        store.watch(&log()).await.unwrap_err(),
        store.sweep(1).await.unwrap_err(),
        store.backup(&copy).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("was closed"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    let fresh = sqlite(&file, "").await.unwrap();
    assert_eq!(last(&fresh, &log()).await, 0);
}

#[tokio::test]
async fn a_watch_wakes_for_writes_of_other_handles() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}/watch.db", folder.path().display());
    let here = open(&file, DriverOptions::default()).await.unwrap();
    let there = open(&file, DriverOptions::default()).await.unwrap();
    let mut watch = here.watch(&log()).await.unwrap();
    for number in 1..=3 {
        let batch = append(&log(), number.to_string(), "x");
        there.commit(batch).await.unwrap();
        let seen = async {
            while last(here.as_ref(), &log()).await < number {
                assert!(watch.changed().await);
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), seen).await;
        assert!(waited.is_ok(), "never woken for {number}");
    }
    here.close().await.unwrap();
    while watch.changed().await {}
}

/// The versions of a value that is set so often.
async fn versions(store: &SqliteDriver, count: usize) -> Vec<u64> {
    let key = log().space.key("count");
    let mut versions = Vec::new();
    for _ in 0..count {
        let add = BatchWrite::apply(key.clone(), Operation::Incr(1.into()), None);
        store.commit(Batch::of([add])).await.unwrap();
        let entry = store.get(&key, ValuePart::Nothing).await.unwrap();
        versions.push(entry.unwrap().version);
    }
    versions
}

#[tokio::test]
async fn numbers_that_another_handle_has_reserved_are_not_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers.db");
    let first = sqlite(&file, "").await.unwrap();
    let mut all = versions(&first, 3).await;
    let other = sqlite(&file, "").await.unwrap();
    all.extend(versions(&other, 3).await);
    all.extend(versions(&first, 2_000).await);
    all.extend(versions(&other, 3).await);
    assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
}

#[tokio::test]
async fn a_commit_in_many_stores_the_counter() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counter.db");
    let store = sqlite(&file, "").await.unwrap();
    let counter = rusqlite::Connection::open(&file).unwrap();
    let counter = || counter.query_row("SELECT value FROM counter", [], |row| row.get(0));
    let mut stored: Vec<i64> = Vec::new();
    for _ in 0..100 {
        let given = versions(&store, 30).await.pop().unwrap();
        stored.push(counter().unwrap());
        assert!(stored.last().unwrap().cast_unsigned() >= given);
    }
    stored.dedup();
    assert_eq!(stored.len(), 3);
}

/// The paths of all spaces that have a row, below the tenant `t`.
fn paths(file: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let sql = "SELECT path FROM space WHERE tenant = 't' ORDER BY path";
    let mut statement = connection.prepare(sql).unwrap();
    let found = statement.query_map([], |row| row.get(0)).unwrap();
    found.map(Result::unwrap).collect()
}

#[tokio::test]
async fn g069_the_row_of_a_lease_stays_as_long_as_that_of_what_it_guards() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lease.db");
    let store = sqlite(&file, "").await.unwrap();
    let (space, lease) = (log().space, log().space.lease());
    let held = [&space, &lease.space].map(|space| space.path.clone());
    let commit = async |write| store.commit(Batch::of([write])).await.unwrap();
    let take_and_give_back = async || {
        let holder = "me".to_owned();
        commit(BatchWrite::apply(
            lease.clone(),
            Operation::Acquire { holder },
            None,
        ))
        .await;
        commit(BatchWrite::apply(lease.clone(), Operation::Del, None)).await;
    };
    take_and_give_back().await;
    assert_eq!(paths(&file), Vec::<String>::new());
    let add = BatchWrite::append(log(), vec![entry("one", "x")]);
    for removal in [
        BatchWrite::Remove {
            space: space.clone(),
        },
        BatchWrite::Drop { log: log() },
    ] {
        commit(add.clone()).await;
        take_and_give_back().await;
        assert_eq!(paths(&file), held);
        commit(removal).await;
        assert_eq!(paths(&file), Vec::<String>::new());
    }
}

/// A file of the second form, whose log has a number that the counter has not reached.
fn write_older_file(file: &Path) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let forms = [
        include_str!("../../src/driver/sqlite/schema.sql"),
        include_str!("../../src/driver/sqlite/tally.sql"),
        "PRAGMA application_id = 0x416D6274; PRAGMA user_version = 2;
        INSERT INTO log (id, space, name, generation) VALUES (5, 1, 'items', 3);
        INSERT INTO entry (log, seq, at, entry_id, body) VALUES (5, 1, 0, 'one', '\"x\"');
        UPDATE counter SET value = 4;",
    ];
    for form in forms {
        connection.execute_batch(form).unwrap();
    }
    let space = log().space;
    let sql = "INSERT INTO space (id, tenant, path) VALUES (1, ?1, ?2)";
    let names = (&space.tenant, &space.path);
    connection.execute(sql, names).unwrap();
}

#[tokio::test]
async fn logs_of_an_older_file_go_on_beside_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("older.db");
    write_older_file(&file);
    let store = sqlite(&file, "").await.unwrap();
    let (old, new) = (log(), log().space.log("new"));
    store.commit(append(&old, "two", "y")).await.unwrap();
    store.commit(append(&new, "one", "z")).await.unwrap();
    let page = store.read(&old, LogRange::from(1, 10)).await.unwrap();
    let ids: Vec<&str> = page.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["one", "two"]);
    assert_eq!(
        page.head.map(|head| (head.generation, head.last)),
        Some((3, 2))
    );
    assert_eq!(last(&store, &new).await, 1);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    store
        .commit(Batch::of([BatchWrite::Drop { log: old.clone() }]))
        .await
        .unwrap();
    assert_eq!((last(&store, &old).await, last(&store, &new).await), (0, 1));
}
