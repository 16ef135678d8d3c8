//! A provider of models that refuses everything and repeats in its error all that it was sent.

use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub struct Provider {
    pub url: String,
    sent: Arc<Mutex<String>>,
    task: JoinHandle<()>,
}

impl Provider {
    pub async fn open() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&sent);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                if let Some(request) = answer(stream).await {
                    kept.lock().unwrap().push_str(&request);
                }
            }
        });
        Self { url, sent, task }
    }

    /// All that was sent here.
    pub fn sent(&self) -> String {
        self.sent.lock().unwrap().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(mut stream: TcpStream) -> Option<String> {
    let mut seen = Vec::new();
    let head = loop {
        if let Some(at) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut seen).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&seen[..head]).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while seen.len() < head + length {
        if stream.read_buf(&mut seen).await.ok()? == 0 {
            return None;
        }
    }
    let request = String::from_utf8_lossy(&seen).into_owned();
    let body =
        json!({"error": {"message": format!("refused: {request}"), "type": "x", "code": "x"}})
            .to_string();
    let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close";
    let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await.ok()?;
    Some(request)
}
