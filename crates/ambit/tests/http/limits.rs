//! What is too large or too deep is refused, and costs little.

use crate::site::{Answer, Site};
use futures::stream;
use reqwest::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIMIT: usize = 4 << 20;

/// A body of this many bytes that is never whole in memory and says its length only if asked.
fn body(bytes: usize) -> reqwest::Body {
    const PIECE: usize = 64 << 10;
    let pieces = (0..bytes / PIECE).map(|_| Ok::<_, std::io::Error>(vec![b' '; PIECE]));
    reqwest::Body::wrap_stream(stream::iter(pieces))
}

/// The most memory that this process has had.
pub fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

/// The most memory so far, where what every turn needs is there.
async fn peak_after_a_turn(site: &Site) -> usize {
    let turn = r#"{"model":"hello","messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(site.chat(turn).await.status, 200);
    peak()
}

/// Whether nothing but the test of this name runs in this process, so that its memory can be judged. Where it does not, the
/// test has run in one of its own.
pub fn is_alone(test: &str) -> bool {
    const ALONE: &str = "ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let ran = own
        .args(["--exact", test])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("1 passed"), "{out}");
    false
}

#[tokio::test]
async fn g149_a_body_of_100_mb_is_refused_in_constant_memory() {
    if !is_alone("limits::g149_a_body_of_100_mb_is_refused_in_constant_memory") {
        return;
    }
    let site = Site::development().await;
    let before = peak_after_a_turn(&site).await;
    let answer = site.chat(body(100 << 20)).await;
    let grown = peak() - before;
    assert_eq!(answer.failure(), (413, "limit_exceeded".to_owned(), None));
    let expected = format!("the body is larger than {LIMIT} bytes");
    assert_eq!(answer.json()["error"]["message"], json!(expected));
    assert_eq!(
        answer.json()["error"]["type"],
        json!("invalid_request_error")
    );
    assert!(grown < 32 << 20, "{grown} bytes");
}

#[tokio::test]
async fn g149_a_body_that_says_that_it_is_too_large_is_refused() {
    let site = Site::development().await;
    let answer = site.chat(vec![b' '; LIMIT + 1]).await;
    assert_eq!(answer.failure(), (413, "limit_exceeded".to_owned(), None));
    let fits = format!("{{{}}}", " ".repeat(LIMIT - 2));
    assert_eq!(site.chat(fits).await.failure().0, 404);
}

#[tokio::test]
async fn g149_a_million_messages_are_refused() {
    if !is_alone("limits::g149_a_million_messages_are_refused") {
        return;
    }
    let site = Site::development().await;
    let before = peak_after_a_turn(&site).await;
    let body = format!(
        r#"{{"model":"hello","messages":[{}{{}}]}}"#,
        "{},".repeat(1_000_000)
    );
    let answer = site.chat(body).await;
    let grown = peak() - before;
    let place = Some("messages".to_owned());
    assert_eq!(
        answer.failure(),
        (400, "invalid_argument".to_owned(), place)
    );
    assert_eq!(
        answer.json()["error"]["message"],
        json!("messages has more than 10000 items")
    );
    assert!(grown < 32 << 20, "{grown} bytes");
}

