//! `ambit doctor`.

use crate::backup::models;
use crate::place::{Place, Ran, say, session};
use ambit_storage::SessionIdentity;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};
use std::io::Write;
use std::process::Stdio;

#[tokio::test]
async fn a_healthy_store_is_said_to_be() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["hello"]).await;
    ambit.close().await.unwrap();
    let healthy = "healthy: 1 contexts looked at, 0 findings left";
    assert_eq!(
        place.run(&["doctor"]),
        Ran::printed(&format!("{healthy}\n"))
    );
    let repaired = format!("{healthy}, 0 mended, 0 expired values erased\n");
    assert_eq!(place.run(&["doctor", "--repair"]), Ran::printed(&repaired));
}

/// A chain of `one.db` and `two.db`, of which the second lost a conversation.
async fn out_of_step(place: &Place) {
    let files = [("one", "one.db"), ("two", "two.db")];
    let ambit = place.open_with(&["Support"], &files).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["hello", "hi"]).await;
    ambit.close().await.unwrap();
    let identity = SessionIdentity::builder("Support")
        .user_id("ann")
        .build()
        .unwrap();
    let space = Space::of("default", &identity.with_scope("chatHistory").unwrap());
    let second = place.driver("two.db").await;
    second
        .commit(Batch::of([BatchWrite::Remove { space }]))
        .await
        .unwrap();
    second.close().await.unwrap();
}

#[tokio::test]
async fn a_chain_out_of_step_is_found_and_mended() {
    let place = Place::new();
    out_of_step(&place).await;
    let (one, two) = (
        format!("one={}", place.url("one.db")),
        format!("two={}", place.url("two.db")),
    );
    let doctor = |more: &[&str]| {
        let stores = [
            "--store",
            &one,
            "--store",
            &two,
            "--drivers",
            "one,two",
            "doctor",
        ];
        place.run_as(&[&stores[..], more].concat())
    };
    let found = doctor(&[]);
    assert_eq!(found.code, 2, "{found:?}");
    assert!(
        found
            .out
            .contains("(chatHistory_Support_ann): the copy in two: log "),
        "{found:?}"
    );
    assert!(
        found
            .out
            .ends_with("not healthy: 1 contexts looked at, 1 findings left\n"),
        "{found:?}"
    );
    let mended = doctor(&["--repair"]);
    assert_eq!(mended.code, 0, "{mended:?}");
    assert!(
        mended.out.contains("(mended)\nhealthy: 1 contexts"),
        "{mended:?}"
    );
    assert_eq!(
        doctor(&[]),
        Ran::printed("healthy: 1 contexts looked at, 0 findings left\n")
    );
}

#[tokio::test]
async fn g139_a_corrupt_file_is_named_and_no_command_shows_it_as_empty() {
    let place = Place::new();
    std::fs::write(
        place.path("main.db"),
        "this is no database, however long it may be".repeat(100),
    )
    .unwrap();
    for arguments in [
        &["doctor"][..],
        &["context", "ls"],
        &["usage"],
        &["backup", "copy"],
    ] {
        let ran = place.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        let path = place.path("main.db").display().to_string();
        assert!(
            ran.err.contains(&path) && ran.err.contains("run `ambit restore`"),
            "{}",
            ran.err
        );
    }
    assert!(!place.path("copy").exists());
}

