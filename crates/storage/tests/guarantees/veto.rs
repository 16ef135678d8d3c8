//! What a listener's veto or error stops: G124.

use crate::bed::{Bed, Case, chat, heard, rows, spend};
use ambit_storage::event::*;
use ambit_storage::storage::Message;
use ambit_storage::{Ambit, Context, Error, LiveAgent};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub const CASES: &[Case] = cases![
    g124_a_veto_stops_a_save_and_nothing_is_written,
    g124_a_veto_stops_a_message_before_it_is_staged,
    g124_a_veto_stops_a_new_session,
    g124_a_veto_stops_a_new_memory,
    g124_a_veto_stops_a_clear_and_a_read,
    g124_a_veto_stops_a_remove_before_anything_is_gone,
    g124_a_veto_of_one_identity_leaves_the_rest_of_a_bulk_removal,
    g124_an_error_before_fails_and_an_error_after_does_not,
];

/// Vetoes every `E` while the switch is on.
fn bans<E: Before>(
    ambit: &Ambit,
    when: impl Fn(&E) -> bool + Send + Sync + 'static,
) -> Arc<AtomicBool> {
    let switch = Arc::new(AtomicBool::new(true));
    let is_on = switch.clone();
    ambit.bus().before(move |event: &mut E| {
        let is_banned = is_on.load(Ordering::SeqCst) && when(event);
        Box::pin(async move {
            Ok(if is_banned {
                Verdict::veto("banned")
            } else {
                Verdict::Continue
            })
        })
    });
    switch
}

/// The event that was vetoed; anything else fails.
fn vetoed<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    match result {
        Err(Error::Vetoed { event, reason, .. }) if reason == "banned" => event,
        other => panic!("a veto was expected, not {other:?}"),
    }
}

async fn filled(ambit: &Ambit) -> LiveAgent {
    let agent = chat(ambit, "c", &["one"]).await;
    spend(&agent, 1);
    agent.context().save().await.unwrap();
    agent
}

async fn stops_saving<E: Before>(bed: &Bed, chat_name: &str) {
    let ambit = bed.ambit();
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_chat(chat_name)
        .await
        .unwrap();
    agent
        .history()
        .add_message(Message::user("two"))
        .await
        .unwrap();
    let before = bed.snapshot().await;
    let switch = bans::<E>(&ambit, |_| true);
    assert_eq!(vetoed(agent.context().save().await), E::NAME);
    assert_eq!(bed.snapshot().await, before);
    assert!(agent.context().is_dirty());
    switch.store(false, Ordering::SeqCst);
    agent.context().save().await.unwrap();
    assert_eq!(heard(&agent).await, ["two"]);
}

async fn g124_a_veto_stops_a_save_and_nothing_is_written(bed: Bed) {
    stops_saving::<ContextSaving>(&bed, "a").await;
    stops_saving::<ChatHistorySaving>(&bed, "b").await;
    stops_saving::<IdentityStorageSaving>(&bed, "c").await;
}

async fn g124_a_veto_stops_a_message_before_it_is_staged(bed: Bed) {
    let ambit = bed.ambit();
    let agent = filled(&ambit).await;
    bans::<MessageAdding>(&ambit, |event| event.message.as_str().contains("bad"));
    let added = agent.history().add_message(Message::user("bad")).await;
    assert_eq!(vetoed(added), "MessageAdding");
    assert!(!agent.context().is_dirty());
    agent
        .history()
        .add_message(Message::user("good"))
        .await
        .unwrap();
    assert_eq!(heard(&agent).await, ["one", "good"]);
}

async fn g124_a_veto_stops_a_new_session(bed: Bed) {
    let ambit = bed.ambit();
    bans::<IdentityAdding>(&ambit, |event| event.identity.user_id() == Some("mallory"));
    let support = ambit.agent("Support").unwrap();
    let opened = support.for_user_id("mallory").await;
    assert_eq!(vetoed(opened), "IdentityAdding");
    assert!(support.for_user_id("ann").await.is_ok());
    assert_eq!(Context::named(&ambit, "Support").count().await.unwrap(), 0);
}

