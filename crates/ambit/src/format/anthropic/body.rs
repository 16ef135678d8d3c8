//! The whole answer at once, from the final state of the messages.

use super::block_writer::{AnswerPiece, BlockWriter};
use super::{AnthropicFailure, AnthropicMessage, last, piece_of_event};
use crate::format::answer::{AnswerField, AnswerState, TextPiece, TextQueue, text_of};
use crate::format::frames::read;
use crate::format::{FormatBody, FormatOptions};
use ambit_runtime::frame::OutputMessage;
use ambit_runtime::stream::StreamEntry;

/// An answer; an error in Anthropic's shape if the turn failed.
pub fn body(entries: &[StreamEntry], options: &FormatOptions) -> FormatBody {
    let mut state = AnswerState::new(options);
    // What events say, each with the number of messages before it.
    let mut said: Vec<(usize, AnswerPiece)> = Vec::new();
    for frame in entries.iter().filter_map(read) {
        state.read(&frame);
        let before = state.messages.messages().len();
        said.extend(piece_of_event(&frame).map(|piece| (before, piece)));
    }
    let ending = state.ending.take();
    if let Some(error) = ending.as_ref().and_then(|ending| ending.failure.as_ref()) {
        return FormatBody::AnthropicFailure(AnthropicFailure::of(error, None));
    }
    let mut events = Vec::new();
    let mut writer = FinalAnswer::new(&state, options);
    let mut said = said.into_iter().peekable();
    for index in in_order(&state) {
        while let Some((_, piece)) = said.next_if(|(before, _)| *before <= index) {
            writer.blocks.push(piece, &mut events);
        }
        for piece in writer.pieces(&state.messages.messages()[index]) {
            writer.blocks.push(piece, &mut events);
        }
    }
    for (_, piece) in said {
        writer.blocks.push(piece, &mut events);
    }
    writer.blocks.finish(&mut events);
    events.extend(ending.iter().flat_map(last));
    FormatBody::Anthropic(Box::new(AnthropicMessage::begin(options).with(events)))
}

/// The messages in the order in which a stream shows them: texts as they first were shown, and calls where they began.
fn in_order(state: &AnswerState) -> Vec<usize> {
    let messages = state.messages.messages();
    let is_there = |place: AnswerField, index: usize| {
        text_of(&messages[index]).is_some_and(|text| text.place == place)
    };
    let shown = state.order.iter();
    let shown = shown.filter(|(place, index)| is_there(*place, *index));
    let mut order: Vec<usize> = shown.map(|(_, index)| *index).collect();
    for (index, message) in messages.iter().enumerate() {
        if state.calls.of_message(&message.message_id).is_some() {
            let earlier = order.iter().rposition(|other| *other < index);
            order.insert(earlier.map_or(0, |at| at + 1), index);
        }
    }
    order
}

/// What is made of the final state of messages, one after the other.
struct FinalAnswer<'a> {
    state: &'a AnswerState,
    content: TextQueue,
    reasoning: TextQueue,
    blocks: BlockWriter,
}

impl<'a> FinalAnswer<'a> {
    fn new(state: &'a AnswerState, options: &FormatOptions) -> Self {
        Self {
            state,
            content: TextQueue::default(),
            reasoning: TextQueue::default(),
            blocks: BlockWriter::new(options),
        }
    }

    fn pieces(&mut self, message: &OutputMessage) -> Vec<AnswerPiece> {
        if let Some(call) = self.state.calls.of_message(&message.message_id) {
            let end = AnswerPiece::End(message.message_id.clone());
            return AnswerPiece::of_call(&call)
                .into_iter()
                .chain([end])
                .collect();
        }
        self.text(message).into_iter().collect()
    }

    fn text(&mut self, message: &OutputMessage) -> Option<AnswerPiece> {
        let shown = text_of(message)?;
        let queue = match shown.place {
            AnswerField::Content => &mut self.content,
            AnswerField::Reasoning => &mut self.reasoning,
        };
        queue.push(&TextPiece {
            message: &message.message_id,
            thread: message.thread_id.as_deref(),
            text: &shown.text,
            is_new: true,
            is_line: shown.is_line,
        });
        queue.close(&message.message_id);
        let text = queue.ready();
        (!text.is_empty()).then_some(AnswerPiece::Text(shown.place, text))
    }
}
