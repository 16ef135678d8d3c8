//! Turns that store nothing.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, files, frames, mirror, mirrored, model, named, place,
    remembered, request, said, settings, shown, until,
};
use crate::stopwatch::Stopwatch;
use crate::toolbox::Tools;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{
    Authorized, ErrorCode, Frame, Runtime, TurnInterrupt, TurnRequest, TurnStorage,
};
use ambit_storage::driver::{DriverOptions, open};
use ambit_storage::{Caller, Stores, Usage};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// What no store may hold.
const CANARY: &str = "canary-7d41e9";

/// Hooks that keep what they hear wherever a conversation keeps things.
const HOOKS: &str = "
    export function Create(ctx, messages) {
        const heard = messages.map(message => JSON.stringify(message)).join();
        ctx.memory.chat.Set('heard', heard);
        ctx.memory.context.Set('heard', heard);
        ctx.trace.Info(heard);
        ctx.trace.CreateSpace('space', { label: 'Space' });
        ctx.Send({ type: 'note', props: { content: heard } });
        const inner = ctx.agent.Call('inner', messages);
        return { metadata: { inner: inner.content } };
    }
    export function Next(ctx, payload) { return { data: { heard: ctx.memory.chat.Get('heard'), inner: ctx.metadata.inner } }; }";

fn app() -> TempDir {
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut all = agent(&package, HOOKS);
    all.extend(named("inner", &json!({}), ""));
    let call = json!([{"id": "c1", "name": "s__show", "arguments": {"text": CANARY}}]);
    let rules = json!([
        {"match": {"last_user": "never"}, "reply": format!("{CANARY} ").repeat(10_000), "delay": "20ms"},
        {"match": {"has_tool_result": false, "tools": ["s__show"]}, "reasoning": CANARY, "reply": CANARY, "tool_calls": call},
        {"reply": "told: {{last_tool_result}}"},
    ]);
    all.push(model("calling", &rules));
    files(&borrowed(&all))
}

/// A runtime over a store that lasts.
async fn over(app: &Path, url: &str) -> Runtime {
    let options = DriverOptions::default();
    let driver = open(url, options.clone()).await.unwrap();
    let stores = Stores::builder(options).driver("kept", driver);
    let stores = stores.temporary_drivers(&["kept"]).build().unwrap();
    let mut settings = settings(app, stores);
    settings.tools = Some(Arc::new(Tools::usual()));
    Runtime::open(settings).await.unwrap()
}

/// A request that stores nothing: a conversation whose last message is this.
fn unstored(text: &str) -> TurnRequest {
    TurnRequest {
        storage: TurnStorage::None,
        messages: vec![
            ChatMessage::user(CANARY),
            ChatMessage::assistant(CANARY),
            ChatMessage::user(format!("{text} {CANARY}")),
        ],
        ..request("hello", "")
    }
}

/// The files below a folder that hold the canary, and how many there are in all.
fn scanned(folder: &Path) -> (Vec<String>, usize) {
    let (mut found, mut count) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let (more, files) = scanned(&path);
            found.extend(more);
            count += files;
            continue;
        }
        count += 1;
        let bytes = std::fs::read(&path).unwrap();
        let mut parts = bytes.windows(CANARY.len());
        if parts.any(|part| part == CANARY.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    (found, count)
}

fn urls(folder: &Path) -> [String; 2] {
    let folder = folder.display();
    [
        format!("sqlite:{folder}/ambit.db"),
        format!("file:{folder}/files"),
    ]
}

/// Tokens that are counted of Ann's.
async fn counted(runtime: &Runtime) -> i64 {
    let usage = Usage::of(runtime.contexts(&ann()), "hello").for_user("ann");
    usage.aggregate().await.unwrap().unwrap().total_tokens
}

async fn close(runtime: Runtime) {
    let stores = runtime.stores().clone();
    runtime.close(Duration::ZERO).await.unwrap();
    drop(runtime);
    stores.close().await.unwrap();
}

#[tokio::test]
async fn g169_a_turn_that_stores_nothing_leaves_no_byte_of_its_messages() {
    for which in 0..2 {
        let (app, folder) = (app(), TempDir::new().unwrap());
        let url = &urls(folder.path())[which];
        let runtime = over(app.path(), url).await;
        let all = frames(runtime.start(unstored("show")).await.unwrap()).await;
        let ended = end(&all);
        assert_eq!(ended["status"], "completed", "{ended}");
        let next = &ended["next"];
        let heard = next["heard"].as_str().unwrap();
        assert_eq!(heard.matches(CANARY).count(), 3, "{heard}");
        assert_eq!(next["inner"], format!("echo: show {CANARY}"));
        let told = json!(format!("told: {{\"text\":\"{CANARY}\"}}"));
        assert_eq!(shown(&all).last().unwrap().1, told);
        let used = ended["usage"]["total_tokens"].as_i64().unwrap();
        assert!(used > 0);
        assert_eq!(counted(&runtime).await, used);
        let id = ended["request_id"].as_str().unwrap();
        let gone = runtime.turn(&ann(), id).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::NotFound);
        close(runtime).await;
        let (found, files) = scanned(folder.path());
        assert!(files > 0);
        assert_eq!(found, Vec::<String>::new(), "{url}");
        // The same bytes would be found: a turn that is stored leaves them.
        let runtime = over(app.path(), url).await;
        let stored = TurnRequest {
            storage: TurnStorage::Conversation,
            ..unstored("show")
        };
        frames(runtime.start(stored).await.unwrap()).await;
        close(runtime).await;
        assert_ne!(scanned(folder.path()).0, Vec::<String>::new(), "{url}");
    }
}

