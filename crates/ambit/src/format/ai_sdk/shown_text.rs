//! How far a text of a log is shown.

use super::chunk::{PartChunk, TypedChunk};

/// How far a text is shown.
pub struct ShownText {
    pub is_thinking: bool,
    pub progress: TextProgress,
    /// Bytes of it that clients have.
    pub length: usize,
}

/// Whether a text goes on, and in which part.
pub enum TextProgress {
    /// Nothing is shown.
    Unstarted,
    /// This part goes on.
    Open(String),
    /// Its part has ended with a step; it goes on in another one.
    Paused,
    /// It is whole.
    Ended,
}

impl ShownText {
    pub fn start(&mut self, id: String, new: &str, out: &mut Vec<PartChunk>) {
        let chunk = match self.is_thinking {
            true => TypedChunk::ReasoningStart { id: id.clone() },
            false => TypedChunk::TextStart { id: id.clone() },
        };
        out.push(chunk.into());
        self.progress = TextProgress::Open(id);
        self.grow(new, out);
    }

    pub fn grow(&mut self, new: &str, out: &mut Vec<PartChunk>) {
        let TextProgress::Open(id) = &self.progress else {
            return;
        };
        if new.is_empty() {
            return;
        }
        self.length += new.len();
        let (id, delta) = (id.clone(), new.to_owned());
        let chunk = match self.is_thinking {
            true => TypedChunk::ReasoningDelta { id, delta },
            false => TypedChunk::TextDelta { id, delta },
        };
        out.push(chunk.into());
    }

    pub fn end(&mut self, progress: TextProgress, out: &mut Vec<PartChunk>) {
        if let TextProgress::Open(id) = &self.progress {
            let id = id.clone();
            let chunk = match self.is_thinking {
                true => TypedChunk::ReasoningEnd { id },
                false => TypedChunk::TextEnd { id },
            };
            out.push(chunk.into());
        } else if !matches!(self.progress, TextProgress::Paused) {
            return;
        }
        self.progress = progress;
    }
}
