//! The series of one metric: what has been counted for each of its labels.

use crate::durations::DurationCounts;
use crate::metric::MetricKind;
use std::collections::BTreeMap;

/// The series of one metric, by the values of their labels.
pub(crate) type MetricFamily = BTreeMap<Vec<String>, MetricValue>;

/// What has been counted.
#[derive(Clone, Debug)]
pub(crate) enum MetricValue {
    Number(f64),
    Durations(DurationCounts),
}

impl MetricValue {
    pub fn new(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter | MetricKind::Gauge => Self::Number(0.0),
            MetricKind::Histogram => Self::Durations(DurationCounts::default()),
        }
    }
}
