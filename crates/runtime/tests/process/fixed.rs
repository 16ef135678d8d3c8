//! Processes that every app has.

use crate::place::value;
use serde_json::json;

const OPEN: (&str, &str) = (
    "app.yao",
    r#"{"name": "T", "ambit": {"capabilities": {"process": ["*"]}}}"#,
);

#[tokio::test]
async fn hashes_are_hex() {
    let expression = "[Process('crypto.Hash', 'SHA256', 'abc'), Process('crypto.Hash', 'sha-1', 'abc'), Process('crypto.HMAC', 'SHA256', 'what do ya want for nothing?', 'Jefe')]";
    let expected = json!([
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ]);
    assert_eq!(value(&[OPEN], expression).await, expected);
}

#[tokio::test]
async fn wrong_arguments_of_hashes_are_refused() {
    for (call, message) in [
        (
            "'crypto.Hash', 'SHA257', 'x'",
            "crypto.Hash: unknown type \"SHA257\"; known are MD5, SHA1, SHA224, SHA256, SHA384, SHA512; did you mean \"SHA256\"?",
        ),
        ("'crypto.Hash'", "crypto.Hash: type must be a string"),
        ("'crypto.Hash', 'MD5'", "crypto.Hash: text must be a string"),
        (
            "'crypto.HMAC', 'MD5', 'x', 5",
            "crypto.HMAC: key must be a string",
        ),
    ] {
        let found = value(&[OPEN], &format!("Process({call})")).await;
        assert_eq!(found, json!(["invalid_argument", message]));
    }
}

#[tokio::test]
async fn a_uuid_is_made_anew_each_time() {
    let expression = "(() => { const all = [1, 2].map(() => Process('utils.str.UUID')); return [all[0] !== all[1], all.every(id => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))]; })()";
    assert_eq!(value(&[], expression).await, json!([true, true]));
}

#[tokio::test]
async fn wrong_calls_of_agents_are_refused() {
    for (given, message) in [
        (
            "",
            "agent.Call: argument must be {assistant_id, messages, options?, timeout?}",
        ),
        (
            "{messages: []}",
            "agent.Call: assistant_id must be an agent's id",
        ),
        ("{assistant_id: 'x'}", "agent.Call: messages must be a list"),
        (
            "{assistant_id: 'x', messages: [], options: 5}",
            "agent.Call: options must be an object",
        ),
        (
            "{assistant_id: 'x', messages: [], timeout: -1}",
            "agent.Call: timeout must be a number of seconds above 0",
        ),
    ] {
        let found = value(&[], &format!("Process('agent.Call', {given})")).await;
        assert_eq!(found, json!(["invalid_argument", message]));
    }
}
