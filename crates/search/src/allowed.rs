//! Which chunks of an index a search may find.

use crate::manifest::{ChunkRange, ChunkTotals, Manifest};
use std::ops::Range;

/// A set of chunks, as ranges of their numbers.
#[derive(Clone, Debug, Default)]
pub struct AllowedChunks {
    /// Ascending and apart from each other.
    ranges: Vec<Range<u32>>,
    /// How many they are, and how long.
    pub totals: ChunkTotals,
}

/// Looks up numbers that ascend.
pub struct AllowedCursor<'a> {
    ranges: &'a [Range<u32>],
}

impl AllowedChunks {
    /// All that an index shows.
    pub fn all(manifest: &Manifest) -> Self {
        let mut hidden: Vec<Range<u32>> = manifest.hidden.iter().map(ChunkRange::numbers).collect();
        hidden.sort_by_key(|range| range.start);
        let mut ranges = Vec::with_capacity(hidden.len() + 1);
        let mut next = 0;
        for range in hidden {
            ranges.push(next..range.start);
            next = next.max(range.end);
        }
        ranges.push(next..u32::MAX);
        ranges.retain(|range| !range.is_empty());
        Self {
            ranges,
            totals: manifest.shown(),
        }
    }

    /// Those of these ranges, which are apart from each other, but for what is hidden.
    pub fn of(manifest: &Manifest, mut allowed: Vec<ChunkRange>) -> Self {
        let shown = Self::all(manifest);
        allowed.retain(|range| shown.covers(&range.numbers()));
        allowed.sort_by_key(|range| range.first);
        allowed.dedup();
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for range in &allowed {
            let numbers = range.numbers();
            match ranges.last_mut() {
                Some(last) if last.end == numbers.start => last.end = numbers.end,
                _ => ranges.push(numbers),
            }
        }
        ranges.retain(|range| !range.is_empty());
        let totals = allowed.iter().map(|range| range.totals);
        Self {
            ranges,
            totals: totals.fold(ChunkTotals::default(), ChunkTotals::plus),
        }
    }

    /// Some chunks of a larger set, in which each is a range of its own.
    pub(crate) fn chosen(mut chunks: Vec<u32>) -> Self {
        chunks.sort_unstable();
        Self {
            ranges: chunks.into_iter().map(|chunk| chunk..chunk + 1).collect(),
            totals: ChunkTotals::default(),
        }
    }

    /// Whether any of these numbers is in it.
    pub(crate) fn meets(&self, numbers: &Range<u32>) -> bool {
        let next = self.range_from(numbers.start);
        next.is_some_and(|range| range.start < numbers.end)
    }

    /// Whether all of these numbers are in it.
    fn covers(&self, numbers: &Range<u32>) -> bool {
        let next = self.range_from(numbers.start);
        next.is_some_and(|range| range.start <= numbers.start && numbers.end <= range.end)
    }

    /// The first range that does not end before a number.
    fn range_from(&self, number: u32) -> Option<&Range<u32>> {
        let passed = self.ranges.partition_point(|it| it.end <= number);
        self.ranges.get(passed)
    }

    /// Whether every number is in it.
    pub fn is_everything(&self) -> bool {
        matches!(self.ranges.as_slice(), [all] if *all == (0..u32::MAX))
    }

    /// Looks up numbers from the lowest on.
    pub fn cursor(&self) -> AllowedCursor<'_> {
        AllowedCursor {
            ranges: &self.ranges,
        }
    }
}

impl AllowedCursor<'_> {
    /// Whether a chunk is in the set. Each number asked for is higher than the one before.
    pub fn has(&mut self, chunk: u32) -> bool {
        if self.ranges.first().is_some_and(|range| range.end <= chunk) {
            let passed = self.ranges.partition_point(|range| range.end <= chunk);
            self.ranges = &self.ranges[passed..];
        }
        self.ranges
            .first()
            .is_some_and(|range| range.start <= chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u32, chunks: u32) -> ChunkRange {
        let length = u64::from(chunks);
        let totals = ChunkTotals { chunks, length };
        ChunkRange { first, totals }
    }

    #[test]
    fn ranges_that_meet_a_hidden_one_are_left_out() {
        let mut manifest = Manifest::new(1);
        manifest.hidden = vec![range(20, 5), range(10, 5), range(12, 3)];
        let ranges = [(30, 2), (20, 1), (15, 5), (8, 3), (5, 3), (0, 5), (24, 6)];
        let ranges = ranges.map(|(first, chunks)| range(first, chunks));
        let allowed = AllowedChunks::of(&manifest, ranges.to_vec());
        assert_eq!(allowed.ranges, [0..8, 15..20, 30..32]);
        assert_eq!(allowed.totals.chunks, 15);
    }
}
