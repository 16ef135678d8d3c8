//! Requests and stored streams that were spoiled: refused or answered, never a panic.

use crate::site::{Answer, Site};
use ambit::format::{FORMATS, FormatOptions};
use ambit_runtime::stream::StreamEntry;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::json;

const REQUESTS: usize = 600;
const STREAMS: usize = 2_000;

/// What is put into texts: pieces of JSON, huge and odd numbers, wrong bytes.
const SPOILERS: &[&[u8]] = &[
    b"null",
    b"[]",
    b"{}",
    b"\"\"",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\"\\ud800\"",
    b"\\u0000",
    b"\0",
    b"\xff",
    b"\xe4\xb8",
    b"\xef\xbb\xbf",
    b",",
    b"}",
    b"[[[[",
    b"true",
    b"__proto__",
];

fn spoiled(text: &str, random: &mut SmallRng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.random_range(1..6) {
        let at = random.random_range(0..=bytes.len());
        let to = (at + random.random_range(0..20)).min(bytes.len());
        match random.random_range(0..4) {
            0 => drop(bytes.drain(at..to)),
            1 => bytes[at..to]
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_add(1)),
            2 => bytes.truncate(at),
            _ => {
                let spoiler = SPOILERS.choose(random).copied().unwrap();
                bytes.splice(at..to, spoiler.iter().copied());
            }
        }
    }
    bytes
}

/// Requests of every kind that has a body, each with all its fields.
fn requests() -> Vec<(Method, &'static str, String)> {
    let chat = json!({
        "model": "hello", "stream": true, "stream_options": {"include_usage": true}, "temperature": 0.5, "n": 1, "stop": ["x"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
            {"role": "user", "content": "hi"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}], "tool_choice": "auto",
        "response_format": {"type": "json_object"}, "metadata": {"a": [1]}, "skip": {"trace": true}, "search": false,
        "options": {"mode": "", "metadata": {"b": 1}}, "locale": "en-us", "on_busy": "queue", "accept": "cui-web",
    });
    let append = json!({"type": "graceful", "messages": [{"role": "user", "content": "x"}], "metadata": {"a": 1}});
    let session = json!({"title": "x", "status": "active", "share": "private", "sort": 1, "metadata": {"a": 1}});
    let clear = json!({"filter": {"agent": ["hello"]}, "dry_run": true});
    vec![
        (Method::POST, "/v1/chat/completions", chat.to_string()),
        (
            Method::POST,
            "/v1/chat/completions/c1/append",
            append.to_string(),
        ),
        (Method::PUT, "/v1/chat/sessions/c1", session.to_string()),
        (
            Method::PUT,
            "/v1/memory/user/keys/k",
            json!({"value": {"a": [1]}, "ttl": 5}).to_string(),
        ),
        (Method::POST, "/v1/contexts/clear", clear.to_string()),
    ]
}

/// Queries and headers, spoiled as far as the protocol lets them through.
fn beside(random: &mut SmallRng) -> (String, String) {
    let query = spoiled("limit=5&after=3&cursor=YWJj&page=1&chat_id=c1", random);
    let query: String = url_of(&query);
    let header = spoiled("eyJhIjoxfQ==", random);
    let header = header
        .iter()
        .filter(|byte| (0x20..0x7f).contains(*byte))
        .map(|byte| char::from(*byte));
    (query, header.collect())
}

/// Bytes as they may stand in a query.
fn url_of(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'=' | b'&' | b'_' => {
            char::from(*byte).to_string()
        }
        other => format!("%{other:02x}"),
    };
    bytes.iter().map(one).collect()
}

#[tokio::test]
async fn g154_no_request_makes_the_server_panic() {
    let site = Site::development().await;
    let mut random = SmallRng::seed_from_u64(154);
    let requests = requests();
    for round in 0..REQUESTS {
        let (method, path, body) = &requests[round % requests.len()];
        let body = spoiled(body, &mut random);
        let (query, header) = beside(&mut random);
        let path = match round % 3 {
            0 => format!("{path}?{query}"),
            _ => (*path).to_owned(),
        };
        let request = site
            .request(method.clone(), &path)
            .header("x-ambit-metadata", header.as_str())
            .header("idempotency-key", header.as_str())
            .header("last-event-id", header.as_str());
        let shown = String::from_utf8_lossy(&body).into_owned();
        let answer = Answer::of(request.body(body)).await;
        let is_told = answer.status < 500 || answer.failure().1 != "internal";
        assert!(is_told, "{method} {path} {shown}: {}", answer.text);
        let listed = site.get(&format!("/v1/contexts?{query}")).await;
        assert!(listed.status < 500, "{query}: {}", listed.text);
    }
    // It is the same server, and it still works.
    assert_eq!(site.get("/v1/models/hello").await.status, 200);
}

const STORED: &[&str] = &[
    r#"{"type":"event","props":{"event":"stream_start","message":"","data":{"context_id":"r1.c0","request_id":"r1","timestamp":0,"chat_id":"c","trace_id":"r1","assistant":{},"metadata":{}}}}"#,
    r#"{"type":"event","props":{"event":"message_start","message":"","data":{"message_id":"M1","type":"text","timestamp":0}}}"#,
    r#"{"type":"text","props":{"content":"one two "},"chunk_id":"C1","message_id":"M1","delta":true}"#,
    r#"{"type":"text","props":{"content":"three"},"chunk_id":"C2","message_id":"M1","delta":true,"delta_path":"content","delta_action":"append"}"#,
    r#"{"type":"tool_call","props":{"id":"t1","name":"f","arguments":"{\"a\":1}"},"chunk_id":"C3","message_id":"M2","delta":true,"delta_path":"arguments","delta_action":"append"}"#,
    r#"{"type":"table","props":{"rows":[{"a":1}]},"chunk_id":"C4","message_id":"M3","delta":true,"delta_path":"rows[0].a","delta_action":"set"}"#,
    r#"{"type":"event","props":{"event":"message_end","message":"","data":{"message_id":"M1","type":"text","status":"completed","extra":{"content":"one two three"}}}}"#,
    r#"{"type":"event","props":{"event":"stream_end","message":"","data":{"status":"error","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"finish_reason":"stop","next":null,"error":"x","code":"llm_error"}}}"#,
];

#[test]
fn g154_no_stored_stream_makes_a_format_panic() {
    let mut random = SmallRng::seed_from_u64(155);
    let options = FormatOptions::default();
    let mut shown = 0;
    for _ in 0..STREAMS {
        let entries: Vec<StreamEntry> = (1..)
            .zip(STORED)
            .map(|(number, text)| {
                let text = match random.random_range(0..3) {
                    0 => String::from_utf8_lossy(&spoiled(text, &mut random)).into_owned(),
                    _ => (*text).to_owned(),
                };
                let text = text.into();
                StreamEntry { number, text }
            })
            .collect();
        for row in FORMATS {
            let mut format = (row.open)(&options);
            shown += entries
                .iter()
                .map(|entry| format.events(entry).len())
                .sum::<usize>();
            format.end();
            let body = json!((row.body)(&entries, &options));
            // Clients of AG-UI know nothing but events.
            let is_whole = body.is_object() || (row.name == "ag-ui" && body.is_array());
            assert!(is_whole, "{}: {body}", row.name);
        }
        ambit_runtime::trace::fold_texts(entries.iter().map(|entry| &*entry.text));
    }
    assert!(shown > STREAMS, "{shown}");
}
