//! What things cost, counted and never timed: G75 to G79 and G83.

use crate::bed::{Bed, Case, Notes, chat, rows, say, spend};
use crate::count::{Calls, Counting};
use ambit_storage::address::{DEFAULT_TENANT, ITEMS, Space};
use ambit_storage::batch::{Batch, BatchWrite, NewEntry};
use ambit_storage::driver::Driver;
use ambit_storage::storage::Message;
use ambit_storage::{Ambit, Context, Json, SessionIdentity};
use futures::future::join_all;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    g075_an_append_to_a_long_history_makes_as_many_calls_and_bytes,
    g076_the_last_messages_are_read_without_the_others,
    g077_a_compacted_session_is_read_by_its_view,
    g078_a_store_of_many_turns_stays_near_its_payload,
    g079_starting_a_session_costs_the_same_among_many,
    g083_a_history_of_twenty_thousand_messages_is_saved_at_once,
];

fn history(chat_name: &str) -> SessionIdentity {
    let identity = SessionIdentity::builder("Support").chat_name(chat_name);
    identity.scope("chatHistory").build().unwrap()
}

/// Fills the history of a chat past the upper layer, in large batches.
async fn fill(driver: &dyn Driver, chat_name: &str, count: usize) {
    let log = Space::of(DEFAULT_TENANT, &history(chat_name)).log(ITEMS);
    let entry = |number: usize| {
        let id = format!("m{number:09}");
        let message = Message {
            id: id.clone(),
            ..Message::user(format!("message {number}"))
        };
        NewEntry::new(id, Json::of(&message).unwrap())
    };
    let numbers: Vec<usize> = (0..count).collect();
    for chunk in numbers.chunks(20_000) {
        let entries = chunk.iter().copied().map(entry).collect();
        let write = BatchWrite::append(log.clone(), entries);
        driver.commit(Batch::of([write])).await.unwrap();
    }
}

/// Bytes of all files in the folder of a file.
fn size(url: &str) -> Option<u64> {
    let path = url.strip_prefix("sqlite:")?;
    let names = std::fs::read_dir(Path::new(path).parent()?).unwrap();
    Some(
        names
            .map(|name| name.unwrap().metadata().unwrap().len())
            .sum(),
    )
}

/// The bytes of log that sqlite writes for so many appends.
async fn written(bed: &Bed, chat_name: &str, appends: usize) -> Option<u64> {
    let agent = chat(&bed.ambit(), chat_name, &["warm"]).await;
    let path = bed.fresh.place.url.strip_prefix("sqlite:")?;
    let file = rusqlite::Connection::open(path).unwrap();
    let truncate = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], truncate)
        .unwrap();
    for _ in 0..appends {
        say(
            &agent,
            &["one more message of a usual length, as people write them"],
        )
        .await;
    }
    Some(std::fs::metadata(format!("{path}-wal")).unwrap().len())
}

async fn g075_an_append_to_a_long_history_makes_as_many_calls_and_bytes(bed: Bed) {
    let long = bed.many(100_000);
    fill(bed.driver.as_ref(), "short", 10).await;
    fill(bed.driver.as_ref(), "long", long).await;
    let counting = Counting::new(bed.driver.clone());
    let ambit = bed.over(counting.clone());
    let mut calls = Vec::new();
    for name in ["short", "long"] {
        let agent = ambit
            .agent("Support")
            .unwrap()
            .for_chat(name)
            .await
            .unwrap();
        say(&agent, &["first"]).await;
        counting.take();
        say(&agent, &["second"]).await;
        calls.push(counting.take());
    }
    let expected = Calls {
        commits: 1,
        ..Calls::default()
    };
    assert_eq!(calls, [expected, expected]);
    let short = written(&bed, "short", 40).await;
    let long = written(&bed, "long", 40).await;
    if let (Some(short), Some(long)) = (short, long) {
        assert!(
            short > 0 && long * 2 <= short * 3,
            "{long} bytes, and {short} for a short history"
        );
    }
}

async fn g076_the_last_messages_are_read_without_the_others(bed: Bed) {
    let count = bed.many(100_000);
    fill(bed.driver.as_ref(), "long", count).await;
    let counting = Counting::new(bed.driver.clone());
    let ambit = bed.over(counting.clone());
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_chat("long")
        .await
        .unwrap();
    counting.take();
    let last = agent.history().tail(50).await.unwrap();
    let calls = counting.take();
    assert_eq!(calls.entries_read, 50);
    assert!(calls.reads <= 6, "{calls:?}");
    let expected: Vec<String> = (count - 50..count)
        .map(|number| format!("message {number}"))
        .collect();
    assert_eq!(last.iter().map(Message::text).collect::<Vec<_>>(), expected);
    agent.history().last_message().await.unwrap();
    assert_eq!(counting.take().entries_read, 1);
    agent.context().read().await.unwrap();
    assert_eq!(counting.take().entries_read, 50);
}

