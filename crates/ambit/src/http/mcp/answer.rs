//! From a call to its answer: one body where it ends soon or has no place for a stream, else a stream with the call's progress.

use super::call_limit::CallPermit;
use super::message::{ProgressNotification, RpcAnswer, respond};
use super::protocol::ProtocolEra;
use super::results;
use super::rpc_error::RpcError;
use crate::auth::rate_limits::StreamPlace;
use crate::http::sse::PING;
use crate::http::sse_source::{self, SseSource};
use axum::body::Bytes;
use axum::response::Response;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// So long an answer may still be one body.
const BODY_WAIT: Duration = Duration::from_secs(1);

/// What happens to a call.
pub enum CallEvent {
    /// So many steps more are done.
    Progress(usize),
    /// It has ended, with a result unless there is no such tool.
    Ended(Result<Map<String, Value>, RpcError>),
}

/// A call that runs, and how it is answered.
pub struct RunningCall {
    /// What happens to it.
    pub events: BoxStream<'static, CallEvent>,
    /// Counts it among the caller's, together with what it has begun.
    pub _permit: Arc<CallPermit>,
    /// Held as long as it is answered, where that may be a stream. Only agents make progress that a stream could tell.
    pub place: Option<StreamPlace>,
    /// The era of its request.
    pub era: ProtocolEra,
    /// By which the client knows the answer.
    pub id: Value,
    /// By what the client knows the progress, if it wants to hear of it.
    pub progress_token: Option<Value>,
    /// How often a silent stream shows that it lives.
    pub ping: Duration,
}

/// Answers a call.
pub async fn answer(mut call: RunningCall) -> Response {
    let deadline = Instant::now() + BODY_WAIT;
    let mut steps = 0;
    loop {
        let next = call.events.next();
        let event = match call.place {
            Some(_) => timeout_at(deadline, next).await.ok().flatten(),
            None => next.await,
        };
        match event {
            Some(CallEvent::Progress(more)) => steps += more,
            Some(CallEvent::Ended(result)) => {
                let outcome = result.map(|result| results::complete(call.era, result));
                return respond(call.id, call.era, outcome);
            }
            None => break,
        }
    }
    sse_source::answer(CallSource {
        call,
        told: 0,
        untold: steps,
        has_ended: false,
    })
}

/// What the client of a call is sent.
struct CallSource {
    call: RunningCall,
    /// So many steps were told of.
    told: usize,
    /// So many are done that were not.
    untold: usize,
    has_ended: bool,
}

impl SseSource for CallSource {
    const WHAT: &'static str = "the stream of a tool's call";

    async fn next(&mut self) -> ambit_runtime::Result<Option<(Bytes, bool)>> {
        loop {
            if self.has_ended {
                return Ok(None);
            }
            if let Some(progress) = self.progress() {
                return Ok(Some((progress, false)));
            }
            match timeout(self.call.ping, self.call.events.next()).await {
                Err(_silent) => return Ok(Some((PING, false))),
                Ok(Some(CallEvent::Progress(more))) => self.untold += more,
                Ok(Some(CallEvent::Ended(result))) => {
                    self.has_ended = true;
                    let (id, era) = (self.call.id.clone(), self.call.era);
                    let outcome = result.map(|result| results::complete(era, result));
                    let answer = RpcAnswer::of(id, era, outcome);
                    return Ok(Some((event(&answer), true)));
                }
                Ok(None) => self.has_ended = true,
            }
        }
    }
}

impl CallSource {
    /// The next step, where the client wants to hear of steps.
    fn progress(&mut self) -> Option<Bytes> {
        let token = self.call.progress_token.as_ref()?;
        self.untold = self.untold.checked_sub(1)?;
        self.told += 1;
        Some(event(&ProgressNotification::of(token, self.told as u64)))
    }
}

fn event(message: &impl Serialize) -> Bytes {
    // Only a map with keys that are no text could fail.
    let text = serde_json::to_string(message).unwrap_or_default();
    format!("event: message\ndata: {text}\n\n").into()
}
