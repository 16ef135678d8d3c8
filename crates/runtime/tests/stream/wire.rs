//! What a stream looks like, frame by frame.

use crate::bed::{drain, end, frames, memory, object, outbox, place, unstored};
use ambit_runtime::frame::props_path::PropsPath;
use ambit_runtime::frame::{Frame, MessageStatus, invariants};
use ambit_runtime::outbox::{OutboxLimits, ToolCallStart};
use ambit_runtime::stream::{StreamOptions, StreamWriter};
use serde_json::{Value, json};

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
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let id = speaker.begin("text").unwrap();
    speaker.say(&id, "Hel").unwrap();
    speaker.say(&id, "lo \"\u{0}\n\u{1F600}").unwrap();
    speaker.finish(&id, MessageStatus::Completed);
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
    let log = StreamWriter::open(place(&memory().await), StreamOptions::default());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let id = speaker.begin_tool_call(tool_call()).unwrap();
    speaker.say(&id, "Hel").unwrap();
    speaker.say(&id, "lo").unwrap();
    speaker
        .say_at(&id, &PropsPath::key("arguments"), "{")
        .unwrap();
    speaker
        .say_at(&id, &PropsPath::key("arguments"), "}")
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
            json!({"message_end": {"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0, "arguments": "{}"}, "chunk_count": 2, "status": "completed", "extra": {"auto_ended": true}}}),
        ]
    );
}

#[tokio::test]
async fn sending_into_blocks_and_changing_after_the_end() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
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

fn tool_call() -> ToolCallStart {
    ToolCallStart {
        id: "c".to_owned(),
        name: "n".to_owned(),
        index: 0,
        is_client: false,
    }
}

