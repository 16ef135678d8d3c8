//! The file driver: equal to the memory driver, whole after a kill, told of damage.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod damage;
mod random;

use ambit_storage::address::{ITEMS, LogKey, Space};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, NewEntry, WriteOutcome};
use ambit_storage::directory::{PageRequest, RowOrder, TrackRequest};
use ambit_storage::driver::file::FileDriver;
use ambit_storage::driver::{Driver, DriverOptions, FaultPoints, LogRange, ValuePart};
use ambit_storage::operation::Operation;
use ambit_storage::{Error, Json, SessionIdentity};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn open(folder: &Path) -> FileDriver {
    FileDriver::open(&folder.display().to_string(), DriverOptions::default()).unwrap()
}

fn identity(agent: &str, chat: &str) -> SessionIdentity {
    let built = SessionIdentity::builder(agent).chat_name(chat).build();
    built.unwrap().with_scope("chatHistory").unwrap()
}

fn items(agent: &str, chat: &str) -> LogKey {
    Space::of("default", &identity(agent, chat)).log(ITEMS)
}

fn append(log: &LogKey, id: &str) -> BatchWrite {
    let body = Json::of(&format!("text of {id}")).unwrap();
    let entries = vec![NewEntry::new(id, body)];
    BatchWrite::append(log.clone(), entries)
}

fn track(agent: &str, chat: &str) -> BatchWrite {
    let identity = identity(agent, chat);
    BatchWrite::Track(Box::new(TrackRequest {
        id: format!("id-{agent}-{chat}"),
        tenant: "default".to_owned(),
        base: identity.base(),
        identity,
        agent: agent.to_owned(),
        placement: vec!["file".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    }))
}

async fn ids(driver: &dyn Driver, log: &LogKey) -> Vec<String> {
    let page = driver.read(log, LogRange::from(1, 100)).await.unwrap();
    page.entries.into_iter().map(|entry| entry.id).collect()
}

fn file_of(folder: &Path, space: &Space) -> std::path::PathBuf {
    folder
        .join("spaces")
        .join(format!("{}.json", space.digest()))
}

const ALL: PageRequest = PageRequest {
    order: RowOrder::Oldest,
    after: None,
    limit: 100,
};

#[tokio::test]
async fn g053_file_names_are_injective_where_case_and_normal_forms_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let driver = open(folder.path());
    let chats = [
        "Key",
        "key",
        "KEY",
        "caf\u{e9}",
        "cafe\u{301}",
        "..",
        "../../x",
        "a/b",
        "a~2fb",
        "con",
        ".",
    ];
    for chat in chats {
        let log = items("a", chat);
        driver
            .commit(Batch::of([append(&log, chat), track("a", chat)]))
            .await
            .unwrap();
    }
    for chat in chats {
        assert_eq!(ids(&driver, &items("a", chat)).await, [chat]);
    }
    let mut found = 0;
    for within in ["spaces", "rows"] {
        for file in std::fs::read_dir(folder.path().join(within)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let digest = name.strip_suffix(".json").unwrap();
            assert!(
                digest.len() == 64
                    && digest
                        .bytes()
                        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            );
            found += 1;
        }
    }
    assert_eq!(found, 2 * chats.len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[tokio::test]
async fn a_file_shows_tenant_and_path_and_keeps_every_text_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let log = items("a", "one");
    let driver = open(folder.path());
    let body = Json::parse("{ \"a\" :\n 1.50,\"b\":\"\\u00e9\u{e9}\" }").unwrap();
    let entries = vec![NewEntry::new("odd\u{1}\"id", body.clone())];
    driver
        .commit(Batch::of([BatchWrite::append(log.clone(), entries)]))
        .await
        .unwrap();
    let page = open(folder.path())
        .read(&log, LogRange::from(1, 9))
        .await
        .unwrap();
    assert_eq!(page.entries[0].body, body);
    let text = std::fs::read_to_string(file_of(folder.path(), &log.space)).unwrap();
    let header = text.lines().next().unwrap();
    assert!(
        header.contains("\"tenant\":\"default\"") && header.contains(&log.space.path),
        "{header}"
    );
}

#[tokio::test]
async fn a_lock_held_by_another_process_is_waited_for_and_then_busy() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Arc::new(open(folder.path()));
    let held = std::fs::File::open(folder.path().join("lock")).unwrap();
    held.lock().unwrap();
    let waiting = {
        let driver = Arc::clone(&driver);
        tokio::spawn(async move {
            driver
                .commit(Batch::of([append(&items("a", "one"), "1")]))
                .await
        })
    };
    held.unlock().unwrap();
    waiting.await.unwrap().unwrap();
    held.lock().unwrap();
    let refused = driver.read(&items("a", "one"), LogRange::head()).await;
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
}

