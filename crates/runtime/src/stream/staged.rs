//! Writes that are stored together with the next step of a log.

use ambit_storage::batch::BatchWrite;

/// Writes in the order in which they came, numbered so that what was written elsewhere meanwhile can be told.
#[derive(Default)]
pub(super) struct StagedWrites {
    writes: Vec<(u64, BatchWrite)>,
    last: u64,
}

impl StagedWrites {
    pub fn add(&mut self, write: BatchWrite) {
        self.last += 1;
        self.writes.push((self.last, write));
    }

    /// The number of the last that was added.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// All that wait.
    pub fn take(&mut self) -> Self {
        let writes = std::mem::take(&mut self.writes);
        let last = self.last;
        Self { writes, last }
    }

    /// Puts back what was taken and could not be stored.
    pub fn put_back(&mut self, taken: Self) {
        self.writes.splice(..0, taken.writes);
    }

    /// Those up to this number are written elsewhere.
    pub fn clear(&mut self, last: u64) {
        self.writes.retain(|(number, _)| *number > last);
    }

    pub fn iter(&self) -> impl Iterator<Item = &BatchWrite> {
        self.writes.iter().map(|(_, write)| write)
    }
}
