//! How often something was how large.

/// The bounds of times, in seconds.
pub(crate) const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Sizes, counted by how large they are: times in seconds, tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramCounts {
    /// The largest sizes of the buckets; larger ones are in one more.
    pub bounds: &'static [f64],
    /// How many sizes are in each bucket.
    pub buckets: Vec<u64>,
    /// All sizes together.
    pub sum: f64,
}

/// The bounds of tokens, as the conventions of OpenTelemetry advise them.
pub(crate) const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

impl HistogramCounts {
    /// Nothing, in buckets with these bounds.
    pub(crate) fn with(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            buckets: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    /// Counts a size.
    pub(crate) fn add(&mut self, size: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < size);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.sum += size;
    }
}
