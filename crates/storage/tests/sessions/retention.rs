//! Storages that nobody uses are removed after their time, and no others.

use crate::setting::*;
use crate::stores::Store;
use ambit_storage::directory::RowFilter;
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::{StorageState, UsageRecord};
use ambit_storage::upkeep::{Sweeper, SweeperOptions, SweeperReport};
use ambit_storage::{AmbitSettings, IndexSweepReport, Retention};
use std::time::Duration;

pub const CASES: &[Case] = cases![
    without_retention_nothing_is_removed,
    retention_names_known_scopes_and_whole_days,
    an_idle_history_goes_with_its_memory_and_nothing_else,
    a_history_whose_memory_is_used_is_kept,
    a_session_under_a_lease_is_kept,
    a_session_used_while_the_patrol_is_at_it_is_kept,
    a_temporary_session_is_not_retired,
    what_a_chain_holds_is_removed_from_every_driver,
    a_step_looks_at_no_more_rows_than_it_is_told,
    the_sweeper_of_sessions_retires_them,
];

fn keeping(days: u32) -> AmbitSettings {
    AmbitSettings {
        retention: Retention::default().idle_days("chatHistory", days).unwrap(),
        ..AmbitSettings::default()
    }
}

async fn without_retention_nothing_is_removed(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(AmbitSettings::default());
    let agent = open(&ambit, "Main", "s").await;
    say(&agent, "one").await.unwrap();
    setting.pass(1_000 * DAY);
    let done = IndexSweepReport {
        rows: 1,
        ..IndexSweepReport::default()
    };
    assert_eq!(patrol(&ambit).await, done);
    assert_eq!(texts(&agent).await, ["one"]);
}

async fn retention_names_known_scopes_and_whole_days(_store: &'static Store) {
    let refusal = |scope, days| {
        let retention = Retention::default().idle_days(scope, days);
        retention.unwrap_err().to_string()
    };
    assert_eq!(
        refusal("chathistory", 1),
        "retention names the scope \"chathistory\", which is unknown; known are chatHistory, memory, usage, \
         and kinds of your own by `idle_days_of`"
    );
    assert_eq!(
        refusal("usage", 0),
        "retention of usage is 0 days; give 1 or more, or leave it out to keep everything"
    );
    let own = Retention::default().idle_days_of::<Notes>(0).unwrap_err();
    assert_eq!(
        own.to_string(),
        "retention of notes is 0 days; give 1 or more, or leave it out to keep everything"
    );
}

async fn an_idle_history_goes_with_its_memory_and_nothing_else(store: &'static Store) {
    for agent in ["Main", "Other"] {
        let setting = Setting::of(store).await;
        let ambit = setting.ambit(keeping(30));
        let (idle, active) = (
            open(&ambit, agent, "idle").await,
            open(&ambit, agent, "active").await,
        );
        for session in [&idle, &active] {
            let usage = session.context().usage();
            let record = UsageRecord {
                prompt_tokens: 3,
                ..UsageRecord::default()
            };
            usage.record(record).unwrap();
            say(session, "one").await.unwrap();
            let memory = session.context().memory().unwrap();
            memory.set("k", &1, None).await.unwrap();
        }
        setting.pass(29 * DAY);
        say(&active, "two").await.unwrap();
        let kept = IndexSweepReport {
            rows: 6,
            ..IndexSweepReport::default()
        };
        assert_eq!(patrol(&ambit).await, kept);
        setting.pass(DAY);
        let done = patrol(&ambit).await;
        assert_eq!((done.retired, done.busy, done.failed), (1, 0, 0));
        assert_eq!(chats(&ambit).await, ["active"]);
        assert_eq!(idle.history().state().await.unwrap(), StorageState::Absent);
        let memory = idle.context().memory().unwrap();
        assert_eq!(memory.get("k").await.unwrap(), None);
        assert_eq!(texts(&active).await, ["one", "two"]);
        let usage = idle.context().usage().records().await.unwrap();
        assert_eq!(usage.len(), 1, "usage is kept for a time of its own");
        let kept = IndexSweepReport {
            rows: 4,
            ..IndexSweepReport::default()
        };
        assert_eq!(patrol(&ambit).await, kept, "{agent}");
    }
}

async fn a_history_whose_memory_is_used_is_kept(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(keeping(30));
    let agent = open(&ambit, "Main", "s").await;
    let memory = agent.context().memory().unwrap();
    say(&agent, "one").await.unwrap();
    memory.set("k", &1, None).await.unwrap();
    setting.pass(29 * DAY);
    memory.set("k", &2, None).await.unwrap();
    setting.pass(29 * DAY);
    assert_eq!(patrol(&ambit).await.retired, 0);
    assert_eq!(texts(&agent).await, ["one"]);
    setting.pass(DAY);
    assert_eq!(patrol(&ambit).await.retired, 1);
    assert_eq!(memory.get("k").await.unwrap(), None);
}

