//! What holds for every stream in every format, recorded or random.

use crate::log::{Completion, frames};
use crate::random::{Habits, random_log};
use crate::recorded_logs::{entries, events, every_log, logs, options};
use ambit::format::{FORMATS, FormatEvent, failure, find};
use ambit::runtime::Frame;
use ambit::runtime::frame::invariants;
use ambit::runtime::stream::StreamEntry;
use serde_json::{Value, json};

/// Recorded logs, and random ones.
fn all() -> Vec<Vec<StreamEntry>> {
    let random = (1..=60).map(|seed| random_log(seed, Habits::Any));
    every_log()
        .into_iter()
        .map(|(_, log)| log)
        .chain(random)
        .collect()
}

#[test]
fn recorded_streams_are_such_as_a_turn_makes() {
    for (path, log) in logs() {
        let frames: Vec<Frame> = log
            .iter()
            .map(|entry| serde_json::from_str(&entry.text).unwrap())
            .collect();
        assert_eq!(invariants::check(&frames), Ok(()), "{}", path.display());
    }
}

#[test]
fn g106_who_resumes_anywhere_gets_exactly_what_is_missing() {
    // The others get the beginning again from whoever sends them, and are followed over HTTP.
    for log in all() {
        for row in FORMATS.iter().filter(|row| !row.needs_beginning) {
            let (whole, end) = events(row, &log);
            for after in 0..=log.len() {
                let mut format = (row.open)(&options());
                let rest: Vec<Vec<FormatEvent>> = log[after..]
                    .iter()
                    .map(|entry| format.events(entry))
                    .collect();
                assert_eq!(rest, whole[after..], "{} after {after}", row.name);
                assert_eq!(format.end(), end);
            }
        }
    }
}

/// Whether an event tells clients of a format that the turn has ended.
fn is_terminal(format: &str, event: &str) -> bool {
    let event: Value = serde_json::from_str(event).unwrap();
    let kind = event["type"].as_str().unwrap_or_default();
    match format {
        "standard" => !event["choices"][0]["finish_reason"].is_null(),
        "messages" => ["message_stop", "error"].contains(&kind),
        "cui-web" | "cui-native" | "cui-desktop" => {
            kind == "event" && event["props"]["event"] == "stream_end"
        }
        "ai-sdk" => ["finish", "abort"].contains(&kind),
        "ag-ui" => ["RUN_FINISHED", "RUN_ERROR"].contains(&kind),
        "responses" => [
            "response.completed",
            "response.incomplete",
            "response.failed",
        ]
        .contains(&kind),
        other => panic!("nobody knows how a stream of {other} ends"),
    }
}

/// A log with events between its entries that a script has made by hand, under names that scripts may use.
fn with_events(log: &[StreamEntry], data: &Value) -> Vec<StreamEntry> {
    let names = [
        "step_start",
        "step_end",
        "references",
        "state",
        "reasoning_part",
        "progress",
    ];
    let made = names.map(|name| json!(Frame::event(name, "", data.clone())).to_string());
    let mut lines: Vec<&str> = Vec::new();
    for entry in log {
        if !lines.is_empty() {
            lines.extend(made.iter().map(String::as_str));
        }
        lines.push(&entry.text);
    }
    entries(lines)
}

#[test]
fn events_of_scripts_whose_data_are_no_object_show_nothing() {
    for (_, log) in logs() {
        for data in [Value::Null, json!("step"), json!([1, 2])] {
            let mixed = with_events(&log, &data);
            for row in FORMATS.iter().filter(|row| row.needs_beginning) {
                let (plain, end) = frames(row, &log);
                let (shown, end_of_mixed) = frames(row, &mixed);
                assert_eq!(shown.concat(), plain.concat(), "{} with {data}", row.name);
                assert_eq!(end_of_mixed, end);
                let body = |log: &[StreamEntry]| json!((row.body)(log, &options()));
                assert_eq!(body(&mixed), body(&log), "{} with {data}", row.name);
            }
        }
    }
}

#[test]
fn events_of_scripts_with_fields_of_other_types_leave_a_stream_its_one_end() {
    let data = json!({"thread_id": 7, "index": "first", "finish_reason": [], "retried": "yes",
        "references": 7, "snapshot": null, "part": "thought"});
    for (_, log) in logs() {
        let mixed = with_events(&log, &data);
        for row in FORMATS {
            let (shown, _) = frames(row, &mixed);
            let shown = shown.concat();
            let ends = shown.iter().filter(|event| is_terminal(row.name, event));
            assert_eq!(ends.count(), 1, "{}", row.name);
            (row.body)(&mixed, &options());
        }
    }
}

