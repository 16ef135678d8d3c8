//! From places in the code that runs to places in the source that was written.

/// Places in order of the code that runs; lines and columns count from 0.
#[derive(Default)]
pub struct SourceMap(Vec<MappedPosition>);

/// One place.
#[derive(Clone, Copy)]
pub struct MappedPosition {
    /// In the code that runs: line and column.
    pub code: (u32, u32),
    /// In the source: line and column.
    pub source: (u32, u32),
}

impl SourceMap {
    pub fn new(places: Vec<MappedPosition>) -> Self {
        Self(places)
    }

    /// The source's line and column of a place that counts from 1; counts from 1 too.
    pub fn original(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let wanted = (line.checked_sub(1)?, column.saturating_sub(1));
        let after = self.0.partition_point(|place| place.code <= wanted);
        let place = self.0.get(after.checked_sub(1)?)?;
        Some((place.source.0 + 1, place.source.1 + 1))
    }
}
