//! A reader that does not read.

use crate::site::Site;
use crate::turns::{status, streamed};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

const MESSAGES: usize = 14;

#[tokio::test]
async fn g112_a_reader_that_falls_too_far_behind_is_cut_off_and_loses_nothing() {
    let hooks = format!(
        "export function Create(ctx) {{ for (let i = 0; i < {MESSAGES}; i++) ctx.Send('x'.repeat(1000000)); }}"
    );
    let files = [("assistants/hello/src/index.ts", hooks.as_str())];
    let site = Site::set(&files, |settings| settings.lag_limit = 64 << 10).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let address = site.url.strip_prefix("http://").unwrap();
    let mut slow = socket.connect(address.parse().unwrap()).await.unwrap();
    let body = streamed("hi").to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    slow.write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    // The headers are read, then nothing more.
    let mut headers = Vec::new();
    while !headers.ends_with(b"\r\n\r\n") {
        headers.push(slow.read_u8().await.unwrap());
    }
    let headers = String::from_utf8(headers).unwrap();
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
