//! `ambit backup`.

use crate::place::{Place, Ran, say, session, told};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test(flavor = "multi_thread")]
async fn g141_a_backup_made_while_others_write_opens_at_one_point_in_time() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["first"]).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let writing = tokio::spawn(async move {
        let mut pairs = 0_u64;
        // Two messages a commit: a copy between them would have an even number.
        while !stop.load(Ordering::Relaxed) {
            say(&agent, &["question", "answer"]).await;
            pairs += 1;
        }
        pairs
    });
    let copy = place.path("copy.db");
    let mut command = place.command(&["--store", &place.url("main.db"), "backup", "copy.db"]);
    let ran = tokio::task::spawn_blocking(move || told(command.output().unwrap()))
        .await
        .unwrap();
    is_over.store(true, Ordering::Relaxed);
    let pairs = writing.await.unwrap();
    let bytes = std::fs::metadata(&copy).unwrap().len();
    assert_eq!(
        ran,
        Ran::printed(&format!("copied to copy.db ({bytes} bytes)\n"))
    );
    ambit.close().await.unwrap();
    let rows = place
        .run_as(&["--store", &place.url("copy.db"), "context", "ls", "--json"])
        .json();
    let items = rows[0]["items"].as_u64().unwrap();
    assert!(
        items % 2 == 1 && items <= 1 + 2 * pairs,
        "{items} of {pairs} pairs"
    );
    let healthy = place.run_as(&["--store", &place.url("copy.db"), "doctor"]);
    assert_eq!(
        healthy,
        Ran::printed("healthy: 1 contexts looked at, 0 findings left\n")
    );
}

#[tokio::test]
async fn a_file_that_exists_is_not_written_over() {
    let place = Place::new();
    place.open(&[]).await.close().await.unwrap();
    std::fs::write(place.path("copy.db"), "mine").unwrap();
    let ran = place.run(&["backup", "copy.db"]);
    assert_eq!(
        ran,
        Ran::refused("backup copy.db exists already; name a new file")
    );
    assert_eq!(std::fs::read(place.path("copy.db")).unwrap(), b"mine");
}

#[test]
fn stores_with_tools_of_their_own_are_refused_naming_them() {
    let place = Place::new();
    for (url, tool) in [
        (
            "postgres://me:secret@localhost:1/db",
            "a postgres store is backed up with its own tools: pg_dump",
        ),
        (
            "redis://localhost:1",
            "a redis store is backed up with its own tools: BGSAVE",
        ),
        (
            "file:.",
            "a file store is a folder: stop those who write to it and copy the folder",
        ),
    ] {
        let ran = place.run_as(&["--store", url, "backup", "copy"]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(
            ran.err.starts_with(&format!("ambit: {tool}")),
            "{}",
            ran.err
        );
        assert!(!ran.err.contains("secret"));
    }
    assert!(!place.path("copy").exists());
}

#[tokio::test]
async fn the_primary_of_several_stores_is_copied() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["hello"]).await;
    ambit.close().await.unwrap();
    place.driver("other.db").await.close().await.unwrap();
    let (main, other) = (
        place.url("main.db"),
        format!("other={}", place.url("other.db")),
    );
    let stores = [
        "--store",
        &other,
        "--store",
        &main,
        "--drivers",
        "sqlite,other",
    ];
    let ran = place.run_as(&[&stores[..], &["backup", "copy.db"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows = place.run_as(&["--store", &place.url("copy.db"), "context", "ls", "--json"]);
    assert_eq!(rows.json().len(), 1);
    let unknown = place.run_as(&["--store", &main, "--drivers", "sqlit", "backup", "b.db"]);
    assert_eq!(
        unknown,
        Ran::refused("--drivers \"sqlit\" is not set up; did you mean \"sqlite\"?")
    );
}
