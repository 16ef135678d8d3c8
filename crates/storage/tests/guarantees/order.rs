//! The order of events, and that none tells of what is not durable: G123.

use crate::bed::{Bed, Case, Notes, chat, invalid, spend};
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::event::*;
use ambit_storage::storage::{ChatHistoryStorage, Message};
use ambit_storage::{Ambit, Context, Error, LiveAgent};
use std::sync::{Arc, Mutex};

pub const CASES: &[Case] = cases![
    g123_a_new_agent,
    g123_what_is_on_record_is_nothing_new,
    g123_a_save_of_changes_and_of_nothing,
    g123_a_read,
    g123_a_clear_and_its_save,
    g123_a_remove,
    g123_a_clear_of_the_agent,
    g123_the_facades_clear_and_remove,
    g123_no_event_tells_of_a_change_that_failed,
    g123_a_save_that_reached_one_store_of_two_tells_of_that_one,
    g123_cleared_is_told_when_all_is_clear,
];

/// The names of the events, in order.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<&'static str>>>);

impl Heard {
    /// The names since this was last asked.
    pub fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn note(&self, name: &'static str) {
        self.0.lock().unwrap().push(name);
    }

    fn before<E: Before>(&self, ambit: &Ambit) {
        let heard = self.clone();
        ambit.bus().before(move |_: &mut E| {
            heard.note(E::NAME);
            Box::pin(async { Ok(Verdict::Continue) })
        });
    }

    fn after<E: After>(&self, ambit: &Ambit) {
        let heard = self.clone();
        ambit.after(move |_: Arc<E>| {
            heard.note(E::NAME);
            Box::pin(async { Ok(()) })
        });
    }
}

/// Listens to every event of contexts and storages.
pub fn listen(ambit: &Ambit) -> Heard {
    let heard = Heard::default();
    heard.after::<ContextCreated>(ambit);
    heard.after::<StorageRegistered>(ambit);
    heard.before::<ContextReading>(ambit);
    heard.after::<ContextRead>(ambit);
    heard.before::<ContextSaving>(ambit);
    heard.after::<ContextSaved>(ambit);
    heard.before::<ContextClearing>(ambit);
    heard.after::<ContextCleared>(ambit);
    heard.before::<ContextRemoving>(ambit);
    heard.after::<ContextRemoved>(ambit);
    heard.before::<IdentityAdding>(ambit);
    heard.after::<IdentityAdded>(ambit);
    heard.before::<IdentityRemoving>(ambit);
    heard.after::<IdentityRemoved>(ambit);
    heard.before::<IdentityStorageSaving>(ambit);
    heard.after::<IdentityStorageSaved>(ambit);
    heard.after::<IdentityStorageLoaded>(ambit);
    heard.before::<MessageAdding>(ambit);
    heard.after::<MessageAdded>(ambit);
    heard.after::<ChatHistoryLoaded>(ambit);
    heard.before::<ChatHistorySaving>(ambit);
    heard.after::<ChatHistorySaved>(ambit);
    heard.after::<UsageRecorded>(ambit);
    heard.after::<AgentInitialized>(ambit);
    heard.after::<AgentCleared>(ambit);
    heard
}

/// A session of two messages, a usage record and a note, and what is heard of it from now on.
async fn filled(ambit: &Ambit) -> (LiveAgent, Heard) {
    let agent = chat(ambit, "c", &["one", "two"]).await;
    spend(&agent, 1);
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add("note".to_owned()).unwrap();
    agent.context().save().await.unwrap();
    (agent, listen(ambit))
}

const NEW_AGENT: [&str; 6] = [
    "ContextCreated",
    "IdentityAdding",
    "StorageRegistered",
    "IdentityAdding",
    "StorageRegistered",
    "AgentInitialized",
];

async fn g123_a_new_agent(bed: Bed) {
    let ambit = bed.ambit();
    let heard = listen(&ambit);
    let support = ambit.agent("Support").unwrap();
    let agent = support.for_chat("c").await.unwrap();
    assert_eq!(heard.take(), NEW_AGENT);
    agent.context().storage::<Notes>().await.unwrap();
    assert_eq!(heard.take(), ["IdentityAdding", "StorageRegistered"]);
    agent.context().storage::<Notes>().await.unwrap();
    assert_eq!(heard.take(), [""; 0]);
    support.for_chat("c").await.unwrap();
    assert_eq!(heard.take(), NEW_AGENT);
}

