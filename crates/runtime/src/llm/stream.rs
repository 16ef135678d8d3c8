//! From the bytes of an answer to its pieces. What every provider's stream keeps is kept here: time limits, an end marker,
//! ids of calls that are never empty and never the same.

use super::endpoint::{ModelEndpoint, connection_failure, silence_failure};
use super::sse::SseParser;
use super::{AnswerPiece, AnswerStream, EncodedCall, ModelCall, ModelFailure, ModelFailureKind};
use crate::chat::ChatMessage;
use futures::stream::{self, StreamExt};
use rand::seq::IndexedRandom;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a body may take to end behind the end of its answer. A body that has ended leaves its connection for others.
const TAIL: Duration = Duration::from_millis(50);
/// Bytes of an answer that comes in one piece.
const WHOLE: usize = 64 << 20;

/// Reads one protocol.
pub trait AnswerDecoder: Send + 'static {
    /// Reads the data of one event of a stream.
    fn event(&mut self, data: &str, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure>;

    /// Reads an answer that came in one piece.
    fn whole(&mut self, body: &Value, out: &mut Vec<AnswerPiece>) -> Result<(), ModelFailure>;

    /// The bytes are over. Gives `AnswerPiece::End` if the answer is whole.
    fn end(&mut self, out: &mut Vec<AnswerPiece>);
}

/// Sends a call, written in its protocol, and gives the pieces of its answer.
pub async fn send_call(
    endpoint: &Arc<ModelEndpoint>,
    encoded: &EncodedCall<'_>,
    decoder: impl AnswerDecoder,
) -> Result<AnswerStream, ModelFailure> {
    let response = endpoint.post(encoded).await?;
    let kind = response.headers().get(CONTENT_TYPE);
    let is_whole = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let pump = ResponseReader {
        response,
        decoder,
        endpoint: endpoint.clone(),
        parser: SseParser::default(),
        body: is_whole.then(Vec::new),
        ready: VecDeque::new(),
        is_over: false,
        has_tail: false,
    };
    let pieces = stream::unfold(pump, |mut pump| async {
        let item = pump.next().await?;
        Some((item, pump))
    });
    Ok(checked(encoded.call, pieces.boxed()))
}

struct ResponseReader<D> {
    response: Response,
    decoder: D,
    endpoint: Arc<ModelEndpoint>,
    parser: SseParser,
    /// Collects an answer that comes in one piece.
    body: Option<Vec<u8>>,
    ready: VecDeque<Result<AnswerPiece, ModelFailure>>,
    is_over: bool,
    /// The answer is whole, and its body may not have ended yet.
    has_tail: bool,
}

impl<D: AnswerDecoder> ResponseReader<D> {
    async fn next(&mut self) -> Option<Result<AnswerPiece, ModelFailure>> {
        while self.ready.is_empty() && !self.is_over {
            let silence = self.endpoint.silence();
            match timeout(silence, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.take(&chunk),
                Ok(Ok(None)) => self.finish(None),
                Ok(Err(error)) => self.finish(Some(connection_failure(&error))),
                Err(_) => self.finish(Some(silence_failure(silence))),
            }
        }
        if self.ready.is_empty() && std::mem::take(&mut self.has_tail) {
            let tail = async { while let Ok(Some(_)) = self.response.chunk().await {} };
            let _ = timeout(TAIL, tail).await;
        }
        self.ready.pop_front()
    }

    fn take(&mut self, chunk: &[u8]) {
        if let Some(body) = &mut self.body {
            body.extend_from_slice(chunk);
            if body.len() > WHOLE {
                let why = format!("the provider sent an answer of more than {WHOLE} bytes");
                self.fail(ModelFailure::broken(why));
            }
            return;
        }
        match self.parser.push(chunk) {
            Ok(events) => events.iter().for_each(|event| self.event(&event.data)),
            Err(failure) => self.fail(failure),
        }
    }

    fn event(&mut self, data: &str) {
        if self.is_over {
            return;
        }
        let mut out = Vec::new();
        let read = self.decoder.event(data, &mut out);
        if matches!(out.last(), Some(AnswerPiece::End { .. })) {
            self.is_over = true;
            self.has_tail = true;
        }
        self.ready.extend(out.into_iter().map(Ok));
        if let Err(failure) = read {
            self.fail(failure);
        }
    }

