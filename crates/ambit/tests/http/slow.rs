//! A reader that does not read.

use crate::limits::{is_alone, peak};
use crate::site::Site;
use crate::turns::{status, streamed};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const MESSAGES: usize = 14;
/// Clients that read no stream which has ended.
const READERS: usize = 64;

/// A client with little room, which has read the head of its answer and nothing more.
pub async fn unread(site: &Site, request: &str, body: &str) -> (TcpStream, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let address = site.url.strip_prefix("http://").unwrap();
    let mut client = socket.connect(address.parse().unwrap()).await.unwrap();
    let size = body.len();
    let head = format!("{request}\r\nhost: {address}\r\ncontent-length: {size}\r\n\r\n");
    let whole = head + body;
    client.write_all(whole.as_bytes()).await.unwrap();
    let mut headers = Vec::new();
    while !headers.ends_with(b"\r\n\r\n") {
        headers.push(client.read_u8().await.unwrap());
    }
    (client, String::from_utf8(headers).unwrap())
}

#[tokio::test]
async fn g112_a_reader_that_falls_too_far_behind_is_cut_off_and_loses_nothing() {
    let hooks = format!(
        "export function Create(ctx) {{ for (let i = 0; i < {MESSAGES}; i++) ctx.Send('x'.repeat(1000000)); }}"
    );
    let files = [("assistants/hello/src/index.ts", hooks.as_str())];
    let site = Site::set(&files, |settings| settings.lag_limit = 64 << 10).await;
    let body = streamed("hi").to_string();
    let (mut slow, headers) = unread(&site, "POST /v1/chat/completions HTTP/1.1", &body).await;
    let id = headers
        .lines()
        .find_map(|line| line.strip_prefix("x-ambit-request: "))
        .unwrap();
    let path = format!("/v1/chat/requests/{id}");
    while site.get(&path).await.json()["status"] == json!("running") {}
    let mut got = Vec::new();
    let ended = slow.read_to_end(&mut got).await;
    assert!(got.len() < MESSAGES * 1_000_000, "{} bytes", got.len());
    assert!(ended.is_err() || !got.ends_with(b"0\r\n\r\n"));
    let metrics = site.get("/metrics").await.text;
    assert!(
        metrics
            .lines()
            .any(|line| line == "ambit_streams_cut_total 1"),
        "{metrics}"
    );
    let events = site.resume(id, 0).await.rest().await;
    assert_eq!(status(&events), json!("completed"));
    let texts = events
        .iter()
        .filter_map(|event| event.data["props"]["content"].as_str());
    let sizes: Vec<usize> = texts
        .map(str::len)
        .filter(|size| *size == 1_000_000)
        .collect();
    assert_eq!(sizes.len(), MESSAGES);
}

#[tokio::test]
async fn g112_readers_that_do_not_read_an_ended_stream_hold_little_of_it() {
    if !is_alone("slow::g112_readers_that_do_not_read_an_ended_stream_hold_little_of_it") {
        return;
    }
    let hooks = "export function Create(ctx) { for (let i = 0; i < 120; i++) ctx.Send('x'.repeat(100000)); }";
    let files = [("assistants/hello/src/index.ts", hooks)];
    let site = Site::set(&files, |_| {}).await;
    let answer = site.chat(streamed("hi").to_string()).await;
    assert!(
        answer.text.len() > 12_000_000,
        "{} bytes",
        answer.text.len()
    );
    let id = answer.header("x-ambit-request").unwrap();
    let request = format!("GET /v1/chat/requests/{id}/stream?accept=cui-web HTTP/1.1");
    let before = peak();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let (mut reader, _) = unread(&site, &request, "").await;
        // The stream has been read from its store, as far as it is read before the client takes it.
        reader.read_u8().await.unwrap();
        readers.push(reader);
    }
    let grown = (peak() - before) >> 20;
    assert!(grown < 300, "{grown} MiB");
    drop(readers);
    let is_open = |line: &str| {
        let open = line.strip_prefix("ambit_streams_open ");
        open.is_some_and(|open| open != "0")
    };
    while site.get("/metrics").await.text.lines().any(is_open) {}
}