/// What stands behind the last event of a format.
fn mark_behind(format: &str) -> &'static [&'static str] {
    match format {
        "standard" | "ai-sdk" | "responses" => &["[DONE]"],
        _ => &[],
    }
}

#[test]
fn g110_every_stream_ends_once_in_every_format() {
    for log in all() {
        for row in FORMATS {
            let (frames, end) = frames(row, &log);
            assert_eq!(end, mark_behind(row.name), "{}", row.name);
            let (last, earlier) = frames.split_last().unwrap();
            let ends = |frames: &[String]| {
                let ends = frames.iter().filter(|frame| is_terminal(row.name, frame));
                ends.count()
            };
            assert_eq!(ends(last), 1, "{}: {last:?}", row.name);
            assert_eq!(ends(&earlier.concat()), 0, "{}", row.name);
        }
    }
}

#[test]
fn g114_a_failure_is_told_in_the_streams_own_format() {
    let log = logs();
    let named = |wanted: &str| {
        let found = log.iter().find(|(path, _)| path.ends_with(wanted));
        found.map(|(_, log)| log.clone()).unwrap()
    };
    for name in [
        "failure.jsonl",
        "failure-after-error.jsonl",
        "failure-at-once.jsonl",
    ] {
        let log = named(name);
        let told = failure(&log).unwrap();
        let (frames, end) = frames(find("standard").unwrap(), &log);
        let whole = Completion::of_chunks(&frames.concat());
        let [error] = whole.errors.as_slice() else {
            panic!("{name}: {:?}", whole.errors);
        };
        assert_eq!(error["message"], told.message);
        assert_eq!(error["code"], told.code.as_str());
        assert!(!whole.content.contains(&told.message), "{}", whole.content);
        assert_eq!(whole.finish_reason.as_deref(), Some("stop"));
        assert!(whole.usage.is_some());
        assert_eq!(end, ["[DONE]"]);
        let body = json!((find("standard").unwrap().body)(&log, &options()));
        assert_eq!(body["error"], *error);
        let body = json!((find("cui-web").unwrap().body)(&log, &options()));
        assert_eq!(body["status"], "error");
        assert_eq!(body["error"]["message"], told.message);
    }
    assert!(failure(&named("hello.jsonl")).is_none());
    assert!(failure(&named("cancelled.jsonl")).is_none());
}

#[test]
fn usage_comes_only_where_it_was_asked_for() {
    let mut options = options();
    options.include_usage = false;
    let mut format = (find("standard").unwrap().open)(&options);
    let (_, log) = logs().remove(0);
    let events = log.iter().flat_map(|entry| format.events(entry));
    let frames: Vec<String> = events.map(|event| event.data).collect();
    assert_eq!(Completion::of_chunks(&frames).usage, None);
}

#[test]
fn g145_any_text_comes_out_as_it_went_in() {
    let texts = [
        "\0",
        "\u{1}\u{1f}\u{7f}",
        "e\u{301}",
        "👩‍👩‍👧",
        "שלום \u{202e}abc\u{202c}",
        "\u{2028}\u{2029}\u{feff}",
        "\r\n\r\ndata: [DONE]\n\n",
        "\"\\/",
        "\u{fffd}\u{10ffff}",
    ];
    for text in texts {
        let frame = json!({
            "type": "text", "props": {"content": text}, "message_id": "M1", "delta": true,
        });
        let start = json!({"type": "event", "props": {"event": "stream_start", "data": {}}});
        let end = json!({
            "type": "event", "props": {"event": "stream_end", "data": {"status": "completed"}},
        });
        let lines = [start, frame, end].map(|line| line.to_string());
        let log = entries(lines.iter().map(String::as_str));
        let standard = find("standard").unwrap();
        let (frames, _) = frames(standard, &log);
        assert!(
            frames
                .iter()
                .flatten()
                .all(|frame| !frame.contains(['\n', '\r']))
        );
        assert_eq!(Completion::of_chunks(&frames.concat()).content, text);
        let body = json!((standard.body)(&log, &options()));
        assert_eq!(body["choices"][0]["message"]["content"], text);
        let body = json!((find("cui-web").unwrap().body)(&log, &options()));
        assert_eq!(body["messages"][0]["props"]["content"], text);
    }
}
