//! The running message of a chat from its beginning: all turns of it as one stream.

use super::stored_chat::{StoredChat, answered_call};
use super::{tool_results, turn_chunks};
use crate::format::ai_sdk::{self, MessageReplay, output_chunk};
use crate::format::{FormatDefinition, FormatOptions, find};
use crate::http::chat::{AnsweringTurn, RequestParameters, join, turn_headers};
use crate::http::sse::{self, StreamView};
use crate::http::{HttpError, SharedState, rate_limits};
use ambit_runtime::chats::ChatTurn;
use ambit_runtime::{Authorized, Result};
use axum::response::{IntoResponse, Response};

/// Who takes a message up.
pub struct MessageReader<'a> {
    pub server: &'a SharedState,
    pub who: &'a Authorized,
    pub given: &'a RequestParameters,
}

impl MessageReader<'_> {
    /// The stream of the turn that a chat is busy with, with what it continues in front.
    pub async fn resume(
        &self,
        mut chat: StoredChat,
        request_id: &str,
    ) -> Result<Response, HttpError> {
        let place = rate_limits::stream_place(self.server, self.who).await?;
        let AnsweringTurn {
            started,
            backlog_end,
            leaving,
        } = join(self.server, self.who, request_id).await?;
        let options = FormatOptions {
            request_id: request_id.to_owned(),
            model: started.assistant_id.clone(),
            ai_sdk: self.given.ai_sdk(self.given.query.v.as_ref())?,
            ..FormatOptions::default()
        };
        let definition: &'static FormatDefinition = find(ai_sdk::NAME)?;
        let earlier = self.earlier(&mut chat, request_id, &options).await?;
        let headers = turn_headers(&started);
        let view = StreamView {
            reader: started.stream,
            first: Vec::new(),
            definition,
            format: match earlier {
                Some(earlier) => ai_sdk::open_behind(earlier, &options),
                None => ai_sdk::open(&options),
            },
            last_received: 0,
            backlog_end,
            leaving,
            place,
        };
        let stream = sse::answer(view, self.server, self.given.peer.clone());
        Ok((headers, stream).into_response())
    }

    /// What earlier turns have made of the message, if there are any.
    async fn earlier(
        &self,
        chat: &mut StoredChat,
        request_id: &str,
        options: &FormatOptions,
    ) -> Result<Option<MessageReplay>> {
        let is_it = |turn: &ChatTurn| turn.request_id == request_id;
        let running = chat.turns.iter().rev().find(|turn| is_it(turn));
        let Some(first) = running.and_then(|turn| turn.continues.clone()) else {
            return Ok(None);
        };
        chat.read_answer(&first).await?;
        let turns = &chat.turns;
        let mut replay = MessageReplay::default();
        for (at, turn) in turns.iter().enumerate() {
            if turn.answer_id() != first {
                continue;
            }
            for input in &turn.input {
                let result = input.message.tool_result.as_ref();
                let call = result.and_then(|result| answered_call(&turns[..at], result));
                let output = tool_results::output(&input.message);
                if let (Some(call), Some(output)) = (call, output) {
                    replay.push(output_chunk(call, output));
                }
            }
            if is_it(turn) {
                break;
            }
            let chunks = turn_chunks::of(self.server, self.who, turn, options.ai_sdk);
            chunks
                .await?
                .into_iter()
                .for_each(|chunk| replay.push(chunk));
        }
        Ok(Some(replay))
    }
}
