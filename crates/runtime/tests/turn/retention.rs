//! How long what turns leave is kept, and what keeps it from staying for ever.

use crate::left_behind::{PROMPTS, SLOW};
use crate::place::{Place, ann, ask, end, frames, place, request, settings};
use ambit_runtime::chats::PageWindow;
use ambit_runtime::inspect::traces::{self, TraceFilter};
use ambit_runtime::{ErrorCode, ExpiredTurnLogs, Frame};
use ambit_runtime::{Runtime, TurnStatus};
use ambit_storage::address::{ITEMS, Space};
use ambit_storage::clock::to_millis;
use ambit_storage::directory::{IndexRow, RowFilter};
use ambit_storage::driver::{Driver, DriverOptions, LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind};
use ambit_storage::{Context, Stores};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
pub const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Longer than a slow machine takes between two lines of a test.
const MINUTE: Duration = Duration::from_secs(60);

pub const HELLO: (&str, &str) = (
    "assistants/hello/package.yao",
    r#"{"name": "Hello", "connector": "echo"}"#,
);

/// A turn's id and its frames.
pub async fn turn(place: &Place, text: &str) -> (String, Vec<Frame>) {
    let frames = ask(place, request("hello", text)).await;
    (id(&frames), frames)
}

pub fn id(frames: &[Frame]) -> String {
    end(frames)["request_id"].as_str().unwrap().to_owned()
}

pub fn pass(place: &Place, time: Duration) {
    pass_in(&place.runtime, time);
}

pub fn pass_in(runtime: &Runtime, time: Duration) {
    runtime.stores().options().clock.advance(time);
}

/// The numbers that the turn's stream has, or why there are none.
pub async fn numbers(runtime: &Runtime, request_id: &str) -> Result<u64, ErrorCode> {
    let stream = runtime.stream(&ann(), request_id, 0).await;
    let mut stream = stream.map_err(|error| error.code)?;
    let mut last = 0;
    while let Some(entries) = stream.next().await.unwrap() {
        last = entries.last().unwrap().number;
    }
    Ok(last)
}

/// The row of the history of `chat-1`.
pub async fn row(runtime: &Runtime) -> IndexRow {
    let ambit = runtime.contexts(&ann());
    let query = Context::named(&ambit, "hello").for_scope(ChatHistoryStorage::PREFIX);
    let rows = query.rows().next().await.unwrap().unwrap();
    rows.into_iter().next().unwrap()
}

pub fn space(row: &IndexRow) -> Space {
    Space::of(&row.tenant, &row.identity)
}

/// Where the only conversation is kept.
pub async fn kept(runtime: &Runtime) -> (Arc<dyn Driver>, Space) {
    let row = row(runtime).await;
    let chain = runtime.stores().chain(&row.placement).unwrap();
    (chain.driver().clone(), space(&row))
}

/// The logs of turns in the only conversation.
pub async fn logs(runtime: &Runtime) -> Vec<String> {
    let (driver, space) = kept(runtime).await;
    let mut names = driver.logs(&space).await.unwrap();
    names.retain(|name| name != ITEMS);
    names
}

/// Names and texts of all values in a space.
async fn values(driver: &dyn Driver, space: &Space) -> Vec<(String, String)> {
    let scan = ValueScan::first(Pattern::all(), 1_000, ValuePart::Whole);
    let found = driver.scan(space, &scan).await.unwrap();
    let text =
        |(name, entry): (String, ambit_storage::batch::ValueEntry)| (name, entry.value.to_string());
    found.into_iter().map(text).collect()
}

/// What is noted of turns outside of their conversations.
pub async fn notes(driver: &dyn Driver) -> Vec<(String, String)> {
    let tenant = ann().tenant().to_owned();
    let mut found = values(driver, &Space::ended_turns()).await;
    found.extend(values(driver, &Space::turns()).await);
    found.extend(values(driver, &Space::requests(&tenant)).await);
    found
}

#[tokio::test]
async fn a_turn_that_has_ended_leaves_its_stream_and_its_trace_alone() {
    let place = place(&[HELLO]).await;
    let (id, _) = turn(&place, "hi").await;
    let expected = ["events", "trace"].map(|log| format!("turn/{id}/{log}"));
    assert_eq!(logs(&place.runtime).await, expected);
}