/// A call of a tool, and its amendment when the tool has run.
#[tokio::test]
async fn a_tool_call_is_merged_appended_ended_and_amended() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let id = speaker.begin_tool_call(tool_call()).unwrap();
    let pending = json!({"id": "c", "name": "n", "arguments": "", "status": "pending"});
    speaker.update(&id, object(pending)).unwrap();
    speaker
        .say_at(&id, &PropsPath::key("arguments"), "{}")
        .unwrap();
    speaker.finish(&id, MessageStatus::Completed);
    let done = json!({"status": "completed", "result": {"ok": true}});
    speaker.update(&id, object(done)).unwrap();
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    let start = json!({"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0}});
    assert_eq!(
        told(&frames)[1..8],
        [
            json!({"message_start": start}),
            json!({"type": "tool_call", "props": {"id": "c", "name": "n", "arguments": "", "status": "pending"}, "chunk_id": "C1", "message_id": "M1", "delta": true, "delta_action": "merge"}),
            json!({"type": "tool_call", "props": {"arguments": "{}"}, "chunk_id": "C2", "message_id": "M1", "delta": true, "delta_path": "arguments", "delta_action": "append"}),
            json!({"message_end": {"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0, "arguments": "{}"}, "chunk_count": 2, "status": "completed"}}),
            json!({"message_start": {"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0}, "amend": true}}),
            json!({"type": "tool_call", "props": {"status": "completed", "result": {"ok": true}}, "chunk_id": "C3", "message_id": "M1", "delta": true, "delta_action": "merge"}),
            json!({"message_end": {"message_id": "M1", "type": "tool_call", "tool_call": {"id": "c", "name": "n", "index": 0, "arguments": "{}"}, "amend": true, "chunk_count": 1, "status": "completed"}}),
        ]
    );
    assert_eq!(outbox.take_warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn a_fork_has_a_thread_that_ends_with_what_it_left_open() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let fork = speaker.fork("look it up", "b", false);
    let quiet = fork.fork("", "c", false);
    quiet.end_thread(MessageStatus::Completed);
    fork.send_stream(&[json!("hm"), json!("B1")]).unwrap();
    fork.end_thread(MessageStatus::Partial);
    let silent = speaker.fork("", "d", true);
    let hidden = silent
        .send(&[json!("nobody sees it"), json!("B7")])
        .unwrap();
    assert_eq!(
        silent.append(&[json!("M1"), json!("not sent")]).unwrap(),
        "M1"
    );
    assert_eq!(speaker.append(&[hidden, json!("nor this")]).unwrap(), "M2");
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    assert_eq!(
        told(&frames)[1..],
        [
            json!({"thread_start": {"thread_id": "T1", "type": "agent", "label": "look it up", "assistant_id": "b"}}),
            json!({"block_start": {"block_id": "B1", "type": "mixed"}}),
            json!({"message_start": {"message_id": "M1", "type": "text", "block_id": "B1", "thread_id": "T1", "extra": {"assistant_id": "b"}}}),
            json!({"type": "text", "props": {"content": "hm"}, "chunk_id": "C1", "message_id": "M1", "block_id": "B1", "thread_id": "T1"}),
            json!({"message_end": {"message_id": "M1", "type": "text", "block_id": "B1", "thread_id": "T1", "chunk_count": 1, "status": "partial", "extra": {"assistant_id": "b", "content": "hm"}}}),
            json!({"block_end": {"block_id": "B1", "type": "mixed", "message_count": 1, "status": "partial"}}),
            json!({"thread_end": {"thread_id": "T1", "type": "agent", "block_count": 1, "status": "partial"}}),
            json!({"stream_end": {"status": "completed"}}),
        ]
    );
    assert_eq!(outbox.messages().len(), 1);
}

#[tokio::test]
async fn a_thread_begins_before_the_events_that_stand_in_it_and_once() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let mine = json!({"type": "event", "props": {"event": "mine", "data": {}}});
    outbox.emit("step_start", json!({"index": 0}));
    let asked = speaker.fork("", "b", false);
    outbox.emit("step_start", json!({"index": 1, "thread_id": "T1"}));
    let told = speaker.fork("", "c", false);
    told.send(std::slice::from_ref(&mine)).unwrap();
    asked.end_thread(MessageStatus::Completed);
    outbox.emit("step_end", json!({"index": 1, "thread_id": "T1"}));
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    let seen = frames.iter().map(|frame| {
        let thread = frame.event_data().and_then(|data| data.get("thread_id"));
        let thread = thread
            .and_then(Value::as_str)
            .or(frame.thread_id.as_deref());
        (frame.event_name().unwrap(), thread)
    });
    let seen: Vec<(&str, Option<&str>)> = seen.collect();
    assert_eq!(
        seen,
        [
            ("stream_start", None),
            ("step_start", None),
            ("thread_start", Some("T1")),
            ("step_start", Some("T1")),
            ("thread_start", Some("T2")),
            ("mine", Some("T2")),
            ("thread_end", Some("T1")),
            ("step_end", Some("T1")),
            ("thread_end", Some("T2")),
            ("stream_end", None),
        ]
    );
    assert_eq!(invariants::check(&frames), Ok(()));
}

#[tokio::test]
async fn the_thread_of_a_fork_names_the_message_of_the_call_that_it_comes_from() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let fork = speaker.for_call(Some("M7")).fork("", "b", false);
    fork.fork("", "c", false).send(&[json!("below")]).unwrap();
    fork.send(&[json!("hm")]).unwrap();
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    let told = told(&frames);
    let threads: Vec<&Value> = told
        .iter()
        .filter_map(|it| it.get("thread_start"))
        .collect();
    assert_eq!(
        threads,
        [
            &json!({"thread_id": "T2", "type": "agent", "assistant_id": "c", "parent_thread_id": "T1"}),
            &json!({"thread_id": "T1", "type": "agent", "assistant_id": "b", "call_message_id": "M7"}),
        ]
    );
}

#[tokio::test]
async fn what_is_added_to_a_list_is_carried_in_a_list() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let lists = json!({"type": "y", "props": {"bar": [], "rows": [["a"]]}});
    let id = speaker.send_stream(&[lists]).unwrap();
    for (item, path) in [
        (json!("q"), "bar"),
        (json!(1), "bar"),
        (json!("b"), "rows.0"),
        (json!("c"), "rows.0.0"),
        (json!("d"), "new"),
    ] {
        speaker.append(&[id.clone(), item, json!(path)]).unwrap();
    }
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    let deltas = frames.iter().filter(|frame| frame.delta);
    let carried: Vec<Value> = deltas.map(|frame| json!(frame.props)).collect();
    assert_eq!(
        carried,
        [
            json!({"bar": ["q"]}),
            json!({"bar": [1]}),
            json!({"rows": {"0": ["b"]}}),
            json!({"rows": {"0": {"0": "c"}}}),
            json!({"new": "d"}),
        ]
    );
    let state = crate::random::held(&frames);
    assert_eq!(state.messages(), outbox.messages());
    let props = json!({"bar": ["q", 1], "rows": [["ac", "b"]], "new": "d"});
    assert_eq!(json!(outbox.messages()[0].props), props);
}

#[tokio::test]
async fn replaced_types_metadata_and_events_are_told() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let loading = json!({"type": "loading", "props": {"message": "…"}, "id": "ignored", "metadata": {"k": 1, "trace_id": "forged"}});
    let id = speaker.send_stream(&[loading]).unwrap();
    speaker
        .replace(&[
            id.clone(),
            json!({"type": "text", "props": {"content": "Complete!"}}),
        ])
        .unwrap();
    speaker.end(std::slice::from_ref(&id)).unwrap();
    speaker.end(&[id]).unwrap();
    speaker
        .send(&[json!({"type": "event", "props": {"event": "mine", "data": {"a": 1}}})])
        .unwrap();
    end(&outbox).await;
    let frames = frames(&drain(&mut reader).await);
    assert_eq!(
        told(&frames)[1..6],
        [
            json!({"message_start": {"message_id": "M1", "type": "loading"}}),
            json!({"type": "loading", "props": {"message": "…"}, "chunk_id": "C1", "message_id": "M1", "metadata": {"k": 1}}),
            json!({"type": "text", "props": {"content": "Complete!"}, "chunk_id": "C2", "message_id": "M1", "delta": true, "delta_action": "replace", "type_change": true}),
            json!({"message_end": {"message_id": "M1", "type": "text", "chunk_count": 2, "status": "completed", "extra": {"content": "Complete!"}}}),
            json!({"mine": {"a": 1}}),
        ]
    );
}

#[tokio::test]
async fn the_deepest_value_at_the_longest_path_can_be_read_again() {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let mut reader = log.reader(0).unwrap();
    let id = speaker.send_stream(&[json!({"type": "x"})]).unwrap();
    let value = (0..64).fold(json!(1), |inner, _| json!([inner]));
    let path = vec!["a"; 32].join(".");
    speaker.set(&[id.clone(), value, json!(path)]).unwrap();
    speaker
        .replace(&[
            id,
            serde_json::Value::Object(outbox.messages()[0].props.clone()),
        ])
        .unwrap_err();
    end(&outbox).await;
    let state = crate::random::held(&frames(&drain(&mut reader).await));
    assert_eq!(state.messages(), outbox.messages());
}

#[tokio::test]
async fn a_piece_behind_another_change_is_not_merged_into_one_before_it() {
    let log = StreamWriter::open(place(&memory().await), StreamOptions::default());
    let (outbox, speaker) = outbox(&log, OutboxLimits::default());
    let id = speaker.begin("text").unwrap();
    speaker.say(&id, "one").unwrap();
    speaker.replace(&[json!(id), json!("two")]).unwrap();
    speaker.say(&id, " three").unwrap();
    end(&outbox).await;
    let entries = drain(&mut log.reader(0).unwrap()).await;
    let state = crate::random::held(&frames(&entries));
    assert_eq!(state.messages()[0].props["content"], "two three");
}
