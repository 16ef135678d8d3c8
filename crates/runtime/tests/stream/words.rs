//! What scripts are told when they use the messaging methods wrongly, word for word; nothing is changed then.

use crate::bed::{call, memory, outbox, place, table, unstored};
use ambit_runtime::ErrorCode;
use ambit_runtime::outbox::{AgentOutbox, Outbox, OutboxLimits};
use ambit_runtime::stream::StreamWriter;
use serde_json::{Value, json};

/// An outbox with one open message `m` to be misused.
pub async fn misused() -> (Outbox, AgentOutbox, StreamWriter) {
    let log = StreamWriter::open(place(&memory().await), unstored());
    let limits = OutboxLimits {
        message: 300,
        output: 1000,
        messages: 4,
    };
    let (outbox, speaker) = outbox(&log, limits);
    let props =
        json!({"content": "text", "rows": [1, 2], "meta": {"n": 1}, "flag": true, "none": null});
    let message = json!({"type": "table", "message_id": "m", "props": props});
    speaker.send_stream(&[message]).unwrap();
    (outbox, speaker, log)
}

async fn check_all(text: &str) {
    for [method, arguments, expected] in table(text) {
        let arguments = serde_json::from_str(arguments).unwrap();
        check(method, &arguments, expected).await;
    }
}

async fn check(method: &str, arguments: &Value, message: &str) {
    check_code(method, arguments, message, ErrorCode::InvalidArgument).await;
}

async fn check_code(method: &str, arguments: &Value, message: &str, code: ErrorCode) {
    let (outbox, speaker, log) = misused().await;
    let before = (outbox.messages(), log.last());
    let error = call(&speaker, method, arguments).unwrap_err();
    let told = (error.message.as_str(), error.code);
    assert_eq!(told, (message, code), "{method}{arguments}");
    let after = (outbox.messages(), log.last());
    assert_eq!(after, before, "{method}{arguments}");
}

#[tokio::test]
async fn missing_arguments_are_named() {
    check_all(
        r#"
        Send       | []       | Send requires a message argument
        SendStream | []       | SendStream requires a message argument
        Append     | []       | Append requires messageId and content arguments
        Append     | ["m"]    | Append requires messageId and content arguments
        Replace    | ["m"]    | Replace requires messageId and message arguments
        Merge      | ["m"]    | Merge requires messageId and data arguments
        Set        | ["m", 1] | Set requires messageId, data, and path arguments
        End        | []       | End requires a messageId argument
        EndBlock   | []       | EndBlock requires block_id argument
        "#,
    )
    .await;
}

#[tokio::test]
async fn wrong_messages_are_refused() {
    check_all(
        r#"
        Send       | [null]                            | invalid message: expected a string or an object
        Send       | [5]                               | invalid message: expected a string or an object
        SendStream | [["text"]]                        | invalid message: expected a string or an object
        Replace    | ["m", 5]                          | invalid message: expected a string or an object
        Replace    | ["m", null]                       | invalid message: expected a string or an object
        Send       | [{}]                              | invalid message: message.type is required and must be a string
        Send       | [{"type": ""}]                    | invalid message: message.type is required and must be a string
        Send       | [{"type": 5, "props": {}}]        | invalid message: message.type is required and must be a string
        SendStream | [{"props": {"content": "x"}}]     | invalid message: message.type is required and must be a string
        Send       | [{"type": "text", "props": "x"}]  | invalid message: message.props must be an object
        Send       | [{"type": "text", "props": []}]   | invalid message: message.props must be an object
        Replace    | ["m", {"type": "event", "props": {}}] | invalid message: an event cannot take the place of a message
        "#,
    )
    .await;
}

