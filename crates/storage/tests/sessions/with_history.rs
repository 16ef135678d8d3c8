//! What is written beside a history, in the same commit.

use crate::setting::*;
use crate::stores::Store;
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::{LogRange, ValuePart};
use ambit_storage::lease::{OnBusy, ask_to_end};
use ambit_storage::{AmbitSettings, Json};

pub const CASES: &[Case] = cases![
    what_was_written_elsewhere_is_not_written_with_the_history,
    a_request_to_end_a_turn_that_comes_late_ends_by_itself,
];

async fn what_was_written_elsewhere_is_not_written_with_the_history(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let main = open(&ambit, "Main", "s").await;
    let (space, driver) = main.context().place();
    let log = space.log("notes");
    let note = |id: &str| {
        let body = Json::of(id).unwrap();
        let id = id.to_owned();
        BatchWrite::append(log.clone(), vec![NewEntry { id, body }])
    };
    let staged = ["here", "elsewhere", "here too"].map(note);
    main.context().stage_with_history(staged);
    main.context().unstage_with_history(&[note("elsewhere")]);
    say(&main, "one").await.unwrap();
    let page = driver.read(&log, LogRange::from(1, 10)).await.unwrap();
    let ids: Vec<&str> = page.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["here", "here too"]);
}

async fn a_request_to_end_a_turn_that_comes_late_ends_by_itself(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let main = open(&ambit, "Main", "s").await;
    let (space, driver) = main.context().place();
    let lease = space.lease();
    let ask = async |known| {
        let asked = ask_to_end(driver.as_ref(), &lease, known).await;
        asked.unwrap().unwrap()
    };
    let request = async |epoch: u64| {
        let key = lease.space.key(format!("wish/{epoch}"));
        driver.get(&key, ValuePart::Nothing).await.unwrap()
    };
    main.context().begin_turn(OnBusy::Reject).await.unwrap();
    let first = ask(0).await;
    let end = Batch::default();
    main.context().save_and_end_turn(end).await.unwrap();
    // The turn may have seen it before its end, and has taken it away then.
    let left = request(first).await;
    assert!(left.is_none_or(|entry| entry.expires_at.is_some()));
    main.context().begin_turn(OnBusy::Reject).await.unwrap();
    let second = ask(first).await;
    assert_ne!(first, second);
    main.context().end_turn().await.unwrap();
    assert!(request(second).await.is_none());
}
