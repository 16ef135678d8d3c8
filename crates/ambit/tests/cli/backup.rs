//! `ambit backup`.

use crate::place::{Place, Ran, say, session, told};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The manifest of a backup.
pub fn manifest(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// A database beside the store, as models have one, with one number in it.
pub fn models(place: &Place, file: &str) -> rusqlite::Connection {
    let models = rusqlite::Connection::open(place.path(file)).unwrap();
    models.busy_timeout(Duration::from_secs(120)).unwrap();
    models
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE tally (n INTEGER); INSERT INTO tally VALUES (0)",
        )
        .unwrap();
    models
}

#[tokio::test(flavor = "multi_thread")]
async fn g141_a_backup_made_while_others_write_opens_at_one_point_in_time() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["first"]).await;
    let models = models(&place, "models.db");
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let writing = tokio::spawn(async move {
        let mut pairs = 0_u64;
        // Two messages a commit: a copy between them would have an even number. The models count the commits before.
        while !stop.load(Ordering::Relaxed) {
            say(&agent, &["question", "answer"]).await;
            pairs += 1;
            models.execute("UPDATE tally SET n = n + 1", []).unwrap();
        }
        pairs
    });
    let copy = place.path("copy");
    let mut command = place.command(&["--store", &place.url("main.db"), "backup", "copy"]);
    let ran = tokio::task::spawn_blocking(move || told(command.output().unwrap()))
        .await
        .unwrap();
    is_over.store(true, Ordering::Relaxed);
    let pairs = writing.await.unwrap();
    let bytes = |file: &str| std::fs::metadata(copy.join(file)).unwrap().len();
    assert_eq!(
        ran,
        Ran::printed(&format!(
            "store sqlite: copied to copy/main.db ({} bytes)\nmodels: copied to copy/models.db ({} bytes)\n",
            bytes("main.db"),
            bytes("models.db")
        ))
    );
    ambit.close().await.unwrap();
    let store = place.url("copy/main.db");
    let rows = place
        .run_as(&["--store", &store, "context", "ls", "--json"])
        .json();
    let items = rows[0]["items"].as_u64().unwrap();
    assert!(
        items % 2 == 1 && items <= 1 + 2 * pairs,
        "{items} of {pairs} pairs"
    );
    // Both files are of one moment: the models have counted all pairs of the store but perhaps the last.
    let models = rusqlite::Connection::open(copy.join("models.db")).unwrap();
    let tally: i64 = models
        .query_row("SELECT n FROM tally", [], |row| row.get(0))
        .unwrap();
    let stored = i64::try_from(items / 2).unwrap();
    assert!(
        tally == stored || tally + 1 == stored,
        "{tally} of {stored}"
    );
    let healthy = place.run_as(&["--store", &store, "doctor"]);
    assert_eq!(
        healthy,
        Ran::printed("healthy: 1 contexts looked at, 0 findings left\n")
    );
}

#[tokio::test]
async fn a_folder_with_something_in_it_is_not_written_to() {
    let place = Place::new();
    place.open(&[]).await.close().await.unwrap();
    std::fs::create_dir(place.path("copy")).unwrap();
    std::fs::write(place.path("copy/note"), "mine").unwrap();
    let refused = "backup copy exists already and is not empty; name a new folder";
    assert_eq!(place.run(&["backup", "copy"]), Ran::refused(refused));
    assert_eq!(std::fs::read_dir(place.path("copy")).unwrap().count(), 1);
}

#[tokio::test]
async fn two_parts_in_one_file_are_refused() {
    let place = Place::new();
    place.open(&[]).await.close().await.unwrap();
    let refused = format!(
        "\"store sqlite\" and \"models\" are both in {}; give each a file of its own, with --store or --models",
        place.path("main.db").display()
    );
    let ran = place.run(&["backup", "copy", "--models", &place.url("main.db")]);
    assert_eq!(ran, Ran::refused(&refused));
    assert!(!place.path("copy").exists());
}

#[tokio::test]
async fn a_manifest_tells_what_is_in_the_folder() {
    let place = Place::new();
    place.open(&[]).await.close().await.unwrap();
    assert_eq!(place.run(&["backup", "copy"]).code, 0);
    let manifest = manifest(&place.path("copy"));
    let files = manifest["files"].as_array().unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["part"], "store sqlite");
    assert_eq!(files[0]["file"], "main.db");
    assert_eq!(files[0]["is_store"], true);
    let bytes = std::fs::metadata(place.path("copy/main.db")).unwrap().len();
    assert_eq!(files[0]["bytes"], bytes);
    assert_eq!(files[0]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(manifest["format"], 1);
    assert_eq!(manifest["program"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn other_programs_copy_their_stores_and_the_commands_are_printed() {
    let place = Place::new();
    let folder = place.path("copy");
    let stores = [
        ("postgres://me:secret@localhost:1/db", "pg_dump"),
        ("redis://:secret@localhost:1", "redis-cli"),
        ("file:.", "cp -a"),
    ];
    for (url, tool) in stores {
        let kind = url.split(':').next().unwrap();
        let ran = place.run_as(&["--store", url, "backup", "copy"]);
        assert_eq!((ran.code, ran.err.as_str()), (3, ""), "{ran:?}");
        let first = format!("store {kind}: not copied; ");
        assert!(ran.out.starts_with(&first), "{ran:?}");
        assert!(ran.out.contains(&format!("\n  {tool} ")), "{ran:?}");
        assert_eq!(manifest(&folder)["elsewhere"][0], format!("store {kind}"));
        let back = place.run_as(&["--store", url, "restore", "copy"]);
        assert_eq!((back.code, back.err.as_str()), (3, ""), "{back:?}");
        assert!(back.out.contains("not restored; "), "{back:?}");
        for ran in [&ran, &back] {
            assert!(!ran.out.contains("secret"), "{ran:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let memory = place.run_as(&["--store", "memory:", "backup", "copy"]);
    let reason = "a memory store ends with its process and has nothing to back up";
    assert_eq!(memory, Ran::refused(reason));
}

#[tokio::test]
async fn all_of_several_stores_are_copied_and_the_one_with_the_index_is_the_first() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["hello"]).await;
    ambit.close().await.unwrap();
    std::fs::create_dir(place.path("more")).unwrap();
    place.driver("more/main.db").await.close().await.unwrap();
    let (main, other) = (
        place.url("main.db"),
        format!("other={}", place.url("more/main.db")),
    );
    let stores = [
        "--store",
        &other,
        "--store",
        &main,
        "--drivers",
        "sqlite,other",
    ];
    let ran = place.run_as(&[&stores[..], &["backup", "copy"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let manifest = manifest(&place.path("copy"));
    let files = manifest["files"].as_array().unwrap();
    let named: Vec<(&str, &str)> = files
        .iter()
        .map(|file| {
            (
                file["part"].as_str().unwrap(),
                file["file"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("store sqlite", "main.db"),
        ("store other", "other-main.db"),
    ];
    assert_eq!(named, expected);
    let rows = place.run_as(&[
        "--store",
        &place.url("copy/main.db"),
        "context",
        "ls",
        "--json",
    ]);
    assert_eq!(rows.json().len(), 1);
    let unknown = place.run_as(&["--store", &main, "--drivers", "sqlit", "backup", "b"]);
    assert_eq!(
        unknown,
        Ran::refused("--drivers \"sqlit\" is not set up; did you mean \"sqlite\"?")
    );
}