    /// The bytes are over, with or without a reason.
    fn finish(&mut self, why: Option<ModelFailure>) {
        let mut out = Vec::new();
        if let Some(body) = self.body.take() {
            let read = serde_json::from_slice(&body)
                .map_err(|_| unreadable(&String::from_utf8_lossy(&body)))
                .and_then(|body| self.decoder.whole(&body, &mut out));
            // A body that was cut is no malformed one.
            let failed = read.err().map(|failure| why.clone().unwrap_or(failure));
            self.ready.extend(out.into_iter().map(Ok));
            self.ready
                .extend(failed.map(|failure| Err(self.endpoint.redacted_failure(failure))));
            self.is_over = true;
            return;
        }
        let rest = self.parser.rest();
        let read = rest.map_or(Ok(()), |event| self.decoder.event(&event.data, &mut out));
        // An event that was cut cannot be read: then the cut is what is reported.
        let failure = read
            .err()
            .filter(|failure| failure.kind != ModelFailureKind::Broken);
        self.decoder.end(&mut out);
        let is_whole = matches!(out.last(), Some(AnswerPiece::End { .. }));
        self.ready.extend(out.into_iter().map(Ok));
        if !is_whole {
            self.fail(failure.or(why).unwrap_or_else(cut));
        }
        self.is_over = true;
    }

    fn fail(&mut self, failure: ModelFailure) {
        self.ready
            .push_back(Err(self.endpoint.redacted_failure(failure)));
        self.is_over = true;
    }
}

/// The stream ended without saying that it is whole.
pub fn cut() -> ModelFailure {
    ModelFailure::temporary("the answer broke off before its end")
}

/// The JSON of an event; some servers send events without anything.
pub fn read(data: &str) -> Result<Option<Value>, ModelFailure> {
    match data.trim() {
        "" => Ok(None),
        json => match serde_json::from_str(json) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(unreadable(json)),
        },
    }
}

/// Adds a piece of this text, if there is any.
pub fn push(out: &mut Vec<AnswerPiece>, text: &str, piece: impl FnOnce(String) -> AnswerPiece) {
    if !text.is_empty() {
        out.push(piece(text.to_owned()));
    }
}

/// A chunk that is not what the protocol says.
pub fn unreadable(chunk: &str) -> ModelFailure {
    let start: String = chunk.chars().take(200).collect();
    ModelFailure::broken(format!("the provider sent what cannot be read: {start}"))
}

/// Nothing follows the end; what breaks off behind something shown is `Broken`; every call of a tool has an id that no
/// other call of the conversation has.
pub fn checked(call: &ModelCall, pieces: AnswerStream) -> AnswerStream {
    let checks = PieceChecker {
        ids: call.messages.iter().flat_map(ids_of).collect(),
        ..PieceChecker::default()
    };
    let checked = stream::unfold((pieces, checks), |(mut pieces, mut checks)| async {
        if checks.is_over {
            // What is behind the end is not looked at, but it must come to its own end.
            if !checks.has_failed {
                pieces.next().await;
            }
            return None;
        }
        let item = pieces.next().await.unwrap_or_else(|| Err(cut()));
        let item = checks.check(item);
        Some((item, (pieces, checks)))
    });
    checked.boxed()
}

#[derive(Default)]
struct PieceChecker {
    ids: BTreeSet<String>,
    has_calls: bool,
    has_shown: bool,
    is_over: bool,
    has_failed: bool,
}

impl PieceChecker {
    fn check(
        &mut self,
        item: Result<AnswerPiece, ModelFailure>,
    ) -> Result<AnswerPiece, ModelFailure> {
        let mut piece = match item {
            Ok(piece) => piece,
            Err(failure) => return Err(self.fail(failure)),
        };
        self.has_shown |= piece.shows();
        match &mut piece {
            AnswerPiece::ToolCall { id, .. } => {
                self.has_calls = true;
                *id = self.own(std::mem::take(id));
            }
            AnswerPiece::End { finish_reason } => {
                self.is_over = true;
                // Many servers end a call of tools with `stop`.
                if self.has_calls && finish_reason == "stop" {
                    "tool_calls".clone_into(finish_reason);
                }
            }
            _ => {}
        }
        Ok(piece)
    }

    fn fail(&mut self, mut failure: ModelFailure) -> ModelFailure {
        self.is_over = true;
        self.has_failed = true;
        if self.has_shown && failure.is_repeatable() {
            failure.kind = ModelFailureKind::Broken;
        }
        failure
    }

    /// The model's id of a call if it is new, else another one. Nine letters and digits, because one provider wants
    /// exactly those and all others take them.
    fn own(&mut self, given: String) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let mut id = given;
        while id.is_empty() || self.ids.contains(&id) {
            let letters = (0..9).filter_map(|_| LETTERS.choose(&mut rand::rng()));
            id = letters.map(|letter| char::from(*letter)).collect();
        }
        self.ids.insert(id.clone());
        id
    }
}

/// The ids of calls in a message of the conversation.
fn ids_of(message: &ChatMessage) -> impl Iterator<Item = String> {
    let calls = message.tool_calls.iter().map(|call| &call.id);
    calls.chain(&message.tool_call_id).cloned()
}
