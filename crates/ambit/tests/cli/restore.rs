//! `ambit restore`: all of a backup or nothing.

use crate::app::talk;
use crate::backup::{manifest, models};
use crate::place::{Place, Ran, Serving, say, session, told};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A place with a backup `copy` of a store and models.
async fn backed_up() -> Place {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["hello", "hi"]).await;
    ambit.close().await.unwrap();
    drop(models(&place, "models.db"));
    let ran = place.run(&["backup", "copy"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    place
}

impl Place {
    /// Puts the backup back into the folder `new`.
    fn restore(&self) -> Ran {
        let store = self.url("new/main.db");
        self.run_as(&["--store", &store, "restore", "copy"])
    }

    /// Refused with these words, and nothing is written.
    fn is_refused(&self, words: &str) {
        let ran = self.restore();
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
        assert!(ran.err.contains(words), "{}", ran.err);
        assert!(!self.path("new").exists());
    }

    /// Changes the manifest of the backup.
    fn change_manifest(&self, change: impl FnOnce(&mut Value)) {
        let mut manifest = manifest(&self.path("copy"));
        change(&mut manifest);
        fs::write(self.path("copy/manifest.json"), manifest.to_string()).unwrap();
    }
}

#[tokio::test]
async fn what_is_restored_is_what_was_there() {
    let place = backed_up().await;
    let ran = place.restore();
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let path = |file: &str| place.path(file).display().to_string();
    let first = format!("store sqlite: restored to {} (", path("new/main.db"));
    assert!(ran.out.starts_with(&first), "{ran:?}");
    let second = format!("\nmodels: restored to {} (", path("new/models.db"));
    assert!(ran.out.contains(&second), "{ran:?}");
    let store = place.url("new/main.db");
    for arguments in [
        &["context", "ls", "--json"][..],
        &["context", "messages", &place.id(&[])],
        &["usage"],
        &["doctor"],
    ] {
        let there = place.run_as(&[&["--store", &store], arguments].concat());
        assert_eq!(there, place.run(arguments), "{arguments:?}");
        assert_eq!(there.code, 0, "{there:?}");
    }
    let models = rusqlite::Connection::open(place.path("new/models.db")).unwrap();
    let n: i64 = models
        .query_row("SELECT n FROM tally", [], |row| row.get(0))
        .unwrap();
    assert_eq!(n, 0);
}

#[tokio::test]
async fn nothing_is_written_over() {
    let place = backed_up().await;
    for file in ["main.db", "models.db", "main.db-wal"] {
        fs::create_dir(place.path("new")).unwrap();
        let there = format!("new/{file}");
        fs::write(place.path(&there), "mine").unwrap();
        let ran = place.restore();
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
        let words = format!("would write over {}", place.path(&there).display());
        assert!(ran.err.contains(&words), "{}", ran.err);
        assert_eq!(fs::read(place.path(&there)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(place.path("new")).unwrap().count(), 1);
        fs::remove_dir_all(place.path("new")).unwrap();
    }
    // All databases that are in the way are told, the one with the index first, and not by what SQLite keeps beside them.
    fs::create_dir(place.path("new")).unwrap();
    for file in [
        "main.db",
        "main.db-wal",
        "main.db-shm",
        "models.db",
        "models.db-wal",
    ] {
        fs::write(place.path("new").join(file), "mine").unwrap();
    }
    let (main, models) = (place.path("new/main.db"), place.path("new/models.db"));
    let words = format!(
        "would write over {} and {}; stop",
        main.display(),
        models.display()
    );
    let ran = place.restore();
    assert!(ran.err.contains(&words), "{}", ran.err);
    fs::remove_dir_all(place.path("new")).unwrap();
    // Nor over a store that has been used since.
    assert_eq!(place.restore().code, 0);
    let again = place.run(&["restore", "copy"]);
    assert!(again.err.contains("would write over"), "{again:?}");
}

#[tokio::test]
async fn a_backup_that_was_killed_is_refused() {
    let place = backed_up().await;
    fs::remove_dir_all(place.path("copy")).unwrap();
    let models = rusqlite::Connection::open(place.path("models.db")).unwrap();
    let large = "CREATE TABLE large AS SELECT zeroblob(8000000)";
    models.execute_batch(large).unwrap();
    drop(models);
    // The system kills it where a file of it grows beyond so many blocks: in the middle of the models.
    let store = place.url("main.db");
    let backup = ["--store", &store, "backup", "copy"];
    let mut limited = place.command_of("sh", &["-c", "ulimit -f 4000; exec \"$0\" \"$@\""]);
    let backup = limited.arg(env!("CARGO_BIN_EXE_ambit")).args(backup);
    let status = backup.stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), None, "{status}");
    let half = fs::metadata(place.path("copy/models.db")).unwrap().len();
    assert!((1..8_000_000).contains(&half), "{half}");
    place.is_refused("copy is no whole backup: manifest.json, which is written last");
}

#[tokio::test]
async fn a_backup_without_its_end_is_refused() {
    let place = backed_up().await;
    let written = fs::read(place.path("copy/manifest.json")).unwrap();
    fs::remove_file(place.path("copy/manifest.json")).unwrap();
    place.is_refused("is no whole backup");
    place.is_refused("; name a folder that `ambit backup` has written to its end");
    fs::write(place.path("copy/manifest.json"), &written[..40]).unwrap();
    place.is_refused("has a damaged manifest.json");
    fs::write(place.path("copy/manifest.json"), &written).unwrap();
    fs::remove_file(place.path("copy/models.db")).unwrap();
    place.is_refused("copy/models.db is unavailable");
}

