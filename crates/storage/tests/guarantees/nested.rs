//! Listeners that call back, change what is not theirs, or come twice; and input that no store could keep.

use crate::bed::{Bed, Case, Notes, chat, heard, invalid, say, spend};
use ambit_storage::event::*;
use ambit_storage::storage::{Message, StorageKind, UsageRecord};
use ambit_storage::{Error, Json, Usage};
use futures::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub const CASES: &[Case] = cases![
    a_listener_that_saves_what_it_is_asked_about_is_refused,
    a_listener_that_is_told_of_its_own_messages_comes_to_an_end,
    a_listener_may_save_to_another_storage_of_the_context,
    what_is_added_while_listeners_are_asked_is_kept,
    a_message_that_a_listener_leaves_keeps_its_id,
    a_listener_cannot_make_a_history_unreadable,
    a_storage_that_is_asked_for_twice_at_once_is_registered_once,
    ambits_own_storages_cannot_be_opened_as_plain_lists,
    amounts_and_times_that_cannot_be_counted_are_refused,
    a_message_id_that_no_store_takes_is_refused_when_it_is_added,
];

async fn a_listener_that_saves_what_it_is_asked_about_is_refused(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["one"]).await;
    ambit.bus().before(|event: &mut ContextSaving| {
        let context = event.context.clone();
        Box::pin(async move { context.save().await.map(|_| Verdict::Continue) })
    });
    let text = Message::user("two");
    agent.history().add_message(text).await.unwrap();
    let saved = agent.context().save().await;
    assert!(matches!(saved, Err(Error::Limited { .. })), "{saved:?}");
    assert!(agent.context().is_dirty());
}

async fn a_listener_that_is_told_of_its_own_messages_comes_to_an_end(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["one"]).await;
    let echo = agent.clone();
    ambit.after(move |_: Arc<MessageAdded>| {
        let echo = echo.clone();
        Box::pin(async move {
            say(&echo, &["again"]).await;
            Ok(())
        })
    });
    say(&agent, &["two"]).await;
    assert_eq!(heard(&agent).await.len(), 2 + 8);
    assert_eq!(ambit.bus().failures(), 1);
}

async fn a_listener_may_save_to_another_storage_of_the_context(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["one"]).await;
    let listener = agent.clone();
    ambit.after(move |_: Arc<MessageAdded>| {
        let agent = listener.clone();
        Box::pin(async move {
            let notes = agent.context().storage::<Notes>().await?;
            notes.add("noted".to_owned())?;
            agent.context().save().await.map(drop)
        })
    });
    say(&agent, &["two"]).await;
    let notes = agent.context().storage::<Notes>().await.unwrap();
    assert_eq!(notes.get().await.unwrap(), ["noted"]);
    assert_eq!(ambit.bus().failures(), 0);
}

/// The message with other words.
fn reworded(body: &Json) -> Json {
    let message: Message = body.to().unwrap();
    let changed = Message {
        id: message.id.clone(),
        ..Message::user(format!("{}!", message.text()))
    };
    Json::of(&changed).unwrap()
}

async fn what_is_added_while_listeners_are_asked_is_kept(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["one"]).await;
    let (other, is_done) = (agent.clone(), Arc::new(AtomicBool::new(false)));
    ambit.bus().before(move |event: &mut ChatHistorySaving| {
        let (other, is_done) = (other.clone(), is_done.clone());
        Box::pin(async move {
            if !is_done.swap(true, Ordering::SeqCst) {
                let text = Message::user("meanwhile");
                other.history().add_message(text).await?;
            }
            event.messages = event.messages.iter().map(reworded).collect();
            Ok(Verdict::Continue)
        })
    });
    say(&agent, &["two"]).await;
    agent.context().save().await.unwrap();
    assert_eq!(heard(&agent).await, ["one", "two!", "meanwhile"]);
}

async fn a_message_that_a_listener_leaves_keeps_its_id(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &[]).await;
    ambit.bus().before(|event: &mut ChatHistorySaving| {
        let mut lie = Message::user("new");
        lie.id = "of somebody else".to_owned();
        lie.metadata = Some(serde_json::json!("not stored"));
        event.messages.remove(0);
        event.messages.push(Json::of(&lie).unwrap());
        async { Ok(Verdict::Continue) }.boxed()
    });
    let add = async |text| agent.history().add_message(Message::user(text)).await;
    add("one").await.unwrap();
    let second = add("two").await.unwrap();
    agent.context().save().await.unwrap();
    let kept = agent.history().messages().await.unwrap();
    assert_eq!(kept[0], second);
    assert_eq!(
        (kept[1].text(), &kept[1].metadata),
        ("new".to_owned(), &None)
    );
    let erased = agent.history().erase(&[&kept[1].id]).await;
    assert_eq!((erased.unwrap(), kept.len()), (1, 2));
}

