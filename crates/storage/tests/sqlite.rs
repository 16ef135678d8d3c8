//! The guarantees that only a database file has to give: G135 to G143, and that what is removed is gone from the bytes.

use ambit_storage::address::{LogKey, Space};
use ambit_storage::batch::{Batch, NewEntry, Outcome, Write};
use ambit_storage::directory::Track;
use ambit_storage::driver::sqlite::Sqlite;
use ambit_storage::driver::{Driver, FaultPoints, Options, Part, Range, open};
use ambit_storage::op::Op;
use ambit_storage::{Error, Json, SessionIdentity, Value};
use futures::future::join_all;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Tells a child process of this test what to do: a word and a path.
const WORKER: &str = "AMBIT_SQLITE_WORKER";

fn identity() -> SessionIdentity {
    let identity = SessionIdentity::builder("SecretAgent").user_id("secretive-user");
    identity.chat_name("secretive-chat").build().unwrap()
}

fn log() -> LogKey {
    Space::of("t", &identity()).log("items")
}

fn entry(id: impl Into<String>, text: &str) -> NewEntry {
    NewEntry {
        id: id.into(),
        body: Json::of(text).unwrap(),
    }
}

fn append(log: &LogKey, id: impl Into<String>, text: &str) -> Batch {
    Batch::of([Write::Append {
        log: log.clone(),
        entries: vec![entry(id, text)],
    }])
}

async fn sqlite(path: &Path, options: &str) -> Result<Sqlite, Error> {
    Sqlite::open(&format!("{}{options}", path.display()), Options::default()).await
}

async fn last(driver: &dyn Driver, log: &LogKey) -> u64 {
    let head = driver.read(log, Range::head()).await.unwrap().head;
    head.map_or(0, |head| head.last)
}

/// Runs this test binary again as another process.
fn worker(word: &str, path: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--nocapture"])
        .env(WORKER, format!("{word} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said(output: &Output, word: &str) -> usize {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.ends_with(word))
        .count()
}

/// What a child process does; without the variable, nothing.
#[tokio::test]
async fn the_other_process() {
    let Some(order) = std::env::var_os(WORKER) else {
        return;
    };
    let order = order.into_string().unwrap();
    let (word, path) = order.split_once(' ').unwrap();
    let dies = word == "die";
    let options = Options {
        fault_points: FaultPoints::new(move |point| {
            println!("\nreached {point}");
            if dies && point == "sqlite.migrate" {
                std::process::abort();
            }
        }),
        ..Options::default()
    };
    let store = Sqlite::open(path, options).await.unwrap();
    let id = std::process::id().to_string();
    store.commit(append(&log(), id, "hello")).await.unwrap();
    store.close().await.unwrap();
    println!("\ndone");
}

#[tokio::test]
async fn g136_eight_processes_open_a_fresh_file_and_one_migrates_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fresh.db");
    let children: Vec<_> = (0..8).map(|_| worker("open", &file)).collect();
    let outputs: Vec<Output> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    for output in &outputs {
        assert_eq!(said(output, "done"), 1, "{output:?}");
    }
    let migrations: usize = outputs
        .iter()
        .map(|output| said(output, "sqlite.migrate"))
        .sum();
    assert_eq!(migrations, 1);
    let store = sqlite(&file, "").await.unwrap();
    assert_eq!(last(&store, &log()).await, 8);
}

#[tokio::test]
async fn g137_a_killed_migration_leaves_the_file_usable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("killed.db");
    let output = worker("die", &file).wait_with_output().unwrap();
    assert!(!output.status.success());
    assert_eq!(said(&output, "sqlite.migrate"), 1);
    let tables = |file: &Path| {
        let connection = rusqlite::Connection::open(file).unwrap();
        let sql = "SELECT count(*) FROM sqlite_schema";
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(tables(&file), 0);
    let store = sqlite(&file, "").await.unwrap();
    store.commit(append(&log(), "1", "hello")).await.unwrap();
    assert_eq!(last(&store, &log()).await, 1);
}

#[tokio::test]
async fn g137_a_newer_file_is_refused_by_both_versions_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("newer.db");
    sqlite(&file, "").await.unwrap().close().await.unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 77).unwrap();
    connection.close().unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = sqlite(&file, "").await.unwrap_err().to_string();
    assert!(
        error.contains("version 77") && error.contains("up to 1"),
        "{error}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE mine (x)").unwrap();
    connection.close().unwrap();
    let error = sqlite(&file, "").await.unwrap_err().to_string();
    assert!(error.contains("another program"), "{error}");
}