#[tokio::test]
async fn g169_nothing_of_it_is_kept_while_it_runs_and_a_restart_finds_nothing() {
    for which in 0..2 {
        let (app, folder) = (app(), TempDir::new().unwrap());
        let url = &urls(folder.path())[which];
        let runtime = over(app.path(), url).await;
        let mut started = runtime.start(unstored("never")).await.unwrap();
        until(&mut started, is_text).await;
        let more = TurnInterrupt {
            messages: vec![ChatMessage::user(CANARY)],
            ..TurnInterrupt::default()
        };
        let id = started.request_id.clone();
        runtime.interrupt(&ann(), &id, more).await.unwrap();
        // A process that is killed now leaves what is there now.
        assert_eq!(scanned(folder.path()).0, Vec::<String>::new(), "{url}");
        let rest = async {
            let mut last = None;
            while let Some(entries) = started.stream.next().await.unwrap() {
                last = entries.last().map(|entry| entry.text.clone());
            }
            last.unwrap()
        };
        let (last, ()) = tokio::join!(rest, close(runtime));
        let last: Frame = serde_json::from_str(&last).unwrap();
        let ended = end(&[last]);
        assert_eq!(ended["code"], "unavailable", "{ended}");
        let runtime = over(app.path(), url).await;
        assert!(counted(&runtime).await > 0);
        let gone = runtime.turn(&ann(), &id).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::NotFound);
        close(runtime).await;
        assert_eq!(scanned(folder.path()).0, Vec::<String>::new(), "{url}");
    }
}

fn is_text(frame: &Frame) -> bool {
    frame.kind == "text"
}

/// A place whose model has much to say.
async fn talkative() -> Place {
    let mut all = agent(&json!({"connector": "talkative"}), "");
    let rules = json!([{"reply": "word ".repeat(10_000), "delay": "20ms"}]);
    all.push(model("talkative", &rules));
    place(&borrowed(&all)).await
}

/// Waits until a turn is not there any more, for at most a second.
async fn gone(place: &Place, id: &str) {
    let began = Stopwatch::start(&[]);
    while place.runtime.turn(&ann(), id).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(1), "it goes on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn g169_it_ends_within_a_second_after_its_last_reader_has_left() {
    let place = talkative().await;
    let mut started = place.runtime.start(unstored("hi")).await.unwrap();
    until(&mut started, is_text).await;
    let id = started.request_id.clone();
    let other = place.runtime.stream(&ann(), &id, 0).await.unwrap();
    drop(started);
    // Somebody reads it still.
    assert!(place.runtime.turn(&ann(), &id).await.is_ok());
    let mut more = other;
    for _ in 0..3 {
        assert!(more.next().await.unwrap().is_some());
    }
    drop(more);
    gone(&place, &id).await;
}

/// Waits until a turn of `hello` has ended as cancelled.
async fn cancelled(runtime: &Runtime) {
    let line = "ambit_turns_total{agent=\"hello\",status=\"cancelled\"} 1";
    while !runtime.metrics_text().lines().any(|found| found == line) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn g169_it_ends_if_whoever_asked_does_not_wait_for_its_beginning() {
    let place = talkative().await;
    let mut asked = unstored("hi");
    let clock = ambit_storage::clock::Clock::default();
    let id = ambit_storage::ids::ordered(&clock);
    asked.id = Some(id.clone());
    {
        let starting = place.runtime.start(asked);
        tokio::pin!(starting);
        assert!(futures::poll!(&mut starting).is_pending());
    }
    // It begins on its own, finds nobody, and ends long before its model has said all.
    let ended = cancelled(&place.runtime);
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .unwrap();
    gone(&place, &id).await;
    // Nothing is held for it any more.
    place.runtime.close(Duration::from_secs(60)).await.unwrap();
}

#[tokio::test]
async fn it_neither_reads_nor_changes_a_conversation() {
    let mut all = agent(&json!({"connector": "mirror"}), "");
    all.push(mirror());
    let place = place(&borrowed(&all)).await;
    ask(&place, request("hello", "stored")).await;
    let before = remembered(&place, "hello").await;
    let got = mirrored(&ask(&place, unstored("hi")).await);
    let expected = [
        "system: Be kind.".to_owned(),
        format!("user: {CANARY}"),
        format!("assistant: {CANARY}"),
        format!("user: hi {CANARY}"),
    ];
    assert_eq!(said(&got["messages"]), expected);
    assert_eq!(remembered(&place, "hello").await, before);
}

#[tokio::test]
async fn about_as_many_tokens_are_estimated_as_the_model_is_given() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    let small = place.runtime.estimate_input(unstored("hi")).await.unwrap();
    let mut asked = unstored("hi");
    asked
        .messages
        .push(ChatMessage::user("word ".repeat(1_000)));
    let large = place.runtime.estimate_input(asked).await.unwrap();
    assert!((1_000..3_000).contains(&(large - small)), "{small} {large}");
    assert_eq!(counted(&place.runtime).await, 0);
}

#[tokio::test]
async fn nobody_in_particular_may_ask_too() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    let asked = TurnRequest {
        authorized: Authorized::default(),
        ..unstored("hi")
    };
    let all = frames(place.runtime.start(asked).await.unwrap()).await;
    let ended = end(&all);
    assert_eq!(ended["status"], "completed", "{ended}");
    // Who is nobody sees no usage, and whoever keeps the accounts sees theirs.
    let booked = async |caller: Caller| {
        let usage = Usage::of(place.runtime.contexts_of(&caller), "hello");
        let total = usage.aggregate().await.unwrap();
        total.map_or(0, |total| total.total_tokens)
    };
    let nobody = || Authorized::default().caller();
    let used = ended["usage"]["total_tokens"].as_i64().unwrap();
    assert!(used > 0);
    assert_eq!(booked(nobody().as_system()).await, used);
    assert_eq!(booked(nobody()).await, 0);
}