async fn g123_what_is_on_record_is_nothing_new(bed: Bed) {
    let ambit = bed.ambit();
    let (agent, heard) = filled(&ambit).await;
    let support = ambit.agent("Support").unwrap();
    let base = agent.context().identity();
    let again = support.from_identity(base).await.unwrap();
    assert_eq!(heard.take(), NEW_AGENT);
    let fresh = support.for_chat("c").await.unwrap();
    heard.take();
    fresh.context().clear().await.unwrap();
    assert_eq!(heard.take(), ["ContextClearing"]);
    for context in [again.context(), fresh.context()] {
        context.register::<Notes>().await.unwrap();
        assert_eq!(invalid(context.register::<Notes>().await), "prefix");
    }
    assert_eq!(heard.take(), [""; 0]);
}

async fn g123_a_save_of_changes_and_of_nothing(bed: Bed) {
    let ambit = bed.ambit();
    let agent = ambit.agent("Support").unwrap().for_chat("c").await.unwrap();
    let heard = listen(&ambit);
    for text in ["one", "two"] {
        agent
            .history()
            .add_message(Message::user(text))
            .await
            .unwrap();
    }
    assert_eq!(heard.take(), ["MessageAdding", "MessageAdding"]);
    agent.context().save().await.unwrap();
    let dirty = |is_new: bool| {
        let added = is_new.then_some("IdentityAdded");
        let before = [
            "ContextSaving",
            "ChatHistorySaving",
            "IdentityStorageSaving",
        ];
        let told = ["MessageAdded", "MessageAdded", "ChatHistorySaved"];
        let last = ["IdentityStorageSaved", "ContextSaved"];
        before
            .into_iter()
            .chain(told)
            .chain(added)
            .chain(last)
            .collect::<Vec<_>>()
    };
    assert_eq!(heard.take(), dirty(true));
    agent.context().save().await.unwrap();
    assert_eq!(heard.take(), ["ContextSaving", "ContextSaved"]);
    for text in ["three", "four"] {
        agent
            .history()
            .add_message(Message::user(text))
            .await
            .unwrap();
    }
    heard.take();
    agent.context().save().await.unwrap();
    assert_eq!(heard.take(), dirty(false));
}

async fn g123_a_read(bed: Bed) {
    let (agent, heard) = filled(&bed.ambit()).await;
    agent.context().read().await.unwrap();
    assert_eq!(
        heard.take(),
        ["ContextReading", "ChatHistoryLoaded", "ContextRead"]
    );
}

const CLEARED: [&str; 7] = [
    "ContextSaving",
    "ChatHistorySaving",
    "IdentityStorageSaving",
    "ChatHistorySaved",
    "IdentityStorageSaved",
    "ContextCleared",
    "ContextSaved",
];

async fn g123_a_clear_and_its_save(bed: Bed) {
    let (agent, heard) = filled(&bed.ambit()).await;
    agent.context().clear().await.unwrap();
    assert_eq!(heard.take(), ["ContextClearing"]);
    agent.context().save().await.unwrap();
    assert_eq!(heard.take(), CLEARED);
    agent.context().save().await.unwrap();
    assert_eq!(heard.take(), ["ContextSaving", "ContextSaved"]);
}

async fn g123_a_remove(bed: Bed) {
    let (agent, heard) = filled(&bed.ambit()).await;
    agent.context().remove().await.unwrap();
    let expected = [
        "ContextRemoving",
        "IdentityRemoving",
        "IdentityRemoving",
        "IdentityRemoving",
        "IdentityRemoved",
        "IdentityRemoved",
        "IdentityRemoved",
        "IdentityStorageSaved",
        "ContextRemoved",
    ];
    assert_eq!(heard.take(), expected);
}

async fn g123_a_clear_of_the_agent(bed: Bed) {
    let (agent, heard) = filled(&bed.ambit()).await;
    agent.clear().await.unwrap();
    let expected = [
        "ContextSaving",
        "ChatHistorySaving",
        "IdentityStorageSaving",
        "ChatHistorySaved",
        "IdentityStorageSaved",
        "ContextSaved",
        "AgentCleared",
    ];
    assert_eq!(heard.take(), expected);
}

async fn g123_the_facades_clear_and_remove(bed: Bed) {
    let ambit = bed.ambit();
    let (_agent, heard) = filled(&ambit).await;
    let query = Context::named(&ambit, "Support");
    query.dry_run().clear().await.unwrap();
    query.dry_run().remove().await.unwrap();
    assert_eq!(heard.take(), [""; 0]);
    let clear = |is_history: bool| {
        let only = |name| is_history.then_some(name);
        let all = [
            Some("ContextClearing"),
            Some("ContextSaving"),
            only("ChatHistorySaving"),
            Some("IdentityStorageSaving"),
            only("ChatHistorySaved"),
            Some("IdentityStorageSaved"),
            Some("ContextCleared"),
            Some("ContextSaved"),
        ];
        all.into_iter().flatten().collect::<Vec<_>>()
    };
    query.clear().await.unwrap();
    assert_eq!(
        heard.take(),
        [clear(true), clear(false), clear(false)].concat()
    );
    query.remove().await.unwrap();
    let remove = [
        "ContextRemoving",
        "IdentityRemoving",
        "IdentityRemoved",
        "IdentityStorageSaved",
        "ContextRemoved",
    ];
    assert_eq!(heard.take(), [remove, remove, remove].concat());
}

