//! How often something took how long.

use std::time::Duration;

/// Times, counted by how long they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeCounts {
    /// How many times are in each bucket: those up to each bound, and in the last one those beyond.
    pub buckets: [u64; Self::BOUNDS.len() + 1],
    /// All times together.
    pub sum: Duration,
}

impl TimeCounts {
    /// The largest times of the buckets, in seconds.
    pub const BOUNDS: [f64; 15] = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
        30.0,
    ];

    /// Counts a time.
    pub(crate) fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = Self::BOUNDS.partition_point(|bound| *bound < seconds);
        self.buckets[bucket] += 1;
        self.sum += time;
    }
}

#[cfg(test)]
mod tests {
    use super::TimeCounts;
    use std::time::Duration;

    #[test]
    fn a_time_is_in_the_bucket_that_holds_it() {
        let mut counts = TimeCounts::default();
        for micros in [0, 100, 101, 40_000_000] {
            counts.add(Duration::from_micros(micros));
        }
        let (first, last) = (&counts.buckets[..2], counts.buckets.last());
        assert_eq!((first, last), (&[2, 1][..], Some(&1)));
        assert_eq!(counts.sum, Duration::from_micros(40_000_201));
    }
}
