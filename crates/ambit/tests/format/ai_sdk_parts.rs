//! Parts of UI messages that no recorded log has: how far a tool is, and documents that have no address.

use crate::log::{event, frames, log_of};
use crate::recorded_logs::options;
use ambit::format::find;
use ambit::runtime::stream::StreamEntry;
use serde_json::{Value, json};

/// The chunks of this kind.
fn chunks(log: &[StreamEntry], kind: &str) -> Vec<Value> {
    let (frames, _) = frames(find("ai-sdk").unwrap(), log);
    let chunks = frames.concat().into_iter();
    chunks
        .map(|chunk| serde_json::from_str(&chunk).unwrap())
        .filter(|chunk: &Value| chunk["type"].as_str().unwrap().starts_with(kind))
        .collect()
}

#[test]
fn how_far_a_tool_is_comes_before_its_result_and_gives_way_to_it() {
    let call = json!({"type": "tool_call", "message_id": "M1",
        "props": {"id": "c1", "name": "notes__walk", "arguments": "{}", "status": "pending"}});
    let told = json!({"message_id": "M1", "type": "tool_call", "status": "completed"});
    let step = |number: u64| json!({"progress": number, "total": 2, "message": "a step"});
    let progress = |number: u64| {
        json!({"type": "tool_call", "message_id": "M1", "props": {"progress": step(number)},
            "delta": true, "delta_action": "set", "delta_path": "progress"})
    };
    let done = json!({"type": "tool_call", "message_id": "M1", "props": {"status": "completed", "result": "done"},
        "delta": true, "delta_action": "merge"});
    let log = log_of(&[
        event("message_start", &told),
        call,
        event("message_end", &told),
        progress(1),
        progress(2),
        done,
    ]);
    let outputs = chunks(&log, "tool-output-");
    let outputs: Vec<(&Value, &Value)> = outputs
        .iter()
        .map(|chunk| (&chunk["output"], &chunk["preliminary"]))
        .collect();
    let (first, second) = (step(1), step(2));
    let (yes, done, none) = (json!(true), json!("done"), Value::Null);
    assert_eq!(outputs, [(&first, &yes), (&second, &yes), (&done, &none)]);
    let body = json!((find("ai-sdk").unwrap().body)(&log, &options()));
    let mut parts = body["parts"].as_array().unwrap().iter();
    let part = parts.find(|part| part["type"] == "dynamic-tool").unwrap();
    assert_eq!(
        (&part["state"], &part["output"], &part["preliminary"]),
        (&json!("output-available"), &done, &none)
    );
}

#[test]
fn what_was_found_without_an_address_is_a_document() {
    let found = json!({"references": [
        {"id": "1", "type": "kb", "title": "Returns", "snippet": "Lamps can be returned."},
        {"id": "2", "type": "db", "snippet": "Lamps: 3"},
        {"id": "3", "type": "web", "title": "Lamps", "url": "https://shop.test/lamps"},
    ]});
    let log = log_of(&[event("references", &found)]);
    let text = "text/plain";
    let document = |id: &str, title: &str| json!({"type": "source-document", "sourceId": id, "mediaType": text, "title": title});
    let page = json!({"type": "source-url", "sourceId": "r1.3", "url": "https://shop.test/lamps", "title": "Lamps"});
    let expected = [
        document("r1.1", "Returns"),
        document("r1.2", "Lamps: 3"),
        page,
    ];
    assert_eq!(chunks(&log, "source-"), expected);
}
