//! A server for one test, and clients that find it under any name.

use ambit_runtime::config::Setting;
use ambit_runtime::net::{AddressLookup, AllowList, HttpClient, HttpRequest};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a request looked like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Method and target.
    pub line: String,
    /// Names in lower case, sorted, without those of the connection itself.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// Listens on a free port of this machine until it is dropped.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

/// What follows an answer's bytes.
#[derive(Clone, Copy)]
pub enum After {
    Close,
    /// Nothing more comes, and the connection stays.
    Silence,
}

impl Server {
    /// A server that answers by the target of a request.
    pub async fn start(answer: impl Fn(&str) -> (String, After) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&seen), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                tokio::spawn(async move { serve(stream, &kept, answer.as_ref()).await });
            }
        });
        Self { port, seen, task }
    }

    /// A server that says `ok`.
    pub async fn ok() -> Self {
        Self::start(|_| (reply("200 OK", "", "ok"), After::Close)).await
    }

    pub fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// An entry that lets a host of any address be reached here.
    pub fn private(&self, host: &str) -> Value {
        json!({"host": self.url(host, ""), "private": true})
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Seen>>,
    answer: &(impl Fn(&str) -> (String, After) + Send + Sync),
) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    let target = request.line.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(request);
    let (text, after) = answer(&target);
    // A client that has seen enough may be gone.
    let _ = stream.write_all(text.as_bytes()).await;
    if matches!(after, After::Silence) {
        std::future::pending::<()>().await;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    headers.retain(|(name, _)| !["host", "content-length", "user-agent"].contains(&name.as_str()));
    headers.sort();
    let body = String::from_utf8(body).unwrap();
    Some(Seen {
        line,
        headers,
        body,
    })
}

/// An answer; `headers` are whole lines.
pub fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

/// An answer that points elsewhere.
pub fn moved(status: &str, location: &str) -> (String, After) {
    let location = format!("location: {location}\r\n");
    (reply(status, &location, ""), After::Close)
}

/// Finds every name at the same addresses, and counts how often it was asked.
#[derive(Default)]
pub struct Names {
    pub addresses: Vec<IpAddr>,
    pub asked: Mutex<Vec<String>>,
}

impl Names {
    pub fn at(addresses: &[&str]) -> Arc<Self> {
        let addresses = addresses.iter().map(|text| text.parse().unwrap());
        Arc::new(Self {
            addresses: addresses.collect(),
            asked: Mutex::default(),
        })
    }
}

#[async_trait]
impl AddressLookup for Names {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        Ok(self.addresses.clone())
    }
}

pub fn list(entries: &[Value]) -> AllowList {
    let hosts = Vec::read(Value::from(entries)).unwrap();
    AllowList::parse("http", &hosts).unwrap()
}

/// A client for which all names are this machine.
pub fn client(entries: &[Value]) -> HttpClient {
    HttpClient::with_lookup(&list(entries), Names::at(&["127.0.0.1"])).unwrap()
}

pub fn get(url: impl Into<String>) -> HttpRequest {
    HttpRequest {
        method: "GET".to_owned(),
        url: url.into(),
        ..HttpRequest::default()
    }
}
