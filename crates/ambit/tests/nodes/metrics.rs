//! What a node counts, by every row of the table of metrics.

use crate::Run;
use crate::place::{NOTES, Place, SLOWLY, is_text, said};
use ambit_telemetry::table::METRICS;
use ambit_telemetry::{MetricKind, MetricSpec};
use serde_json::json;
use std::time::{Duration, Instant};

pub const CASES: &[(&str, Run)] = &[(
    "every_metric_of_the_table_has_a_value_that_fits_what_has_happened",
    |place| Box::pin(counted(place)),
)];

/// An agent whose model fails once and then calls a tool, and whose hook fails when it is asked to.
const APP: &[(&str, &str)] = &[
    (
        "assistants/busy/package.yao",
        r#"{"name": "Busy", "public": true, "connector": "busy", "mcp": {"servers": ["notes"]}}"#,
    ),
    (
        "assistants/busy/prompts.yml",
        "- {role: system, content: Be busy.}\n",
    ),
    (
        "assistants/busy/src/index.ts",
        "export function Create(ctx, messages) { if (messages[0].content === 'fail') throw new Error('no'); }",
    ),
    (
        "connectors/busy.conn.yao",
        r#"{"label": "Busy", "type": "scripted", "options": {"rules": [
            {"match": {"has_tool_result": true}, "reply": "done"},
            {"match": {"last_user": "^work", "times": 1}, "error": {"status": 503, "message": "busy"}},
            {"match": {"last_user": "^work"}, "tool_calls": [{"name": "notes__add", "arguments": {}}]}
        ]}}"#,
    ),
    (
        "scripts/notes.ts",
        "export function Add() { return {n: 1}; }",
    ),
];

/// A collector that is not there.
const COLLECTOR: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");

const MANY: f64 = f64::INFINITY;

/// The least and the most that the node may say of a metric, all series together; a histogram says how many sizes it has.
const EXPECTED: &[(&str, f64, f64)] = &[
    ("ambit_http_requests_total", 6.0, MANY),
    ("ambit_http_request_seconds", 6.0, MANY),
    ("ambit_limit_refusals_total", 0.0, 0.0),
    ("ambit_streams_open", 1.0, 1.0),
    ("ambit_streams_cut_total", 0.0, 0.0),
    ("ambit_stream_resumes_total", 1.0, 1.0),
    ("ambit_turns_total", 4.0, 4.0),
    ("ambit_turn_seconds", 4.0, 4.0),
    ("ambit_turns_running", 1.0, 1.0),
    ("ambit_turn_recoveries_total", 1.0, 1.0),
    ("ambit_chat_busy_total", 1.0, 1.0),
    ("ambit_model_calls_total", 4.0, 4.0),
    ("ambit_model_call_seconds", 4.0, 4.0),
    ("ambit_model_first_token_seconds", 4.0, 4.0),
    ("ambit_model_tokens_total", 12.0, MANY),
    ("ambit_model_call_tokens", 6.0, 6.0),
    ("ambit_model_errors_total", 1.0, 1.0),
    ("ambit_model_retries_total", 1.0, 1.0),
    ("ambit_tool_calls_total", 1.0, 1.0),
    ("ambit_tool_call_seconds", 1.0, 1.0),
    ("ambit_hook_seconds", 2.0, 2.0),
    ("ambit_hook_cpu_seconds_total", f64::MIN_POSITIVE, 60.0),
    ("ambit_hook_failures_total", 1.0, 1.0),
    ("ambit_agents_refused", 0.0, 0.0),
    ("ambit_scripts_running", 0.0, 0.0),
    ("ambit_scripts_waiting", 0.0, 0.0),
    ("ambit_store_commits_total", 8.0, MANY),
    ("ambit_store_commit_seconds", 8.0, MANY),
    ("ambit_store_commit_queue", 0.0, MANY),
    ("ambit_leases_held", 1.0, 1.0),
    ("ambit_leases_lost_total", 0.0, 0.0),
    ("ambit_lease_wait_seconds", 4.0, MANY),
    ("ambit_telemetry_spans_total", 1.0, MANY),
    ("ambit_telemetry_lag_seconds", f64::MIN_POSITIVE, 600.0),
    ("ambit_event_loop_lag_seconds", f64::MIN_POSITIVE, 600.0),
    ("ambit_build_info", 1.0, 1.0),
    ("process_resident_memory_bytes", 1e6, MANY),
    ("process_cpu_seconds_total", f64::MIN_POSITIVE, MANY),
    ("process_open_fds", 4.0, MANY),
    ("process_start_time_seconds", 1.7e9, MANY),
];

