//! What was removed is gone from the bytes of every file: G69.

use crate::{append, identity, last, sqlite};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::TrackRequest;
use ambit_storage::driver::Driver;
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
