//! Many texts shown as items of which one is open at a time: the first one's text goes out as it comes, those of others wait until
//! it is over. An item cannot take text back: what is replaced, or changed behind the item's end, is a new item.

use super::item::ItemStatus;
use crate::format::answer::AnswerField;
use std::collections::{HashSet, VecDeque};

/// A change of a message's text.
pub struct TextChange<'a> {
    /// The message.
    pub message: &'a str,
    /// Its thread.
    pub thread: Option<&'a str>,
    /// Where it is shown.
    pub place: AnswerField,
    /// What goes on where the text was.
    pub text: &'a str,
    /// The whole text as it is now.
    pub whole: &'a str,
    /// It does not go on where the text was.
    pub is_new: bool,
    /// It is a line behind those before.
    pub is_line: bool,
}

/// What can be shown next.
#[derive(Debug, PartialEq, Eq)]
pub enum TextStep {
    /// An item of this message begins.
    Begin { message: String, place: AnswerField },
    /// Its text goes on.
    Text(String),
    /// It ends.
    End(ItemStatus),
}

/// Texts in the order in which they are shown.
#[derive(Default)]
pub struct TextItems {
    queue: VecDeque<TextItem>,
    known: HashSet<String>,
    held: Option<String>,
}

struct TextItem {
    message: String,
    thread: Option<String>,
    place: AnswerField,
    waiting: String,
    has_begun: bool,
    end: Option<ItemStatus>,
}

impl TextItems {
    /// Takes a change in.
    pub fn push(&mut self, change: &TextChange<'_>) {
        let same = |item: &&mut TextItem| item.message == change.message;
        match self.queue.iter_mut().rev().find(same) {
            Some(item) if item.takes(change) => item.add(change),
            Some(item) => {
                item.end.get_or_insert(ItemStatus::Completed);
                self.begin(change);
            }
            None => self.begin(change),
        }
    }

    /// A thread that goes on to its next message is done with the one before, ended or not.
    fn begin(&mut self, change: &TextChange<'_>) {
        if self.known.insert(change.message.to_owned()) {
            let same = |item: &&mut TextItem| item.thread.as_deref() == change.thread;
            for item in self.queue.iter_mut().filter(same) {
                item.end.get_or_insert(ItemStatus::Completed);
            }
        }
        let mut item = TextItem {
            message: change.message.to_owned(),
            thread: change.thread.map(str::to_owned),
            place: change.place,
            waiting: String::new(),
            has_begun: false,
            end: None,
        };
        item.add(&TextChange {
            is_new: true,
            ..*change
        });
        self.queue.push_back(item);
    }

    /// The message has ended.
    pub fn end(&mut self, message: &str, status: ItemStatus) {
        let own = self.queue.iter_mut().filter(|item| item.message == message);
        for item in own {
            item.end.get_or_insert(status);
        }
    }

    /// Keeps a message's text back until it is dropped or another one is held.
    pub fn hold(&mut self, message: Option<&str>) {
        self.held = message.map(str::to_owned);
    }

    /// Forgets the text that was held.
    pub fn drop_held(&mut self) {
        if let Some(held) = self.held.take() {
            self.queue.retain(|item| item.message != held);
        }
    }

    /// What can be shown now.
    pub fn ready(&mut self) -> Vec<TextStep> {
        let mut steps = Vec::new();
        while let Some(item) = self.queue.front_mut() {
            if self.held.as_ref() == Some(&item.message) {
                break;
            }
            if !item.waiting.is_empty() {
                if !item.has_begun {
                    steps.push(TextStep::Begin {
                        message: item.message.clone(),
                        place: item.place,
                    });
                }
                steps.push(TextStep::Text(std::mem::take(&mut item.waiting)));
                item.has_begun = true;
            }
            let Some(status) = item.end else {
                break;
            };
            if item.has_begun {
                steps.push(TextStep::End(status));
            }
            self.queue.pop_front();
        }
        steps
    }

    /// All that is left, at the end of the turn.
    pub fn finish(&mut self) -> Vec<TextStep> {
        self.held = None;
        for item in &mut self.queue {
            item.end.get_or_insert(ItemStatus::Incomplete);
        }
        self.ready()
    }
}

impl TextItem {
    /// Whether a change can be part of this item.
    fn takes(&self, change: &TextChange<'_>) -> bool {
        let goes_on = !change.is_new || change.is_line;
        !self.has_begun || (goes_on && change.place == self.place)
    }

    fn add(&mut self, change: &TextChange<'_>) {
        // What was to be shown elsewhere is not part of it.
        let is_new = change.is_new || change.place != self.place;
        if is_new && !change.is_line {
            self.waiting.clear();
        }
        self.place = change.place;
        self.waiting.push_str(match is_new {
            true => change.whole,
            false => change.text,
        });
        if change.is_line {
            self.waiting.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(message: &'static str, text: &'static str) -> TextChange<'static> {
        TextChange {
            message,
            thread: Some(message),
            place: AnswerField::Content,
            text,
            whole: text,
            is_new: false,
            is_line: false,
        }
    }

    fn begin(message: &str) -> TextStep {
        TextStep::Begin {
            message: message.to_owned(),
            place: AnswerField::Content,
        }
    }

    fn text(text: &str) -> TextStep {
        TextStep::Text(text.to_owned())
    }

    #[test]
    fn the_second_text_waits_for_the_end_of_the_first() {
        let mut items = TextItems::default();
        items.push(&change("M1", "a"));
        items.push(&change("M2", "x"));
        assert_eq!(items.ready(), [begin("M1"), text("a")]);
        items.push(&change("M2", "y"));
        items.end("M1", ItemStatus::Completed);
        let end = TextStep::End(ItemStatus::Completed);
        assert_eq!(items.ready(), [end, begin("M2"), text("xy")]);
        assert_eq!(items.finish(), [TextStep::End(ItemStatus::Incomplete)]);
    }

    #[test]
    fn replaced_text_is_an_item_of_its_own_once_it_was_shown() {
        let mut items = TextItems::default();
        let replaced = |text| TextChange {
            is_new: true,
            ..change("M1", text)
        };
        items.push(&change("M1", "a"));
        items.push(&replaced("b"));
        assert_eq!(items.ready(), [begin("M1"), text("b")]);
        items.push(&replaced("c"));
        let end = TextStep::End(ItemStatus::Completed);
        assert_eq!(items.ready(), [end, begin("M1"), text("c")]);
    }

    #[test]
    fn text_behind_the_end_of_an_item_comes_with_all_before_it() {
        let mut items = TextItems::default();
        items.push(&change("M1", "a"));
        items.end("M1", ItemStatus::Completed);
        items.ready();
        items.push(&TextChange {
            text: "b",
            whole: "ab",
            ..change("M1", "")
        });
        assert_eq!(items.ready(), [begin("M1"), text("ab")]);
    }
}
