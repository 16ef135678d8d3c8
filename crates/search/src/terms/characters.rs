//! Positions in characters, where bytes are known.

/// Counts the characters of a text up to a byte. It goes on from the byte asked before, so that a walk through a text reads it once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CharacterCounter<'a> {
    text: &'a str,
    byte: usize,
    characters: usize,
}

impl<'a> CharacterCounter<'a> {
    /// Counts from the byte `start` of the text.
    pub(crate) fn new(text: &'a str, start: usize) -> Self {
        Self {
            text,
            byte: start,
            characters: 0,
        }
    }

    /// The number of characters between the start and this byte, which does not lie before the start.
    pub(crate) fn count_to(&mut self, byte: usize) -> usize {
        if byte < self.byte {
            self.characters -= self.text[byte..self.byte].chars().count();
        } else {
            self.characters += self.text[self.byte..byte].chars().count();
        }
        self.byte = byte;
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use super::CharacterCounter;

    #[test]
    fn counts_forwards_and_backwards() {
        let mut counter = CharacterCounter::new("aéb中c", 1);
        let counted = [1, 8, 3, 4, 1].map(|byte| counter.count_to(byte));
        assert_eq!(counted, [0, 4, 1, 2, 0]);
    }
}