async fn g124_a_veto_stops_a_new_memory(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["one"]).await;
    let memory = agent.context().memory().unwrap();
    let switch = bans::<IdentityAdding>(&ambit, |event| event.storage == "memory");
    ambit.bus().before(|event: &mut IdentityAdding| {
        let kind = event.storage.clone();
        event.labels.insert("kind".to_owned(), kind);
        Box::pin(async { Ok(Verdict::Continue) })
    });
    let before = bed.snapshot().await;
    assert_eq!(vetoed(memory.set("k", &1, None).await), "IdentityAdding");
    assert_eq!(bed.snapshot().await, before);
    switch.store(false, Ordering::SeqCst);
    memory.set("k", &1, None).await.unwrap();
    let rows = rows(bed.driver.as_ref()).await;
    let kinds: Vec<_> = rows.iter().map(|row| row.labels.get("kind")).collect();
    assert_eq!(kinds, [None, Some(&"memory".to_owned())]);
}

async fn g124_a_veto_stops_a_clear_and_a_read(bed: Bed) {
    let ambit = bed.ambit();
    let agent = filled(&ambit).await;
    bans::<ContextClearing>(&ambit, |_| true);
    bans::<ContextReading>(&ambit, |_| true);
    let before = bed.snapshot().await;
    assert_eq!(vetoed(agent.context().clear().await), "ContextClearing");
    assert_eq!(vetoed(agent.context().read().await), "ContextReading");
    assert!(!agent.context().is_dirty());
    let report = Context::named(&ambit, "Support").clear().await.unwrap();
    assert_eq!((report.done.len(), report.failed.len()), (0, 2));
    assert!(
        report.failed[0].1.to_string().ends_with(": banned"),
        "{report:?}"
    );
    assert_eq!(bed.snapshot().await, before);
}

async fn g124_a_veto_stops_a_remove_before_anything_is_gone(bed: Bed) {
    let ambit = bed.ambit();
    let agent = filled(&ambit).await;
    let before = bed.snapshot().await;
    let switch = bans::<ContextRemoving>(&ambit, |_| true);
    assert_eq!(vetoed(agent.context().remove().await), "ContextRemoving");
    switch.store(false, Ordering::SeqCst);
    // The last of the identities is the one that is refused.
    let switch = bans::<IdentityRemoving>(&ambit, |event| event.identity.scope() == Some("usage"));
    assert_eq!(vetoed(agent.context().remove().await), "IdentityRemoving");
    assert_eq!(bed.snapshot().await, before);
    switch.store(false, Ordering::SeqCst);
    agent.context().remove().await.unwrap();
    assert_eq!(Context::named(&ambit, "Support").count().await.unwrap(), 0);
}

async fn g124_a_veto_of_one_identity_leaves_the_rest_of_a_bulk_removal(bed: Bed) {
    let ambit = bed.ambit();
    for name in ["a", "b", "c"] {
        chat(&ambit, name, &["hi"]).await;
    }
    bans::<IdentityRemoving>(&ambit, |event| event.identity.chat_name() == Some("b"));
    let report = Context::named(&ambit, "Support").remove().await.unwrap();
    let chat_of =
        |identity: &ambit_storage::SessionIdentity| identity.chat_name().map(str::to_owned);
    let done: Vec<_> = report.done.iter().filter_map(chat_of).collect();
    let failed: Vec<_> = report
        .failed
        .iter()
        .filter_map(|(identity, _)| chat_of(identity))
        .collect();
    assert_eq!(
        (done, failed),
        (vec!["a".to_owned(), "c".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(heard(&chat(&ambit, "b", &[]).await).await, ["hi"]);
}

async fn g124_an_error_before_fails_and_an_error_after_does_not(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &[]).await;
    let (broken, fixed) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicBool::new(false)),
    );
    let is_broken = broken.clone();
    let denied = || Error::Denied {
        reason: "the moon is full".to_owned(),
    };
    ambit.bus().before(move |_: &mut ContextSaving| {
        let is_broken = is_broken.load(Ordering::SeqCst);
        Box::pin(async move {
            if is_broken {
                Err(denied())
            } else {
                Ok(Verdict::Continue)
            }
        })
    });
    ambit.after(move |_: Arc<MessageAdded>| Box::pin(async move { Err(denied()) }));
    let told = fixed.clone();
    ambit.after(move |_: Arc<MessageAdded>| {
        told.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    agent
        .history()
        .add_message(Message::user("one"))
        .await
        .unwrap();
    let before = bed.snapshot().await;
    let failed = agent.context().save().await.unwrap_err();
    assert_eq!(failed.to_string(), "denied: the moon is full");
    assert_eq!(bed.snapshot().await, before);
    broken.store(false, Ordering::SeqCst);
    agent.context().save().await.unwrap();
    assert_eq!(
        (fixed.load(Ordering::SeqCst), ambit.bus().failures()),
        (true, 1)
    );
    assert_eq!(heard(&agent).await, ["one"]);
}