#[tokio::test]
async fn g113_a_stream_goes_a_day_after_its_end_and_takes_no_other_along() {
    let place = place(&[HELLO]).await;
    let (first, frames) = turn(&place, "one").await;
    pass(&place, DAY / 2);
    let (second, later) = turn(&place, "two").await;
    pass(&place, DAY / 2 - MINUTE);
    assert_eq!(place.runtime.drop_expired().await, 0);
    let last = frames.len() as u64;
    assert_eq!(numbers(&place.runtime, &first).await, Ok(last));
    pass(&place, MINUTE);
    // Its time is over, whenever upkeep comes to it.
    let gone = Err(ErrorCode::StreamExpired);
    assert_eq!(numbers(&place.runtime, &first).await, gone);
    assert_eq!(place.runtime.drop_expired().await, 1);
    assert_eq!(numbers(&place.runtime, &first).await, gone);
    let last = later.len() as u64;
    assert_eq!(numbers(&place.runtime, &second).await, Ok(last));
    let info = place.runtime.turn(&ann(), &first).await.unwrap();
    assert_eq!((info.status, info.response), (TurnStatus::Completed, None));
    let info = place.runtime.turn(&ann(), &second).await.unwrap();
    assert!(info.response.is_some());
    let expected = [
        format!("turn/{first}/trace"),
        format!("turn/{second}/events"),
        format!("turn/{second}/trace"),
    ];
    assert_eq!(logs(&place.runtime).await, expected);
}

#[tokio::test]
async fn g086_streams_and_traces_are_kept_as_long_as_the_app_says() {
    let app = r#"{"name": "Test", "version": "1.0.0",
        "ambit": {"stream": {"retention": "2h"}, "trace": {"retention": "1h"}}}"#;
    let place = place(&[HELLO, ("app.yao", app)]).await;
    let (id, _) = turn(&place, "hi").await;
    let log = |name: &str| format!("turn/{id}/{name}");
    for (time, left) in [
        (HOUR - MINUTE, vec![log("events"), log("trace")]),
        (MINUTE, vec![log("events")]),
        (HOUR - MINUTE, vec![log("events")]),
        (MINUTE, Vec::new()),
    ] {
        pass(&place, time);
        place.runtime.drop_expired().await;
        assert_eq!(logs(&place.runtime).await, left);
    }
    assert!(place.runtime.turn(&ann(), &id).await.is_ok());
    let ambit = place.runtime.contexts(&ann());
    let trace = traces::open(&ambit, &ann(), &id).await;
    assert_eq!(
        trace.err().map(|error| error.code),
        Some(ErrorCode::NotFound)
    );
    let window = PageWindow { skip: 0, limit: 10 };
    let listed = traces::list(&ambit, &ann(), &TraceFilter::default(), window).await;
    assert_eq!(listed.unwrap().items, []);
}

#[tokio::test]
async fn g086_nothing_but_the_messages_is_left_of_a_turn_after_a_month() {
    let place = place(&[HELLO]).await;
    let (id, _) = turn(&place, "hi").await;
    let (driver, space) = kept(&place.runtime).await;
    let before = driver.read(&space.log(ITEMS), LogRange::from(1, 10)).await;
    pass(&place, 30 * DAY - MINUTE);
    place.runtime.drop_expired().await;
    assert!(place.runtime.turn(&ann(), &id).await.is_ok());
    pass(&place, MINUTE);
    place.runtime.drop_expired().await;
    let error = place.runtime.turn(&ann(), &id).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert_eq!(logs(&place.runtime).await, Vec::<String>::new());
    assert_eq!(notes(&*driver).await, []);
    let mut left = values(&*driver, &space).await;
    left.retain(|(name, _)| name.starts_with("turn/"));
    assert_eq!(left, []);
    let after = driver.read(&space.log(ITEMS), LogRange::from(1, 10)).await;
    assert_eq!(after.unwrap(), before.unwrap());
}

#[tokio::test]
async fn the_way_to_a_turn_has_an_end_only_once_the_turn_has_ended() {
    let place = place(&[HELLO, PROMPTS, SLOW]).await;
    let started = place.runtime.start(request("hello", "slow")).await.unwrap();
    let id = started.request_id.clone();
    let (driver, _) = kept(&place.runtime).await;
    let key = Space::requests(ann().tenant()).key(id.as_str());
    let open = driver.get(&key, ValuePart::Whole).await.unwrap().unwrap();
    assert_eq!(open.expires_at, None);
    place.runtime.cancel(&ann(), &id).await.unwrap();
    frames(started).await;
    let ended = driver.get(&key, ValuePart::Whole).await.unwrap().unwrap();
    assert!(ended.expires_at.is_some());
}

#[tokio::test]
async fn nodes_that_drop_the_same_streams_do_not_hinder_each_other() {
    let place = place(&[HELLO]).await;
    let mut turns = Vec::new();
    for text in ["one", "two", "three"] {
        turns.push(turn(&place, text).await.0);
    }
    let other = Runtime::open(over(&place, place.runtime.stores().clone()))
        .await
        .unwrap();
    pass(&place, DAY);
    let (_, _) = tokio::join!(place.runtime.drop_expired(), other.drop_expired());
    // What both wrote to at once is left for the next time.
    place.runtime.drop_expired().await;
    let expected: Vec<String> = turns.iter().map(|id| format!("turn/{id}/trace")).collect();
    assert_eq!(logs(&place.runtime).await, expected);
    assert_eq!(
        place.runtime.drop_expired().await + other.drop_expired().await,
        0
    );
}

