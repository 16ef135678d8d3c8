//! What a heap whose runtime waits differs in from one that was just made.
//!
//! Runtimes are made in the same order, so that their arenas hold the same but for where they lie: a word that points into its own
//! arena is compared by its distance from the beginning. Nothing rests on how much is the same: what differs is kept as it is.

use crate::arena::{ARENA, Arena};

/// A picture of a heap, which others are compared with.
pub struct HeapTemplate {
    address: usize,
    words: Vec<usize>,
}

/// A heap whose memory was let go of.
pub struct EmptiedArena {
    /// A bit for each word: whether it is among those that differ.
    differs: Vec<u64>,
    words: Vec<usize>,
}

impl HeapTemplate {
    pub(crate) fn new(arena: &Arena) -> Self {
        Self {
            address: arena.address(),
            words: arena.words(),
        }
    }

    /// Returns what a word would be in an arena that begins at this address; `None` behind the end.
    fn word(&self, at: usize, address: usize) -> Option<usize> {
        let word = *self.words.get(at)?;
        let distance = word.wrapping_sub(self.address);
        Some(if distance < ARENA {
            address + distance
        } else {
            word
        })
    }
}

impl EmptiedArena {
    /// How many words differ.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Empties an arena.
    ///
    /// # Safety
    ///
    /// Nobody reads or writes it until it was filled again.
    pub unsafe fn empty(arena: &Arena, template: &HeapTemplate) -> Self {
        let address = arena.address();
        let (mut differs, mut words) = (Vec::new(), Vec::new());
        let each = |at: usize, word: usize| {
            if at.is_multiple_of(64) {
                differs.push(0);
            }
            if template.word(at, address) != Some(word) {
                differs[at / 64] |= 1 << (at % 64);
                words.push(word);
            }
        };
        // SAFETY: the caller promises what this needs.
        unsafe { arena.empty(each) };
        Self { differs, words }
    }

    /// Fills the arena again, with the bytes that it had.
    ///
    /// # Safety
    ///
    /// It is the arena that was emptied, and the template it was compared with.
    pub unsafe fn fill(self, arena: &Arena, template: &HeapTemplate) {
        let address = arena.address();
        let mut words = self.words.into_iter();
        let each = |at: usize| {
            let own = (self.differs[at / 64] & (1 << (at % 64)) != 0).then(|| words.next());
            // There is one or the other for each word.
            own.unwrap_or_else(|| template.word(at, address))
                .unwrap_or_default()
        };
        // SAFETY: the caller promises that these are the words it had.
        unsafe { arena.fill(each) };
    }
}
