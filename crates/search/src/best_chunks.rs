//! The best of many chunks, with all that tie with the last of them, so that the order in which they come does not matter.

/// A chunk and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredChunk {
    /// Which of the scopes it is in.
    pub scope: usize,
    /// Its number.
    pub chunk: u32,
    /// Its BM25, or its cosine.
    pub score: f64,
}

/// The best chunks, with all that tie with the last of them.
pub(crate) struct BestChunks {
    limit: usize,
    /// What is worse is not among the best.
    least: f64,
    chunks: Vec<ScoredChunk>,
}

impl BestChunks {
    /// Those that are among the first so many.
    pub fn new(limit: usize) -> Self {
        let (least, chunks) = (f64::NEG_INFINITY, Vec::new());
        Self {
            limit,
            least,
            chunks,
        }
    }

    /// Whether a chunk with this score may be among them.
    pub fn wants(&self, score: f64) -> bool {
        score >= self.least
    }

    /// Takes a chunk, unless others are better.
    pub fn offer(&mut self, chunk: ScoredChunk) {
        if !self.wants(chunk.score) {
            return;
        }
        self.chunks.push(chunk);
        if self.chunks.len() >= 2 * self.limit + 1024 && self.chunks.len().is_power_of_two() {
            self.cut();
        }
    }

    /// Drops what is worse than the last that is wanted.
    fn cut(&mut self) {
        if let Some(last) = self
            .limit
            .checked_sub(1)
            .filter(|last| *last < self.chunks.len())
        {
            let by_score =
                |one: &ScoredChunk, other: &ScoredChunk| other.score.total_cmp(&one.score);
            let (_, nth, _) = self.chunks.select_nth_unstable_by(last, by_score);
            self.least = nth.score;
            self.chunks.retain(|chunk| chunk.score >= self.least);
        }
    }

    /// The best first.
    pub fn finish(mut self) -> Vec<ScoredChunk> {
        if self.limit == 0 {
            return Vec::new();
        }
        self.cut();
        self.chunks.sort_by(|one, other| {
            let by_place = (one.scope, one.chunk).cmp(&(other.scope, other.chunk));
            other.score.total_cmp(&one.score).then(by_place)
        });
        self.chunks
    }
}