#[tokio::test]
async fn g149_json_of_10_000_levels_is_refused() {
    let site = Site::development().await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let messages = r#"[{"role":"user","content":"x"}]"#;
    for (body, param) in [
        (
            format!(r#"{{"model":"hello","messages":{deep}}}"#),
            "messages[0]",
        ),
        (
            format!(r#"{{"model":"hello","messages":{messages},"metadata":{{"x":{deep}}}}}"#),
            "metadata",
        ),
        (
            format!(r#"{{"model":"hello","messages":{messages},"tools":{deep}}}"#),
            "tools[0]",
        ),
        (deep.clone(), "body"),
    ] {
        let answer = site.chat(body).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected);
    }
}

#[tokio::test]
async fn what_is_stored_of_the_deepest_value_can_be_read_back() {
    let site = Site::development().await;
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let body = |id: &str, levels: usize| {
        let parts = json!([{"type": "text", "text": "hello"}]);
        let message = json!({"id": id, "role": "user", "parts": parts, "metadata": nested(levels)});
        json!({"id": "c1", "trigger": "submit-message", "messages": [message]})
    };
    let path = "/v1/ai-sdk/hello/chat";
    // A message is one level more.
    let refused = site.post(path, &body("m1", 64)).await;
    assert_eq!(refused.failure().0, 400, "{}", refused.text);
    site.check_untouched().await;
    // The second turn reads what the first one has stored.
    for id in ["m1", "m2"] {
        let answer = site.post(path, &body(id, 63)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(
            !answer.text.contains(r#""type":"error""#),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let site = Site::set(&[], |settings| {
        settings.body_time = Duration::from_millis(50);
    })
    .await;
    let silent = stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let answer = site.chat(reqwest::Body::wrap_stream(silent)).await;
    assert_eq!(answer.failure(), (408, "timeout".to_owned(), None));
}

#[tokio::test]
async fn metadata_of_more_than_16_kib_is_refused() {
    let site = Site::development().await;
    let body: Value = json!({
        "model": "hello",
        "messages": [{"role": "user", "content": "x"}],
        "metadata": {"x": "x".repeat(16 << 10)},
    });
    let answer = site.post("/v1/chat/completions", &body).await;
    let expected = (
        413,
        "limit_exceeded".to_owned(),
        Some("metadata".to_owned()),
    );
    assert_eq!(answer.failure(), expected);
}

#[tokio::test]
async fn a_name_that_is_too_long_is_a_matter_of_size_and_not_of_pace() {
    let site = Site::development().await;
    let path = format!("/v1/memory/user/keys/{}", "x".repeat(3000));
    let answer = site.get(&path).await;
    assert_eq!(answer.failure(), (413, "limit_exceeded".to_owned(), None));
    assert_eq!(answer.header("retry-after"), None);
}

#[tokio::test]
async fn a_request_that_is_refused_before_its_body_comes_keeps_its_connection() {
    let site = Site::development().await;
    let address = site.url.strip_prefix("http://").unwrap();
    let mut line = TcpStream::connect(address).await.unwrap();
    for _ in 0..3 {
        let head =
            format!("POST /nowhere HTTP/1.1\r\nhost: {address}\r\ncontent-length: 5\r\n\r\n");
        line.write_all(head.as_bytes()).await.unwrap();
        // The server has had the head by then.
        assert_eq!(site.get("/healthz").await.status, 200);
        line.write_all(b"hello").await.unwrap();
        let mut answer = String::new();
        while !answer.ends_with("}}") {
            answer.push(char::from(line.read_u8().await.unwrap()));
        }
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        assert!(!answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_asks_before_it_sends_is_told_that_the_connection_ends() {
    let site = Site::development().await;
    let address = site.url.strip_prefix("http://").unwrap();
    let mut line = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /nowhere HTTP/1.1\r\nhost: {address}\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n"
    );
    line.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn g149_a_million_values_are_refused_in_constant_memory() {
    if !is_alone("limits::g149_a_million_values_are_refused_in_constant_memory") {
        return;
    }
    let site = Site::development().await;
    let before = peak_after_a_turn(&site).await;
    let (chat, responses) = ("/v1/chat/completions", "/v1/responses");
    let items = r#"{"model":"hello","input":["#;
    let content = r#"{"model":"hello","messages":[{"role":"user","content":["#;
    let chat_metadata =
        r#"{"model":"hello","messages":[{"role":"user","content":"x"}],"metadata":{"a":["#;
    let metadata = r#"{"model":"hello","input":"x","metadata":{"a":["#;
    let list = "has more than 10000 items";
    let beyond = "goes beyond the 1000000 values that a body may have (an object counts as 4)";
    for (path, head, piece, tail, param, reason) in [
        (responses, items, "{},", "{}]}", "input", list),
        (
            "/v1/responses/input_tokens",
            items,
            "{},",
            "{}]}",
            "input",
            list,
        ),
        (responses, metadata, "0,", "0]}}", "metadata.a", beyond),
        (chat, chat_metadata, "0,", "0]}}", "metadata", beyond),
        (chat, content, "{},", "{}]}]}", "messages[0]", beyond),
    ] {
        let body = format!("{head}{}{tail}", piece.repeat(1_000_000));
        let answer = Answer::of(site.request(Method::POST, path).body(body)).await;
        let expected = (400, "invalid_argument".to_owned(), Some(param.to_owned()));
        assert_eq!(answer.failure(), expected, "{path}");
        let message = json!(format!("{param} {reason}"));
        assert_eq!(answer.json()["error"]["message"], message, "{path}");
    }
    let grown = peak() - before;
    assert!(grown < 32 << 20, "{grown} bytes");
}

#[tokio::test]
async fn g149_json_of_10_000_levels_is_refused_in_a_field_that_nobody_knows() {
    let site = Site::development().await;
    let send = async |open: &str, close: &str, levels: usize| {
        let nested = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        let body = format!(
            r#"{{"model":"hello","messages":[{{"role":"user","content":"x"}}],"zork":{nested}}}"#
        );
        site.chat(body).await
    };
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        assert_eq!(send(open, close, 64).await.status, 200, "{open}");
        let expected = (400, "invalid_argument".to_owned(), Some("zork".to_owned()));
        let refused = send(open, close, 10_000).await;
        assert_eq!(refused.failure(), expected, "{open}");
    }
}
