//! `ambit models`.

use crate::app::talk;
use crate::place::{Place, Ran, Serving, told};
use ambit_runtime::NodeInfo;
use ambit_runtime::model::ColumnCipher;
use ambit_storage::Json;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::operation::Operation;
use rusqlite::Connection;
use std::process::Command;

const OLD: &str = "a key that has thirty-two letters or more";
const NEW: &str = "another key that has thirty-two letters or more";
/// Three batches.
const CARDS: usize = 1_200;

/// An app whose cards are encrypted with the old key, in the order of what is stored.
fn shop() -> (Place, Vec<String>) {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    std::fs::create_dir_all(place.path("shop/models")).unwrap();
    let card = r#"{"columns": [{"name": "id", "type": "ID"}, {"name": "number", "type": "string", "crypt": "AES"}]}"#;
    std::fs::write(place.path("shop/models/card.mod.yao"), card).unwrap();
    let mut chat = place.command(&["chat", "hello", "--app", "shop"]);
    chat.env("AMBIT_MODEL_KEY", OLD);
    assert_eq!(talk(chat, "hello\n").code, 0);
    let cipher = ColumnCipher::new(OLD).unwrap();
    let sealed = (0..CARDS).map(|at| cipher.seal("card.number", &at.to_string()).unwrap());
    let mut sealed: Vec<String> = sealed.collect();
    sealed.sort();
    let mut models = models(&place);
    let writing = models.transaction().unwrap();
    for number in &sealed {
        let sql = "INSERT INTO card (number) VALUES (?)";
        writing.execute(sql, [number]).unwrap();
    }
    writing.commit().unwrap();
    (place, sealed)
}

fn models(place: &Place) -> Connection {
    Connection::open(place.path("shop/models.db")).unwrap()
}

fn rekey(place: &Place) -> Command {
    let mut rekey = place.command(&["models", "rekey", "--app", "shop"]);
    rekey.env("AMBIT_MODEL_KEY", OLD);
    rekey.env("AMBIT_MODEL_KEY_NEW", NEW);
    rekey
}

