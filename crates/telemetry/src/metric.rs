//! What a metric is: a name, a kind, labels and one line of help. The number of labels is part of its type.

use crate::histogram;

/// How the values of a metric are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It is what it is now.
    Gauge,
    /// How often values were at most so large.
    Histogram,
}

impl MetricKind {
    /// As Prometheus writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// What the values of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Things that its help names.
    Things,
    /// Times in seconds.
    Seconds,
    /// Tokens of models.
    Tokens,
}

impl MetricUnit {
    /// As OpenTelemetry writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Things => "",
            Self::Seconds => "s",
            Self::Tokens => "{token}",
        }
    }

    /// The bounds of a histogram's buckets.
    pub(crate) fn bounds(self) -> &'static [f64] {
        match self {
            Self::Things => &[],
            Self::Seconds => histogram::SECONDS,
            Self::Tokens => histogram::TOKENS,
        }
    }
}

/// A metric, as the table has it.
#[derive(Clone, Copy, Debug)]
pub struct MetricSpec {
    /// The whole name.
    pub name: &'static str,
    /// How it is read.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
    /// What its values are.
    pub unit: MetricUnit,
}

/// A metric that only grows, with so many labels.
#[derive(Debug)]
pub struct Counter<const LABELS: usize>(pub(crate) MetricSpec);

/// A metric that is what it is now, with so many labels.
#[derive(Debug)]
pub struct Gauge<const LABELS: usize>(pub(crate) MetricSpec);

/// A metric of sizes, with so many labels.
#[derive(Debug)]
pub struct Histogram<const LABELS: usize>(pub(crate) MetricSpec);
