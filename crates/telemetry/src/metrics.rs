//! The counts of one server.

use crate::histogram::HistogramCounts;
use crate::metric::{Counter, Gauge, Histogram, MetricSpec};
use crate::series::{MetricFamily, MetricValue};
use crate::table::METRICS;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Series of one metric; what further labels name counts as [`OTHER`].
pub const MAX_SERIES: usize = 1_000;
/// What stands for every label beyond [`MAX_SERIES`].
pub const OTHER: &str = "other";

/// The counts of one server, of every metric of the table.
#[derive(Debug)]
pub struct Metrics(HashMap<&'static str, Mutex<MetricFamily>>);

impl Default for Metrics {
    fn default() -> Self {
        let families = METRICS.iter().map(|spec| {
            let mut family = MetricFamily::new();
            if spec.labels.is_empty() {
                family.insert(Vec::new(), MetricValue::new(spec));
            }
            (spec.name, Mutex::new(family))
        });
        Self(families.collect())
    }
}

impl Metrics {
    /// Counts one.
    pub fn count<const N: usize>(&self, metric: &Counter<N>, labels: [&str; N]) {
        self.add(metric, labels, 1.0);
    }

    /// Counts several.
    pub fn add<const N: usize>(&self, metric: &Counter<N>, labels: [&str; N], more: f64) {
        self.add_to(&metric.0, labels, more);
    }

    /// Counts a time, or another size.
    pub fn observe<const N: usize>(&self, metric: &Histogram<N>, labels: [&str; N], size: f64) {
        self.change(&metric.0, labels, |value| {
            if let MetricValue::Sizes(sizes) = value {
                sizes.add(size);
            }
        });
    }

    /// Says what something is now.
    pub fn set<const N: usize>(&self, metric: &Gauge<N>, labels: [&str; N], now: f64) {
        self.change(&metric.0, labels, |value| *value = MetricValue::Number(now));
    }

    /// Takes over what somebody else has counted so far.
    pub fn set_total<const N: usize>(&self, metric: &Counter<N>, labels: [&str; N], so_far: f64) {
        self.change(&metric.0, labels, |value| {
            *value = MetricValue::Number(so_far);
        });
    }

    /// Takes over the sizes that somebody else has counted so far.
    pub fn set_histogram<const N: usize>(
        &self,
        metric: &Histogram<N>,
        labels: [&str; N],
        so_far: HistogramCounts,
    ) {
        self.change(&metric.0, labels, |value| {
            *value = MetricValue::Sizes(so_far);
        });
    }

    /// Counts one until what is answered is dropped.
    pub fn hold(self: &Arc<Self>, metric: &'static Gauge<0>) -> GaugeGuard {
        self.add_to(&metric.0, [], 1.0);
        GaugeGuard {
            metrics: self.clone(),
            metric,
        }
    }

    /// What Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for spec in METRICS {
            crate::text::write(&mut text, spec, &self.family(spec));
        }
        text
    }

    fn add_to<const N: usize>(&self, spec: &MetricSpec, labels: [&str; N], more: f64) {
        self.change(spec, labels, |value| {
            if let MetricValue::Number(number) = value {
                *number += more;
            }
        });
    }

    fn change<const N: usize>(
        &self,
        spec: &MetricSpec,
        labels: [&str; N],
        change: impl FnOnce(&mut MetricValue),
    ) {
        let mut family = self.family(spec);
        let mut labels = labels.map(str::to_owned).to_vec();
        if family.len() >= MAX_SERIES && !family.contains_key(&labels) {
            labels.fill(OTHER.to_owned());
        }
        let series = family.entry(labels);
        change(series.or_insert_with(|| MetricValue::new(spec)));
    }

    pub(crate) fn family(&self, spec: &MetricSpec) -> MutexGuard<'_, MetricFamily> {
        // Every row of the table has one.
        let family = &self.0[spec.name];
        family.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is counted for as long as this lives.
#[derive(Debug)]
pub struct GaugeGuard {
    metrics: Arc<Metrics>,
    metric: &'static Gauge<0>,
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.metrics.add_to(&self.metric.0, [], -1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_SERIES, Metrics};
    use crate::table;
    use std::sync::Arc;

    fn lines(metrics: &Metrics, beginning: &str) -> Vec<String> {
        let text = metrics.text();
        let found = text.lines().filter(|line| line.starts_with(beginning));
        found.map(str::to_owned).collect()
    }

    #[test]
    fn what_is_counted_is_shown() {
        let metrics = Arc::new(Metrics::default());
        metrics.count(&table::TURNS, ["a", "completed"]);
        metrics.count(&table::TURNS, ["a", "completed"]);
        metrics.add(&table::MODEL_TOKENS, ["gpt \"4\"\n\\", "input"], 12.0);
        let stream = metrics.hold(&table::STREAMS_OPEN);
        assert_eq!(
            lines(&metrics, "ambit_turns_total"),
            [r#"ambit_turns_total{agent="a",status="completed"} 2"#]
        );
        assert_eq!(
            lines(&metrics, "ambit_model_tokens_total"),
            [r#"ambit_model_tokens_total{connector="gpt \"4\"\n\\",kind="input"} 12"#]
        );
        assert_eq!(
            lines(&metrics, "ambit_streams_open"),
            ["ambit_streams_open 1"]
        );
        drop(stream);
        assert_eq!(
            lines(&metrics, "ambit_streams_open"),
            ["ambit_streams_open 0"]
        );
    }

    #[test]
    fn times_are_in_the_buckets_that_hold_them() {
        let metrics = Metrics::default();
        for seconds in [0.001, 0.002, 1_000.0] {
            metrics.observe(&table::TURN_SECONDS, ["a"], seconds);
        }
        let shown = lines(&metrics, "ambit_turn_seconds");
        let ends = [
            "le=\"0.001\"} 1",
            "le=\"0.0025\"} 2",
            "le=\"300\"} 2",
            "le=\"+Inf\"} 3",
        ];
        for end in ends {
            assert!(
                shown.iter().any(|line| line.ends_with(end)),
                "{end} in {shown:?}"
            );
        }
        assert_eq!(
            shown[shown.len() - 2..],
            [
                r#"ambit_turn_seconds_sum{agent="a"} 1000.003"#,
                r#"ambit_turn_seconds_count{agent="a"} 3"#,
            ]
        );
    }

    #[test]
    fn series_beyond_the_limit_count_as_other() {
        let metrics = Metrics::default();
        for agent in 0..MAX_SERIES + 5 {
            metrics.count(&table::TURNS, [&agent.to_string(), "completed"]);
        }
        metrics.count(&table::TURNS, ["0", "completed"]);
        let shown = lines(&metrics, "ambit_turns_total");
        assert_eq!(shown.len(), MAX_SERIES + 1);
        let other = r#"ambit_turns_total{agent="other",status="other"} 5"#;
        assert!(shown.iter().any(|line| line == other));
        let known = r#"ambit_turns_total{agent="0",status="completed"} 2"#;
        assert!(shown.iter().any(|line| line == known));
    }
}