#[tokio::test]
async fn g144_wrong_ids_are_refused_by_name() {
    check_all(
        r#"
        Append   | [5, "x"]                                | messageId must be a string
        Replace  | [null, "x"]                             | messageId must be a string
        Merge    | [{}, {}]                                | messageId must be a string
        Set      | [true, 1, "a"]                          | messageId must be a string
        End      | [[]]                                    | messageId must be a string
        Send     | [{"type": "text", "message_id": 5}]     | messageId must be a string
        Append   | ["M9", "x"]                             | Append: unknown message "M9"
        Replace  | ["", "x"]                               | Replace: unknown message ""
        Merge    | ["M9", {}]                              | Merge: unknown message "M9"
        Set      | ["M9", 1, "a"]                          | Set: unknown message "M9"
        End      | ["M9"]                                  | End: unknown message "M9"
        Send     | [{"type": "text", "message_id": "m"}]   | message id "m" is already in use
        Send     | [{"type": "text", "block_id": "a\u0000"}] | block_id contains U+0000
        Send     | [{"type": "text", "thread_id": 1}]      | thread_id must be a string
        Send     | ["x", 5]                                | block_id must be a string
        EndBlock | [5]                                     | block_id must be a string
        "#,
    )
    .await;
    let long = json!([{"type": "text", "message_id": "m".repeat(257)}]);
    check("Send", &long, "messageId exceeds 256 bytes").await;
}

#[tokio::test]
async fn wrong_paths_are_refused() {
    check_all(
        r#"
        Set    | ["m", 1, ""]               | path cannot be empty for Set operation
        Set    | ["m", 1, "a..b"]           | invalid path "a..b"
        Set    | ["m", 1, ".a"]             | invalid path ".a"
        Set    | ["m", 1, "props."]         | invalid path "props."
        Set    | ["m", 1, "a.__proto__.b"]  | invalid path "a.__proto__.b"
        Append | ["m", "x", "constructor"]  | invalid path "constructor"
        Merge  | ["m", {}, "prototype"]     | invalid path "prototype"
        Set    | ["m", 1, 7]                | invalid path "7"
        "#,
    )
    .await;
    let deep = vec!["a"; 33].join(".");
    let invalid = format!("invalid path \"{deep}\"");
    let arguments = json!(["m", 1, deep]);
    check("Set", &arguments, &invalid).await;
}

#[tokio::test]
async fn wrong_targets_and_values_are_refused() {
    check_all(
        r#"
        Append | ["m", "x", "flag"]          | Append: flag is a boolean; expected string or list
        Append | ["m", "x", "props.meta"]    | Append: meta is a object; expected string or list
        Append | ["m", "x", "props"]         | Append: props is a object; expected string or list
        Append | ["m", 5]                    | Append: content is a number; expected string
        Append | ["m", null]                 | Append: content is a null; expected string
        Append | ["m", ["x"]]                | Append: content is a list; expected string
        Append | ["m", "x", "flag.on"]       | Append: flag is a boolean; expected object or list
        Merge  | ["m", {"a": 1}, "rows"]     | Merge: rows is a list; expected object
        Merge  | ["m", {"a": 1}, "content"]  | Merge: content is a string; expected object
        Merge  | ["m", "x"]                  | Merge: data must be an object
        Merge  | ["m", [1]]                  | Merge: data must be an object
        Set    | ["m", 1, "content.a"]       | Set: content is a string; expected object or list
        Set    | ["m", 1, "meta.n.a"]        | Set: meta.n is a number; expected object or list
        Set    | ["m", 1, "rows.a"]          | Set: rows is a list; expected object
        Set    | ["m", 1, "rows.3"]          | Set: index 3 is out of range for rows (length 2)
        Set    | ["m", 1, "rows.99999999999999999999"] | Set: index 99999999999999999999 is out of range for rows (length 2)
        Set    | ["m", "x", "props"]         | Set: props is a string; expected object
        End    | ["m", 5]                    | End: final_content is a number; expected string
        "#,
    )
    .await;
    let nested = (0..70).fold(json!(1), |inner, _| json!([inner]));
    let too_deep = "invalid message: nested more than 64 levels deep";
    let message = json!([{"type": "x", "props": {"a": nested}}]);
    let set = json!(["m", nested, "a"]);
    for (method, arguments) in [("Set", set), ("Send", message)] {
        check(method, &arguments, too_deep).await;
    }
}

