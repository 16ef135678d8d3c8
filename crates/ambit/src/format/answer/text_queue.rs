//! Many messages shown as one text. A stream cannot take text back, so the messages take turns: the first one's text goes
//! out as it comes, those of others wait until it is over. What was streamed is then the final texts in their order.

use std::collections::{HashSet, VecDeque};

/// A piece of a message's text.
pub struct TextPiece<'a> {
    /// The message.
    pub message: &'a str,
    /// Its thread.
    pub thread: Option<&'a str>,
    /// The text.
    pub text: &'a str,
    /// It does not go on where the message's text was, but begins anew.
    pub is_new: bool,
    /// It is a line of its own instead of a paragraph.
    pub is_line: bool,
}

/// One text made of many.
#[derive(Default)]
pub struct TextQueue {
    queue: VecDeque<TextSegment>,
    known: HashSet<String>,
    text_end: TextTail,
    /// The message whose text was sent last.
    last: String,
    held_message: Option<String>,
}

struct TextSegment {
    message: String,
    thread: Option<String>,
    waiting: String,
    is_line: bool,
    has_begun: bool,
    is_over: bool,
    /// It is more of a text that was sent before.
    goes_on: bool,
}

/// What the text ends with so far.
#[derive(Clone, Copy, Default, PartialEq)]
enum TextTail {
    #[default]
    Nothing,
    Paragraph,
    Line,
}

impl TextQueue {
    /// Adds text of a message.
    pub fn push(&mut self, piece: &TextPiece<'_>) {
        let is_known = self.known.contains(piece.message);
        let present = self
            .queue
            .iter_mut()
            .find(|segment| segment.message == piece.message);
        if let Some(segment) = present {
            segment.add(piece);
            return;
        }
        // A thread that goes on to its next message is done with the one before, ended or not. What comes for an old
        // message afterwards waits for the present one.
        if !is_known {
            self.known.insert(piece.message.to_owned());
            let same = |segment: &&mut TextSegment| segment.thread.as_deref() == piece.thread;
            for segment in self.queue.iter_mut().filter(same) {
                segment.is_over = true;
            }
        }
        let mut segment = TextSegment {
            message: piece.message.to_owned(),
            thread: piece.thread.map(str::to_owned),
            waiting: String::new(),
            is_line: piece.is_line,
            has_begun: false,
            is_over: false,
            goes_on: is_known,
        };
        segment.add(piece);
        self.queue.push_back(segment);
    }

    /// The message has ended.
    pub fn close(&mut self, message: &str) {
        for segment in &mut self.queue {
            segment.is_over |= segment.message == message;
        }
    }

    /// Keeps a message's text back until it is dropped or another one is held.
    pub fn hold(&mut self, message: Option<&str>) {
        self.held_message = message.map(str::to_owned);
    }

    /// Forgets the text that was held.
    pub fn drop_held(&mut self) {
        if let Some(held) = self.held_message.take() {
            self.queue.retain(|segment| segment.message != held);
        }
    }

    /// What can be sent now.
    pub fn ready(&mut self) -> String {
        let mut out = String::new();
        while let Some(segment) = self.queue.front_mut() {
            if self.held_message.as_deref() == Some(&segment.message) {
                break;
            }
            if !segment.waiting.is_empty() {
                let is_same = segment.goes_on && segment.message == self.last;
                if !segment.has_begun && !is_same {
                    out.push_str(separator(self.text_end, segment.is_line));
                }
                out.push_str(&std::mem::take(&mut segment.waiting));
                segment.has_begun = true;
                self.last.clone_from(&segment.message);
                self.text_end = match segment.is_line {
                    true => TextTail::Line,
                    false => TextTail::Paragraph,
                };
            }
            if !segment.is_over {
                break;
            }
            self.queue.pop_front();
        }
        out
    }

    /// All that is left.
    pub fn finish(&mut self) -> String {
        self.held_message = None;
        for segment in &mut self.queue {
            segment.is_over = true;
        }
        self.ready()
    }
}

impl TextSegment {
    fn add(&mut self, piece: &TextPiece<'_>) {
        let has_text = self.has_begun || !self.waiting.is_empty();
        if piece.is_new && !self.has_begun {
            self.waiting.clear();
            self.goes_on = false;
        } else if piece.is_new && has_text && !self.is_line {
            self.waiting.push_str("\n\n");
        }
        self.is_line = piece.is_line;
        self.waiting.push_str(piece.text);
        if piece.is_line {
            self.waiting.push('\n');
        }
    }
}

fn separator(tail: TextTail, is_line: bool) -> &'static str {
    match (tail, is_line) {
        (TextTail::Nothing | TextTail::Line, _) => "",
        (TextTail::Paragraph, true) => "\n",
        (TextTail::Paragraph, false) => "\n\n",
    }
}