#[tokio::test]
async fn a_changed_byte_is_refused() {
    let place = backed_up().await;
    let copy = place.path("copy/models.db");
    let mut bytes = fs::read(&copy).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&copy, &bytes).unwrap();
    place.is_refused("has another models.db than its manifest tells");
    bytes.pop();
    fs::write(&copy, &bytes).unwrap();
    place.is_refused("has another models.db than its manifest tells");
}

#[tokio::test]
async fn a_newer_backup_is_refused() {
    let place = backed_up().await;
    place.change_manifest(|manifest| manifest["files"][0]["schema"] = 99.into());
    place.is_refused("has main.db with schema version 99, and ");
    place.change_manifest(|manifest| {
        // What a newer form has is not looked at.
        *manifest = serde_json::json!({"format": 2, "program": "9.9.9", "parts": []});
    });
    place.is_refused("has format 2, and 1 is known; use ambit 9.9.9");
}

#[tokio::test]
async fn names_with_parts_of_paths_are_refused() {
    let place = backed_up().await;
    fs::copy(place.path("copy/main.db"), place.path("outside.db")).unwrap();
    for name in [
        "../outside.db",
        "/etc/passwd",
        "..",
        "",
        "a/main.db",
        "..\\main.db",
    ] {
        place.change_manifest(|manifest| manifest["files"][0]["file"] = name.into());
        place.is_refused("which is no file of its folder");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_refused() {
    let place = backed_up().await;
    let copy = place.path("copy/main.db");
    fs::rename(&copy, place.path("outside.db")).unwrap();
    std::os::unix::fs::symlink(place.path("outside.db"), &copy).unwrap();
    place.is_refused("has main.db, which is no plain file");
}

#[tokio::test]
async fn a_store_of_the_backup_must_have_its_place() {
    let place = backed_up().await;
    let store = format!("other={}", place.url("new/main.db"));
    let ran = place.run_as(&["--store", &store, "restore", "copy"]);
    assert!(ran.err.contains("has the part \"store sqlite\""), "{ran:?}");
    assert!(!place.path("new").exists());
}

#[tokio::test]
async fn what_the_backup_does_not_have_must_not_be_there() {
    let place = Place::new();
    place.open(&[]).await.close().await.unwrap();
    assert_eq!(place.run(&["backup", "copy"]).code, 0);
    fs::create_dir(place.path("new")).unwrap();
    drop(models(&place, "new/models.db"));
    let ran = place.restore();
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    let words = format!(
        "has no part \"models\", and {} is there; move it away",
        place.path("new/models.db").display()
    );
    assert!(ran.err.contains(&words), "{}", ran.err);
    assert!(!place.path("new/main.db").exists());
}

#[tokio::test]
async fn a_restore_that_was_broken_off_is_finished_and_no_store_begins_meanwhile() {
    let place = backed_up().await;
    // What is there behind the first of the two names.
    fs::create_dir(place.path("new")).unwrap();
    fs::copy(place.path("copy/models.db"), place.path("new/models.db")).unwrap();
    fs::write(place.path("new/main.db.restoring"), "half").unwrap();
    let store = place.url("new/main.db");
    place.run_as(&["new", "shop"]);
    let chat = ["--store", &store, "chat", "hello", "--app", "shop"];
    let refused = told(place.command(&chat).output().unwrap());
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.err.contains("run `ambit restore` again"),
        "{refused:?}"
    );
    assert!(!place.path("new/main.db").exists());
    assert_eq!(place.restore().code, 0);
    assert!(!place.path("new/main.db.restoring").exists());
    let doctor = place.run_as(&["--store", &store, "doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    assert_eq!(talk(place.command(&chat), "hello\n").code, 0);
}

/// What the routes say of an app that is served from this data.
fn seen(place: &Place, store: &str) -> (Ran, Ran) {
    let kb = [
        "--store", store, "kb", "search", "books", "tea", "--app", "shop",
    ];
    let turns = ["--store", store, "context", "ls", "--json"];
    (place.run_as(&kb), place.run_as(&turns))
}

#[tokio::test]
async fn a_server_is_backed_up_while_it_runs_and_its_conversations_and_documents_come_back() {
    let place = Place::new();
    place.run_as(&["new", "shop"]);
    let store = place.url("main.db");
    let chat = ["--store", &store, "chat", "hello", "--app", "shop"];
    assert_eq!(talk(place.command(&chat), "hello\n").code, 0);
    fs::write(place.path("tea.txt"), "Black tea.").unwrap();
    let tea = place.path("tea.txt").display().to_string();
    let add = ["kb", "add", "books", &tea, "--wait", "--app", "shop"];
    assert_eq!(place.run(&add).code, 0);
    let serve = [
        "--store",
        &store,
        "serve",
        "shop",
        "--listen",
        "127.0.0.1:0",
    ];
    let mut serve = place.command(&serve);
    serve.stderr(Stdio::null());
    let serving = Serving::of(serve);
    assert_eq!(place.run(&["backup", "copy", "--app", "shop"]).code, 0);
    drop(serving);
    let before = seen(&place, &store);
    assert!(before.0.out.contains("Black tea."), "{before:?}");
    assert_eq!(place.restore().code, 0);
    assert_eq!(seen(&place, &place.url("new/main.db")), before);
}