#[tokio::test]
async fn two_handles_that_write_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = items("a", "one");
    let options = || DriverOptions {
        durability: ambit_storage::driver::Durability::Normal,
        ..DriverOptions::default()
    };
    let place = folder.path().display().to_string();
    let writers: Vec<_> = (0..4)
        .map(|handle| {
            let driver = FileDriver::open(&place, options()).unwrap();
            let log = log.clone();
            tokio::spawn(async move {
                for turn in 0..10 {
                    let key = log.space.key("count");
                    let count = BatchWrite::apply(key, Operation::Incr(1.into()), None);
                    driver
                        .commit(Batch::of([
                            append(&log, &format!("{handle}-{turn}")),
                            count,
                        ]))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let driver = open(folder.path());
    assert_eq!(ids(&driver, &log).await.len(), 40);
    let count = driver
        .get(&log.space.key("count"), ValuePart::Whole)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(count.value.as_str(), "40");
}

#[tokio::test]
async fn a_watch_wakes_on_another_handles_write_and_ends_at_close() {
    let folder = tempfile::tempdir().unwrap();
    let log = items("a", "one");
    let (reader, writer) = (open(folder.path()), open(folder.path()));
    let mut watch = reader.watch(&log).await.unwrap();
    for id in ["1", "2"] {
        writer.commit(Batch::of([append(&log, id)])).await.unwrap();
        let woken = tokio::time::timeout(Duration::from_secs(60), watch.changed()).await;
        assert!(woken.unwrap());
    }
    reader.close().await.unwrap();
    assert!(!watch.changed().await);
    let closed = reader.read(&log, LogRange::head()).await;
    assert!(
        matches!(closed, Err(Error::Unavailable { .. })),
        "{closed:?}"
    );
}

#[tokio::test]
async fn a_sweep_erases_expired_values_up_to_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let options = DriverOptions::default();
    let driver = FileDriver::open(&folder.path().display().to_string(), options.clone()).unwrap();
    let set = |space: &Space, name: &str, life| {
        BatchWrite::apply(
            space.key(name),
            Operation::Set(Json::of(name).unwrap().into()),
            life,
        )
    };
    let spaces = ["u", "v"].map(|user| Space::user_memory("default", user));
    for space in &spaces {
        let short = ["1", "2", "3"].map(|name| set(space, name, Some(3_600_000)));
        driver.commit(Batch::of(short)).await.unwrap();
    }
    driver
        .commit(Batch::of([set(&spaces[0], "stays", None)]))
        .await
        .unwrap();
    options.clock.advance(Duration::from_secs(3_600));
    assert_eq!(driver.sweep(4).await.unwrap(), 4);
    assert_eq!(driver.sweep(4).await.unwrap(), 2);
    assert_eq!(driver.sweep(4).await.unwrap(), 0);
    assert_eq!(
        std::fs::read_dir(folder.path().join("spaces"))
            .unwrap()
            .count(),
        1
    );
}

#[tokio::test]
async fn a_change_of_the_working_directory_moves_nothing() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let before = std::env::current_dir().unwrap();
    std::env::set_current_dir(here.path()).unwrap();
    let driver = open(Path::new("store"));
    std::env::set_current_dir(there.path()).unwrap();
    let log = items("a", "one");
    let written = driver.commit(Batch::of([append(&log, "1")])).await;
    std::env::set_current_dir(before).unwrap();
    written.unwrap();
    assert_eq!(ids(&open(&here.path().join("store")), &log).await, ["1"]);
}

#[tokio::test]
async fn a_refused_batch_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = items("a", "one");
    let reached = Arc::new(AtomicBool::new(false));
    let note = Arc::clone(&reached);
    let fault_points = FaultPoints::new(move |_| note.store(true, Ordering::Release));
    let options = DriverOptions {
        fault_points,
        ..DriverOptions::default()
    };
    let driver = FileDriver::open(&folder.path().display().to_string(), options).unwrap();
    let wrong = BatchCheck::version(log.space.key("k"), Some(3));
    let refused = driver
        .commit(Batch::of([append(&log, "1")]).checking(wrong))
        .await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
    assert!(!reached.load(Ordering::Acquire));
    let done = driver
        .commit(Batch::of([append(&log, "1"), append(&log, "1")]))
        .await
        .unwrap();
    let [
        WriteOutcome::Appended { seqs: first, .. },
        WriteOutcome::Appended { seqs: again, .. },
    ] = &done[..]
    else {
        panic!("{done:?}");
    };
    assert_eq!(first, again);
}

#[tokio::test]
async fn a_number_that_left_nothing_behind_is_not_given_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let key = Space::user_memory("default", "u").key("k");
    let set_and_delete = || {
        let set = Operation::Set(Json::of("v").unwrap().into());
        Batch::of([set, Operation::Del].map(|op| BatchWrite::apply(key.clone(), op, None)))
    };
    let mut versions = Vec::new();
    for _ in 0..2 {
        let done = open(folder.path()).commit(set_and_delete()).await.unwrap();
        let WriteOutcome::Applied { version, .. } = &done[0] else {
            panic!("{done:?}");
        };
        versions.push(*version);
    }
    assert!(versions[0] < versions[1], "{versions:?}");
}

#[tokio::test]
async fn the_size_is_told_while_others_write_and_delete() {
    let folder = tempfile::tempdir().unwrap();
    let driver = open(folder.path());
    let log = items("a", "one");
    driver.commit(Batch::of([append(&log, "1")])).await.unwrap();
    let file = std::fs::metadata(file_of(folder.path(), &log.space)).unwrap();
    // A name without a file behind it is what a listing leaves of one that was deleted.
    let deleted = file_of(folder.path(), &items("a", "two").space);
    std::os::unix::fs::symlink(folder.path().join("nowhere"), deleted).unwrap();
    let lock = std::fs::OpenOptions::new()
        .write(true)
        .open(folder.path().join("lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    assert_eq!(driver.size().await.unwrap(), Some(file.len()));
}
