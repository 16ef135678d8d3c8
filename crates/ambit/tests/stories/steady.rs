//! Streams without what is different each time: ids, times, and how much text came in one piece.

use ambit::runtime::Frame;
use ambit::runtime::frame::DeltaAction;
use ambit::runtime::stream::StreamEntry;
use serde_json::Value;

/// Keys of times and counts that depend on the clock.
const CLOCK: [&str; 3] = ["timestamp", "duration_ms", "chunk_count"];

/// The same stream with `ids` renamed, times 0, and pieces of one text put together.
pub fn steady(entries: &[StreamEntry], ids: &[(String, String)]) -> Vec<StreamEntry> {
    let mut frames: Vec<Frame> = Vec::new();
    for entry in entries {
        let mut frame = frame(&entry.text, ids);
        // Which frames were put together before depends on how fast they came.
        frame.chunk_id = frame.chunk_id.map(|_| "C".to_owned());
        match frames.last_mut().and_then(|last| text_of(last, &frame)) {
            Some((text, more)) => text.push_str(more),
            None => frames.push(frame),
        }
    }
    let number = |(index, frame): (usize, &Frame)| StreamEntry {
        number: index as u64 + 1,
        text: serde_json::to_string(frame).unwrap().into(),
    };
    frames.iter().enumerate().map(number).collect()
}

fn frame(text: &str, ids: &[(String, String)]) -> Frame {
    let text = ids
        .iter()
        .fold(text.to_owned(), |text, (id, name)| text.replace(id, name));
    let mut value: Value = serde_json::from_str(&text).unwrap();
    stop_clock(&mut value);
    serde_json::from_value(value).unwrap()
}

fn stop_clock(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if CLOCK.contains(&name.as_str()) && member.is_number() {
                    *member = 0.into();
                }
                stop_clock(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(stop_clock),
        _ => {}
    }
}

/// The text that a frame ends with and what the next frame adds behind it, if both append to the same place.
fn text_of<'a>(last: &'a mut Frame, next: &'a Frame) -> Option<(&'a mut String, &'a str)> {
    let is_append = |frame: &Frame| {
        frame.delta && matches!(frame.delta_action, None | Some(DeltaAction::Append))
    };
    let same = last.message_id == next.message_id && last.delta_path == next.delta_path;
    if !same || !is_append(last) || !is_append(next) {
        return None;
    }
    let path = next.delta_path.as_deref().unwrap_or("content");
    let more = next.props.get(path)?.as_str()?;
    match last.props.get_mut(path)? {
        Value::String(text) => Some((text, more)),
        _ => None,
    }
}