/// What SQLite alone counts; over other stores it may be nothing.
const SQLITE: &[&str] = &[
    "ambit_store_transactions_total",
    "ambit_store_synced_transactions_total",
    "ambit_store_statements_total",
    "ambit_store_pages_total",
];

/// What has a series only when something has been counted.
const UNCOUNTED: &str = "ambit_limit_refusals_total";

/// The value of a metric, if the text shows it.
fn value(text: &str, metric: &MetricSpec) -> Option<f64> {
    let end = match metric.kind {
        MetricKind::Histogram => "_count",
        MetricKind::Counter | MetricKind::Gauge => "",
    };
    let name = format!("{}{end}", metric.name);
    let series = text.lines().filter_map(|line| line.rsplit_once(' '));
    let own = series.filter(|(series, _)| series.split('{').next() == Some(name.as_str()));
    let values = own.map(|(_, value)| value.parse::<f64>().unwrap());
    values.reduce(|sum, value| sum + value)
}

fn is_right(name: &str, value: f64, is_sqlite: bool) -> bool {
    if SQLITE.contains(&name) {
        return value > 0.0 || !is_sqlite;
    }
    let row = EXPECTED.iter().find(|(known, ..)| *known == name);
    row.is_some_and(|(_, least, most)| (*least..=*most).contains(&value))
}

/// The rows of the table that are not shown, or with a value that does not fit.
fn wrong(text: &str, is_sqlite: bool) -> Vec<String> {
    let row = |metric: &MetricSpec| {
        let absent = (metric.name == UNCOUNTED).then_some(0.0);
        let value = value(text, metric).or(absent);
        let is_right = value.is_some_and(|value| is_right(metric.name, value, is_sqlite));
        (!is_right).then(|| format!("{}: {value:?}", metric.name))
    };
    METRICS.iter().filter_map(row).collect()
}

async fn counted(place: Place) {
    for (name, text) in APP.iter().chain(&NOTES) {
        place.write(name, text);
    }
    let (first, second) = (
        place.slow_node(&[]),
        place.node_with_environment(&[COLLECTOR]),
    );
    let mut cut = first.stream(SLOWLY).await;
    let id = cut.request_id();
    let last = cut.until(is_text).await.last().unwrap().id.unwrap();
    first.kill();
    second.resume(&id, last).await.rest().await;
    for (agent, text, status) in [
        ("busy", "work", 200),
        ("busy", "fail", 500),
        ("hello", "refuse", 502),
    ] {
        let mut body = said(text);
        body["model"] = json!(agent);
        body["chat_id"] = json!(text);
        let answer = second.chat(&body).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let mut running = second.stream("never ends").await;
    running.until(is_text).await;
    assert_eq!(second.chat(&said("hi")).await.status, 409);
    // The ends of turns are counted behind those of their streams, and what is sent to a collector later.
    let began = Instant::now();
    loop {
        let text = second.metrics().await;
        let wrong = wrong(&text, place.is_sqlite());
        if wrong.is_empty() {
            return;
        }
        let is_late = began.elapsed() > Duration::from_secs(60);
        assert!(!is_late, "{wrong:#?} in {text}");
    }
}