#[tokio::test]
async fn g138_a_held_lock_is_waited_for_and_then_busy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("busy.db");
    let store = sqlite(&file, "?busy_ms=50").await.unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(append(&log(), "1", "a")).await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert_eq!(last(&store, &log()).await, 0);
    other.execute_batch("COMMIT").unwrap();
    store.commit(append(&log(), "1", "a")).await.unwrap();
    assert_eq!(last(&store, &log()).await, 1);
}

#[tokio::test]
async fn g139_a_corrupt_file_stops_the_open_with_its_path_and_the_way_to_restore() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.db");
    let store = sqlite(&good, "").await.unwrap();
    for number in 0..200 {
        let batch = append(&log(), number.to_string(), &"text ".repeat(100));
        store.commit(batch).await.unwrap();
    }
    store.close().await.unwrap();
    let bytes = std::fs::read(&good).unwrap();
    let cut = bytes[..bytes.len() / 2].to_vec();
    let mut header = bytes.clone();
    header[..100].fill(b'x');
    let mut middle = bytes.clone();
    let at = bytes.len() / 2;
    middle[at..at + 8_192].fill(0xAA);
    let text = b"this is a text and no database, however long it may be".repeat(100);
    let cases = [
        ("cut", cut),
        ("header", header),
        ("middle", middle),
        ("text", text),
    ];
    for (name, bytes) in cases {
        let file = folder.path().join(format!("{name}.db"));
        std::fs::write(&file, &bytes).unwrap();
        let error = sqlite(&file, "").await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{name}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(&file.display().to_string()) && text.contains("ambit backup"),
            "{text}"
        );
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{name} was changed");
    }
}

#[tokio::test]
async fn g139_check_names_a_log_with_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gap.db");
    let store = sqlite(&file, "").await.unwrap();
    for id in ["1", "2", "3"] {
        store.commit(append(&log(), id, "text")).await.unwrap();
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let other = rusqlite::Connection::open(&file).unwrap();
    let sql = "DELETE FROM entry WHERE seq = 2";
    other.execute_batch(sql).unwrap();
    let findings = store.check().await.unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        findings[0].contains("items holds 2 entries, the last is 3"),
        "{findings:?}"
    );
}

#[tokio::test]
async fn g140_a_full_disk_refuses_the_write_and_works_again_with_room() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("full.db");
    let store = sqlite(&file, "?max_pages=60").await.unwrap();
    let other = Space::of("t", &identity().with_scope("other").unwrap()).log("items");
    store.commit(append(&other, "o", "small")).await.unwrap();
    let text = "x".repeat(3_000);
    let mut stored = 0;
    let error = loop {
        match store
            .commit(append(&log(), format!("{stored}"), &text))
            .await
        {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100, "60 pages cannot hold so much");
    };
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(last(&store, &log()).await, stored);
    assert_eq!(last(&store, &other).await, 1);
    let space = log().space;
    let answer = store.commit(Batch::of([Write::Remove { space }])).await;
    assert_eq!(answer.unwrap(), vec![Outcome::Erased(stored)]);
    store.commit(append(&log(), "again", &text)).await.unwrap();
    assert_eq!(last(&store, &log()).await, 1);
}

#[tokio::test]
async fn g140_a_job_that_does_not_fit_hurts_no_neighbour() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big.db");
    let store = sqlite(&file, "?max_pages=100").await.unwrap();
    let big = "x".repeat(1 << 20);
    let jobs = (0..20).map(|number| {
        let text = if number == 7 { big.as_str() } else { "small" };
        store.commit(append(&log(), number.to_string(), text))
    });
    let answers = join_all(jobs).await;
    let failed: Vec<usize> = (0..20).filter(|at| answers[*at].is_err()).collect();
    assert_eq!(failed, vec![7]);
    assert_eq!(last(&store, &log()).await, 19);
}

