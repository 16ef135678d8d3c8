//! The series of one metric: what has been counted for each of its labels.

use crate::histogram::HistogramCounts;
use crate::metric::{MetricKind, MetricSpec};
use std::collections::BTreeMap;

/// The series of one metric, by the values of their labels.
pub(crate) type MetricFamily = BTreeMap<Vec<String>, MetricValue>;

/// What has been counted.
#[derive(Clone, Debug)]
pub(crate) enum MetricValue {
    Number(f64),
    Sizes(HistogramCounts),
}

impl MetricValue {
    pub fn new(spec: &MetricSpec) -> Self {
        match spec.kind {
            MetricKind::Counter | MetricKind::Gauge => Self::Number(0.0),
            MetricKind::Histogram => Self::Sizes(HistogramCounts::with(spec.unit.bounds())),
        }
    }
}
