//! Locks that stay held, damaged files and full disks: G138 to G140.

use crate::{append, identity, last, log, sqlite};
use ambit_storage::Error;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::driver::{Driver, LogRange};
use futures::future::join_all;

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
            text.contains(&file.display().to_string()) && text.contains("run `ambit restore`"),
            "{text}"
        );
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{name} was changed");
    }
}

#[tokio::test]
async fn g139_a_lost_file_is_not_begun_anew_over_its_wal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("live.db");
    let store = sqlite(&file, "").await.unwrap();
    store.commit(append(&log(), "1", "x")).await.unwrap();
    for (name, is_empty) in [("gone.db", false), ("empty.db", true)] {
        let lost = folder.path().join(name);
        let wal = folder.path().join(format!("{name}-wal"));
        std::fs::copy(folder.path().join("live.db-wal"), &wal).unwrap();
        if is_empty {
            std::fs::write(&lost, "").unwrap();
        }
        let before = std::fs::read(&wal).unwrap();
        let error = sqlite(&lost, "").await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{name}: {error}");
        assert_eq!(std::fs::read(&wal).unwrap(), before, "{name}");
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
async fn g015_a_file_that_lost_its_name_takes_no_more_writes() {
    for suffix in ["", "-wal"] {
        for is_replaced in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("lost.db");
            let store = sqlite(&file, "").await.unwrap();
            store.commit(append(&log(), "1", "x")).await.unwrap();
            let lost = folder.path().join(format!("lost.db{suffix}"));
            if is_replaced {
                let other = folder.path().join("other");
                std::fs::copy(&lost, &other).unwrap();
                std::fs::rename(&other, &lost).unwrap();
            } else {
                std::fs::remove_file(&lost).unwrap();
            }
            let refused = store.commit(append(&log(), "2", "x")).await;
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("deleted or replaced"), "{suffix}: {error}");
            let read = store.read(&log(), LogRange::head()).await;
            let error = read.unwrap_err().to_string();
            assert!(error.contains("deleted or replaced"), "{suffix}: {error}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn g015_behind_a_link_it_is_the_file_itself_that_must_keep_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("real.db"), folder.path().join("link.db"));
    sqlite(&file, "").await.unwrap().close().await.unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let store = sqlite(&link, "").await.unwrap();
    store.commit(append(&log(), "1", "x")).await.unwrap();
    std::fs::remove_file(folder.path().join("real.db-wal")).unwrap();
    let refused = store.commit(append(&log(), "2", "x")).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("deleted or replaced"), "{error}");
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
    let answer = store
        .commit(Batch::of([BatchWrite::Remove { space }]))
        .await;
    assert_eq!(answer.unwrap(), vec![WriteOutcome::Erased(stored)]);
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
