//! The page of metrics equals the table, and the dashboard names nothing that does not exist. `AMBIT_BLESS=1 cargo test -p
//! ambit-telemetry` rewrites the page's list.

use ambit_telemetry::table::METRICS;
use ambit_telemetry::{MetricKind, MetricSpec};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const BEGIN: &str = "<!-- metrics -->\n";
const END: &str = "<!-- end of metrics -->\n";

fn docs(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("../../docs").join(name)
}

fn row(metric: &MetricSpec) -> String {
    let labels: Vec<String> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
    let labels = match labels.as_slice() {
        [] => "–".to_owned(),
        labels => labels.join(" "),
    };
    let (name, kind, help) = (metric.name, metric.kind.as_str(), metric.help);
    format!("| `{name}` | {kind} | {labels} | {help} |\n")
}

#[test]
fn the_page_lists_every_metric() {
    let path = docs("telemetry.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let rows: String = METRICS.iter().map(row).collect();
    let head = "| Name | Kind | Labels | What it counts |\n|---|---|---|---|\n";
    let expected = format!("{before}{BEGIN}{head}{rows}{END}{after}");
    if std::env::var_os("AMBIT_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected);
    }
}

/// The names of metrics in a query.
fn names(query: &str) -> impl Iterator<Item = &str> {
    let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("ambit_") || word.starts_with("process_"))
}

fn exists(name: &str) -> bool {
    METRICS.iter().any(|metric| match metric.kind {
        MetricKind::Counter | MetricKind::Gauge => metric.name == name,
        MetricKind::Histogram => {
            let part = name.strip_prefix(metric.name);
            part.is_some_and(|part| ["_bucket", "_sum", "_count"].contains(&part))
        }
    })
}

/// The queries of all panels.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(
                fields
                    .get("expr")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            fields.values().for_each(|value| queries(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_names_only_metrics_that_exist() {
    let text = fs::read_to_string(docs("grafana.json")).unwrap();
    let mut found = Vec::new();
    queries(&serde_json::from_str(&text).unwrap(), &mut found);
    assert!(found.len() > 10);
    for query in found {
        assert!(names(&query).next().is_some(), "{query}");
        let unknown = names(&query).find(|name| !exists(name));
        assert_eq!(unknown, None, "{query}");
    }
}

/// What operators look for: a metric that tells it, and the labels that tell its lines apart.
const GROUPS: &[(&str, &str, &[&str])] = &[
    ("turns", "ambit_turns_total", &["agent", "status"]),
    ("turns", "ambit_turn_seconds_bucket", &["agent"]),
    ("turns", "ambit_turns_running", &[]),
    (
        "time to first token",
        "ambit_model_first_token_seconds_bucket",
        &["connector"],
    ),
    (
        "model calls",
        "ambit_model_calls_total",
        &["connector", "status"],
    ),
    ("tokens", "ambit_model_tokens_total", &["connector", "kind"]),
    (
        "tools",
        "ambit_tool_calls_total",
        &["server", "tool", "status"],
    ),
    ("hooks", "ambit_hook_seconds_bucket", &["hook"]),
    (
        "hooks",
        "ambit_hook_failures_total",
        &["agent", "hook", "code"],
    ),
    ("commits", "ambit_store_commits_total", &["store", "result"]),
    ("queues", "ambit_store_commit_queue", &["store"]),
    ("queues", "ambit_scripts_waiting", &[]),
    ("leases", "ambit_leases_held", &[]),
    ("leases", "ambit_leases_lost_total", &[]),
    ("leases", "ambit_lease_wait_seconds_bucket", &[]),
    (
        "recovered turns",
        "ambit_turn_recoveries_total",
        &["result"],
    ),
    ("streams", "ambit_streams_open", &[]),
    ("streams", "ambit_streams_cut_total", &[]),
    ("streams", "ambit_stream_resumes_total", &[]),
    ("memory", "process_resident_memory_bytes", &[]),
];

/// Whether one of a panel's lines shows this metric, and names these labels.
fn has_line(panel: &Value, metric: &str, labels: &[&str]) -> bool {
    let mut lines = panel["targets"].as_array().into_iter().flatten();
    lines.any(|line| {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        let is_named = |label: &&str| text("legendFormat").contains(&format!("{{{{{label}}}}}"));
        names(text("expr")).any(|name| name == metric) && labels.iter().all(is_named)
    })
}

#[test]
fn the_dashboard_has_a_panel_for_all_that_operators_look_for() {
    let text = fs::read_to_string(docs("grafana.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    for (group, metric, labels) in GROUPS {
        let has_panel = panels.iter().any(|panel| has_line(panel, metric, labels));
        assert!(has_panel, "{group}: {metric} by {labels:?}");
    }
}
