//! Conversations that are carried elsewhere, with what their turns have left.

use crate::left_behind::{PROMPTS, SLOW, left_turn, next_node};
use crate::place::{Place, ann, ask, files, frames, place, request, settings};
use crate::retention::{
    DAY, HELLO, id, kept, logs, notes, numbers, pass, pass_in, row, space, turn,
};
use ambit_runtime::{ErrorCode, Runtime, TurnStatus};
use ambit_storage::backup::backup;
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::doctor::{DoctorMode, Finding, examine};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions, LogRange, open};
use ambit_storage::lease::OnBusy;
use ambit_storage::relocation::relocate;
use ambit_storage::{Json, Stores};
use std::sync::Arc;

/// A runtime over the drivers `a` and `b`, with everything in these.
async fn two_drivers(used: &[&str]) -> Place {
    let options = DriverOptions::default();
    let mut builder = Stores::builder(options.clone());
    for name in ["a", "b"] {
        builder = builder.driver(name, Arc::new(MemoryDriver::new(options.clone())));
    }
    let stores = builder.default_drivers(used).build().unwrap();
    let app = files(&[HELLO, PROMPTS, SLOW]);
    let runtime = Runtime::open(settings(app.path(), stores)).await.unwrap();
    Place { runtime, app }
}

#[tokio::test]
async fn a_moved_conversation_takes_its_turns_along_and_they_end_there() {
    let place = two_drivers(&["a"]).await;
    let (id, frames) = turn(&place, "hi").await;
    let before = logs(&place.runtime).await;
    let ambit = place.runtime.contexts(&ann());
    let history = row(&place.runtime).await;
    relocate(&ambit, &history.id, &["b"]).await.unwrap();
    assert_eq!(row(&place.runtime).await.placement, ["b"]);
    assert_eq!(logs(&place.runtime).await, before);
    let drivers = place.runtime.stores().drivers().clone();
    let left = drivers["a"].logs(&space(&history)).await.unwrap();
    assert_eq!(left, Vec::<String>::new());
    let last = frames.len() as u64;
    assert_eq!(numbers(&place.runtime, &id).await, Ok(last));
    pass(&place, DAY);
    place.runtime.drop_expired().await;
    let gone = Err(ErrorCode::StreamExpired);
    assert_eq!(numbers(&place.runtime, &id).await, gone);
    assert_eq!(logs(&place.runtime).await, [format!("turn/{id}/trace")]);
}

#[tokio::test]
async fn a_turn_that_its_node_has_left_moves_along_and_ends() {
    let place = two_drivers(&["a"]).await;
    let left = left_turn(&place).await;
    let ambit = place.runtime.contexts(&ann());
    let history = row(&place.runtime).await;
    relocate(&ambit, &history.id, &["b"]).await.unwrap();
    let stores = place.runtime.stores();
    let mut builder = Stores::builder(stores.options().clone());
    for (name, driver) in stores.drivers() {
        builder = builder.driver(name, driver.clone());
    }
    let stores = builder.default_drivers(&["b"]).build().unwrap();
    let next = Runtime::open(settings(place.app.path(), stores)).await;
    let next = Place {
        runtime: next.unwrap(),
        app: place.app,
    };
    let mut quick = request("hello", "quick");
    quick.on_busy = OnBusy::Interrupt;
    ask(&next, quick).await;
    let info = next.runtime.turn(&ann(), &left).await.unwrap();
    assert_ne!(info.status, TurnStatus::Running);
    let old = next.runtime.stores().drivers()["a"].clone();
    assert_eq!(notes(&*old).await, []);
}

#[tokio::test]
async fn nothing_leads_to_a_turn_whose_journal_is_gone_or_cannot_be_read() {
    for is_gone in [true, false] {
        let place = place(&[HELLO, PROMPTS, SLOW]).await;
        let lost = left_turn(&place).await;
        let (driver, space) = kept(&place.runtime).await;
        let log = space.log(format!("turn/{lost}/journal"));
        let entries = vec![NewEntry {
            id: "spoiled".to_owned(),
            body: Json::stored("{"),
        }];
        let spoiled = match is_gone {
            true => BatchWrite::Drop { log },
            false => BatchWrite::Append { log, entries },
        };
        driver.commit(Batch::of([spoiled])).await.unwrap();
        let next = next_node(place).await;
        ask(&next, request("hello", "quick")).await;
        let mut noted = notes(&*driver).await;
        noted.retain(|(name, _)| name.contains(&lost));
        assert_eq!(noted, [], "gone: {is_gone}");
    }
}

#[tokio::test]
async fn in_a_chain_a_stream_goes_from_every_driver() {
    let place = two_drivers(&["a", "b"]).await;
    let (id, _) = turn(&place, "hi").await;
    pass(&place, DAY);
    place.runtime.drop_expired().await;
    let gone = Err(ErrorCode::StreamExpired);
    assert_eq!(numbers(&place.runtime, &id).await, gone);
    let space = space(&row(&place.runtime).await);
    for (name, driver) in place.runtime.stores().drivers() {
        let mut logs = driver.logs(&space).await.unwrap();
        logs.retain(|log| log.starts_with("turn/"));
        let expected = match name.as_str() {
            "a" | "b" => vec![format!("turn/{id}/trace")],
            _ => Vec::new(),
        };
        assert_eq!(logs, expected, "{name}");
    }
    assert_eq!(place.runtime.drop_expired().await, 0);
}

#[tokio::test]
async fn turns_are_in_a_backup_and_no_finding_of_the_doctor() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let options = DriverOptions::default();
    let driver = open(&url("ambit.db"), options.clone()).await.unwrap();
    let builder = Stores::builder(options.clone()).driver("sqlite", driver);
    let stores = builder.default_drivers(&["sqlite"]).build().unwrap();
    let app = files(&[HELLO]);
    let runtime = Runtime::open(settings(app.path(), stores)).await.unwrap();
    let first = frames(runtime.start(request("hello", "one")).await.unwrap()).await;
    let second = frames(runtime.start(request("hello", "two")).await.unwrap()).await;
    pass_in(&runtime, DAY);
    runtime.drop_expired().await;
    let third = frames(runtime.start(request("hello", "three")).await.unwrap()).await;
    let mut found = Vec::new();
    let mut tell = |finding: &Finding| found.push(finding.clone());
    let ambit = runtime.contexts(&ann());
    examine(&ambit, DoctorMode::Repair, &mut tell)
        .await
        .unwrap();
    assert_eq!(found, []);
    let names = logs(&runtime).await;
    assert_eq!(
        names.len(),
        4,
        "{:?}",
        [id(&first), id(&second), id(&third)]
    );
    let copy = folder.path().join("copy.db");
    backup(&url("ambit.db"), options.clone(), &copy)
        .await
        .unwrap();
    let copied = open(&url("copy.db"), options).await.unwrap();
    let (driver, space) = kept(&runtime).await;
    for name in names {
        let read = async |from: &dyn Driver| {
            let log = space.log(name.as_str());
            from.read(&log, LogRange::from(1, 1_000)).await.unwrap()
        };
        assert_eq!(read(&*copied).await, read(&*driver).await, "{name}");
    }
}