async fn g123_no_event_tells_of_a_change_that_failed(bed: Bed) {
    let flaky = Arc::new(FlakyDriver::new(bed.driver.clone()));
    let ambit = bed.over(flaky.clone());
    let (agent, heard) = filled(&ambit).await;
    let is_after = |name: &&str| !name.ends_with("ing");
    let told = || {
        heard
            .take()
            .into_iter()
            .filter(is_after)
            .collect::<Vec<_>>()
    };
    agent
        .history()
        .add_message(Message::user("three"))
        .await
        .unwrap();
    flaky.fail(FaultKind::Write, u64::MAX);
    agent.context().save().await.unwrap_err();
    assert_eq!(told(), [""; 0]);
    agent.clear().await.unwrap_err();
    assert_eq!(told(), [""; 0]);
    agent.context().clear().await.unwrap();
    agent.context().save().await.unwrap_err();
    assert_eq!(told(), [""; 0]);
    let failed = agent.context().remove().await.unwrap_err();
    assert!(matches!(failed, Error::Partial { .. }), "{failed}");
    assert_eq!(told(), [""; 0]);
    let query = Context::named(&ambit, "Support");
    for report in [query.clear().await.unwrap(), query.remove().await.unwrap()] {
        assert_eq!((report.done.len(), report.failed.len()), (0, 3));
    }
    assert_eq!(told(), [""; 0]);
    flaky.fail(FaultKind::Read, u64::MAX);
    agent.context().read().await.unwrap_err();
    query.page(None, 1).await.unwrap_err();
    assert_eq!(told(), [""; 0]);
    flaky.heal();
    agent.context().read().await.unwrap();
    agent.context().save().await.unwrap();
    assert!(told().contains(&"ContextCleared"));
    assert_eq!(invalid(query.page(None, 0).await), "limit");
}

async fn g123_a_save_that_reached_one_store_of_two_tells_of_that_one(bed: Bed) {
    let second = Arc::new(FlakyDriver::new(Arc::new(MemoryDriver::new(bed.options()))));
    let stores = bed.stores().driver("flaky", second.clone());
    let ambit = crate::bed::with_agents(stores.scope_drivers("usage", &["flaky"])).build();
    let agent = ambit.agent("Support").unwrap().for_chat("c").await.unwrap();
    let heard = listen(&ambit);
    agent
        .history()
        .add_message(Message::user("one"))
        .await
        .unwrap();
    spend(&agent, 1);
    heard.take();
    second.fail(FaultKind::Write, 1);
    let partial = agent.context().save().await.unwrap_err();
    assert!(matches!(partial, Error::Partial { .. }), "{partial}");
    let told = heard.take();
    // The row of the usage came before its data, and is durable.
    let expected = [
        "ContextSaving",
        "ChatHistorySaving",
        "IdentityStorageSaving",
        "MessageAdded",
        "ChatHistorySaved",
        "IdentityAdded",
        "IdentityAdded",
        "IdentityStorageSaved",
    ];
    assert_eq!(told, expected);
    agent.context().save().await.unwrap();
    let rest = [
        "ContextSaving",
        "IdentityStorageSaving",
        "UsageRecorded",
        "IdentityStorageSaved",
        "ContextSaved",
    ];
    assert_eq!(heard.take(), rest);
    let query = Context::named(&ambit, "Support").for_storage::<ChatHistoryStorage>();
    assert_eq!(query.count().await.unwrap(), 1);
}

async fn g123_cleared_is_told_when_all_is_clear(bed: Bed) {
    let (agent, heard) = filled(&bed.ambit()).await;
    agent.context().clear().await.unwrap();
    agent.history().save().await.unwrap();
    assert!(!heard.take().contains(&"ContextCleared"));
    agent.context().save().await.unwrap();
    assert!(heard.take().contains(&"ContextCleared"));
    agent.context().clear().await.unwrap();
    agent.context().discard();
    agent.context().save().await.unwrap();
    assert!(!heard.take().contains(&"ContextCleared"));
}
