//! A turn's answer as it is made.

use super::response::Response;
use super::session::AgentSession;
use crate::format;
use crate::format::FormatOptions;
use crate::format::answer::{AnswerField, AnswerPart, AnswerReader, TurnEnding};
use ambit_runtime::StartedTurn;
use ambit_runtime::stream::StreamReader;
use ambit_runtime::{Error, Frame, Result};
use futures::stream::{BoxStream, iter, unfold};
use futures::{Stream, StreamExt, TryStreamExt};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The frames of a turn: its messages, changes of them, and events.
///
/// [`text`](Self::text) gives the text alone, and [`response`](Self::response) the whole answer at the end. Dropping the stream
/// does not stop the turn; [`cancel`](Self::cancel) does.
pub struct ResponseStream {
    session: AgentSession,
    request_id: String,
    chat_id: String,
    frames: BoxStream<'static, Result<Frame>>,
    answer: AnswerReader,
    ending: Option<TurnEnding>,
}

impl ResponseStream {
    pub(super) fn new(session: AgentSession, started: StartedTurn) -> Self {
        Self {
            session,
            request_id: started.request_id,
            chat_id: started.chat_id,
            frames: frames(started.stream),
            answer: AnswerReader::new(&FormatOptions::default()),
            ending: None,
        }
    }

    /// Returns the turn's id.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Stops the turn. The stream then ends with what was said so far.
    pub async fn cancel(&self) -> Result<()> {
        let ambit = self.session.ambit();
        ambit
            .runtime()
            .cancel(&ambit.authorized, &self.request_id)
            .await
    }

    /// Returns the text of the answer, piece by piece. A turn that fails ends it with the failure.
    pub fn text(self) -> TextStream {
        TextStream(self)
    }

    /// Reads the stream to its end and returns the whole answer.
    ///
    /// # Errors
    ///
    /// Fails where the turn has failed.
    pub async fn response(mut self) -> Result<Response> {
        while self.try_next().await?.is_some() {}
        let ending = self
            .ending
            .ok_or_else(|| Error::internal("the stream of a turn has no end"))?;
        if let Some(failure) = ending.failure {
            return Err(failure);
        }
        let state = self.answer.state;
        Ok(Response {
            text: state.text(AnswerField::Content),
            reasoning: state.text(AnswerField::Reasoning),
            messages: state.messages.messages().to_vec(),
            next: ending.next,
            usage: ending.usage,
            finish_reason: ending.finish_reason,
            request_id: self.request_id,
            chat_id: self.chat_id,
        })
    }

    /// Takes a frame in and returns the text that it adds.
    fn read(&mut self, frame: &Frame) -> String {
        let mut text = String::new();
        for part in self.answer.read(frame) {
            match part {
                AnswerPart::Text(AnswerField::Content, more) => text.push_str(&more),
                AnswerPart::End(ending) => self.ending = Some(*ending),
                AnswerPart::Start | AnswerPart::Text(..) | AnswerPart::ToolCall(_) => {}
            }
        }
        text
    }
}

impl Stream for ResponseStream {
    type Item = Result<Frame>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.frames.poll_next_unpin(context));
        if let Some(Ok(frame)) = &next {
            self.read(frame);
        }
        Poll::Ready(next)
    }
}

/// The text of an answer, piece by piece.
pub struct TextStream(ResponseStream);

impl Stream for TextStream {
    type Item = Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = match ready!(self.0.frames.poll_next_unpin(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let failure = self
                        .0
                        .ending
                        .as_mut()
                        .and_then(|ending| ending.failure.take());
                    return Poll::Ready(failure.map(Err));
                }
            };
            let text = self.0.read(&frame);
            if !text.is_empty() {
                return Poll::Ready(Some(Ok(text)));
            }
        }
    }
}

fn frames(reader: StreamReader) -> BoxStream<'static, Result<Frame>> {
    let steps = unfold(Some(reader), |reader| async {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(entries)) => {
                let frames: Vec<Result<Frame>> =
                    entries.iter().filter_map(format::read).map(Ok).collect();
                Some((frames, Some(reader)))
            }
            Ok(None) => None,
            Err(error) => Some((vec![Err(error)], None)),
        }
    });
    steps.flat_map(iter).fuse().boxed()
}