#[test]
fn another_database_of_models_than_the_one_of_the_store_is_told_until_it_is_accepted() {
    let (place, _) = shop();
    let url = place.url("shop/other.db");
    let with = ["--app", "shop", "--models", &url];
    let key = |arguments: &[&str]| {
        let mut command = place.command(&[arguments, &with].concat());
        command.env("AMBIT_MODEL_KEY", OLD);
        command
    };
    let doctor = |more: &[&str]| told(key(&[&["doctor"], more].concat()).output().unwrap());
    let missing = doctor(&[]);
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(
        missing
            .out
            .contains("which belongs to the store, is not there"),
        "{missing:?}"
    );
    assert_eq!(talk(key(&["chat", "hello"]), "hello\n").code, 0);
    let other = doctor(&[]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(
        other
            .out
            .contains("is not the one that belongs to the store"),
        "{other:?}"
    );

    let log = std::fs::File::create(place.path("log")).unwrap();
    let mut serve = place.command(&["serve", "shop", "--models", &url, "--listen", "127.0.0.1:0"]);
    serve.env("AMBIT_MODEL_KEY", OLD).stderr(log);
    drop(Serving::of(serve));
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    assert!(log.contains("name the same one with --models"), "{log}");

    assert_eq!(doctor(&["--accept"]).code, 0);
    assert_eq!(doctor(&[]).code, 0);
    let first = place.run_as(&["doctor", "--app", "shop"]);
    assert_eq!(first.code, 2, "{first:?}");
    let unknown = place.run_as(&[
        "doctor",
        "--app",
        "shop",
        "--models",
        "redis://:canary@host",
    ]);
    assert!(
        unknown
            .err
            .contains("--models must be sqlite:path or postgres://"),
        "{unknown:?}"
    );
    assert!(!unknown.err.contains("canary"));
}

#[test]
fn a_backup_without_the_models_that_belong_to_the_store_tells_it() {
    let (place, _) = shop();
    let backup = |folder: &str, models: &str| {
        place.run_as(&["backup", folder, "--app", "shop", "--models", models])
    };
    let other = backup("other", &place.url("shop/other.db"));
    assert_eq!(other.code, 2, "{other:?}");
    let last = format!(
        "models: no file at {}, not copied\n",
        place.path("shop/other.db").display()
    );
    assert!(other.out.ends_with(&last), "{other:?}");
    let own = backup("own", &place.url("shop/models.db"));
    assert_eq!((own.code, own.err.as_str()), (0, ""), "{own:?}");
}

/// Which of all numbers a key opens.
fn read(place: &Place, key: &str) -> Vec<usize> {
    let cipher = ColumnCipher::new(key).unwrap();
    let models = models(place);
    let mut stored = models.prepare("SELECT number FROM card").unwrap();
    let stored = stored.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let open = stored.filter_map(|text| cipher.open("card.number", &text.unwrap()).ok());
    let mut read: Vec<usize> = open.map(|number| number.parse().unwrap()).collect();
    read.sort_unstable();
    read
}

#[test]
fn a_change_of_the_key_that_was_broken_off_is_finished_by_another_run() {
    let (place, sealed) = shop();
    let models = models(&place);
    // Whoever changes the last value fails.
    let fault = format!(
        "CREATE TRIGGER fault BEFORE UPDATE ON card WHEN old.number = '{}' \
         BEGIN SELECT RAISE(ABORT, 'broken off'); END",
        sealed[CARDS - 1]
    );
    models.execute_batch(&fault).unwrap();
    let failed = told(rekey(&place).output().unwrap());
    assert_eq!((failed.code, failed.out.as_str()), (1, ""), "{failed:?}");
    let (old, new) = (read(&place, OLD), read(&place, NEW));
    assert!(!old.is_empty() && !new.is_empty());
    assert_eq!(old.len() + new.len(), CARDS);
    models.execute_batch("DROP TRIGGER fault").unwrap();
    for name in ["AMBIT_MODEL_KEY", "AMBIT_MODEL_KEY_NEW"] {
        let mut mistaken = rekey(&place);
        mistaken.env(name, "a third key that has thirty-two letters or more");
        let refused = told(mistaken.output().unwrap());
        assert!(refused.err.contains("a run with other keys"), "{refused:?}");
    }
    let said = format!(
        "{} values are encrypted anew; AMBIT_MODEL_KEY is the new key from now on\n",
        old.len()
    );
    assert_eq!(told(rekey(&place).output().unwrap()), Ran::printed(&said));
    assert_eq!(read(&place, NEW), (0..CARDS).collect::<Vec<usize>>());
}

#[tokio::test]
async fn a_key_is_not_changed_while_a_server_runs_or_where_one_is_missing() {
    let (place, _) = shop();
    let mut without = rekey(&place);
    without.env_remove("AMBIT_MODEL_KEY_NEW");
    let missing =
        "AMBIT_MODEL_KEY_NEW is not set; it is the key that takes the place of AMBIT_MODEL_KEY";
    assert_eq!(told(without.output().unwrap()), Ran::refused(missing));
    let mut without = rekey(&place);
    without.env_remove("AMBIT_MODEL_KEY");
    let missing = "the present key is not known: set AMBIT_MODEL_KEY to it";
    let refused = told(without.output().unwrap());
    assert!(refused.err.contains(missing), "{refused:?}");
    let node = NodeInfo {
        id: "n1".to_owned(),
        version: "1".to_owned(),
        started_at: 1,
        seen_at: 1,
        turns: 0,
        waiting: 0,
    };
    let driver = place.driver("shop/ambit.db").await;
    let write = BatchWrite::Apply {
        key: Space::nodes().key("n1"),
        op: Operation::Set(Json::of(&node).unwrap().into()),
        life: Some(600_000),
    };
    driver.commit(Batch::of([write])).await.unwrap();
    driver.close().await.unwrap();
    let refused = told(rekey(&place).output().unwrap());
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(
        refused.err.contains("a server runs over this store"),
        "{refused:?}"
    );
    assert_eq!(read(&place, OLD).len(), CARDS);
}
