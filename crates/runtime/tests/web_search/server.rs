//! A small HTTP/1.1 server that refuses what a service would refuse, and says what a test tells it to say.

use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

/// A request as it came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchRequest {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Option<Value>,
}

/// What the service accepts; the error is what is wrong with a request.
pub type RequestCheck = Arc<dyn Fn(&SearchRequest) -> Result<(), String> + Send + Sync>;

/// What it says to one request.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub end: ReplyEnd,
}

/// How a reply ends.
#[derive(Clone, Copy, PartialEq)]
pub enum ReplyEnd {
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

pub struct FakeServer {
    pub address: String,
    state: Arc<Mutex<ServerState>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct ServerState {
    replies: VecDeque<Reply>,
    requests: Vec<SearchRequest>,
    complaints: Vec<String>,
}

impl Reply {
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
            body: body.into(),
            end: ReplyEnd::Whole,
        }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(own, _)| *own != name);
        self.headers.push((name, value.into()));
        self
    }

    pub fn ending(mut self, end: ReplyEnd) -> Self {
        self.end = end;
        self
    }
}

impl FakeServer {
    /// Answers one request after the other, and the last way for all others.
    pub async fn start(check: RequestCheck, replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(ServerState {
            replies: replies.into(),
            ..ServerState::default()
        }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, Arc::clone(&check), Arc::clone(&shared)));
            }
        });
        Self {
            address,
            state,
            task,
        }
    }

    /// A server that nobody may ask.
    pub async fn forbidden() -> Self {
        let check = Arc::new(|_: &SearchRequest| Err("nobody may ask here".to_owned()));
        Self::start(check, Vec::new()).await
    }

    /// All requests, none of which was wrong.
    pub fn requests(&self) -> Vec<SearchRequest> {
        let state = self.state.lock().unwrap();
        assert_eq!(state.complaints, Vec::<String>::new());
        state.requests.clone()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, check: RequestCheck, state: Arc<Mutex<ServerState>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        let reply = reply(&request, &check, &state);
        let is_written = write(&mut stream, &reply).await;
        match (reply.end, is_written) {
            (ReplyEnd::Whole, true) => {}
            (ReplyEnd::Silence | ReplyEnd::NoHead, true) => {
                // Until the client goes away.
                let _ = stream.read_u8().await;
                return;
            }
            _ => return,
        }
    }
}

fn reply(request: &SearchRequest, check: &RequestCheck, state: &Mutex<ServerState>) -> Reply {
    let mut state = state.lock().unwrap();
    if let Err(complaint) = check(request) {
        let body = json!({"error": complaint}).to_string();
        state.complaints.push(complaint);
        return Reply::json(400, body);
    }
    state.requests.push(request.clone());
    match state.replies.len() {
        1 => state.replies[0].clone(),
        _ => state.replies.pop_front().unwrap(),
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<SearchRequest> {
    let mut line = String::new();
    if stream.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let parts: Vec<&str> = line.trim_end().split(' ').collect();
    let [method, target, "HTTP/1.1"] = parts[..] else {
        panic!("no request line: {line}");
    };
    let url = Url::parse("http://service.test").unwrap();
    let url = url.join(target).unwrap();
    let mut request = SearchRequest {
        method: method.to_owned(),
        path: url.path().to_owned(),
        query: url.query_pairs().into_owned().collect(),
        ..SearchRequest::default()
    };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        let value = value.trim().to_owned();
        let before = request.headers.insert(name.to_lowercase(), value);
        assert_eq!(before, None, "{name} came twice");
    }
    if let Some(length) = request.headers.get("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).await.ok()?;
        let text = String::from_utf8(body).expect("UTF-8");
        request.body = Some(serde_json::from_str(&text).expect("JSON"));
    }
    Some(request)
}

async fn write(stream: &mut BufReader<TcpStream>, reply: &Reply) -> bool {
    if matches!(reply.end, ReplyEnd::NoHead | ReplyEnd::Gone) {
        return true;
    }
    let head = format!(
        "HTTP/1.1 {} Said\r\ntransfer-encoding: chunked\r\n",
        reply.status
    );
    let mut bytes = head.into_bytes();
    for (name, value) in &reply.headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    let said = match reply.end {
        ReplyEnd::Whole => &reply.body[..],
        _ => &reply.body[..reply.body.len() / 2],
    };
    for chunk in said.chunks(64 << 10) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    if reply.end == ReplyEnd::Whole {
        bytes.extend_from_slice(b"0\r\n\r\n");
    }
    let is_written = stream.write_all(&bytes).await.is_ok();
    is_written && stream.flush().await.is_ok()
}
