//! What a metric is: a name, a kind, labels and one line of help. The number of labels is part of its type.

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
    /// The bounds of a histogram's buckets.
    pub bounds: &'static [f64],
}

/// A metric that only grows, with so many labels.
#[derive(Debug)]
pub struct Counter<const LABELS: usize>(pub(crate) MetricSpec);

/// A metric that is what it is now, with so many labels.
#[derive(Debug)]
pub struct Gauge<const LABELS: usize>(pub(crate) MetricSpec);

/// A metric of sizes, of times in seconds where its bounds say nothing else, with so many labels.
#[derive(Debug)]
pub struct Histogram<const LABELS: usize>(pub(crate) MetricSpec);
