//! The page about metrics.

use super::{ReferencePage, codes};
use ambit_telemetry::table::METRICS;
use ambit_telemetry::{MetricKind, MetricSpec};

const ABOUT: &str = "\
`GET /metrics` shows them in the text format of Prometheus; [telemetry](../telemetry.md) tells who may read it and what labels hold. They go
to a collector of OpenTelemetry by the same names. Each starts at 0 with the node. The last column is a query of Prometheus, for example.

| name | kind | labels | unit | counts | query |
|---|---|---|---|---|---|
";

/// The page.
pub fn page() -> ReferencePage {
    let rows: String = METRICS.iter().map(row).collect();
    ReferencePage::new("metrics", "Metrics", &format!("{ABOUT}{rows}"))
}

fn row(metric: &MetricSpec) -> String {
    let (name, kind, help) = (metric.name, metric.kind.as_str(), metric.help);
    let (labels, unit) = (codes(metric.labels), metric.unit.as_str());
    let query = query(metric);
    format!("| `{name}` | {kind} | {labels} | {unit} | {help} | `{query}` |\n")
}

/// What one asks of a metric most often.
fn query(metric: &MetricSpec) -> String {
    let name = metric.name;
    let by = metric.labels.join(", ");
    match (metric.kind, by.as_str()) {
        (MetricKind::Gauge, _) => name.to_owned(),
        (MetricKind::Counter, "") => format!("sum(rate({name}[5m]))"),
        (MetricKind::Counter, by) => format!("sum by ({by}) (rate({name}[5m]))"),
        (MetricKind::Histogram, "") => {
            format!("histogram_quantile(0.95, sum by (le) (rate({name}_bucket[5m])))")
        }
        (MetricKind::Histogram, by) => {
            format!("histogram_quantile(0.95, sum by (le, {by}) (rate({name}_bucket[5m])))")
        }
    }
}