async fn g077_a_compacted_session_is_read_by_its_view(bed: Bed) {
    let count = bed.many(5_000);
    fill(bed.driver.as_ref(), "long", count).await;
    let agent = chat(&bed.ambit(), "long", &[]).await;
    let mut view = vec![Message::assistant("a summary")];
    view.extend(agent.history().tail(5).await.unwrap());
    agent.history().replace_messages(view).await.unwrap();
    agent.context().save().await.unwrap();
    let counting = Counting::new(bed.driver.clone());
    let again = chat(&bed.over(counting.clone()), "long", &[]).await;
    let opened = counting.take();
    assert_eq!(
        (opened.reads, opened.entries_read, opened.commits),
        (0, 0, 0)
    );
    assert_eq!(again.history().messages().await.unwrap().len(), 6);
    let read = counting.take();
    // The view's entries and the one overlay that says which they are.
    assert_eq!(read.entries_read, 7);
    assert!(read.reads <= 5, "{read:?}");
    again.context().read().await.unwrap();
    assert!(counting.take().entries_read <= 9);
    assert_eq!(
        again.history().archive(1, 1).await.unwrap()[0].text(),
        "message 0"
    );
}

/// Turns of one chat after another; the answer is what they have stored, in bytes.
async fn turns(ambit: &Ambit, chats: Range<usize>) -> usize {
    let mut payload = 0;
    for number in chats {
        let agent = chat(ambit, &format!("c{number}"), &[]).await;
        for turn in 0..25 {
            let question = format!("question {turn} {}", "of some length ".repeat(5));
            let answer = format!("answer {turn} {}", "of a few sentences more ".repeat(20));
            for message in [Message::user(question), Message::assistant(answer)] {
                let message = agent.history().add_message(message).await.unwrap();
                payload += Json::of(&message).unwrap().as_str().len();
            }
            payload += Json::of(&spend(&agent, 7)).unwrap().as_str().len();
            agent.context().save().await.unwrap();
        }
    }
    payload
}

async fn g078_a_store_of_many_turns_stays_near_its_payload(bed: Bed) {
    let is_measured = size(&bed.fresh.place.url).is_some();
    // 8 sessions at a time, 5,000 turns in all.
    let chats = if is_measured { 25 } else { 1 };
    let ambit = bed.ambit();
    let sessions = (0..8).map(|at| turns(&ambit, at * chats..(at + 1) * chats));
    let payload: usize = join_all(sessions).await.into_iter().sum();
    assert_eq!(rows(bed.driver.as_ref()).await.len(), 2 * 8 * chats);
    if let Some(size) = size(&bed.fresh.place.url) {
        let limit = 2 * payload as u64 + (5 << 20);
        assert!(size <= limit, "{size} bytes for a payload of {payload}");
    }
}

/// What it takes to open a session, say something and open it again from the index.
async fn start(counting: &Arc<Counting>, bed: &Bed, name: &str) -> Vec<Calls> {
    let ambit = bed.over(counting.clone());
    let support = ambit.agent("Support").unwrap();
    counting.take();
    let agent = support.for_user_id(name).chat(name).await.unwrap();
    let mut calls = vec![counting.take()];
    say(&agent, &["hi"]).await;
    calls.push(counting.take());
    let query = Context::of(&ambit, "Support").unwrap().for_user(name);
    let found = query.first().await.unwrap().unwrap();
    calls.push(counting.take());
    let again = support.from_identity(&found).await.unwrap();
    again.history().messages().await.unwrap();
    calls.push(counting.take());
    calls
}

async fn g079_starting_a_session_costs_the_same_among_many(bed: Bed) {
    let counting = Counting::new(bed.driver.clone());
    bed.track(100).await;
    let among_few = start(&counting, &bed, "first").await;
    bed.track(bed.many(10_000)).await;
    let among_many = start(&counting, &bed, "second").await;
    assert_eq!(among_few, among_many);
    // Its own rows, not those of the agent's other sessions.
    assert!(among_few[3].rows_read <= 2, "{:?}", among_few[3]);
    assert_eq!(among_few[0], Calls::default());
    assert_eq!(
        among_few[1],
        Calls {
            commits: 1,
            ..Calls::default()
        }
    );
}

async fn g083_a_history_of_twenty_thousand_messages_is_saved_at_once(bed: Bed) {
    let count = bed.many(20_000);
    let agent = chat(&bed.ambit(), "c", &[]).await;
    for number in 0..count {
        agent
            .history()
            .add_message(Message::user(number.to_string()))
            .await
            .unwrap();
    }
    let notes = agent.context().storage::<Notes>().await.unwrap();
    let items: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    notes.set(&items).await.unwrap();
    agent.context().save().await.unwrap();
    let again = chat(&bed.ambit(), "c", &[]).await;
    let texts: Vec<String> = again
        .history()
        .messages()
        .await
        .unwrap()
        .iter()
        .map(Message::text)
        .collect();
    assert_eq!(texts, items);
    assert_eq!(
        again
            .context()
            .storage::<Notes>()
            .await
            .unwrap()
            .get()
            .await
            .unwrap(),
        items
    );
}