async fn a_listener_cannot_make_a_history_unreadable(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &["one"]).await;
    let before = bed.snapshot().await;
    ambit.bus().before(|event: &mut ContextSaving| {
        let junk = Json::of(&serde_json::json!({"no": "message"})).unwrap();
        event.staged.insert("chatHistory".to_owned(), vec![junk]);
        async { Ok(Verdict::Continue) }.boxed()
    });
    let text = Message::user("two");
    agent.history().add_message(text).await.unwrap();
    assert_eq!(invalid(agent.context().save().await), "messages");
    assert_eq!(bed.snapshot().await, before);
    assert_eq!(heard(&agent).await, ["one", "two"]);
}

async fn a_storage_that_is_asked_for_twice_at_once_is_registered_once(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &[]).await;
    let told = Arc::new(AtomicU64::new(0));
    let tell = told.clone();
    ambit.bus().before(|_: &mut IdentityAdding| {
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(Verdict::Continue)
        })
    });
    ambit.after(move |_: Arc<StorageRegistered>| {
        tell.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    });
    let context = agent.context();
    let (one, two) = futures::join!(context.storage::<Notes>(), context.storage::<Notes>());
    one.unwrap().add("a".to_owned()).unwrap();
    assert_eq!(two.unwrap().get().await.unwrap(), ["a"]);
    assert_eq!(context.names(), ["chatHistory", "usage", "notes"]);
    assert_eq!(told.load(Ordering::SeqCst), 1);
}

/// A kind that calls itself like one of Ambit's own.
struct Posing<const IS_USAGE: bool>;

impl<const IS_USAGE: bool> StorageKind for Posing<IS_USAGE> {
    const PREFIX: &'static str = if IS_USAGE { "usage" } else { "chatHistory" };
    type Item = String;
}

async fn ambits_own_storages_cannot_be_opened_as_plain_lists(bed: Bed) {
    let agent = chat(&bed.ambit(), "c", &["one"]).await;
    let context = agent.context();
    assert_eq!(invalid(context.storage::<Posing<true>>().await), "prefix");
    assert_eq!(invalid(context.storage::<Posing<false>>().await), "prefix");
    assert_eq!(heard(&agent).await, ["one"]);
}

async fn amounts_and_times_that_cannot_be_counted_are_refused(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &[]).await;
    let record = |tokens, at| {
        let record = UsageRecord {
            prompt_tokens: tokens,
            completion_tokens: 1,
            recorded_at: at,
            ..UsageRecord::default()
        };
        agent.context().usage().record(record)
    };
    for tokens in [i64::MIN, i64::MAX, i64::MAX - 1] {
        assert_eq!(invalid(record(tokens, 1)), "prompt_tokens");
    }
    for at in [i64::MIN, -1, 253_402_300_800_000, i64::MAX] {
        assert_eq!(invalid(record(1, at)), "recorded_at");
    }
    assert!(!agent.context().is_dirty());
    spend(&agent, 1_000_000_000_000_000 - 1);
    agent.context().save().await.unwrap();
    for (at, records) in [(i64::MIN, 1), (i64::MAX, 0)] {
        let since = Usage::all(&ambit).from_instant(at);
        let totals = since.aggregate().await.unwrap().unwrap();
        assert_eq!(totals.records, records);
    }
}

async fn a_message_id_that_no_store_takes_is_refused_when_it_is_added(bed: Bed) {
    let agent = chat(&bed.ambit(), "c", &[]).await;
    for id in ["a\0b".to_owned(), "x".repeat(201)] {
        let message = Message {
            id,
            ..Message::user("hi")
        };
        let added = agent.history().add_message(message.clone()).await;
        assert_eq!(invalid(added), "message id");
        let replaced = agent.history().replace_messages(vec![message]).await;
        assert_eq!(invalid(replaced), "message id");
    }
    assert!(!agent.context().is_dirty());
    let message = Message {
        id: "é".repeat(100),
        ..Message::user("x".repeat(100_000))
    };
    agent.history().add_message(message).await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(heard(&agent).await, ["x".repeat(100_000)]);
}
