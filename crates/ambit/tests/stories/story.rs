//! One story: its requests are made one after another, each turn is read to its end.

use crate::expected;
use crate::steady::steady;
use ambit::format::{self, FormatEvent, FormatOptions};
use ambit::runtime::Frame;
use ambit::runtime::frame::invariants;
use ambit::runtime::stream::StreamEntry;
use ambit::runtime::{Runtime, TurnRequest};
use ambit::runtime::{RuntimeSettings, StartedTurn};
use ambit::storage::Stores;
use ambit::storage::driver::DriverOptions as StoreOptions;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// The formats of which streams are kept.
const FORMATS: [&str; 2] = ["standard", "cui-web"];

/// `request.json`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    /// The app's folder below the repository.
    #[serde(default = "shared_app")]
    app: String,
    /// Requests: the fields of a `TurnRequest`; what is not said is as below.
    turns: Vec<Map<String, Value>>,
}

fn shared_app() -> String {
    "crates/ambit/tests/stories/app".to_owned()
}

/// A turn that has ended.
struct Told {
    entries: Vec<StreamEntry>,
    options: FormatOptions,
}

/// An id that is another one each time, and what it is called.
type NamedId = (String, String);

/// Runs a story and compares what comes of it.
pub fn run(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("request.json")).unwrap();
    let story: Story = serde_json::from_str(&text).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let turns = runtime.block_on(tell(&story));
    for name in FORMATS {
        expected::check(&folder.join(format!("{name}.sse")), &streams(name, &turns));
    }
    let bodies = turns.iter().map(|turn| {
        let standard = format::find("standard").unwrap();
        (standard.body)(&turn.entries, &turn.options)
    });
    let bodies = serde_json::to_string_pretty(&bodies.collect::<Vec<_>>()).unwrap();
    expected::check(&folder.join("standard.json"), &(bodies + "\n"));
}

async fn tell(story: &Story) -> Vec<Told> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Tool servers find their programs there.
    let path = std::env::var_os("PATH").map(|path| path.into_string().unwrap());
    let opened = Runtime::open(RuntimeSettings {
        environment: path
            .map(|path| ("PATH".to_owned(), path))
            .into_iter()
            .collect(),
        is_development: true,
        ..RuntimeSettings::new(
            root.join(&story.app),
            Stores::builder(StoreOptions::default()).build().unwrap(),
        )
    });
    let runtime = opened.await.unwrap();
    let (mut turns, mut ids): (Vec<Told>, Vec<NamedId>) = Default::default();
    for turn in &story.turns {
        let request = request(turn, turns.last(), &ids);
        let started = runtime.start(request.clone()).await.unwrap();
        turns.push(told(&mut ids, &request, started).await);
    }
    runtime.close(Duration::from_secs(120)).await.unwrap();
    turns
}

/// The request as a server would make it; `$REQUEST-1` is the id of the first one.
fn request(turn: &Map<String, Value>, before: Option<&Told>, ids: &[NamedId]) -> TurnRequest {
    let mut request = json!({
        "authorized": {"user_id": "ann"},
        "origin": {"accept": "standard", "locale": "en-us", "referer": "api"},
    });
    let fields = request.as_object_mut().unwrap();
    fields.extend(
        turn.iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    let text = request.to_string().replace("$CALL", &last_call(before));
    let text = ids.iter().fold(text, |text, (id, name)| {
        text.replace(&format!("${name}"), id)
    });
    serde_json::from_str(&text).unwrap()
}

/// The id of the last tool call, which only the turn before knows.
fn last_call(before: Option<&Told>) -> String {
    let body = format::find("standard").unwrap().body;
    let body = before.map(|turn| json!(body(&turn.entries, &turn.options)));
    let calls = body
        .as_ref()
        .map(|body| &body["choices"][0]["message"]["tool_calls"]);
    let id = calls.and_then(|calls| calls[0]["id"].as_str());
    id.unwrap_or_default().to_owned()
}

async fn told(known: &mut Vec<NamedId>, request: &TurnRequest, mut started: StartedTurn) -> Told {
    let number = known.len() + 1;
    let mut entries = Vec::new();
    while let Some(more) = started.stream.next().await.unwrap() {
        entries.extend(more);
    }
    check(&entries);
    let ids = [
        (started.request_id.as_str(), "REQUEST"),
        (started.context_id.as_str(), "CONTEXT"),
        (started.trace_id.as_str(), "TRACE"),
    ];
    let ids = ids.map(|(id, name)| (id.to_owned(), format!("{name}-{number}")));
    known.push(ids[0].clone());
    let ids: Vec<NamedId> = ids.iter().chain(&*known).cloned().collect();
    let names = request.call.tools.iter().map(|tool| tool.name.clone());
    Told {
        entries: steady(&entries, &ids),
        options: FormatOptions {
            model: started.assistant_id,
            request_id: format!("REQUEST-{number}"),
            created: 0,
            include_usage: true,
            client_tools: names.collect(),
            ..FormatOptions::default()
        },
    }
}

/// What holds for every stream, whatever the story.
fn check(entries: &[StreamEntry]) {
    let numbers = entries.iter().map(|entry| entry.number);
    assert_eq!(invariants::check_numbers(numbers), Ok(()));
    let frames = entries
        .iter()
        .map(|entry| serde_json::from_str(&entry.text).unwrap());
    let frames: Vec<Frame> = frames.collect();
    assert_eq!(invariants::check(&frames), Ok(()));
}

/// What a client reads, turn after turn.
fn streams(name: &str, turns: &[Told]) -> String {
    let mut text = String::new();
    for (index, turn) in turns.iter().enumerate() {
        let _ = writeln!(text, ": turn {}\n", index + 1);
        let mut format = (format::find(name).unwrap().open)(&turn.options);
        for entry in &turn.entries {
            write_events(&mut text, format.events(entry));
        }
        write_events(&mut text, format.end());
    }
    text
}

fn write_events(to: &mut String, events: Vec<FormatEvent>) {
    for event in events {
        if let Some(name) = event.name {
            let _ = writeln!(to, "event: {name}");
        }
        let _ = writeln!(to, "data: {}\n", event.data);
    }
}
