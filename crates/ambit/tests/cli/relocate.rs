//! `context move`.

use crate::place::{Place, Ran, say, session};
use ambit_storage::SessionIdentity;
use ambit_storage::address::{ITEMS, Space};
use ambit_storage::driver::{LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use std::process::Stdio;

const OLD_AND_NEW: [(&str, &str); 2] = [("sqlite", "main.db"), ("new", "new.db")];

/// A conversation in `main.db`, an empty `new.db`, and the stores' arguments.
async fn stored(place: &Place, messages: usize) -> [String; 4] {
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    agent
        .context()
        .memory()
        .unwrap()
        .incr("visits", 1.0)
        .await
        .unwrap();
    let texts: Vec<String> = (0..messages)
        .map(|number| format!("text {number}"))
        .collect();
    say(
        &agent,
        &texts.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    ambit.close().await.unwrap();
    place.driver("new.db").await.close().await.unwrap();
    let urls = OLD_AND_NEW.map(|(name, file)| format!("{name}={}", place.url(file)));
    let [old, new] = urls;
    let flag = || "--store".to_owned();
    [flag(), old, flag(), new]
}

fn run(place: &Place, stores: &[String], arguments: &[&str]) -> Ran {
    let stores: Vec<&str> = stores.iter().map(String::as_str).collect();
    place.run_as(&[&stores[..], arguments].concat())
}

#[tokio::test]
async fn a_moved_context_is_read_from_its_new_store() {
    let place = Place::new();
    let stores = stored(&place, 300).await;
    let id = place.id(&["--scope", "chatHistory"]);
    let before = run(&place, &stores, &["context", "messages", &id, "--json"]);
    let moved = run(&place, &stores, &["context", "move", &id, "--to", "new"]);
    assert_eq!(
        moved,
        Ran::printed("moved chatHistory_Support_ann from sqlite to new\n")
    );
    let again = run(&place, &stores, &["context", "move", &id, "--to", "new"]);
    assert_eq!(again, Ran::printed("chatHistory_Support_ann is in new\n"));
    assert_eq!(
        run(&place, &stores, &["context", "messages", &id, "--json"]),
        before
    );
    let listed = run(
        &place,
        &stores,
        &["context", "ls", "--scope", "chatHistory", "--json"],
    )
    .json();
    assert_eq!(
        (&listed[0]["items"], &listed[0]["drivers"]),
        (&300.into(), &vec!["new"].into())
    );
    let healthy = run(&place, &stores, &["doctor"]);
    assert_eq!(
        healthy,
        Ran::printed("healthy: 2 contexts looked at, 0 findings left\n")
    );
}

#[tokio::test]
async fn a_context_moves_to_a_chain_and_back() {
    let place = Place::new();
    let stores = stored(&place, 10).await;
    let id = place.id(&["--scope", "chatHistory"]);
    let moved = run(
        &place,
        &stores,
        &["context", "move", &id, "--to", "sqlite,new"],
    );
    assert_eq!(
        moved,
        Ran::printed("moved chatHistory_Support_ann from sqlite to sqlite, new\n")
    );
    let healthy = run(&place, &stores, &["doctor"]);
    assert_eq!(
        healthy,
        Ran::printed("healthy: 2 contexts looked at, 0 findings left\n")
    );
    let back = run(&place, &stores, &["context", "move", &id, "--to", "sqlite"]);
    assert_eq!(
        back,
        Ran::printed("moved chatHistory_Support_ann from sqlite, new to sqlite\n")
    );
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused() {
    let place = Place::new();
    let stores = stored(&place, 1).await;
    let id = place.id(&["--scope", "chatHistory"]);
    let unknown = run(&place, &stores, &["context", "move", &id, "--to", "sqlit"]);
    let words = "--to is refused: drivers \"sqlit\" is unknown; set up are memory, new, sqlite; did you mean \"sqlite\"?";
    assert_eq!(unknown, Ran::refused(words));
    let nobody = run(&place, &stores, &["context", "move", "none", "--to", "new"]);
    let places = ["main.db", "new.db"].map(|file| place.path(file));
    assert_eq!(nobody, Ran::no_context("none", &places));
    let memory = place.id(&["--scope", "memory"]);
    let alone = run(
        &place,
        &stores,
        &["context", "move", &memory, "--to", "new"],
    );
    assert!(
        alone.err.contains("moves along with its history"),
        "{alone:?}"
    );
    let nowhere = run(&place, &stores, &["context", "move", &id]);
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.err.contains("--to <NAMES>"), "{nowhere:?}");
}

/// The session's log in this file.
async fn copied(place: &Place, file: &str) -> u64 {
    let identity = SessionIdentity::builder("Support")
        .user_id("ann")
        .build()
        .unwrap();
    let space = Space::of("default", &identity.with_scope("chatHistory").unwrap());
    let driver = place.driver(file).await;
    let head = driver
        .read(&space.log(ITEMS), LogRange::head())
        .await
        .unwrap()
        .head;
    driver.close().await.unwrap();
    head.map_or(0, |head| head.last)
}

/// True where the index knows of a move.
async fn is_noted(place: &Place) -> bool {
    let moves = Space {
        tenant: "default".to_owned(),
        path: "i:moves".to_owned(),
    };
    let all = ValueScan::first(Pattern::all(), 1, ValuePart::Nothing);
    let driver = place.driver("main.db").await;
    let notes = driver.scan(&moves, &all).await.unwrap();
    driver.close().await.unwrap();
    !notes.is_empty()
}

#[tokio::test]
async fn a_killed_move_is_seen_and_ends_when_it_is_repeated() {
    let place = Place::new();
    let stores = stored(&place, 500).await;
    let id = place.id(&["--scope", "chatHistory"]);
    let before = run(&place, &stores, &["context", "messages", &id, "--json"]);
    let arguments = ["context", "move", &id, "--to", "new"];
    // Somebody else writes to the new store, so that the move waits until it is killed.
    let other = rusqlite::Connection::open(place.path("new.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patient = stores
        .iter()
        .map(|store| store.replace("new.db", "new.db?busy_ms=600000"));
    let patient: Vec<String> = patient.collect();
    let all: Vec<&str> = patient
        .iter()
        .map(String::as_str)
        .chain(arguments)
        .collect();
    let mut moving = place.command(&all).stdout(Stdio::null()).spawn().unwrap();
    while !is_noted(&place).await {
        assert_eq!(moving.try_wait().unwrap(), None, "it has ended by itself");
    }
    moving.kill().unwrap();
    moving.wait().unwrap();
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        run(&place, &stores, &["context", "messages", &id, "--json"]),
        before
    );
    let found = run(&place, &stores, &["doctor"]);
    let finding = format!(
        "context {id}: is moving from sqlite to new, which was interrupted or is not over; repeat it or repair\n\
         not healthy: 2 contexts looked at, 1 findings left\n"
    );
    assert_eq!((found.code, found.out), (2, finding));
    let repeated = run(&place, &stores, &arguments);
    assert_eq!(
        repeated,
        Ran::printed("moved chatHistory_Support_ann from sqlite to new\n")
    );
    assert_eq!(
        run(&place, &stores, &["context", "messages", &id, "--json"]),
        before
    );
    let left = (
        copied(&place, "main.db").await,
        copied(&place, "new.db").await,
    );
    assert_eq!(left, (0, 500));
    assert!(!is_noted(&place).await);
}
