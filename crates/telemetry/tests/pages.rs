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
