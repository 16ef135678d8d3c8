//! Rows of the index whose storage has no data, and notes of turns that nobody runs any more.

use crate::setting::*;
use crate::stores::Store;
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::lease::{Lease, OnBusy};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::StorageState;
use ambit_storage::{
    Ambit, AmbitSettings, IndexSweepReport, Json, LiveAgent, SessionQuery, memory,
};
use std::time::Duration;

pub const CASES: &[Case] = cases![
    g031_a_row_without_data_reads_as_absent_and_is_swept,
    g031_a_row_is_swept_after_a_day_and_not_before,
    g031_a_row_with_data_of_any_kind_stays,
    g031_a_row_whose_values_have_expired_is_swept,
    g031_a_first_commit_that_was_halted_keeps_its_row,
    g031_data_that_comes_while_its_row_is_swept_gets_it_back,
    g031_first_writes_beside_a_patrol_all_keep_their_rows,
    a_row_without_data_under_a_lease_stays,
    a_row_whose_store_fails_stays_and_is_told,
    g069_the_note_of_a_turn_left_open_goes_with_its_session_alone,
];

/// A session whose first save ended between its row and its data.
async fn halted(setting: &Setting, ambit: &Ambit, chat: &str) -> LiveAgent {
    let agent = open(ambit, "Other", chat).await;
    let dying = agent.clone();
    // As a panic would end it, without the report.
    let killed = async { std::panic::resume_unwind(Box::new("killed")) };
    setting.hooks.at("commit.tracked", killed);
    let save = tokio::spawn(async move { say(&dying, "lost").await });
    assert!(save.await.unwrap_err().is_panic());
    agent.context().discard();
    agent
}

fn swept(rows: u64, swept: u64) -> IndexSweepReport {
    IndexSweepReport {
        rows,
        swept,
        ..IndexSweepReport::default()
    }
}

async fn g031_a_row_without_data_reads_as_absent_and_is_swept(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let agent = halted(&setting, &ambit, "s").await;
    let listed = SessionQuery::every(&ambit)
        .page(None, 10)
        .await
        .unwrap()
        .items;
    let told: Vec<(u64, u64)> = listed
        .iter()
        .map(|row| (row.generation, row.items))
        .collect();
    assert_eq!(told, [(0, 0)], "the list says that it has nothing");
    let found = listed[0].identity.clone();
    let opened = ambit.agent("Other").unwrap().from_identity(&found).await;
    let opened = opened.unwrap();
    assert_eq!(
        opened.history().state().await.unwrap(),
        StorageState::Absent
    );
    assert_eq!(texts(&opened).await, Vec::<String>::new());
    setting.pass(2 * DAY);
    assert_eq!(patrol(&ambit).await, swept(1, 1));
    assert_eq!(chats(&ambit).await, Vec::<String>::new());
    say(&agent, "one").await.unwrap();
    assert_eq!(chats(&ambit).await, ["s"]);
    assert_eq!(texts(&agent).await, ["one"]);
}

async fn g031_a_row_is_swept_after_a_day_and_not_before(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    halted(&setting, &ambit, "s").await;
    setting.pass(DAY - Duration::from_secs(600));
    assert_eq!(patrol(&ambit).await, swept(1, 0));
    setting.pass(Duration::from_secs(1_200));
    assert_eq!(patrol(&ambit).await, swept(1, 1));
}

async fn g031_a_row_with_data_of_any_kind_stays(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    for name in ["Main", "Other", "Both"] {
        let full = open(&ambit, name, &format!("full{name}")).await;
        say(&full, "one").await.unwrap();
        let cleared = open(&ambit, name, &format!("cleared{name}")).await;
        say(&cleared, "one").await.unwrap();
        cleared.context().clear().await.unwrap();
        cleared.context().save().await.unwrap();
        let known = open(&ambit, name, &format!("known{name}")).await;
        let memory = known.context().memory().unwrap();
        memory.set("k", &1, None).await.unwrap();
    }
    setting.pass(100 * DAY);
    assert_eq!(patrol(&ambit).await, swept(9, 0));
}

async fn g031_a_row_whose_values_have_expired_is_swept(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let agent = open(&ambit, "Main", "s").await;
    let memory = agent.context().memory().unwrap();
    let hour = Some(memory::Ttl::After(3_600_000));
    memory.set("k", &1, hour).await.unwrap();
    setting.pass(2 * DAY);
    assert_eq!(patrol(&ambit).await, swept(1, 1));
    memory.set("k", &2, None).await.unwrap();
    assert_eq!(patrol(&ambit).await, swept(1, 0));
}

