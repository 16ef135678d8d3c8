//! A small HTTP/1.1 server that is strict about what it gets and says what a test tells it to say.

use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// What it says to one request.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub chunks: Vec<Vec<u8>>,
    pub end: End,
}

/// How a reply ends.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    /// As it should.
    Whole,
    /// The connection is closed in the middle of the body.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Silence,
    /// Not even the head of the reply comes.
    NoHead,
    /// The connection is closed instead of a reply.
    Gone,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

pub struct Server {
    pub address: String,
    asked: watch::Receiver<Vec<Asked>>,
    left: watch::Receiver<bool>,
    connections: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Reply {
    pub fn stream(body: &str) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "text/event-stream".to_owned())],
            chunks: vec![body.as_bytes().to_vec()],
            end: End::Whole,
        }
    }

    pub fn json(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            chunks: vec![body.as_bytes().to_vec()],
            end: End::Whole,
        }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same bytes in chunks of this size.
    pub fn in_chunks(mut self, size: usize) -> Self {
        let bytes = self.chunks.concat();
        self.chunks = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    pub fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

impl Server {
    /// Answers one request after the other, and the last way for all others.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (asking, asked) = watch::channel(Vec::new());
        let connections = Arc::new(Mutex::new(0));
        let (leaving, left) = watch::channel(false);
        let shared = Shared {
            left: Arc::new(leaving),
            replies: Arc::new(Mutex::new(replies.into())),
            asked: Arc::new(asking),
        };
        let counted = connections.clone();
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                *counted.lock().unwrap() += 1;
                open.spawn(serve(stream, shared.clone()));
            }
        });
        Self {
            address,
            asked,
            left,
            connections,
            task,
        }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }

    /// Waits for a request.
    pub async fn was_asked(&self) {
        let mut asked = self.asked.clone();
        asked.wait_for(|asked| !asked.is_empty()).await.unwrap();
    }

    /// Waits for a client to go away while it waits for more.
    pub async fn was_left(&self) {
        let mut left = self.left.clone();
        left.wait_for(|left| *left).await.unwrap();
    }

    /// The only request.
    pub fn only(&self) -> Asked {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.into_iter().next().unwrap()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Shared {
    left: Arc<watch::Sender<bool>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<watch::Sender<Vec<Asked>>>,
}

impl Shared {
    fn next(&self) -> Reply {
        let mut replies = self.replies.lock().unwrap();
        match replies.len() {
            1 => replies[0].clone(),
            _ => replies.pop_front().unwrap(),
        }
    }
}

async fn serve(stream: TcpStream, shared: Shared) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        shared.asked.send_modify(|all| all.push(asked));
        let reply = shared.next();
        let is_written = write(&mut stream, &reply).await;
        match (reply.end, is_written) {
            (End::Whole, true) => {}
            (End::Silence | End::NoHead, true) => {
                // Until the client goes away.
                let _ = stream.read_u8().await;
                shared.left.send_replace(true);
                return;
            }
            _ => return,
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    if stream.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let parts: Vec<&str> = line.trim_end().split(' ').collect();
    let [method, path, version] = parts[..] else {
        panic!("no request line: {line}");
    };
    assert_eq!((method, version), ("POST", "HTTP/1.1"));
    let path = path.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        let before = headers.insert(name.to_lowercase(), value.trim().to_owned());
        assert_eq!(before, None, "{name} came twice");
    }
    assert_eq!(headers["content-type"], "application/json");
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap(),
        bytes: body,
    })
}

async fn write(stream: &mut BufReader<TcpStream>, reply: &Reply) -> bool {
    if matches!(reply.end, End::NoHead | End::Gone) {
        return true;
    }
    let mut bytes = format!(
        "HTTP/1.1 {} Said\r\ntransfer-encoding: chunked\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("\r\n");
    let mut is_written = stream.write_all(bytes.as_bytes()).await.is_ok();
    for chunk in &reply.chunks {
        let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
        framed.extend_from_slice(chunk);
        framed.extend_from_slice(b"\r\n");
        is_written &= stream.write_all(&framed).await.is_ok();
    }
    if reply.end == End::Whole {
        is_written &= stream.write_all(b"0\r\n\r\n").await.is_ok();
    }
    is_written && stream.flush().await.is_ok()
}
