//! A collector of OpenTelemetry, as strict as the protocol: what it is sent must be whole messages of OTLP without unknown
//! fields. It can also be slow, fail, cut connections and refuse.

#[path = "otlp.rs"]
mod otlp;

use ambit_runtime::{OtlpEndpoint, OtlpSettings};
use otlp::{METRICS_REQUEST, TRACES_REQUEST, decode};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// What the collector does with a request.
#[derive(Clone)]
pub enum Reply {
    /// Takes it.
    Take,
    /// Answers with this status and these headers.
    Status(u16, &'static str),
    /// Closes the connection in the middle of its answer.
    Cut,
    /// Takes it when it is told to.
    When(Arc<Notify>),
    /// Takes it but for so many of its spans.
    TakeBut(u8),
}

/// A span as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SentSpan {
    pub name: String,
    pub trace_id: String,
    pub id: String,
    pub parent_id: String,
    pub attributes: BTreeMap<String, Value>,
    pub whole: Value,
}

/// What has come.
#[derive(Clone, Default)]
pub struct Received {
    /// Requests that were taken, by their paths.
    pub requests: Vec<(String, Value)>,
    /// Every byte of a body that has come, taken or not, uncompressed.
    pub bytes: Vec<u8>,
    /// Headers of all requests, in lower case.
    pub heads: Vec<String>,
}

/// A collector that listens.
#[derive(Clone)]
pub struct TestCollector {
    pub url: String,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    received: watch::Sender<Received>,
}

impl TestCollector {
    /// A collector that takes everything.
    pub async fn start() -> Self {
        Self::replying([]).await
    }

    /// A collector that does this with its first requests for traces, and takes all others.
    pub async fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            replies: Arc::new(Mutex::new(replies.into_iter().collect())),
            received: watch::channel(Received::default()).0,
        };
        let own = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(own.clone().serve(stream));
            }
        });
        collector
    }

    /// Settings that send here.
    pub fn settings(&self) -> OtlpSettings {
        OtlpSettings {
            metrics: Some(endpoint(&self.url, "/v1/metrics")),
            metrics_interval: Duration::from_millis(50),
            ..Self::traces_to(&self.url)
        }
    }

    /// Settings that send traces to the collector at this address.
    pub fn traces_to(url: &str) -> OtlpSettings {
        OtlpSettings {
            traces: Some(endpoint(url, "/v1/traces")),
            resource: vec![("service.name".to_owned(), "test".to_owned())],
            ..OtlpSettings::default()
        }
    }

    /// What has come so far.
    pub fn received(&self) -> Received {
        self.received.borrow().clone()
    }

    /// The spans that were taken, in order.
    pub fn spans(&self) -> Vec<SentSpan> {
        self.received().spans()
    }

    /// Waits until what has come is such.
    pub async fn until(&self, is_it: impl Fn(&Received) -> bool) -> Received {
        let mut received = self.received.subscribe();
        let found = received.wait_for(|received| is_it(received));
        let found = tokio::time::timeout(Duration::from_secs(120), found).await;
        found.unwrap().unwrap().clone()
    }

    /// Waits until the turns have ended as far as the collector knows, and gives all spans by then.
    pub async fn turns(&self, count: usize) -> Vec<SentSpan> {
        let of = |received: &Received| {
            let spans = received.spans();
            let roots = spans.iter().filter(|span| span.is_root());
            let mut ids: Vec<String> = roots.map(|root| root.trace_id.clone()).collect();
            ids.sort();
            ids.dedup();
            ids.len()
        };
        self.until(|received| of(received) >= count).await.spans()
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some((head, body)) = read_request(&mut stream).await else {
            return;
        };
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let fields = match path.as_str() {
            "/v1/traces" => TRACES_REQUEST,
            "/v1/metrics" => METRICS_REQUEST,
            other => panic!("{other} is no path of OTLP"),
        };
        let decoded = decode(&body, fields);
        self.received.send_modify(|received| {
            received.bytes.extend_from_slice(&body);
            received.heads.push(head);
        });
        let reply = match path.as_str() {
            "/v1/traces" => self.replies.lock().unwrap().pop_front(),
            _ => None,
        };
        let reply = reply.unwrap_or(Reply::Take);
        if let Reply::When(told) = &reply {
            told.notified().await;
        }
        if reply.is_taking() {
            self.received
                .send_modify(|received| received.requests.push((path, decoded)));
        }
        // Whoever has sent the request may be gone.
        let _ = stream.write_all(&reply.bytes()).await;
    }
}

impl Reply {
    fn is_taking(&self) -> bool {
        matches!(self, Self::Take | Self::When(_) | Self::TakeBut(_))
    }

    fn bytes(&self) -> Vec<u8> {
        let answer = |status: u16, more: &str, body: &[u8]| {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} So\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n"
            );
            [head.as_bytes(), body].concat()
        };
        match self {
            Self::Take | Self::When(_) => answer(200, "", &[]),
            // Field 1 of the answer holds field 1, how many were refused.
            Self::TakeBut(count) => answer(200, "", &[0x0a, 0x02, 0x08, *count]),
            Self::Status(status, more) => answer(*status, more, &[]),
            Self::Cut => b"HTTP/1.1 200 So\r\ncontent-length: 100\r\n\r\nhalf".to_vec(),
        }
    }
}

