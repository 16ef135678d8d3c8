//! The worked examples of the two references' storage, as they read.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::driver::{Driver, DriverOptions};
use ambit_storage::storage::{ChatHistoryStorage, Message, StorageKind, UsageRecord};
use ambit_storage::*;
use std::sync::Arc;

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "SupportAgent"
    }
}

#[derive(Clone, serde::Serialize, serde::Deserialize, PartialEq, Debug)]
struct Note {
    text: String,
}

struct Notes;

impl StorageKind for Notes {
    const PREFIX: &'static str = "notes";
    type Item = Note;
}

fn ambit() -> Ambit {
    let stores = Stores::builder(DriverOptions::default()).build().unwrap();
    Ambit::builder(stores).agent(Support).build()
}

/// A session with two messages, five tokens used and a note; nothing of it is saved.
async fn talk(ambit: &Ambit) -> LiveAgent {
    let support = ambit.agent("SupportAgent").unwrap();
    let agent = support.for_user_id("user-123").await.unwrap();
    for message in [Message::user("hi"), Message::assistant("hello")] {
        agent.history().add_message(message).await.unwrap();
    }
    let used = UsageRecord {
        prompt_tokens: 3,
        completion_tokens: 2,
        ..UsageRecord::default()
    };
    agent.context().usage().record(used).unwrap();
    let notes = agent.context().storage::<Notes>().await.unwrap();
    let text = "x".to_owned();
    notes.add(&Note { text }).unwrap();
    agent
}

async fn tokens(usage: Usage) -> i64 {
    usage.aggregate().await.unwrap().unwrap().total_tokens
}

async fn texts(agent: &LiveAgent) -> Vec<String> {
    let messages = agent.history().messages().await.unwrap();
    messages.iter().map(Message::text).collect()
}

#[tokio::test]
async fn what_a_turn_added_is_saved_at_once() {
    let ambit = ambit();
    let agent = talk(&ambit).await;
    assert_eq!(agent.context().identity().user_id(), Some("user-123"));
    let report = agent.context().save().await.unwrap();
    assert_eq!(report.rows_added.len(), 3);
    assert_eq!(texts(&agent).await, ["hi", "hello"]);
    assert_eq!(tokens(agent.usage()).await, 5);
}

#[tokio::test]
async fn a_session_is_found_by_its_user_and_opened_again() {
    let ambit = ambit();
    talk(&ambit).await.context().save().await.unwrap();
    let of_user = Context::of(&ambit, "SupportAgent").unwrap();
    let found = of_user.for_user("user-123").first().await.unwrap();
    let found = found.unwrap();
    assert_eq!(found.key(), "chatHistory_SupportAgent_user-123");
    let support = ambit.agent("SupportAgent").unwrap();
    let again = support.from_identity(&found).await.unwrap();
    assert_eq!(texts(&again).await, ["hi", "hello"]);
}

#[tokio::test]
async fn replaced_messages_stay_in_the_archive_and_come_back() {
    let ambit = ambit();
    let agent = talk(&ambit).await;
    agent.context().save().await.unwrap();
    let history = agent.history();
    let mut messages = history.messages().await.unwrap();
    messages.remove(0);
    history.replace_messages(messages).await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(texts(&agent).await, ["hello"]);
    assert_eq!(history.archive(1, 10).await.unwrap().len(), 2);
    let overlay = history.overlay_id().await.unwrap().unwrap();
    history.restore(&overlay).await.unwrap();
    assert_eq!(texts(&agent).await, ["hi", "hello"]);
}

#[tokio::test]
async fn a_removed_session_is_gone_and_its_usage_still_counts_for_all() {
    let ambit = ambit();
    let agent = talk(&ambit).await;
    agent.context().save().await.unwrap();
    let memory = agent.context().memory().unwrap();
    memory.set("k", &1, None).await.unwrap();
    assert_eq!(agent.storage_keys().await.unwrap().items.len(), 4);
    let sessions = Context::named(&ambit, "SupportAgent");
    let histories = sessions.for_storage::<ChatHistoryStorage>();
    assert_eq!(histories.dry_run().remove().await.unwrap().done.len(), 1);
    assert_eq!(sessions.remove().await.unwrap().failed, []);
    assert_eq!(sessions.count().await.unwrap(), 0);
    assert_eq!(memory.get("k").await.unwrap(), None);
    assert_eq!(tokens(agent.usage()).await, 0);
    assert_eq!(tokens(Usage::all(&ambit)).await, 5);
}

/// An installation over these two stores that keeps usage in the one of this name.
fn with_usage_in(stores: &[Arc<dyn Driver>; 2], usage: &str) -> Ambit {
    let [first, second] = stores.clone();
    let stores = Stores::builder(DriverOptions::default())
        .driver("first", first)
        .driver("second", second)
        .default_drivers(&["first"])
        .scope_drivers("usage", &[usage])
        .build()
        .unwrap();
    Ambit::builder(stores).agent(Support).build()
}

#[tokio::test]
async fn a_session_among_many_is_opened_where_the_index_recorded_it() {
    let memory = || -> Arc<dyn Driver> { Arc::new(MemoryDriver::new(DriverOptions::default())) };
    let stores = [memory(), memory()];
    let before = with_usage_in(&stores, "second");
    let support = before.agent("SupportAgent").unwrap();
    for chat in 0..120 {
        let agent = support.for_user_id("user-123").chat(format!("{chat}"));
        let history = agent.await.unwrap().history();
        history.add_message(Message::user("hi")).await.unwrap();
        history.save().await.unwrap();
    }
    let agent = talk(&before).await;
    agent.context().save().await.unwrap();
    let after = with_usage_in(&stores, "first");
    let support = after.agent("SupportAgent").unwrap();
    let again = support.from_identity(agent.context().identity()).await;
    let records = again.unwrap().context().usage().records().await.unwrap();
    assert_eq!(records, agent.context().usage().records().await.unwrap());
}
