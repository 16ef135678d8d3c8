//! What the messaging methods do when they are used as the contract says.

use crate::bed::{call, table};
use crate::words::misused;
use serde_json::{Value, json};

/// The call, and what is found under a key of the props of `m` afterwards.
async fn check_all(text: &str) {
    for [method, arguments, expected] in table(text) {
        let (outbox, speaker, _) = misused().await;
        let given = serde_json::from_str(arguments).unwrap();
        let expected: (String, Value) = serde_json::from_str(expected).unwrap();
        let answer = call(&speaker, method, &given).unwrap();
        assert_eq!(answer, "m", "{method}{arguments}");
        let props = outbox.message("m").unwrap().props;
        let found = props.get(&expected.0);
        assert_eq!(found, Some(&expected.1), "{method}{arguments}");
    }
}

#[tokio::test]
async fn append_adds_to_texts_and_lists() {
    check_all(
        r#"
        Append | ["m", "!"]                      | ["content", "text!"]
        Append | ["m", "!", ""]                  | ["content", "text!"]
        Append | ["m", 3, "rows"]                | ["rows", [1, 2, 3]]
        Append | ["m", [3, 4], "props.rows"]     | ["rows", [1, 2, 3, 4]]
        Append | ["m", "x", "new"]               | ["new", "x"]
        Append | ["m", "x", "a.b"]               | ["a", {"b": "x"}]
        Append | ["m", {"a": 1}, "new"]          | ["new", [{"a": 1}]]
        Append | ["m", "x", "none"]              | ["none", "x"]
        Append | ["m", {"type": "text", "props": {"content": "!"}}]   | ["content", "text!"]
        Append | ["m", {"type": "t", "props": {"rows": [3]}}, "rows"] | ["rows", [1, 2, 3]]
        Append | ["m", {"type": "t", "props": {}}, "rows"] | ["rows", [1, 2, {"type": "t", "props": {}}]]
        End    | ["m", " end"]                   | ["content", "text end"]
        "#,
    )
    .await;
}

#[tokio::test]
async fn merge_set_and_replace_put_values() {
    check_all(
        r#"
        Merge | ["m", {"meta": {"k": [1]}}]      | ["meta", {"n": 1, "k": [1]}]
        Merge | ["m", {"n": null}, "meta"]       | ["meta", {"n": null}]
        Merge | ["m", {"a": 1}, "x.y"]           | ["x", {"y": {"a": 1}}]
        Merge | ["m", {"type": "t", "props": {"flag": {"a": 1}}}] | ["flag", {"a": 1}]
        Set   | ["m", null, "flag"]              | ["flag", null]
        Set   | ["m", 9, "rows.2"]               | ["rows", [1, 2, 9]]
        Set   | ["m", 9, "rows.0"]               | ["rows", [9, 2]]
        Set   | ["m", 9, "a.0.b"]                | ["a", {"0": {"b": 9}}]
        Set   | ["m", 9, "a\\.b.c"]              | ["a.b", {"c": 9}]
        Set   | ["m", {"type": "x", "props": {"status": "ok"}}, "props.status"] | ["status", "ok"]
        Set   | ["m", {"type": "x", "props": {}}, "status"] | ["status", {"type": "x", "props": {}}]
        Set   | ["m", {"only": 1}, "props"]      | ["only", 1]
        Replace | ["m", "new"]                   | ["content", "new"]
        Replace | ["m", {"content": "new"}]      | ["content", "new"]
        Replace | ["m", {"type": "new"}]         | ["type", "new"]
        "#,
    )
    .await;
}

#[tokio::test]
async fn replace_changes_the_type_of_a_message_alone() {
    let (outbox, speaker, _) = misused().await;
    speaker
        .replace(&[json!("m"), json!({"type": "x"})])
        .unwrap();
    assert_eq!(outbox.message("m").unwrap().kind, "table");
    speaker.replace(&[json!("m"), json!("words")]).unwrap();
    assert_eq!(outbox.message("m").unwrap().kind, "text");
}

#[tokio::test]
async fn ids_are_given_once_and_chosen_ones_are_kept() {
    let (outbox, speaker, _) = misused().await;
    let fork = speaker.fork("", "b", true);
    speaker
        .send(&[json!({"type": "text", "message_id": "M2"})])
        .unwrap();
    assert_eq!(speaker.message_id(), "M1");
    assert_eq!(fork.message_id(), "M3");
    assert_eq!(
        speaker
            .send(&[json!({"type": "text", "message_id": "M1"})])
            .unwrap(),
        "M1"
    );
    assert_eq!(fork.send(&[json!("x")]).unwrap(), "M4");
    assert_eq!([speaker.block_id(), fork.block_id()], ["B1", "B2"]);
    assert_eq!(speaker.thread_id(), "T2");
    assert_eq!(
        speaker
            .send(&[json!({"type": "event", "props": {"event": "x"}})])
            .unwrap(),
        ""
    );
    let shown: Vec<String> = outbox
        .messages()
        .into_iter()
        .map(|it| it.message_id)
        .collect();
    assert_eq!(shown, ["m", "M2", "M1"]);
}
