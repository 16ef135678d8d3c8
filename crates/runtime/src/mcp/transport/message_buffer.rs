//! Bytes gathered to lines. Of a line that is too long only the ends are kept, so that it can be told whose it was.

/// Bytes of one line.
pub const LONGEST: usize = 16 << 20;
/// Bytes that are kept at either end of a line that is too long.
const MARGIN: usize = 512;

/// A line.
pub enum RawMessage {
    /// All of it.
    Whole(Vec<u8>),
    /// The ends of one that is too long.
    Ends(Vec<u8>, Vec<u8>),
}

/// The line so far.
#[derive(Default)]
pub struct MessageBuffer {
    line: Vec<u8>,
    /// The last bytes of a line that is too long to be kept.
    tail: Option<Vec<u8>>,
}

impl MessageBuffer {
    /// Takes more bytes of the line.
    pub fn push(&mut self, part: &[u8]) {
        if let Some(tail) = &mut self.tail {
            tail.extend_from_slice(part);
            shorten(tail);
            return;
        }
        self.line.extend_from_slice(part);
        if self.line.len() > LONGEST {
            let mut tail = self.line.split_off(MARGIN);
            shorten(&mut tail);
            self.line.shrink_to_fit();
            self.tail = Some(tail);
        }
    }

    /// The line, which has ended; the next one begins.
    pub fn take(&mut self) -> RawMessage {
        let line = std::mem::take(&mut self.line);
        match self.tail.take() {
            Some(tail) => RawMessage::Ends(line, tail),
            None => RawMessage::Whole(line),
        }
    }
}

fn shorten(tail: &mut Vec<u8>) {
    let surplus = tail.len().saturating_sub(MARGIN);
    tail.drain(..surplus);
    tail.shrink_to(2 * MARGIN);
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, MARGIN, MessageBuffer, RawMessage};

    #[test]
    fn of_a_line_that_is_too_long_the_ends_are_kept() {
        let mut gatherer = MessageBuffer::default();
        for length in [LONGEST, LONGEST + 1, 3 * LONGEST] {
            for part in vec![b'x'; length].chunks(1_000_003) {
                gatherer.push(part);
            }
            gatherer.push(b"");
            let kept = match gatherer.take() {
                RawMessage::Whole(line) => (line.len(), None),
                RawMessage::Ends(head, tail) => (head.len(), Some(tail.len())),
            };
            let expected = match length {
                LONGEST => (LONGEST, None),
                _ => (MARGIN, Some(MARGIN)),
            };
            assert_eq!(kept, expected, "{length}");
        }
    }
}
