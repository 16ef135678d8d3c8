//! What is counted of a server: one table of metrics, their counts, their text for Prometheus, and what a collector of
//! OpenTelemetry is sent of them and of traces.
//!
//! A metric is one row of [`table`]. Whoever counts holds [`Metrics`] and names the row; what a row does not name cannot be
//! counted, and a label that a row does not have does not compile.
//!
//! ```
//! use ambit_telemetry::{Metrics, table};
//!
//! let metrics = Metrics::default();
//! metrics.count(&table::TURNS, ["support", "completed"]);
//! assert!(metrics.text().contains(r#"ambit_turns_total{agent="support",status="completed"} 1"#));
//! ```

mod histogram;
mod metric;
mod metrics;
pub mod otlp;
pub mod process;
mod series;
pub mod table;
mod text;

pub use histogram::HistogramCounts;
pub use metric::{Counter, Gauge, Histogram, MetricKind, MetricSpec, MetricUnit};
pub use metrics::{GaugeGuard, MAX_SERIES, Metrics, OTHER};
