//! What a server sends over OTLP, read by the official messages.

use crate::server::Server;
use crate::{PYTHON, beside, installed};
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Names the Python that has the official messages.
const COLLECTOR: &str = "TEST_CLIENTS_TELEMETRY";

/// A collector that ends with its test.
struct Collector {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Collector {
    fn start() -> Self {
        let mut collector = Command::new(installed(COLLECTOR));
        collector.arg(beside("telemetry/collector.py"));
        let mut child = collector.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap();
        Self {
            child,
            lines,
            url: format!("http://127.0.0.1:{port}"),
        }
    }

    /// The next request to this path that is such.
    fn request(&mut self, path: &str, is_it: impl Fn(&str) -> bool) -> Value {
        let found = self.lines.find_map(|line| {
            let line = line.unwrap();
            let (to, text) = line.split_once(' ')?;
            assert!(to.starts_with('/'), "{line}");
            (to == path && is_it(text)).then(|| text.to_owned())
        });
        serde_json::from_str(&found.unwrap()).unwrap()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of an attribute that is a text.
fn attribute<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    let mut all = of["attributes"].as_array()?.iter();
    let found = all.find(|pair| pair["key"] == name)?;
    found["value"]["stringValue"].as_str()
}

#[test]
fn the_official_messages_read_what_a_server_sends() {
    let mut collector = Collector::start();
    let data = tempfile::tempdir().unwrap();
    let server = Server::with_environment(
        &beside("../../../../examples/welcome"),
        &["--data", data.path().to_str().unwrap()],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "100"),
            ("OTEL_SERVICE_NAME", "welcome-desk"),
        ],
    );
    let ask = "import sys, urllib.request as web
request = web.Request(sys.argv[1] + '/chat/completions', b'{\"model\": \"welcome\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}', {
    'content-type': 'application/json', 'tracestate': 'vendor=1', 'baggage': 'user=secret',
    'traceparent': '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
})
web.urlopen(request).read()";
    let mut client = Command::new(installed(PYTHON));
    let asked = client.args(["-c", ask, &server.url]).output().unwrap();
    assert!(asked.status.success(), "{asked:?}");
    let traces = collector.request("/v1/traces", |_| true);
    let of_resource = &traces["resourceSpans"][0];
    let service = attribute(&of_resource["resource"], "service.name");
    assert_eq!(service, Some("welcome-desk"));
    let spans = of_resource["scopeSpans"][0]["spans"].as_array().unwrap();
    // Bytes are base64 in JSON.
    let root = &spans[0];
    assert_eq!(root["traceId"], "S/kvNXezTaajzpKdDg5HNg==");
    assert_eq!(root["parentSpanId"], "APBnqgupArc=");
    assert_eq!(root["traceState"], "vendor=1");
    assert_eq!(root["kind"], "SPAN_KIND_INTERNAL");
    let operation = attribute(root, "gen_ai.operation.name");
    assert_eq!(operation, Some("invoke_agent"));
    let chat = spans.iter().find(|span| span["kind"] == "SPAN_KIND_CLIENT");
    assert_eq!(
        attribute(chat.unwrap(), "gen_ai.operation.name"),
        Some("chat")
    );
    assert!(!traces.to_string().contains("secret"));
    let metrics = collector.request("/v1/metrics", |text| {
        text.contains("gen_ai.client.token.usage") && text.contains("ambit_turns_total")
    });
    let metrics = metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
        .as_array()
        .unwrap();
    let named = |name: &str| {
        metrics
            .iter()
            .find(|metric| metric["name"] == name)
            .unwrap()
    };
    let turns = &named("ambit_turns_total")["sum"];
    assert_eq!(turns["isMonotonic"], true);
    assert_eq!(turns["dataPoints"][0]["asDouble"], 1.0);
    let tokens = &named("gen_ai.client.token.usage")["histogram"]["dataPoints"][0];
    assert_eq!(tokens["count"], "1");
}

#[test]
fn a_turn_that_stores_nothing_is_sent_without_what_was_said() {
    let mut collector = Collector::start();
    let data = tempfile::tempdir().unwrap();
    let server = Server::with_environment(
        &beside("../../../../examples/welcome"),
        &["--data", data.path().to_str().unwrap()],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
        ],
    );
    let ask = "import sys, urllib.request as web
web.urlopen(web.Request(sys.argv[1] + '/responses', b'{\"model\": \"welcome\", \"input\": \"a canary\", \"store\": false}', {
    'content-type': 'application/json'})).read()";
    let mut client = Command::new(installed(PYTHON));
    let asked = client.args(["-c", ask, &server.url]).output().unwrap();
    assert!(asked.status.success(), "{asked:?}");
    let traces = collector.request("/v1/traces", |_| true);
    let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    let operations: Vec<Option<&str>> = spans
        .unwrap()
        .iter()
        .map(|span| attribute(span, "gen_ai.operation.name"))
        .collect();
    assert_eq!(operations[0], Some("invoke_agent"));
    assert!(operations.contains(&Some("chat")), "{operations:?}");
    assert!(!traces.to_string().contains("canary"), "{traces}");
}

#[test]
fn a_protocol_that_is_not_spoken_is_refused_with_what_to_do_and_no_store_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_ambit"));
    serve.args(["serve", "--listen", "127.0.0.1:0"]);
    serve.current_dir(folder.path());
    serve.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    serve.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let ended = serve.output().unwrap();
    assert!(!ended.status.success());
    let told = String::from_utf8(ended.stderr).unwrap();
    let expected = "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but only http/protobuf is spoken";
    assert!(told.contains(expected), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
