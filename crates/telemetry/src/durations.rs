//! How often something took how long.

/// The bounds of times where nothing else is said, in seconds.
pub(crate) const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Times, counted by how long they are.
#[derive(Clone, Debug, PartialEq)]
pub struct DurationCounts {
    /// The largest times of the buckets, in seconds; longer ones are in one more.
    pub bounds: &'static [f64],
    /// How many times are in each bucket.
    pub buckets: Vec<u64>,
    /// All times together, in seconds.
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

impl DurationCounts {
    /// Nothing, in buckets with these bounds.
    pub(crate) fn with(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            buckets: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    /// Counts a time, or another size.
    pub(crate) fn add(&mut self, seconds: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.sum += seconds;
    }
}
