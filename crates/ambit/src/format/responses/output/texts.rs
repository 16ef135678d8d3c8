//! Items of texts, of which one is open at a time.

use super::OutputItems;
use crate::format::answer::AnswerField;
use crate::format::responses::event::ResponseEventContent;
use crate::format::responses::item::{
    ItemStatus, MessageItem, OutputText, ReasoningItem, ResponseItem, SummaryText,
};

impl OutputItems {
    /// A text of a message begins.
    pub fn begin_text(&mut self, message: &str, place: AnswerField) {
        self.end_thought();
        let before = self.texts.entry(message.to_owned()).or_default();
        let name = match *before {
            0 => message.to_owned(),
            count => format!("{message}.r{count}"),
        };
        *before += 1;
        let status = ItemStatus::InProgress;
        let item = match place {
            AnswerField::Content => ResponseItem::Message(MessageItem {
                id: self.id("msg", &name),
                role: "assistant",
                status,
                content: Vec::new(),
            }),
            AnswerField::Reasoning => ResponseItem::Reasoning(ReasoningItem {
                id: self.id("rs", &name),
                status,
                summary: Vec::new(),
                encrypted_content: None,
            }),
        };
        let index = self.announce(message, item);
        let at = self.at(index);
        let (kind, content) = match &mut self.items[index].item {
            ResponseItem::Reasoning(item) => {
                let part = SummaryText::new("");
                item.summary.push(part.clone());
                let content = ResponseEventContent::SummaryPart {
                    at,
                    summary_index: 0,
                    part,
                };
                ("response.reasoning_summary_part.added", content)
            }
            item => {
                let part = OutputText::new("");
                if let ResponseItem::Message(item) = item {
                    item.content.push(part.clone());
                }
                let content = ResponseEventContent::ContentPart {
                    at,
                    content_index: 0,
                    part,
                };
                ("response.content_part.added", content)
            }
        };
        self.events.write(kind, content);
        self.open_text = Some(index);
    }

    /// The open text goes on.
    pub fn text(&mut self, delta: String) {
        let Some(index) = self.open_text else {
            return;
        };
        let at = self.at(index);
        let item = &mut self.items[index].item;
        if let Some(text) = item.text_mut() {
            text.push_str(&delta);
        }
        let is_summary = matches!(item, ResponseItem::Reasoning(_));
        let (kind, content) = match is_summary {
            true => (
                "response.reasoning_summary_text.delta",
                ResponseEventContent::SummaryDelta {
                    at,
                    summary_index: 0,
                    delta,
                },
            ),
            false => (
                "response.output_text.delta",
                ResponseEventContent::TextDelta {
                    at,
                    content_index: 0,
                    delta,
                    logprobs: [],
                },
            ),
        };
        self.events.write(kind, content);
    }

    /// The open text ends.
    pub fn end_text(&mut self, status: ItemStatus) {
        let Some(index) = self.open_text.take() else {
            return;
        };
        let at = self.at(index);
        let item = &mut self.items[index].item;
        item.set_status(status);
        let is_thought = matches!(item, ResponseItem::Reasoning(_));
        let text = item.text_mut().cloned().unwrap_or_default();
        let events = match item {
            ResponseItem::Reasoning(_) => [
                (
                    "response.reasoning_summary_text.done",
                    ResponseEventContent::SummaryDone {
                        at: at.clone(),
                        summary_index: 0,
                        text: text.clone(),
                    },
                ),
                (
                    "response.reasoning_summary_part.done",
                    ResponseEventContent::SummaryPart {
                        at,
                        summary_index: 0,
                        part: SummaryText::new(text),
                    },
                ),
            ],
            _ => [
                (
                    "response.output_text.done",
                    ResponseEventContent::TextDone {
                        at: at.clone(),
                        content_index: 0,
                        text: text.clone(),
                        logprobs: [],
                    },
                ),
                (
                    "response.content_part.done",
                    ResponseEventContent::ContentPart {
                        at,
                        content_index: 0,
                        part: OutputText::new(text),
                    },
                ),
            ],
        };
        for (kind, content) in events {
            self.events.write(kind, content);
        }
        match is_thought && self.tells_reasoning {
            true => self.ended_thought = Some(index),
            false => self.done(index),
        }
    }
}
