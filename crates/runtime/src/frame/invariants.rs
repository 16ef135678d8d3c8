//! What holds for the frames of every turn that has ended, however it ended.

use super::Frame;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Checks a whole stream: one start, one end, everything begun is ended, no id is given twice. Names the frame that is wrong,
/// counted from 1.
pub fn check(frames: &[Frame]) -> Result<(), String> {
    let mut seen = FrameChecker::default();
    for (index, frame) in frames.iter().enumerate() {
        let is_edge = [index == 0, index + 1 == frames.len()];
        let done = seen.check(frame, is_edge);
        done.map_err(|what| format!("frame {}: {what}", index + 1))?;
    }
    if frames.is_empty() {
        return Err("there is no frame".to_owned());
    }
    let open = seen.open.iter().filter(|(_, is_open)| **is_open);
    match open.map(|(what, _)| what).next() {
        Some((kind, id)) => Err(format!("{kind} {id} is never ended")),
        None => Ok(()),
    }
}

/// Checks that entries are numbered 1, 2, 3 …
pub fn check_numbers(numbers: impl IntoIterator<Item = u64>) -> Result<(), String> {
    for (number, expected) in numbers.into_iter().zip(1..) {
        if number != expected {
            return Err(format!("number {number} stands where {expected} should"));
        }
    }
    Ok(())
}

#[derive(Default)]
struct FrameChecker {
    /// Messages, blocks and threads, and whether they are open.
    open: BTreeMap<(&'static str, String), bool>,
    /// Messages whose content was sent whole.
    whole: BTreeSet<String>,
    chunk: u64,
}

impl FrameChecker {
    fn check(&mut self, frame: &Frame, [is_first, is_last]: [bool; 2]) -> Result<(), String> {
        let name = frame.event_name();
        if is_first != (name == Some("stream_start")) {
            return Err("stream_start must be first, and only there".to_owned());
        }
        if is_last != (name == Some("stream_end")) {
            return Err("stream_end must be last, and only there".to_owned());
        }
        let nothing = Map::new();
        let data = frame.event_data().unwrap_or(&nothing);
        match (frame.kind.as_str(), name) {
            ("event", Some(name)) => self.check_event(name, data),
            ("event", None) => Ok(()),
            _ => self.check_message(frame),
        }
    }

    fn check_event(&mut self, name: &str, data: &Map<String, Value>) -> Result<(), String> {
        let kinds = ["message", "block", "thread"];
        let parts = kinds.into_iter().find_map(|kind| {
            let what = name.strip_prefix(kind)?.strip_prefix('_')?;
            Some((kind, what))
        });
        let Some((kind, what)) = parts else {
            return Ok(());
        };
        let Some(id) = data.get(&format!("{kind}_id")).and_then(Value::as_str) else {
            return Err(format!("{name} has no {kind}_id"));
        };
        let is_open = self.open.insert((kind, id.to_owned()), what == "start");
        let is_amended = data.get("amend").and_then(Value::as_bool) == Some(true);
        match (what, is_open) {
            ("start", Some(true)) => Err(format!("{kind} {id} is begun while it is open")),
            ("start", Some(false)) if kind != "thread" && !is_amended => {
                Err(format!("{kind} {id} is begun twice"))
            }
            ("start", None) if is_amended => Err(format!("{kind} {id} is amended and unknown")),
            ("end", Some(false) | None) => Err(format!("{kind} {id} is ended and not open")),
            ("end", _) if data.get("status").and_then(Value::as_str).is_none() => {
                Err(format!("{kind} {id} is ended without a status"))
            }
            ("start" | "end", _) => Ok(()),
            _ => Err(format!("{name} is no event of the runtime")),
        }
    }

    fn check_message(&mut self, frame: &Frame) -> Result<(), String> {
        let id = frame.message_id.clone().unwrap_or_default();
        if self.open.get(&("message", id.clone())) != Some(&true) {
            return Err(format!("message {id} is not open"));
        }
        let groups = [("block", &frame.block_id), ("thread", &frame.thread_id)];
        for (kind, group) in groups {
            let known = |group: &String| self.open.contains_key(&(kind, group.clone()));
            if group.as_ref().is_some_and(|group| !known(group)) {
                return Err(format!("message {id} stands in a {kind} that never began"));
            }
        }
        if !frame.delta && !self.whole.insert(id.clone()) {
            return Err(format!("message {id} is sent whole twice"));
        }
        let number = frame.chunk_id.as_deref();
        let number = number.and_then(|chunk| chunk.strip_prefix('C')?.parse::<u64>().ok());
        match number {
            Some(number) if number > self.chunk => {
                self.chunk = number;
                Ok(())
            }
            _ => Err(format!(
                "chunk {:?} does not follow C{}",
                frame.chunk_id, self.chunk
            )),
        }
    }
}