async fn a_session_under_a_lease_is_kept(store: &'static Store) {
    let setting = Setting::of(store).await;
    let retention = Retention::default().idle_days("chatHistory", 30).unwrap();
    let settings = AmbitSettings {
        retention: retention.idle_days_of::<Notes>(30).unwrap(),
        ..AmbitSettings::default()
    };
    let ambit = setting.ambit(settings);
    let agent = open(&ambit, "Other", "s").await;
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add("a".to_owned()).unwrap();
    say(&agent, "one").await.unwrap();
    setting.pass(31 * DAY);
    agent.context().begin_turn(OnBusy::Reject).await.unwrap();
    let done = IndexSweepReport {
        rows: 2,
        busy: 2,
        ..IndexSweepReport::default()
    };
    assert_eq!(patrol(&ambit).await, done);
    assert_eq!(texts(&agent).await, ["one"]);
    agent.context().end_turn().await.unwrap();
    let done = IndexSweepReport {
        rows: 2,
        retired: 2,
        ..IndexSweepReport::default()
    };
    assert_eq!(patrol(&ambit).await, done);
    assert_eq!(notes.state().await.unwrap(), StorageState::Absent);
}

async fn a_session_used_while_the_patrol_is_at_it_is_kept(store: &'static Store) {
    for agent in ["Main", "Other"] {
        let setting = Setting::of(store).await;
        let ambit = setting.ambit(keeping(30));
        let agent = open(&ambit, agent, "s").await;
        say(&agent, "one").await.unwrap();
        setting.pass(31 * DAY);
        let busy = agent.clone();
        setting.hooks.at("patrol.idle", async move {
            say(&busy, "two").await.unwrap();
        });
        let done = IndexSweepReport {
            rows: 1,
            busy: 1,
            ..IndexSweepReport::default()
        };
        assert_eq!(patrol(&ambit).await, done);
        assert!(setting.hooks.are_done());
        assert_eq!(texts(&agent).await, ["one", "two"]);
        assert_eq!(chats(&ambit).await, ["s"]);
    }
}

async fn a_temporary_session_is_not_retired(store: &'static Store) {
    let setting = Setting::of(store).await;
    let settings = AmbitSettings {
        temporary_life: 100 * DAY,
        ..keeping(1)
    };
    let ambit = setting.ambit(settings);
    let agent = open(&ambit, "Main", "_temp_1").await;
    say(&agent, "one").await.unwrap();
    setting.pass(50 * DAY);
    assert_eq!(patrol(&ambit).await, IndexSweepReport::default());
    assert_eq!(texts(&agent).await, ["one"]);
}

async fn what_a_chain_holds_is_removed_from_every_driver(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(keeping(1));
    let agent = open(&ambit, "Both", "s").await;
    say(&agent, "one").await.unwrap();
    setting.pass(2 * DAY);
    assert_eq!(patrol(&ambit).await.retired, 1);
    let identity = agent.history().identity().clone();
    let space = ambit_storage::address::Space::of("default", &identity);
    for driver in [&setting.main, &setting.other] {
        assert_eq!(driver.logs(&space).await.unwrap(), Vec::<String>::new());
        let rows = driver.count(&RowFilter::default()).await.unwrap();
        assert_eq!(rows, 0, "no copy of the row is left either");
    }
    assert_eq!(chats(&ambit).await, Vec::<String>::new());
}

async fn a_step_looks_at_no_more_rows_than_it_is_told(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(keeping(1));
    for chat in ["a", "b", "c", "d", "e"] {
        say(&open(&ambit, "Main", chat).await, "one").await.unwrap();
    }
    setting.pass(2 * DAY);
    let mut patrol = ambit.index_sweep();
    let mut left = Vec::new();
    while let Some(step) = patrol.step(2).await.unwrap() {
        assert_eq!(step.retired, step.rows);
        left.push(chats(&ambit).await);
    }
    let expected: [&[&str]; 3] = [&["c", "d", "e"], &["e"], &[]];
    assert_eq!(left, expected);
}

async fn the_sweeper_of_sessions_retires_them(store: &'static Store) {
    let setting = Setting::of(store).await;
    let ambit = setting.ambit(keeping(1));
    say(&open(&ambit, "Main", "s").await, "one").await.unwrap();
    say(&open(&ambit, "Main", "_temp").await, "one")
        .await
        .unwrap();
    let options = SweeperOptions {
        interval: Duration::from_millis(1),
        step: 10,
    };
    let sweeper = Sweeper::of_sessions(&ambit, options);
    let mut progress = sweeper.progress();
    let first = *progress.wait_for(|swept| swept.rounds > 0).await.unwrap();
    assert_eq!((first.index.retired, first.temporary), (0, 0));
    setting.pass(2 * DAY);
    let both = |swept: &SweeperReport| swept.index.retired == 1 && swept.temporary == 1;
    let last = *progress.wait_for(both).await.unwrap();
    assert_eq!(last.failures, 0);
    sweeper.stop().await;
    assert_eq!(chats(&ambit).await, Vec::<String>::new());
}
