//! Cuts the text of a document into the chunks that are indexed: paragraphs, else sentences, else words, joined as far as they fit.

mod pieces;
mod section;
mod settings;

pub use section::{BlockKind, Section, TextBlock};
pub use settings::{ChunkSettings, InvalidChunkSettings};

use crate::terms::characters::CharacterCounter;
use ambit_storage::truncation::estimate_text;
use pieces::{TextPiece, pieces, sentence_starts};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// A stretch of a document that is found as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// 16 hex digits, the same as long as the document has this text.
    pub id: String,
    /// Its number in the document, from 0.
    pub index: usize,
    /// The text, behind the header of its table where that lies in an earlier chunk.
    pub text: String,
    /// The headings above it, the outermost first.
    pub heading: Vec<String>,
    /// The page on which its section begins.
    pub page: Option<u32>,
    /// The place of its section among those of the document.
    pub section: usize,
    /// Where it stands in the document's text, in characters: `[from, to]` without the character at `to`.
    pub range: [usize; 2],
    /// How many tokens the text has, by the estimate of truncation.
    pub tokens: u64,
    /// SHA-256 of the text, in hex digits.
    pub hash: String,
}

/// The chunks of a document's text in their order. Ranges of blocks are bytes of `text`; they ascend and lie on character boundaries.
pub fn chunks(
    document_id: &str,
    text: &str,
    sections: &[Section],
    settings: ChunkSettings,
) -> Vec<Chunk> {
    let mut counter = CharacterCounter::new(text, 0);
    let mut occurrences: HashMap<String, u64> = HashMap::new();
    let mut chunks = Vec::new();
    for (place, section) in sections.iter().enumerate() {
        for draft in drafts(text, section, settings) {
            let range = [draft.range.start, draft.range.end].map(|byte| counter.count_to(byte));
            let text = draft.text(text);
            let hash = hex(&Sha256::digest(text.as_bytes()));
            let occurrence = occurrences.entry(hash.clone()).or_default();
            chunks.push(Chunk {
                id: id(document_id, &text, *occurrence),
                index: chunks.len(),
                heading: section.heading.clone(),
                page: section.page,
                section: place,
                range,
                tokens: estimate_text(&text),
                text,
                hash,
            });
            *occurrence += 1;
        }
    }
    chunks
}

/// The name of a chunk: while its text stays, so do its votes and its weight, whatever is written around it.
fn id(document_id: &str, text: &str, occurrence: u64) -> String {
    let mut hash = Sha256::new();
    for part in [document_id.as_bytes(), text.as_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(occurrence.to_le_bytes());
    let mut id = hex(&hash.finalize());
    id.truncate(16);
    id
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a chunk will hold.
#[derive(Debug)]
struct ChunkDraft {
    range: Range<usize>,
    /// The header of the table whose rows it begins with.
    header: Option<Range<usize>>,
}

impl ChunkDraft {
    fn text(&self, text: &str) -> String {
        let own = &text[self.range.clone()];
        match &self.header {
            Some(header) => format!("{}\n{own}", &text[header.clone()]),
            None => own.to_owned(),
        }
    }
}

/// The chunks of a section. Each takes as many pieces as fit behind what it repeats of the one before.
fn drafts(text: &str, section: &Section, settings: ChunkSettings) -> Vec<ChunkDraft> {
    let mut pieces = pieces(text, section, settings.size());
    // One more than fit into a chunk: a token has at most four bytes, a piece at least one, and white space may be a piece before
    // each of them and behind the last.
    let most = 8 * settings.size() as usize + 2;
    let mut ahead: VecDeque<TextPiece> = VecDeque::new();
    let mut drafts = Vec::new();
    let mut overlap = None;
    loop {
        ahead.extend(pieces.by_ref().take(most - ahead.len()));
        let Some(piece) = ahead.front() else {
            return drafts;
        };
        let start = overlap.unwrap_or(piece.range.start);
        let header = piece.header.clone().filter(|header| header.end <= start);
        let room = settings.size() - header_tokens(text, header.clone());
        let fitting = ahead.partition_point(|piece| {
            let stretch = trimmed(text, start..piece.range.end);
            fits(&text[stretch], room)
        });
        let taken: Vec<_> = ahead.drain(..fitting.max(1)).collect();
        let range = trimmed(text, start..taken[taken.len() - 1].range.end);
        overlap = ahead
            .front()
            .and_then(|next| repeated(text, &taken, next, settings));
        if !range.is_empty() {
            drafts.push(ChunkDraft { range, header });
        }
    }
}

/// Where the next chunk begins, if it is to repeat sentences of what this one has taken: as early as overlap and size allow.
fn repeated(
    text: &str,
    taken: &[TextPiece],
    next: &TextPiece,
    settings: ChunkSettings,
) -> Option<usize> {
    let end = taken.last()?.range.end;
    let prose = taken.iter().rev().take_while(|piece| piece.is_prose);
    let starts = prose.flat_map(|piece| {
        let starts = sentence_starts(&text[piece.range.clone()]);
        let starts = starts.into_iter().rev();
        starts.map(move |start| piece.range.start + start)
    });
    let allowed = starts.take_while(|start| {
        fits(text[*start..end].trim_end(), settings.overlap())
            && fits(text[*start..next.range.end].trim_end(), settings.size())
    });
    allowed.last()
}

/// Whether a text has at most so many tokens. A token has at most four bytes, which saves counting what is far too long.
fn fits(text: &str, tokens: u64) -> bool {
    text.len() as u64 <= 4 * tokens && estimate_text(text) <= tokens
}

/// Tokens of a header and the line break behind it.
fn header_tokens(text: &str, header: Option<Range<usize>>) -> u64 {
    header.map_or(0, |header| estimate_text(&text[header]) + 1)
}

/// The stretch without the line breaks before it and the white space behind it.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let stretch = text[range.clone()].trim_end();
    let breaks = stretch.len() - stretch.trim_start_matches(['\n', '\r']).len();
    range.start + breaks..range.start + stretch.len()
}

#[cfg(test)]
mod tests;
