//! Moves that nobody disturbs, and those that are refused.

use crate::place::{Place, converse, held, identity, notes, placements, row, spaces};
use ambit_storage::address::{ITEMS, LogKey, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::Driver;
use ambit_storage::lease::OnBusy;
use ambit_storage::relocation::{RelocationReport, relocate};
use ambit_storage::storage::{StorageSnapshot, StorageState};
use ambit_storage::{Ambit, Context, Error, Json, Usage, UsageField};
use futures::FutureExt;
use std::sync::Arc;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn a_moved_history_and_its_memory_are_the_same_and_leave_nothing_behind() {
    for (index, from, to) in [
        (["a"].as_slice(), ["a"].as_slice(), ["b"].as_slice()),
        (&["b"], &["a"], &["b"]),
        (&["c"], &["a"], &["b"]),
        (&["a"], &["a"], &["b", "c"]),
        (&["a"], &["a"], &["a", "b"]),
        (&["c"], &["a", "b"], &["a"]),
        (&["c"], &["a", "b"], &["b"]),
        (&["c"], &["a", "b"], &["b", "a"]),
        (&["a", "c"], &["a", "c"], &["b"]),
    ] {
        let place = Place::new();
        let ambit = place.open(index, from);
        converse(&ambit).await;
        let spaces = spaces("chatHistory");
        let before = held(place.driver(from[0]).as_ref(), &spaces).await;
        let history = row(&ambit, "chatHistory").await;
        let moved = relocate(&ambit, &history.id, to).await.unwrap();
        let expected = RelocationReport {
            identity: identity("chatHistory"),
            from: names(from),
            to: names(to),
        };
        assert_eq!(moved, expected);
        let said = placements(place.driver(index[0]).as_ref()).await;
        assert_eq!(
            (&said["chatHistory"], &said["memory"]),
            (&names(to), &names(to))
        );
        assert_eq!(said["usage"], names(from), "usage stays where it is");
        let lease = Space {
            path: format!("l:{}", spaces[0].path),
            ..spaces[0].clone()
        };
        for name in ["a", "b", "c"] {
            let driver = place.driver(name).as_ref();
            let held_now = held(driver, &spaces).await;
            if to.contains(&name) {
                assert_eq!(held_now, before, "{name} after {from:?} to {to:?}");
            } else {
                assert_eq!(
                    held_now,
                    Vec::<String>::new(),
                    "{name} after {from:?} to {to:?}"
                );
                assert_eq!(
                    held(driver, std::slice::from_ref(&lease)).await,
                    Vec::<String>::new()
                );
            }
            assert_eq!(notes(driver).await, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn a_move_to_where_it_is_changes_nothing() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a"]);
    converse(&ambit).await;
    let before = held(place.driver("a").as_ref(), &spaces("chatHistory")).await;
    let id = row(&ambit, "chatHistory").await.id;
    let moved = relocate(&ambit, &id, &["a"]).await.unwrap();
    assert_eq!(moved.from, moved.to);
    assert_eq!(
        held(place.driver("a").as_ref(), &spaces("chatHistory")).await,
        before
    );
}

#[tokio::test]
async fn a_moved_conversation_goes_on_and_moves_back() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a"]);
    converse(&ambit).await;
    let history = row(&ambit, "chatHistory").await;
    relocate(&ambit, &history.id, &["b"]).await.unwrap();
    let definition = ambit.agent("Support").unwrap();
    let agent = definition.from_identity(&history.identity).await.unwrap();
    assert_eq!(agent.history().count().await.unwrap(), 3);
    let memory = agent.context().memory().unwrap();
    let visits = memory.incr("visits", 1.0).await.unwrap();
    assert_eq!(visits.as_f64(), Some(4.0));
    agent
        .history()
        .add_message(ambit_storage::storage::Message::user("more"))
        .await
        .unwrap();
    agent.context().save().await.unwrap();
    relocate(&ambit, &history.id, &["a"]).await.unwrap();
    let agent = definition.for_user_id("ann").await.unwrap();
    assert_eq!(
        agent
            .history()
            .last_message()
            .await
            .unwrap()
            .unwrap()
            .text(),
        "more"
    );
    let memory = agent.context().memory().unwrap();
    let visits = memory.incr("visits", 1.0).await.unwrap();
    assert_eq!(visits.as_f64(), Some(5.0));
    let report = agent.context().remove().await.unwrap();
    assert_eq!(report.failed, []);
    for name in ["a", "b"] {
        let left = held(place.driver(name).as_ref(), &spaces("chatHistory")).await;
        assert_eq!(left, Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn moved_usage_is_counted_once_and_removed_with_its_names() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a"]);
    converse(&ambit).await;
    let usage = || Usage::all(&ambit);
    let before = usage().group_by(UsageField::Model).await.unwrap();
    let id = row(&ambit, "usage").await.id;
    relocate(&ambit, &id, &["b"]).await.unwrap();
    assert_eq!(usage().group_by(UsageField::Model).await.unwrap(), before);
    // A part of a stretch is read from the records, wherever they are.
    let now = place.clock.now() + 1;
    let part = usage().from_instant(1).to_instant(now);
    assert_eq!(part.group_by(UsageField::Model).await.unwrap(), before);
    let old = held(place.driver("a").as_ref(), &spaces("usage")).await;
    assert_eq!(old, Vec::<String>::new());
    let of_usage = Context::named(&ambit, "Support").for_scope("usage");
    assert_eq!(of_usage.remove().await.unwrap().done, [identity("usage")]);
    let users = usage().group_by(UsageField::User).await.unwrap().unwrap();
    assert_eq!(users.keys().collect::<Vec<_>>(), ["unknown"]);
    assert_eq!(users["unknown"].total_tokens, 12);
}

#[tokio::test]
async fn usage_is_not_moved_among_the_copies_of_other_usage() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a", "b"]);
    converse(&ambit).await;
    let id = row(&ambit, "usage").await.id;
    let refused = relocate(&ambit, &id, &["b"]).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "to b would mix usage with the copies that a, b keeps; name a driver outside of it"
    );
}

/// Appends behind the caller's back, as a writer does that knows nothing of the move.
fn append(driver: &Arc<dyn Driver>, id: &str) {
    let text = ambit_storage::storage::Message::user(id);
    let write = BatchWrite::append(
        spaces("chatHistory")[0].log(ITEMS),
        vec![NewEntry::new(id, Json::of(&text).unwrap())],
    );
    let done = driver.commit(Batch::of([write])).now_or_never();
    done.expect("memory answers at once").unwrap();
}

#[tokio::test]
async fn what_is_appended_while_it_is_copied_or_after_comes_along() {
    for point in ["move.noted", "move.copied", "move.frozen", "move.switched"] {
        let place = Place::new();
        let ambit = place.open(&["c"], &["a"]);
        converse(&ambit).await;
        let old = place.driver("a").clone();
        place.at_points(move |reached| {
            if reached == point {
                append(&old, "late");
            }
        });
        let history = row(&ambit, "chatHistory").await;
        relocate(&ambit, &history.id, &["b"]).await.unwrap();
        let moved = row(&ambit, "chatHistory").await;
        let stored = StorageSnapshot::archive(&ambit, &moved).await.unwrap();
        assert_eq!(stored.count(), 152, "{point}");
        assert_eq!(stored.after(151, 1).await.unwrap()[0].id, "late", "{point}");
        assert_eq!(stored.state(), StorageState::Live);
    }
}

#[tokio::test]
async fn a_log_dropped_while_it_is_copied_is_not_in_the_copy() {
    for point in ["move.noted", "move.copied", "move.frozen"] {
        let place = Place::new();
        let ambit = place.open(&["c"], &["a"]);
        converse(&ambit).await;
        let space = &spaces("chatHistory")[0];
        let (kept, gone) = (space.log("turn/1/trace"), space.log("turn/1/events"));
        let write = |log: &LogKey| {
            BatchWrite::append(log.clone(), vec![NewEntry::new("a", Json::of(&1).unwrap())])
        };
        let logs = Batch::of([write(&kept), write(&gone)]);
        place.driver("a").commit(logs).await.unwrap();
        let old = place.driver("a").clone();
        place.at_points(move |reached| {
            if reached == point {
                let log = gone.clone();
                let done = old
                    .commit(Batch::of([BatchWrite::Drop { log }]))
                    .now_or_never();
                done.expect("memory answers at once").unwrap();
            }
        });
        let id = row(&ambit, "chatHistory").await.id;
        relocate(&ambit, &id, &["b"]).await.unwrap();
        let names = place.driver("b").logs(space).await.unwrap();
        let turns = names.into_iter().filter(|name| name.starts_with("turn/"));
        assert_eq!(turns.collect::<Vec<_>>(), ["turn/1/trace"], "{point}");
    }
}

#[tokio::test]
async fn a_move_waits_for_the_running_turn() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a"]);
    converse(&ambit).await;
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_user_id("ann")
        .await
        .unwrap();
    agent.context().begin_turn(OnBusy::Reject).await.unwrap();
    let id = row(&ambit, "chatHistory").await.id;
    let mut moving = Box::pin(relocate(&ambit, &id, &["b"]));
    // Whatever it does first, it cannot be over while the turn has the lease.
    for _ in 0..3 {
        assert!(futures::poll!(&mut moving).is_pending());
        tokio::task::yield_now().await;
    }
    agent.context().end_turn().await.unwrap();
    assert_eq!(moving.await.unwrap().to, ["b"]);
}

async fn refusal(ambit: &Ambit, id: &str, to: &[&str]) -> String {
    relocate(ambit, id, to).await.unwrap_err().to_string()
}

#[tokio::test]
async fn what_would_lose_something_is_refused_and_changes_nothing() {
    let place = Place::new();
    let ambit = place.open(&["a"], &["a"]);
    converse(&ambit).await;
    let before = held(place.driver("a").as_ref(), &spaces("chatHistory")).await;
    let (history, memory) = (
        row(&ambit, "chatHistory").await,
        row(&ambit, "memory").await,
    );
    append(place.driver("b"), "foreign");
    assert_eq!(
        refusal(&ambit, &history.id, &["b"]).await,
        "to b has something of default/a:Support/u:ann/s:chatHistory already, which would be lost; \
         name another store"
    );
    assert_eq!(
        refusal(&ambit, &history.id, &["memory"]).await,
        "to names \"memory\", which ends with this process; name a driver that lasts"
    );
    assert_eq!(
        refusal(&ambit, &memory.id, &["b"]).await,
        format!(
            "the storage {} is a conversation's memory, which moves along with its history; \
             name the id of that",
            memory.id
        )
    );
    assert_eq!(
        refusal(&ambit, "none", &["b"]).await,
        "context \"none\" was not found"
    );
    let unknown = relocate(&ambit, &history.id, &["d"]).await.unwrap_err();
    assert!(matches!(unknown, Error::Invalid { .. }), "{unknown}");
    assert_eq!(
        held(place.driver("a").as_ref(), &spaces("chatHistory")).await,
        before
    );
    let foreign = held(place.driver("b").as_ref(), &spaces("chatHistory")).await;
    assert_eq!(foreign.len(), 1, "{foreign:?}");
    assert_eq!(
        notes(place.driver("a").as_ref()).await,
        Vec::<String>::new()
    );
}
