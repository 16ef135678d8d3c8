//! Recorded streams, which tests of formats and those of clients read: logs that are kept by hand, and those of stories.

use ambit::format::{FormatDefinition, FormatEvent, FormatOptions};
use ambit::runtime::stream::StreamEntry;
use std::path::{Path, PathBuf};

/// The options of all tests: a client that brings two tools and wants to know what it spent.
pub fn options() -> FormatOptions {
    FormatOptions {
        model: "tests.hello".to_owned(),
        request_id: "r1".to_owned(),
        created: 1_764_300_000,
        include_usage: true,
        client_tools: vec!["get_weather".to_owned(), "get_time".to_owned()],
        run_id: Some("run-1".to_owned()),
        ..FormatOptions::default()
    }
}

/// Numbered entries.
pub fn entries<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<StreamEntry> {
    let number = |(index, line): (usize, &str)| StreamEntry {
        number: index as u64 + 1,
        text: line.into(),
    };
    lines.into_iter().enumerate().map(number).collect()
}

/// What a format makes of each entry, and of the end.
pub fn events(
    row: &FormatDefinition,
    entries: &[StreamEntry],
) -> (Vec<Vec<FormatEvent>>, Vec<FormatEvent>) {
    let mut format = (row.open)(&options());
    let events = entries.iter().map(|entry| format.events(entry)).collect();
    (events, format.end())
}

/// The text that goes over the wire.
pub fn sse(row: &FormatDefinition, entries: &[StreamEntry]) -> String {
    let (events, end) = events(row, entries);
    let mut text = String::new();
    for (entry, events) in entries.iter().zip(&events) {
        for (index, event) in events.iter().enumerate() {
            if row.has_entry_ids && index + 1 == events.len() {
                text.push_str(&format!("id: {}\n", entry.number));
            }
            write(&mut text, event);
        }
    }
    end.iter().for_each(|event| write(&mut text, event));
    text
}

fn write(to: &mut String, event: &FormatEvent) {
    if let Some(name) = event.name {
        to.push_str(&format!("event: {name}\n"));
    }
    to.push_str(&format!("data: {}\n\n", event.data));
}

/// The logs that are kept by hand with their paths.
pub fn logs() -> Vec<(PathBuf, Vec<StreamEntry>)> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let entries = entries(text.lines());
        (path, entries)
    };
    let paths = beside("format/recorded").into_iter();
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.map(read).collect()
}

/// All logs with their names: those that are kept by hand, and of each story each turn's, as clients of `cui-web` read it.
pub fn every_log() -> Vec<(String, Vec<StreamEntry>)> {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let by_hand = logs().into_iter().map(|(path, log)| (name(&path), log));
    let mut every: Vec<_> = by_hand.collect();
    for story in beside("stories") {
        // The folder of the stories' app has no stream.
        let Ok(streams) = std::fs::read_to_string(story.join("cui-web.sse")) else {
            continue;
        };
        for (index, turn) in streams.split(": turn ").skip(1).enumerate() {
            let number = index + 1;
            let turn = turn.replace(&format!("REQUEST-{number}"), &options().request_id);
            let lines = turn.lines().filter_map(|line| line.strip_prefix("data: "));
            every.push((format!("{}-{number}", name(&story)), entries(lines)));
        }
    }
    every
}

/// What lies in a folder of these tests, by name.
fn beside(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