#[tokio::test]
async fn the_names_of_the_runtimes_events_are_reserved() {
    let names = [
        "stream_start",
        "stream_x",
        "message_end",
        "block_start",
        "thread_end",
        "interrupt",
    ];
    for name in names {
        let event = json!([{"type": "event", "props": {"event": name}}]);
        let expected = format!("event \"{name}\" is reserved");
        check("Send", &event, &expected).await;
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let long = "x".repeat(300);
    let calls = [
        ("Send", json!([long])),
        (
            "SendStream",
            json!([{"type": "x", "metadata": {"a": long}}]),
        ),
        ("Append", json!(["m", long])),
        ("Append", json!(["m", [long], "rows"])),
        ("Replace", json!(["m", long])),
        ("Merge", json!(["m", {"a": long}])),
        ("Set", json!(["m", long, "a"])),
        ("End", json!(["m", long])),
    ];
    for (method, arguments) in calls {
        let message = "message exceeds 300 bytes";
        check_code(method, &arguments, message, ErrorCode::OutputLimit).await;
    }
}

#[tokio::test]
async fn what_is_put_in_place_of_something_counts_once() {
    let (_, speaker, _) = misused().await;
    let half = "x".repeat(150);
    for _ in 0..3 {
        speaker.set(&[json!("m"), json!(half), json!("a")]).unwrap();
    }
    let error = speaker
        .append(&[json!("m"), json!(half), json!("a")])
        .unwrap_err();
    assert_eq!(error.message, "message exceeds 300 bytes");
}

#[tokio::test]
async fn a_turn_that_says_too_much_is_refused() {
    let (outbox, speaker, _) = misused().await;
    let piece = "x".repeat(200);
    let text = speaker.begin("text").unwrap();
    for _ in 0..4 {
        speaker.replace(&[json!("m"), json!({"a": piece})]).unwrap();
    }
    let before = outbox.messages();
    let all = "output limit exceeded (1000 bytes per turn)";
    let said = speaker.say(&text, &piece).unwrap_err();
    let sent = speaker.send(&[json!(piece)]).unwrap_err();
    let event = speaker
        .send(&[json!({"type": "event", "props": {"event": "x", "data": piece}})])
        .unwrap_err();
    for error in [said, sent, event] {
        assert_eq!(
            (error.message.as_str(), error.code),
            (all, ErrorCode::OutputLimit)
        );
    }
    assert_eq!(outbox.messages(), before);
    // The failure itself can be shown.
    speaker
        .show("error", crate::bed::object(json!({"message": piece})))
        .unwrap();
}

#[tokio::test]
async fn too_many_messages_are_refused() {
    let (_, speaker, _) = misused().await;
    for _ in 0..3 {
        speaker.send(&[json!("x")]).unwrap();
    }
    let error = speaker.send(&[json!("x")]).unwrap_err();
    let expected = "output limit exceeded (4 messages per turn)";
    assert_eq!(
        (error.message.as_str(), error.code),
        (expected, ErrorCode::OutputLimit)
    );
}

#[tokio::test]
async fn nobody_speaks_behind_the_end() {
    let (outbox, speaker, _) = misused().await;
    crate::bed::end(&outbox).await;
    let before = outbox.messages();
    let table = [
        ("Send", json!(["x"])),
        ("Send", json!([{"type": "event", "props": {"event": "x"}}])),
        ("Append", json!(["m", "x"])),
        ("End", json!(["m", "x"])),
    ];
    for (method, arguments) in table {
        let error = call(&speaker, method, &arguments).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.code),
            ("the turn has ended", ErrorCode::Cancelled)
        );
    }
    assert_eq!(outbox.messages(), before);
}