async fn g031_a_first_commit_that_was_halted_keeps_its_row(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let agent = open(&ambit, "Other", "s").await;
    let (sweeping, clock) = (ambit.clone(), setting.options.clock.clone());
    setting.hooks.at("commit.tracked", async move {
        clock.advance(2 * DAY);
        assert_eq!(patrol(&sweeping).await, swept(1, 1));
    });
    say(&agent, "one").await.unwrap();
    assert!(setting.hooks.are_done());
    assert_eq!(chats(&ambit).await, ["s"]);
    assert_eq!(texts(&agent).await, ["one"]);
}

async fn g031_data_that_comes_while_its_row_is_swept_gets_it_back(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let agent = halted(&setting, &ambit, "s").await;
    let before = SessionQuery::every(&ambit).page(None, 10).await.unwrap();
    setting.pass(2 * DAY);
    let space = Space::of("default", agent.history().identity());
    let other = setting.other.clone();
    setting.hooks.at("patrol.untracked", async move {
        let entry = NewEntry::new("a", Json::of(&"late").unwrap());
        let write = BatchWrite::append(space.log("items"), vec![entry]);
        other.commit(Batch::of([write])).await.unwrap();
    });
    assert_eq!(patrol(&ambit).await, swept(1, 0));
    assert!(setting.hooks.are_done());
    let after = SessionQuery::every(&ambit).page(None, 10).await.unwrap();
    assert_eq!(after, before);
}

async fn g031_first_writes_beside_a_patrol_all_keep_their_rows(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let names: Vec<String> = (0..12).map(|number| format!("s{number:02}")).collect();
    let mut agents = Vec::new();
    for name in &names {
        agents.push(halted(&setting, &ambit, name).await);
    }
    setting.pass(2 * DAY);
    let mut writers = tokio::task::JoinSet::new();
    for agent in agents.clone() {
        writers.spawn(async move { say(&agent, "one").await.unwrap() });
        writers.spawn({
            let ambit = ambit.clone();
            async move {
                patrol(&ambit).await;
            }
        });
    }
    writers.join_all().await;
    let mut found = chats(&ambit).await;
    found.sort();
    assert_eq!(found, names);
    for agent in agents {
        assert_eq!(texts(&agent).await, ["one"]);
    }
}

async fn a_row_without_data_under_a_lease_stays(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let agent = halted(&setting, &ambit, "s").await;
    setting.pass(2 * DAY);
    let key = Space::of("default", agent.history().identity()).lease();
    let held = Lease::take(setting.other.clone(), key, OnBusy::Reject).await;
    let held = held.unwrap();
    let busy = IndexSweepReport {
        rows: 1,
        busy: 1,
        ..IndexSweepReport::default()
    };
    assert_eq!(patrol(&ambit).await, busy);
    held.release().await.unwrap();
    assert_eq!(patrol(&ambit).await, swept(1, 1));
}

async fn a_row_whose_store_fails_stays_and_is_told(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    halted(&setting, &ambit, "s").await;
    setting.pass(2 * DAY);
    setting.other.close().await.unwrap();
    let failed = IndexSweepReport {
        rows: 1,
        failed: 1,
        ..IndexSweepReport::default()
    };
    assert_eq!(patrol(&ambit).await, failed);
    assert_eq!(chats(&ambit).await, ["s"]);
}

async fn g069_the_note_of_a_turn_left_open_goes_with_its_session_alone(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let mut agents = Vec::new();
    for chat in ["removed", "cleared", "kept"] {
        let agent = open(&ambit, "Other", chat).await;
        say(&agent, "one").await.unwrap();
        let (space, driver) = agent.context().place();
        for turn in ["r1", "r2"] {
            let turn = format!("{turn}-{chat}");
            let keys = [
                Space::turns().key(format!("{}/{turn}", space.digest())),
                Space::requests(&space.tenant).key(turn),
            ];
            let note = |key| {
                BatchWrite::apply(key, Operation::Set(Json::of(&space).unwrap().into()), None)
            };
            driver.commit(Batch::of(keys.map(note))).await.unwrap();
        }
        agents.push(agent);
    }
    agents[0].context().remove().await.unwrap();
    let cleared = SessionQuery::every(&ambit)
        .for_chat("cleared")
        .clear()
        .await;
    assert_eq!(cleared.unwrap().failed, []);
    let (space, driver) = agents[2].context().place();
    let scan = ValueScan::first(Pattern::all(), 100, ValuePart::Nothing);
    let names = async |of: &Space| {
        let left = driver.scan(of, &scan).await.unwrap().into_iter();
        left.map(|(name, _)| name).collect::<Vec<String>>()
    };
    let turns = ["r1-kept", "r2-kept"];
    let noted = turns.map(|turn| format!("{}/{turn}", space.digest()));
    assert_eq!(names(&Space::turns()).await, noted);
    assert_eq!(names(&Space::requests(&space.tenant)).await, turns);
}