/// A request to take protobuf: its head in lower case, and its body, uncompressed. `None` where the other side has left.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let count = stream.read_buf(&mut bytes).await.unwrap_or(0);
        if count == 0 {
            return None;
        }
        if let Some(whole) = request(&bytes) {
            break whole;
        }
    };
    assert!(head.starts_with("post "), "{head}");
    let content = "\r\ncontent-type: application/x-protobuf\r\n";
    assert!(head.contains(content), "{head}");
    let body = match head.contains("\r\ncontent-encoding: gzip\r\n") {
        true => {
            let deflated = &body[10..body.len() - 8];
            miniz_oxide::inflate::decompress_to_vec(deflated).unwrap()
        }
        false => body,
    };
    Some((head, body))
}

fn endpoint(url: &str, path: &str) -> OtlpEndpoint {
    OtlpEndpoint {
        url: format!("{url}{path}"),
        headers: vec![("x-key".to_owned(), "collector-key".to_owned())],
        timeout: Duration::from_secs(60),
        is_compressed: true,
    }
}

impl Received {
    /// The spans that were taken, in order.
    pub fn spans(&self) -> Vec<SentSpan> {
        let requests = self.requests.iter();
        let requests = requests.filter(|(path, _)| path == "/v1/traces");
        let resources = requests.flat_map(|(_, request)| list(request, "resource_spans"));
        let scopes = resources.flat_map(|of_resource| {
            let service = attributes(&of_resource["resource"]);
            assert_eq!(service["service.name"], "test");
            list(of_resource, "scope_spans")
        });
        let spans = scopes.flat_map(|of_scope| list(of_scope, "spans"));
        spans.map(SentSpan::of).collect()
    }

    /// The metrics of the last request for them, by name.
    pub fn metrics(&self) -> BTreeMap<String, Value> {
        let mut requests = self.requests.iter();
        let last = requests.rfind(|(path, _)| path == "/v1/metrics");
        let resources = last.into_iter();
        let resources = resources.flat_map(|(_, request)| list(request, "resource_metrics"));
        let scopes = resources.flat_map(|of_resource| {
            assert!(attributes(&of_resource["resource"]).contains_key("service.instance.id"));
            list(of_resource, "scope_metrics")
        });
        let mut metrics = BTreeMap::new();
        for metric in scopes.flat_map(|of_scope| list(of_scope, "metrics")) {
            let name = metric["name"].as_str().unwrap().to_owned();
            assert!(metrics.insert(name, metric.clone()).is_none());
        }
        metrics
    }
}

impl SentSpan {
    fn of(span: &Value) -> Self {
        let text = |name: &str| {
            span.get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let sent = Self {
            name: text("name"),
            trace_id: text("trace_id"),
            id: text("span_id"),
            parent_id: text("parent_span_id"),
            attributes: attributes(span),
            whole: span.clone(),
        };
        assert_eq!((sent.trace_id.len(), sent.id.len()), (32, 16), "{span}");
        assert!(
            sent.parent_id.is_empty() || sent.parent_id.len() == 16,
            "{span}"
        );
        assert!(span["end_time_unix_nano"].as_u64() >= span["start_time_unix_nano"].as_u64());
        sent
    }

    /// Whether it is that of a turn.
    pub fn is_root(&self) -> bool {
        self.parent_id.is_empty()
    }

    /// `internal` or `client`.
    pub fn kind(&self) -> &'static str {
        match self.whole["kind"].as_u64() {
            Some(1) => "internal",
            Some(3) => "client",
            other => panic!("{other:?} is no kind of ours"),
        }
    }

    /// A number among its attributes; 0 where there is none.
    pub fn number(&self, name: &str) -> i64 {
        self.attributes
            .get(name)
            .and_then(Value::as_i64)
            .unwrap_or(0)
    }
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The attributes of a resource, a span or a point. None is there twice.
pub fn attributes(of: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for pair in list(of, "attributes") {
        let name = pair["key"].as_str().unwrap().to_owned();
        assert!(
            all.insert(name, any_value(&pair["value"])).is_none(),
            "{pair}"
        );
    }
    all
}

fn any_value(value: &Value) -> Value {
    let fields = value.as_object().unwrap();
    assert_eq!(fields.len(), 1, "{value}");
    let (kind, value) = fields.iter().next().unwrap();
    match kind.as_str() {
        "array_value" => list(value, "values").iter().map(any_value).collect(),
        "int_value" => json!(value.as_u64().unwrap().cast_signed()),
        _ => value.clone(),
    }
}

/// A request that is whole: its head in lower case, and its body.
fn request(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(bytes[..end].to_vec())
        .unwrap()
        .to_lowercase();
    let length = head.split("\r\ncontent-length: ").nth(1)?;
    let length: usize = length.split("\r\n").next()?.parse().unwrap();
    let body = bytes[end..].to_vec();
    (body.len() == length).then_some((head, body))
}