#[tokio::test]
async fn a_refused_batch_leaves_no_trace_and_hurts_no_neighbour() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(&folder.path().join("group.db"), "").await.unwrap();
    let space = log().space;
    let text = Value::from(Json::of("text").unwrap());
    let set = |name: &str, op: Op| Write::Apply {
        key: space.key(name),
        op,
        life: None,
    };
    let word = Batch::of([set("word", Op::Set(text.clone()))]);
    store.commit(word).await.unwrap();
    let jobs = (0..60).map(|number| {
        let mut batch = append(&log(), number.to_string(), "x");
        if number % 3 == 0 {
            let odd = set(&format!("odd{number}"), Op::Set(text.clone()));
            batch.writes.push(odd);
            batch.writes.push(set("word", Op::Incr(1.into())));
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
        assert_eq!(store.get(&odd, Part::Whole).await.unwrap(), None);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g143_the_wal_stays_small_under_constant_readers_and_writers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wal.db");
    let store = Arc::new(sqlite(&file, "").await.unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let reading = (0..4).map(|_| {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                store.read(&log(), Range::last(5)).await.unwrap();
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
    assert!(largest < 64 << 20, "{largest}");
    assert_eq!(last(store.as_ref(), &log()).await, 400);
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
        store.read(&log(), Range::head()).await.unwrap_err(),
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
    let here = open(&file, Options::default()).await.unwrap();
    let there = open(&file, Options::default()).await.unwrap();
    let mut watch = here.watch(&log()).await.unwrap();
    for number in 1..=3 {
        let batch = append(&log(), number.to_string(), "x");
        there.commit(batch).await.unwrap();
        let seen = async {
            while last(here.as_ref(), &log()).await < number {
                assert!(watch.changed().await);
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), seen).await;
        assert!(waited.is_ok(), "never woken for {number}");
    }
    here.close().await.unwrap();
    while watch.changed().await {}
}

/// Entries, values and a list of mixed sizes under a mark that is searched for later.
fn mixed(space: &Space, mark: &str, number: usize) -> Batch {
    let json = |text: &str| Json::of(text).unwrap();
    let text = format!("{mark}-{number} ").repeat(1 + number * 37 % 600);
    let apply = |name: String, op: Op| Write::Apply {
        key: space.key(name),
        op,
        life: None,
    };
    let last = if number.is_multiple_of(4) {
        Op::Pop
    } else {
        Op::AddToSet(vec![json(mark)])
    };
    let mut batch = append(&space.log("items"), format!("{mark}-{number}"), &text);
    batch.writes.extend([
        apply(
            format!("{mark}-{}", number * 7 % 400),
            Op::Set(json(&text).into()),
        ),
        apply("list".to_owned(), Op::Push(vec![json(&text)])),
        apply("list".to_owned(), last),
    ]);
    batch
}

fn track(identity: &SessionIdentity, id: &str) -> Batch {
    let track = Track {
        id: id.to_owned(),
        tenant: "t".to_owned(),
        base: identity.base(),
        identity: identity.clone(),
        agent: identity.agent_name().to_owned(),
        placement: Vec::new(),
        created_by: Some(id.to_owned()),
        team: None,
        labels: BTreeMap::from([("label".to_owned(), id.to_owned())]),
    };
    Batch::of([Write::Track(Box::new(track))])
}

#[tokio::test]
async fn g69_no_byte_of_a_removed_session_is_left_in_any_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(&folder.path().join("bytes.db"), "").await.unwrap();
    let secret = Space::of("t", &identity());
    let open = SessionIdentity::builder("SecretAgent").user_id("open-user");
    let open = Space::of("t", &open.build().unwrap());
    for number in 0..400 {
        let batch = if number % 3 == 0 {
            mixed(&secret, "secretive", number)
        } else {
            mixed(&open, "public", number)
        };
        store.commit(batch).await.unwrap();
    }
    let row = track(&identity(), "secretive-row");
    store.commit(row).await.unwrap();
    let holding = || {
        let names = std::fs::read_dir(folder.path()).unwrap();
        let files = names.map(|name| std::fs::read(name.unwrap().path()).unwrap());
        files
            .filter(|bytes| bytes.windows(9).any(|part| part == b"secretive"))
            .count()
    };
    assert!(holding() > 0);
    let remove = Batch::of([
        Write::Remove { space: secret },
        Write::Untrack {
            tenant: "t".to_owned(),
            id: "secretive-row".to_owned(),
        },
    ]);
    store.commit(remove).await.unwrap();
    assert_eq!(holding(), 0);
    assert_eq!(last(&store, &open.log("items")).await, 266);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