/// Settings of another runtime of the same app over these stores.
pub fn over(place: &Place, stores: Arc<Stores>) -> ambit_runtime::RuntimeSettings {
    let none = Stores::builder(DriverOptions::default()).build().unwrap();
    ambit_runtime::RuntimeSettings {
        stores,
        ..settings(place.app.path(), none)
    }
}

#[tokio::test]
async fn a_node_drops_what_is_over_without_being_asked() {
    let place = place(&[HELLO]).await;
    let (id, _) = turn(&place, "hi").await;
    place.runtime.close(Duration::ZERO).await.unwrap();
    let (driver, space) = kept(&place.runtime).await;
    let log = space.log(format!("turn/{id}/events"));
    let mut watch = driver.watch(&log).await.unwrap();
    pass(&place, DAY);
    let stores = place.runtime.stores().clone();
    let _later = Runtime::open(over(&place, stores)).await.unwrap();
    while driver
        .read(&log, LogRange::head())
        .await
        .unwrap()
        .head
        .is_some()
    {
        assert!(watch.changed().await);
    }
}

#[tokio::test]
async fn a_temporary_conversation_ends_with_all_its_turns_when_it_was_idle_for_an_hour() {
    let place = place(&[HELLO]).await;
    let mut asked = request("hello", "hi");
    asked.chat = Some("_temp_x".to_owned());
    ask(&place, asked).await;
    let stores = place.runtime.stores();
    let driver = stores.temporary().unwrap().driver().clone();
    let tenant = format!("{}/temporary", ann().tenant());
    let space = |path: &str| Space {
        tenant: tenant.clone(),
        path: path.to_owned(),
    };
    let known = values(&*driver, &space("i:temporary")).await;
    let (path, _) = known
        .iter()
        .find(|(path, _)| path.contains("s:chatHistory"))
        .unwrap();
    pass(&place, HOUR - MINUTE);
    place.runtime.drop_expired().await;
    assert_eq!(driver.logs(&space(path)).await.unwrap().len(), 3);
    pass(&place, MINUTE);
    place.runtime.drop_expired().await;
    assert_eq!(
        driver.logs(&space(path)).await.unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(values(&*driver, &space(path)).await, []);
    assert_eq!(values(&*driver, &space("i:temporary")).await, []);
}

#[tokio::test]
async fn g069_what_is_noted_of_a_removed_conversations_turns_tells_nothing_of_it() {
    let place = place(&[HELLO]).await;
    turn(&place, "secret words").await;
    let (driver, _) = kept(&place.runtime).await;
    let ambit = place.runtime.contexts(&ann());
    let name = ambit_runtime::chats::ChatName {
        chat_id: "chat-1",
        assistant_id: None,
        context: None,
    };
    ambit_runtime::chats::remove(&ambit, &ann(), name)
        .await
        .unwrap();
    let noted = notes(&*driver).await;
    assert_eq!(noted.len(), 2, "logs and request: {noted:?}");
    for (name, text) in &noted {
        for word in ["chat-1", "ann", "hello", "secret", "words"] {
            assert!(
                !name.contains(word) && !text.contains(word),
                "{name} {text}"
            );
        }
    }
    pass(&place, 30 * DAY);
    assert_eq!(place.runtime.drop_expired().await, 1);
    assert_eq!(notes(&*driver).await, []);
    let rows = driver.count(&RowFilter::default()).await.unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn chats_that_nobody_uses_for_as_long_as_the_app_says_are_removed() {
    let place = place(&[HELLO, ("agent/agent.yml", "store:\n  expiration: 2d\n")]).await;
    turn(&place, "hi").await;
    let retired = async || {
        let ambit = place.runtime.contexts(&ann());
        ambit
            .index_sweep()
            .step(100)
            .await
            .unwrap()
            .unwrap()
            .retired
    };
    pass(&place, 2 * DAY - MINUTE);
    assert_eq!(retired().await, 0);
    pass(&place, MINUTE);
    assert_eq!(retired().await, 1);
    assert_eq!(crate::place::remembered(&place, "hello").await, [""; 0]);
}

#[tokio::test]
async fn what_is_over_is_counted_and_nothing_is_dropped_for_it() {
    let place = place(&[HELLO]).await;
    turn(&place, "hi").await;
    let (driver, space) = kept(&place.runtime).await;
    // Nobody drops what falls due from now on.
    place.runtime.close(Duration::ZERO).await.unwrap();
    let before = driver.logs(&space).await.unwrap();
    let now = place.runtime.stores().options().clock.now();
    for (days, streams, traces) in [(0, 0, 0), (1, 1, 0), (29, 1, 0), (30, 1, 1)] {
        let then = now + to_millis(DAY * days);
        let counted = ExpiredTurnLogs::count(driver.as_ref(), then).await;
        let expected = ExpiredTurnLogs { streams, traces };
        assert_eq!(counted.unwrap(), expected, "{days}");
    }
    assert_eq!(driver.logs(&space).await.unwrap(), before);
}
