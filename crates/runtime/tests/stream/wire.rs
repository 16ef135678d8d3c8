//! What a stream looks like, frame by frame.

use crate::bed::{drain, end, frames, memory, object, outbox, place, unstored};
use ambit_runtime::frame::{Frame, Status, invariants};
use ambit_runtime::outbox::Limits;
use ambit_runtime::stream::{Log, Options};
use serde_json::{Map, Value, json};

/// What happened, without times: an event as its name and data, anything else as it is.
fn told(frames: &[Frame]) -> Vec<Value> {
    frames.iter().map(tell).collect()
}

fn tell(frame: &Frame) -> Value {
    let Some(name) = frame.event_name() else {
        return serde_json::to_value(frame).unwrap();
    };
    let mut data = frame.event_data().cloned().unwrap_or_default();
    data.shift_remove("timestamp");
    data.shift_remove("duration_ms");
    json!({name: data})
}

#[tokio::test]
async fn a_text_of_a_model_is_a_start_its_pieces_and_an_end() {
    let log = Log::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, Limits::default());
    let mut reader = log.reader(0).unwrap();
    let id = speaker.begin("text", Map::new()).unwrap();
    speaker.say(&id, "Hel").unwrap();
    speaker.say(&id, "lo \"\u{0}\n\u{1F600}").unwrap();
    speaker.finish(&id, Status::Completed, Map::new());
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    assert_eq!(
        told(&frames),
        [
            json!({"stream_start": {"assistant": {"assistant_id": "a"}}}),
            json!({"message_start": {"message_id": "M1", "type": "text"}}),
            json!({"type": "text", "props": {"content": "Hel"}, "chunk_id": "C1", "message_id": "M1", "delta": true}),
            json!({"type": "text", "props": {"content": "lo \"\u{0}\n\u{1F600}"}, "chunk_id": "C2", "message_id": "M1", "delta": true}),
            json!({"message_end": {"message_id": "M1", "type": "text", "chunk_count": 2, "status": "completed", "extra": {"content": "Hello \"\u{0}\n\u{1F600}"}}}),
            json!({"stream_end": {"status": "completed"}}),
        ]
    );
    assert_eq!(invariants::check(&frames), Ok(()));
}

#[tokio::test]
async fn pieces_that_wait_together_become_one_entry() {
    let log = Log::open(place(&memory().await), Options::default());
    let (outbox, speaker) = outbox(&log, Limits::default());
    let id = speaker
        .begin(
            "tool_call",
            object(json!({"tool_call": {"id": "c", "name": "n", "index": 0}})),
        )
        .unwrap();
    speaker.say(&id, "Hel").unwrap();
    speaker.say(&id, "lo").unwrap();
    speaker
        .say_at(
            &id,
            &ambit_runtime::frame::path::Path::key("arguments"),
            "{",
        )
        .unwrap();
    speaker
        .say_at(
            &id,
            &ambit_runtime::frame::path::Path::key("arguments"),
            "}",
        )
        .unwrap();
    let mut reader = log.reader(0).unwrap();
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    assert_eq!(
        told(&frames)[1..5],
        [
            json!({"message_start": {"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0}}}),
            json!({"type": "tool_call", "props": {"content": "Hello"}, "chunk_id": "C1", "message_id": "M1", "delta": true}),
            json!({"type": "tool_call", "props": {"arguments": "{}"}, "chunk_id": "C2", "message_id": "M1", "delta": true, "delta_path": "arguments", "delta_action": "append"}),
            json!({"message_end": {"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0}, "chunk_count": 2, "status": "completed", "extra": {"auto_ended": true}}}),
        ]
    );
}

#[tokio::test]
async fn sending_into_blocks_and_changing_after_the_end() {
    let log = Log::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, Limits::default());
    let mut reader = log.reader(0).unwrap();
    speaker.send(&[json!("Step 1"), json!("B1")]).unwrap();
    speaker.end_block(&[json!("B1")]).unwrap();
    speaker.append(&[json!("M1"), json!("!")]).unwrap();
    speaker
        .send(&[json!({"type": "table", "props": {"rows": []}, "block_id": "B1"})])
        .unwrap();
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    assert_eq!(
        told(&frames)[1..],
        [
            json!({"block_start": {"block_id": "B1", "type": "mixed"}}),
            json!({"message_start": {"message_id": "M1", "type": "text", "block_id": "B1"}}),
            json!({"type": "text", "props": {"content": "Step 1"}, "chunk_id": "C1", "message_id": "M1", "block_id": "B1"}),
            json!({"message_end": {"message_id": "M1", "type": "text", "block_id": "B1", "chunk_count": 1, "status": "completed", "extra": {"content": "Step 1"}}}),
            json!({"block_end": {"block_id": "B1", "type": "mixed", "message_count": 1, "status": "completed"}}),
            json!({"message_start": {"message_id": "M1", "type": "text", "block_id": "B1", "amend": true}}),
            json!({"type": "text", "props": {"content": "!"}, "chunk_id": "C2", "message_id": "M1", "block_id": "B1", "delta": true}),
            json!({"message_end": {"message_id": "M1", "type": "text", "block_id": "B1", "amend": true, "chunk_count": 1, "status": "completed", "extra": {"content": "Step 1!"}}}),
            json!({"block_start": {"block_id": "B1", "type": "mixed", "amend": true}}),
            json!({"message_start": {"message_id": "M2", "type": "table", "block_id": "B1"}}),
            json!({"type": "table", "props": {"rows": []}, "chunk_id": "C3", "message_id": "M2", "block_id": "B1"}),
            json!({"message_end": {"message_id": "M2", "type": "table", "block_id": "B1", "chunk_count": 1, "status": "completed"}}),
            json!({"block_end": {"block_id": "B1", "type": "mixed", "message_count": 2, "status": "completed"}}),
            json!({"stream_end": {"status": "completed"}}),
        ]
    );
    assert_eq!(invariants::check(&frames), Ok(()));
    assert_eq!(
        outbox.take_warnings(),
        [
            "message M1 was changed after its end",
            "block B1 was left open"
        ]
    );
}
