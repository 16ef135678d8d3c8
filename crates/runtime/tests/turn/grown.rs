//! Chats of thousands of messages: turns cost what they cost before, and go on with what fits where not all does.

use crate::fitting::{counted, rules_with_tools, windowed};
use crate::place::{
    Place, agent, ask, borrowed, end, history, model, place, place_over, request, session, shown,
    traced,
};
use ambit_runtime::Frame;
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, WorkCounters};
use ambit_storage::storage::{Message, Role};
use serde_json::json;

/// Messages that chats grow by.
const MANY: usize = 5_000;
/// Turns of which the usual one is taken.
const TURNS: usize = 9;

/// Adds messages to the chat, as many turns would have.
async fn grow(place: &Place) {
    let live = session(place, "hello").await;
    for number in 0..MANY {
        let role = if number % 2 == 0 {
            Role::User
        } else {
            Role::Assistant
        };
        let text = format!("{number} {}", "a ".repeat(30));
        let message = Message::new(role, text.as_str());
        live.history().add_message(message).await.unwrap();
    }
    live.context().save().await.unwrap();
}

async fn completed(place: &Place, text: &str) -> Vec<Frame> {
    let frames = ask(place, request("hello", text)).await;
    assert_eq!(end(&frames)["status"], "completed", "{}", end(&frames));
    frames
}

/// The numbers that the texts of a turn begin with.
fn numbers(frames: &[Frame]) -> Vec<usize> {
    let texts = shown(frames).into_iter();
    let texts = texts.filter_map(|(_, text)| text.as_str().map(str::to_owned));
    let first = texts.filter_map(|text| text.split(' ').next()?.parse().ok());
    first.collect()
}

/// Statements and pages of the usual turn.
async fn usual_cost(place: &Place, work: &WorkCounters) -> (u64, u64) {
    let (mut statements, mut pages) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let before = work.counts();
        completed(place, &format!("question {turn}")).await;
        let cost = work.counts() - before;
        statements.push(cost.statements);
        pages.push(cost.pages);
    }
    statements.sort_unstable();
    pages.sort_unstable();
    (statements[TURNS / 2], pages[TURNS / 2])
}

#[tokio::test]
async fn a_turn_of_a_long_chat_costs_the_store_what_one_of_a_short_chat_does() {
    let folder = tempfile::tempdir().unwrap();
    let options = DriverOptions::default();
    let work = options.work.clone();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let stores = Stores::builder(options).open(&url).await.unwrap();
    let hooks = "export function Create(ctx, messages) { return { temperature: 0.1 }; }";
    let files = agent(&json!({}), hooks);
    let place = place_over(&borrowed(&files), stores.build().unwrap()).await;
    // As many messages as a model is shown.
    usual_cost(&place, &work).await;
    let (statements, pages) = usual_cost(&place, &work).await;
    grow(&place).await;
    let (later_statements, later_pages) = usual_cost(&place, &work).await;
    // A busy machine shows what a turn says in more steps.
    assert!(
        later_statements <= statements + 15 && later_pages <= pages + 15,
        "{later_statements} statements after {statements}, {later_pages} pages after {pages}"
    );
}

#[tokio::test]
async fn hooks_are_given_the_latest_messages_that_their_limits_allow() {
    let hooks = "
        export function Create(ctx, messages) { return { messages }; }
        export function Next(ctx, payload) { ctx.Send(`${payload.messages.length} seen`); }
    ";
    let package = json!({
        "connector": "counting",
        "options": {"history_size": 100_000},
        "runtime": {"limits": {"returned": "64KiB"}},
    });
    let mut files = agent(&package, hooks);
    files.push(model(
        "counting",
        &json!([{"reply": "{{message_count}} sent"}]),
    ));
    let place = place(&borrowed(&files)).await;
    completed(&place, "one").await;
    grow(&place).await;
    for _ in 0..3 {
        let frames = completed(&place, "and now?").await;
        let [sent, seen] = numbers(&frames)[..] else {
            panic!("{:?}", shown(&frames));
        };
        assert!((100..2_000).contains(&sent), "{sent}");
        assert!((100..2_000).contains(&seen), "{seen}");
        let trace = traced(&place, &frames).await;
        assert!(trace.contains("the hook is given the last "), "{trace}");
    }
    assert!(history(&place, "hello").await.len() > MANY);
}

#[tokio::test]
async fn g048_a_call_that_is_too_large_goes_on_with_the_latest_messages() {
    let (place, _) = windowed(200, &json!({}), &rules_with_tools()).await;
    let mut said = Vec::new();
    for turn in 0..12 {
        said = completed(&place, &format!("{turn} {}", "aaaa ".repeat(20))).await;
    }
    let trace = traced(&place, &said).await;
    assert!(trace.contains("earlier messages are left out"), "{trace}");
    let counted = counted(&place).await;
    assert_eq!(counted.len(), 12);
    assert!(counted.iter().all(|tokens| *tokens <= 200), "{counted:?}");
    assert!(counted.iter().any(|tokens| *tokens > 60), "{counted:?}");
    // What was too large by itself is refused, and is no hindrance afterwards.
    let refused = ask(&place, request("hello", &"aaaa ".repeat(2_000))).await;
    assert_eq!(end(&refused)["code"], "limit_exceeded");
    completed(&place, "and now?").await;
}

#[tokio::test]
async fn a_chat_that_has_grown_is_truncated_once_and_goes_on() {
    let truncation = json!({"strategy": "simple", "threshold": 150, "buffer": 0});
    let (place, _) = windowed(200, &truncation, &rules_with_tools()).await;
    completed(&place, "one").await;
    grow(&place).await;
    for turn in 0..3 {
        completed(&place, &format!("question {turn}")).await;
        assert!(history(&place, "hello").await.len() < 20);
    }
    let live = session(&place, "hello").await;
    let behind = live.history().archive(MANY as u64 + 1, 1).await.unwrap();
    assert_eq!(behind.len(), 1);
}
