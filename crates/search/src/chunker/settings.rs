//! How long chunks are.

/// How many tokens a chunk has, and how many of them it may share with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSettings {
    size: u64,
    overlap: u64,
}

impl ChunkSettings {
    /// Chunks of at most `size` tokens, 50 to 2,000; at most half of them may be shared.
    pub fn new(size: u64, overlap: u64) -> Result<Self, InvalidChunkSettings> {
        if !(50..=2_000).contains(&size) {
            return Err(InvalidChunkSettings::Size(size));
        }
        if overlap > size / 2 {
            return Err(InvalidChunkSettings::Overlap { size, overlap });
        }
        Ok(Self { size, overlap })
    }

    /// Tokens that a chunk has at most.
    pub fn size(self) -> u64 {
        self.size
    }

    /// Tokens that it shares at most with the chunk before it.
    pub fn overlap(self) -> u64 {
        self.overlap
    }
}

impl Default for ChunkSettings {
    fn default() -> Self {
        Self {
            size: 300,
            overlap: 50,
        }
    }
}

/// Why chunks cannot be made so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChunkSettings {
    /// The size is out of bounds.
    #[error("chunk.size is {0}: it must be 50 to 2000 tokens")]
    Size(u64),
    /// More than half a chunk would be shared.
    #[error("chunk.overlap is {overlap}: it must be at most {}, half of chunk.size", .size / 2)]
    Overlap {
        /// The size that was asked for.
        size: u64,
        /// The overlap that was asked for.
        overlap: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::{ChunkSettings, InvalidChunkSettings};

    #[test]
    fn bounds_are_50_to_2000_and_half() {
        for (size, overlap) in [(50, 25), (2_000, 1_000), (300, 0), (301, 150)] {
            assert!(ChunkSettings::new(size, overlap).is_ok());
        }
        for size in [0, 49, 2_001] {
            let refused = ChunkSettings::new(size, 0);
            assert_eq!(refused, Err(InvalidChunkSettings::Size(size)));
        }
        let refused = ChunkSettings::new(301, 151).map_err(|error| error.to_string());
        let expected = "chunk.overlap is 151: it must be at most 150, half of chunk.size";
        assert_eq!(refused, Err(expected.to_owned()));
    }

    #[test]
    fn the_default_is_300_and_50() {
        let default = ChunkSettings::new(300, 50);
        assert_eq!(default, Ok(ChunkSettings::default()));
    }
}
