//! Writes that are stored together with the next step of a log.

use ambit_storage::batch::BatchWrite;

/// Writes in the order in which they came, numbered so that what was written elsewhere meanwhile can be told.
#[derive(Default)]
pub(super) struct StagedWrites {
    writes: Vec<(u64, BatchWrite)>,
    last: u64,
    /// Until `take_stored`.
    stored: Vec<BatchWrite>,
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
        Self {
            writes,
            ..Self::default()
        }
    }

    /// Puts back what was taken and could not be stored.
    pub fn put_back(&mut self, taken: Self) {
        self.writes.splice(..0, taken.writes);
    }

    /// Remembers that what was taken is stored.
    pub fn note_stored(&mut self, taken: Self) {
        let writes = taken.writes.into_iter();
        self.stored.extend(writes.map(|(_, write)| write));
    }

    /// What was stored since this was last asked.
    pub fn take_stored(&mut self) -> Vec<BatchWrite> {
        std::mem::take(&mut self.stored)
    }

    /// Those up to this number are written elsewhere.
    pub fn clear(&mut self, last: u64) {
        self.writes.retain(|(number, _)| *number > last);
    }

    pub fn iter(&self) -> impl Iterator<Item = &BatchWrite> {
        self.writes.iter().map(|(_, write)| write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambit_storage::address::Space;

    fn write(log: &str) -> BatchWrite {
        let log = Space::turns().log(log);
        BatchWrite::Drop { log }
    }

    #[test]
    fn what_is_stored_is_told_once() {
        let mut staged = StagedWrites::default();
        staged.add(write("a"));
        let lost = staged.take();
        staged.add(write("b"));
        staged.put_back(lost);
        assert_eq!(staged.take_stored(), []);
        let taken = staged.take();
        staged.add(write("c"));
        staged.note_stored(taken);
        assert_eq!(staged.take_stored(), [write("a"), write("b")]);
        assert_eq!(staged.take_stored(), []);
        assert_eq!(staged.iter().collect::<Vec<_>>(), [&write("c")]);
    }
}
