//! What holds for every UI message stream, recorded or random.

use crate::log::frames;
use crate::random::{Habits, random_log};
use crate::recorded_logs::{entries, every_log, options};
use ambit::format::find;
use ambit::runtime::Frame;
use ambit::runtime::frame::{OutputMessages, apply};
use ambit::runtime::stream::StreamEntry;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The keys that version 6.0.0 of the client's parser takes, by the type of the chunk.
const KEYS: &[(&str, &str)] = &[
    ("start", "messageId messageMetadata"),
    ("start-step", ""),
    ("finish-step", ""),
    ("text-start", "id"),
    ("text-delta", "id delta"),
    ("text-end", "id"),
    ("reasoning-start", "id"),
    ("reasoning-delta", "id delta"),
    ("reasoning-end", "id"),
    (
        "tool-input-start",
        "toolCallId toolName dynamic providerExecuted",
    ),
    ("tool-input-delta", "toolCallId inputTextDelta"),
    (
        "tool-input-available",
        "toolCallId toolName input dynamic providerExecuted",
    ),
    (
        "tool-input-error",
        "toolCallId toolName input errorText dynamic providerExecuted",
    ),
    (
        "tool-output-available",
        "toolCallId output preliminary dynamic providerExecuted",
    ),
    (
        "tool-output-error",
        "toolCallId errorText dynamic providerExecuted",
    ),
    ("file", "url mediaType"),
    ("source-url", "sourceId url title"),
    ("source-document", "sourceId mediaType title"),
    ("error", "errorText"),
    ("finish", "finishReason messageMetadata"),
    ("abort", ""),
    ("data-", "id data transient"),
];

/// The log with models called here and there in it.
fn with_steps(seed: u64, log: &[StreamEntry]) -> Vec<StreamEntry> {
    let step = |name: &str| {
        let frame = Frame::event(name, "", json!({"finish_reason": "stop"}));
        serde_json::to_string(&frame).unwrap()
    };
    let mut lines = Vec::new();
    for (at, entry) in log.iter().enumerate() {
        let is_inside = at > 0 && at + 1 < log.len();
        if is_inside && (at as u64 * 7 + seed).is_multiple_of(5) {
            let is_begin = (at as u64 + seed).is_multiple_of(2);
            lines.push(step(if is_begin { "step_start" } else { "step_end" }));
        }
        lines.push(entry.text.to_string());
    }
    entries(lines.iter().map(String::as_str))
}

fn all() -> Vec<Vec<StreamEntry>> {
    let random = (1..=500).map(|seed| with_steps(seed, &random_log(seed, Habits::Any)));
    let recorded = every_log().into_iter().map(|(_, log)| log);
    recorded.chain(random).collect()
}

fn chunks(log: &[StreamEntry]) -> Vec<Value> {
    let (frames, end) = frames(find("ai-sdk").unwrap(), log);
    assert_eq!(end, ["[DONE]"]);
    let chunks = frames.concat().into_iter();
    chunks
        .map(|chunk| serde_json::from_str(&chunk).unwrap())
        .collect()
}

fn kind(chunk: &Value) -> &str {
    chunk["type"].as_str().unwrap()
}

#[test]
fn g163_no_chunk_has_a_key_that_early_clients_refuse() {
    for log in all() {
        for chunk in chunks(&log) {
            let kind = kind(&chunk);
            let is_it =
                |name: &&str| kind == *name || (*name == "data-" && kind.starts_with(*name));
            let known = KEYS.iter().find(|(name, _)| is_it(name));
            let (_, known) = known.unwrap_or_else(|| panic!("{chunk}"));
            let known: Vec<&str> = known.split(' ').chain(["type"]).collect();
            let fields = chunk.as_object().unwrap();
            assert!(
                fields.keys().all(|key| known.contains(&key.as_str())),
                "{chunk}"
            );
            assert!(
                fields.values().all(|value| !value.is_null()) || kind.starts_with("tool-output"),
                "{chunk}"
            );
        }
    }
}

#[test]
fn g163_what_begins_ends_and_goes_on_only_in_between() {
    for log in all() {
        let chunks = chunks(&log);
        let kinds: Vec<&str> = chunks.iter().map(kind).collect();
        assert_eq!(kinds[0], "start");
        let ends = kinds
            .iter()
            .filter(|kind| ["finish", "abort"].contains(*kind));
        assert_eq!(ends.count(), 1);
        assert!(["finish", "abort"].contains(kinds.last().unwrap()));
        let (mut begun, mut open) = (BTreeSet::new(), BTreeMap::new());
        let mut is_in_step = false;
        for chunk in &chunks {
            let id = chunk["id"].as_str().unwrap_or_default();
            let call = chunk["toolCallId"].as_str().unwrap_or_default();
            match kind(chunk) {
                start @ ("text-start" | "reasoning-start") => {
                    assert!(begun.insert(id), "{id} begins twice");
                    open.insert(id, start.trim_end_matches("-start"));
                }
                delta @ ("text-delta" | "reasoning-delta") => {
                    assert_eq!(open.get(id), Some(&delta.trim_end_matches("-delta")));
                    assert_ne!(chunk["delta"], "");
                }
                end @ ("text-end" | "reasoning-end") => {
                    assert_eq!(open.remove(id), Some(end.trim_end_matches("-end")));
                }
                "tool-input-start" => assert!(begun.insert(call), "{call} begins twice"),
                kind if kind.starts_with("tool-") => assert!(begun.contains(call), "{call}"),
                "start-step" => assert!(!std::mem::replace(&mut is_in_step, true)),
                // What goes on behind a step does so in parts of its own.
                "finish-step" => {
                    assert!(std::mem::take(&mut is_in_step));
                    assert_eq!(open, BTreeMap::new());
                }
                _ => {}
            }
        }
        assert_eq!(open, BTreeMap::new());
        assert!(!is_in_step);
    }
}

#[test]
fn g156_every_id_names_its_turn() {
    for log in all() {
        for chunk in chunks(&log) {
            for (name, start) in [
                ("id", "r1."),
                ("toolCallId", "call_r1_"),
                ("sourceId", "r1."),
            ] {
                let id = chunk[name].as_str();
                assert!(id.is_none_or(|id| id.starts_with(start)), "{chunk}");
            }
        }
    }
}

#[test]
fn g155_the_whole_message_says_what_the_log_leaves() {
    for log in all() {
        let mut state = OutputMessages::default();
        for entry in &log {
            let frame: Frame = serde_json::from_str(&entry.text).unwrap();
            apply(&mut state, &frame).unwrap();
        }
        let texts = |kind: &str| {
            let own = state
                .messages()
                .iter()
                .filter(|message| message.kind == kind);
            let texts = own.map(|message| message.props.get("content").cloned());
            let mut texts: Vec<String> = texts
                .map(|text| {
                    text.unwrap_or_else(|| "".into())
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                })
                .collect();
            texts.sort();
            texts
        };
        let body = json!((find("ai-sdk").unwrap().body)(&log, &options()));
        let shown = |kind: &str| {
            let parts = body["parts"].as_array().unwrap().iter();
            let own = parts.filter(|part| part["type"] == kind);
            let mut texts: Vec<String> = own
                .map(|part| {
                    assert_eq!(part["state"], "done");
                    part["text"].as_str().unwrap().to_owned()
                })
                .collect();
            texts.sort();
            texts
        };
        assert_eq!(shown("text"), texts("text"));
        assert_eq!(shown("reasoning"), texts("thinking"));
    }
}
