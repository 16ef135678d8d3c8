//! What is written beside a history, in the same commit.

use crate::setting::*;
use crate::stores::Store;
use ambit_storage::batch::{BatchWrite, NewEntry};
use ambit_storage::driver::LogRange;
use ambit_storage::{AmbitSettings, Json};

pub const CASES: &[Case] = cases![what_was_written_elsewhere_is_not_written_with_the_history];

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
