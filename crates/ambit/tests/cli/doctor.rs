//! `ambit doctor`.

use crate::place::{Place, Ran, say, session};
use ambit_storage::SessionIdentity;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite};

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
        &["backup", "copy.db"],
    ] {
        let ran = place.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        let path = place.path("main.db").display().to_string();
        assert!(
            ran.err.contains(&path) && ran.err.contains("ambit backup"),
            "{}",
            ran.err
        );
    }
    assert!(!place.path("copy.db").exists());
}
