//! A disk without room, or that takes no more writes: G140.

use crate::child::Worker;
use crate::orders::{Job, Order};
use crate::shim::Shim;
use crate::stores::Store;
use ambit_storage::address::{LogKey, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::{Driver, LogRange};
use ambit_storage::{Error, Json, Result, SessionIdentity};

fn log() -> LogKey {
    let identity = SessionIdentity::builder("Agent").chat_name("a").build();
    Space::of("default", &identity.unwrap()).log("items")
}

/// The process's part: appends an entry of the name on each line, and says what came of it and which entries it reads.
pub async fn serve(store: &dyn Driver) -> Result<()> {
    println!("open");
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        let id = line.trim().to_owned();
        line.clear();
        if id == "end" {
            break;
        }
        let body = Json::of(&"x".repeat(5_000))?;
        let entries = vec![NewEntry { id, body }];
        let append = BatchWrite::append(log(), entries);
        let answer = match store.commit(Batch::of([append])).await {
            Ok(_) => "stored",
            Err(Error::Unavailable { .. }) => "unavailable",
            Err(error) => panic!("{error} is no failure of the store"),
        };
        let page = store.read(&log(), LogRange::from(1, 100)).await?;
        let ids: Vec<&str> = page.entries.iter().map(|entry| entry.id.as_str()).collect();
        println!("{answer}; holds {}", ids.join(" "));
    }
    let findings = store.check().await?;
    println!("found {findings:?}");
    store.close().await
}

pub fn g140_a_full_or_read_only_disk_refuses_writes_and_works_again(store: &'static Store) {
    for failure in ["ENOSPC", "EROFS", "EIO"] {
        for is_synced in [true, false] {
            let said = refused(store, failure, is_synced);
            let expected = [
                "open",
                "stored; holds 1",
                "stored; holds 1 2",
                "unavailable; holds 1 2",
                "unavailable; holds 1 2",
                "stored; holds 1 2 5",
                "unavailable; holds 1 2 5",
                "stored; holds 1 2 5 7",
                "found []",
            ];
            assert_eq!(said, expected, "{failure}, synced: {is_synced}");
        }
    }
}

/// Appends with the failure switched on and off between them; what the process said.
fn refused(store: &Store, failure: &str, is_synced: bool) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let (log, fail) = (folder.path().join("log"), folder.path().join("fail"));
    let file = if store.name == "sqlite" { "/a.db" } else { "" };
    let url = format!("{}:{}{file}", store.name, root.display());
    let order = Order {
        is_synced,
        ..Order::new(&url, Job::Serve)
    };
    let shim = Shim::compile(folder.path());
    let mut worker = Worker::start_with(&order, |command| {
        shim.put_under(command, &root, &log, &fail);
    });
    let mut said = vec![worker.next().unwrap()];
    for (id, fails) in [
        ("1", ""),
        ("2", ""),
        ("3", failure),
        ("4", failure),
        ("5", ""),
        ("6", failure),
        ("7", ""),
    ] {
        std::fs::write(&fail, fails).unwrap();
        worker.say(id);
        said.extend(worker.next());
    }
    worker.say("end");
    said.extend(worker.rest());
    assert!(worker.ended_well());
    said
}