#[tokio::test]
async fn what_was_not_restored_together_is_found_until_it_is_accepted() {
    let place = Place::new();
    place.open(&[]).await.close().await.unwrap();
    drop(models(&place, "models.db"));
    for backup in ["one", "two"] {
        assert_eq!(place.run(&["backup", backup]).code, 0);
    }
    let store = place.url("new/main.db");
    let restored = place.run_as(&["--store", &store, "restore", "one"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    let doctor = |more: &[&str]| place.run_as(&[&["--store", &store, "doctor"], more].concat());
    assert_eq!(doctor(&[]).code, 0);
    let file = place.path("new/models.db");
    std::fs::remove_file(&file).unwrap();
    let left = |words: &str| {
        let found = doctor(&[]);
        assert_eq!(found.code, 2, "{found:?}");
        let first = format!("{}: models {words}", file.display());
        assert!(found.out.starts_with(&first), "{found:?}");
        let last = "not healthy: 0 contexts looked at, 1 findings left\n";
        assert!(found.out.ends_with(last), "{found:?}");
    };
    left("is missing, and was not restored with store sqlite");
    std::fs::copy(place.path("models.db"), &file).unwrap();
    left("was not restored with store sqlite");
    std::fs::copy(place.path("two/models.db"), &file).unwrap();
    left("is of backup ");
    let healthy = "healthy: 0 contexts looked at, 0 findings left\n";
    let accepted = doctor(&["--accept"]);
    assert_eq!((accepted.code, accepted.err.as_str()), (0, ""));
    let told: Vec<&str> = accepted.out.split_inclusive('\n').collect();
    let first = format!("{}: models is of backup ", file.display());
    assert!(told[0].starts_with(&first), "{accepted:?}");
    assert_eq!(told[1..], [healthy]);
    assert_eq!(doctor(&[]), Ran::printed(healthy));
}

/// What is said of the kinds of data: their bytes.
fn sizes(told: &str) -> Vec<(String, u64)> {
    let lines = told.lines().filter_map(|line| line.strip_prefix("    "));
    let sizes = lines.map(|line| {
        let (kind, rest) = line.split_once(": ").unwrap();
        let bytes = rest.split(' ').next().unwrap();
        (kind.to_owned(), bytes.parse().unwrap())
    });
    sizes.collect()
}

#[test]
fn what_takes_the_room_is_told_by_kind() {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "app"]).code, 0);
    let mut chat = place.command(&["--data", "data", "chat", "hello", "--app", "app"]);
    chat.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut chat = chat.spawn().unwrap();
    let mut said = chat.stdin.take().unwrap();
    said.write_all(b"hello\n").unwrap();
    drop(said);
    assert!(chat.wait().unwrap().success());
    let told = place.run_as(&["--data", "data", "doctor", "--sizes"]);
    assert_eq!(told.code, 0, "{told:?}");
    let found = sizes(&told.out);
    for kind in ["streams of turns", "traces of turns", "messages", "usage"] {
        assert!(found.iter().any(|(it, _)| it == kind), "{kind}: {told:?}");
    }
    assert!(!found.iter().any(|(kind, _)| kind == "other"), "{told:?}");
    assert!(
        found.is_sorted_by(|(_, one), (_, next)| one >= next),
        "{told:?}"
    );
    let all = told
        .out
        .lines()
        .find_map(|line| line.strip_suffix(" bytes, with indexes and free room"));
    let all: u64 = all.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    let sum: u64 = found.iter().map(|(_, bytes)| bytes).sum();
    assert!(sum > 0 && sum < all, "{told:?}");
}

#[test]
fn how_long_what_is_kept_is_told_as_the_app_has_it() {
    let place = Place::new();
    place.make_store("main.db");
    let periods = |more: &[&str]| -> Vec<String> {
        let told = place.run(&[&["doctor", "--sizes"], more].concat());
        assert_eq!(told.code, 0, "{told:?}");
        let lines = told.out.lines();
        let periods = lines.filter_map(|line| line.strip_prefix("kept: "));
        periods.map(str::to_owned).collect()
    };
    let over = "0 are over, and go while a server runs";
    let turns = |streams: &str, traces: &str| {
        [
            format!("streams of turns for {streams} (ambit.stream.retention); {over}"),
            format!("traces of turns for {traces} (ambit.trace.retention); {over}"),
        ]
    };
    let told = periods(&[]);
    assert_eq!(told[..2], turns("1d", "30d"));
    let rest = [
        "chats of clients of OpenAI's Responses for 30d without use (ambit.responses.retention)",
        "what was said and used until somebody removes it",
    ];
    assert_eq!(told[2..], rest);
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    let app = r#"{"name": "Shop", "ambit": {"stream": {"retention": "90m"}, "trace": {"retention": "36h"}}}"#;
    std::fs::write(place.path("shop/app.yao"), app).unwrap();
    assert_eq!(periods(&["--app", "shop"])[..2], turns("90m", "36h"));
    std::fs::write(place.path("shop/app.yao"), "{").unwrap();
    let unknown =
        "for how long is not known, as the app in shop cannot be loaded; `ambit check` says why";
    assert_eq!(periods(&["--app", "shop"]), [unknown]);
}
