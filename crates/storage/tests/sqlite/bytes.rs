//! What was removed is gone from the bytes of every file: G69.

use crate::{append, identity, last, sqlite};
use ambit_storage::address::{LogKey, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry, WriteOutcome};
use ambit_storage::directory::TrackRequest;
use ambit_storage::driver::{Driver, LogRange};
use ambit_storage::operation::Operation;
use ambit_storage::{Json, SessionIdentity};
use std::collections::BTreeMap;
use std::path::Path;

/// Entries, values and a list of mixed sizes under a mark that is searched for later.
fn mixed(space: &Space, mark: &str, number: usize) -> Batch {
    let json = |text: &str| Json::of(text).unwrap();
    let text = format!("{mark}-{number} ").repeat(1 + number * 37 % 600);
    let apply = |name: String, op: Operation| BatchWrite::apply(space.key(name), op, None);
    let last = if number.is_multiple_of(4) {
        Operation::Pop
    } else {
        Operation::AddToSet(vec![json(mark)])
    };
    let mut batch = append(&space.log("items"), format!("{mark}-{number}"), &text);
    batch.writes.extend([
        apply(
            format!("{mark}-{}", number * 7 % 400),
            Operation::Set(json(&text).into()),
        ),
        apply("list".to_owned(), Operation::Push(vec![json(&text)])),
        apply("list".to_owned(), last),
    ]);
    batch
}

fn track(identity: &SessionIdentity, id: &str) -> Batch {
    let track = TrackRequest {
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
    Batch::of([BatchWrite::Track(Box::new(track))])
}

fn files_with(folder: &Path, word: &[u8]) -> usize {
    let names = std::fs::read_dir(folder).unwrap();
    let files = names.map(|name| std::fs::read(name.unwrap().path()).unwrap());
    files
        .filter(|bytes| bytes.windows(word.len()).any(|part| part == word))
        .count()
}

#[tokio::test]
async fn g069_what_a_reader_held_up_is_done_before_the_store_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("end.db");
    let store = sqlite(&file, "").await.unwrap();
    // Another process keeps the file open, so that closing does not cut the WAL by itself.
    let other = sqlite(&file, "").await.unwrap();
    let space = Space::of("t", &identity());
    for number in 0..20 {
        let batch = mixed(&space, "secretive", number);
        store.commit(batch).await.unwrap();
    }
    let reader = rusqlite::Connection::open(&file).unwrap();
    let held = "BEGIN; SELECT count(*) FROM entry";
    reader.execute_batch(held).unwrap();
    store
        .commit(Batch::of([BatchWrite::Remove { space }]))
        .await
        .unwrap();
    assert!(files_with(folder.path(), b"secretive") > 0);
    reader.execute_batch("COMMIT").unwrap();
    store.close().await.unwrap();
    assert_eq!(files_with(folder.path(), b"secretive"), 0);
    other.close().await.unwrap();
}

#[tokio::test]
async fn g069_no_byte_of_a_removed_session_is_left_in_any_file() {
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
    let holding = || files_with(folder.path(), b"secretive");
    assert!(holding() > 0);
    let remove = Batch::of([
        BatchWrite::Remove { space: secret },
        BatchWrite::untrack("t", "secretive-row"),
    ]);
    store.commit(remove).await.unwrap();
    assert_eq!(holding(), 0);
    assert_eq!(last(&store, &open.log("items")).await, 266);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

/// Many entries, each of about so many bytes.
fn long(log: &LogKey, count: usize, bytes: usize) -> Batch {
    let body = Json::of(&"whispered ".repeat(bytes / 10)).unwrap();
    let entry = |number: usize| NewEntry::new(format!("entry-{number}"), body.clone());
    let log = log.clone();
    let entries = (0..count).map(entry).collect();
    Batch::of([BatchWrite::Append { log, entries }])
}

#[tokio::test]
async fn g069_a_long_history_is_gone_when_its_removal_is_answered() {
    let space = Space::of("t", &identity());
    let log = space.log("items");
    // Each from a file of its own: one whose rewriting took long, as on a busy machine, is not rewritten again right behind it.
    for removal in [
        BatchWrite::Clear {
            space: space.clone(),
        },
        BatchWrite::Remove { space },
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = sqlite(&folder.path().join("long.db"), "").await.unwrap();
        store.commit(long(&log, 3_000, 100)).await.unwrap();
        let is_clear = matches!(removal, BatchWrite::Clear { .. });
        let outcomes = store.commit(Batch::of([removal])).await.unwrap();
        assert_eq!(outcomes, [WriteOutcome::Erased(3_000)]);
        assert_eq!(files_with(folder.path(), b"whispered"), 0);
        let head = store.read(&log, LogRange::head()).await.unwrap().head;
        assert_eq!(head.map(|head| head.last), is_clear.then_some(0));
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_a_killed_process_had_removed_is_erased_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("killed.db");
    let store = sqlite(&file, "").await.unwrap();
    let log = Space::of("t", &identity()).log("items");
    store.commit(long(&log, 10, 100)).await.unwrap();
    store.close().await.unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    let sql = "UPDATE log SET space = 0, name = id; DELETE FROM space";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let store = sqlite(&file, "").await.unwrap();
    store.close().await.unwrap();
    assert_eq!(files_with(folder.path(), b"whispered"), 0);
}

#[tokio::test]
async fn a_file_gives_back_what_nothing_uses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.db");
    let store = sqlite(&file, "").await.unwrap();
    let doomed = Space::of("t", &identity());
    for part in 0..4 {
        let log = doomed.log(format!("part{part}"));
        store.commit(long(&log, 1_000, 10_000)).await.unwrap();
    }
    let remove = BatchWrite::Remove { space: doomed };
    store.commit(Batch::of([remove])).await.unwrap();
    let size = || std::fs::metadata(&file).unwrap().len();
    let kept = Space::user_memory("t", "ann").key("count");
    // Steps are made between writes.
    while size() > 8 << 20 {
        let add = BatchWrite::apply(kept.clone(), Operation::Incr(1.into()), None);
        store.commit(Batch::of([add])).await.unwrap();
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
