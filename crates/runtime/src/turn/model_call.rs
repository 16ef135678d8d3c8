//! One answer of a model: it is called, and what it says is shown as it says it. Where it fails before it has said anything, the
//! connectors that stand in for it are called one after the other.

mod answer_writer;
mod manifest;
mod result;
mod step;
mod summary;

use super::Turn;
use super::agent_run::AgentRun;
use super::answers::AnswerRecord;
use super::converse::{self, Transcript};
use super::create::ModelCallPlan;
use super::media;
use super::model_input::{self, ModelCallDraft};
use super::request_context::RequestContext;
use super::tools::OfferedTools;
use super::usage::UsageMeter;
use crate::app::Connector;
use crate::call_metrics::ModelCallMeter;
use crate::chat::{ChatMessage, DroppedParts, ReasoningPart, ToolDefinition};
use crate::error::{Error, ErrorCode, Result};
use crate::event::{AfterResponse, BeforeResponse};
use crate::frame::MessageStatus;
use crate::journal::{JournalStep, UnstoredAnswer};
use crate::llm::retry::{self, RetryNotice};
use crate::llm::{
    AnswerPiece, AnswerStream, FailureLog, ModelAnswer, ModelCall, Provider, capabilities,
    reasoning_parts,
};
use ambit_storage::event::EngineError;
use answer_writer::AnswerWriter;
use futures::StreamExt;
use manifest::SentCall;
use result::{ModelCallFailure, ModelCallResult};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use step::ModelCallStep;
pub(super) use step::ModelCallTrace;
pub(super) use summary::observed_truncation;

/// The connector that an agent's run asks, and those that are left to stand in for it. One that has failed is not asked again
/// in the same run.
pub(super) struct FallbackChain {
    connector: Arc<Connector>,
    provider: Arc<dyn Provider>,
    others: VecDeque<Arc<Connector>>,
    is_fallback: bool,
}

/// What a model is asked, whichever it is.
pub(super) struct ModelCallInput<'a> {
    pub run: &'a AgentRun,
    pub plan: &'a ModelCallPlan,
    pub tools: Vec<ToolDefinition>,
    /// Where these come from, unless a script gives them.
    pub offered: Option<&'a OfferedTools>,
}

/// A call that can be encoded.
struct PreparedCall {
    call: ModelCall,
    /// What would have been part of it.
    dropped: Vec<DroppedParts>,
}

/// An answer that comes in pieces.
struct AnswerInProgress<'a> {
    input: &'a ModelCallInput<'a>,
    call: &'a ModelCall,
    trace: &'a ModelCallTrace,
    pieces: AnswerStream,
}

impl FallbackChain {
    pub fn of(context: &RequestContext, plan: &ModelCallPlan) -> Result<Self> {
        let models = context.loaded.app.models(plan.connector());
        let (connector, others) = models.map_err(|error| Error {
            code: ErrorCode::ConfigError,
            ..error
        })?;
        Ok(Self {
            provider: open(context, &connector)?,
            connector,
            others: others.into(),
            is_fallback: false,
        })
    }

    /// All connectors that may be asked.
    pub fn connectors(&self) -> Vec<Arc<Connector>> {
        let first = std::iter::once(&self.connector);
        first.chain(&self.others).cloned().collect()
    }

    /// Asks one connector after the other with all that a model is to see by now, as far as it fits.
    pub async fn ask(
        &mut self,
        turn: &mut Turn,
        input: &ModelCallInput<'_>,
        transcript: &mut Transcript,
    ) -> Result<ModelAnswer> {
        let added = turn.take_appended().await?;
        transcript.messages.extend(converse::appended(added));
        loop {
            match self.call(turn, input, transcript).await {
                Ok(answer) => return Ok(answer),
                Err(ModelCallFailure::Final(error)) => return Err(error),
                Err(ModelCallFailure::TryNext(error)) => self.fall_back(turn, error)?,
            }
        }
    }

    /// Goes on to the next connector that can be opened. Without one, the last failure stands.
    fn fall_back(&mut self, turn: &Turn, mut error: Error) -> Result<()> {
        while let Some(next) = self.others.pop_front() {
            turn.output.warn(&format!(
                "{error}; connector \"{}\" is asked instead",
                next.id
            ));
            tracing::warn!(
                request.id = turn.context.id(),
                connector.id = self.connector.id,
                connector.next = next.id,
                error.code = %error.code,
                error.message = turn.context.unlogged(&error),
                "another model is asked"
            );
            match open(&turn.context, &next) {
                Ok(provider) => {
                    (self.connector, self.provider) = (next, provider);
                    self.is_fallback = true;
                    return Ok(());
                }
                Err(other) => error = other,
            }
        }
        Err(error)
    }

    /// Calls the model of the present connector, and shows what it says as it says it.
    async fn call(
        &self,
        turn: &mut Turn,
        input: &ModelCallInput<'_>,
        transcript: &mut Transcript,
    ) -> Result<ModelAnswer, ModelCallFailure> {
        let PreparedCall { mut call, dropped } = self.prepare(turn, input, transcript).await?;
        let mut step = ModelCallStep::begin(turn, input.run, &self.connector, &call);
        call.trace = step.trace().outgoing();
        let (mut retries, began) = (Vec::new(), step.began());
        let trace = turn.output.root.clone();
        let meter = ModelCallMeter::begin(turn.context.core.metrics(), &self.connector.id);
        let log = FailureLog::new(turn.context.disclosure(), &self.connector, &call);
        let mut on_retry = |retry: &RetryNotice| {
            meter.retry();
            let retry = log.retried(retry);
            let (attempt, failure) = (retry.attempt, &retry.failure);
            trace.warn(format!("call {attempt} of the model failed: {failure}"));
            retries.push(retry.failed(began));
        };
        let provider = self.provider.as_ref();
        let begun = match provider.encode(&call) {
            Ok(encoded) => {
                let sent = SentCall::new(input, &self.connector, &encoded, dropped);
                manifest::note(turn, &step, &sent);
                let deadline = turn.context.deadline;
                retry::call(provider, &encoded, deadline, &mut on_retry).await
            }
            Err(failure) => Err(failure),
        };
        let result = match begun {
            Ok(pieces) => {
                meter.answered();
                step.answered(turn);
                let reading = AnswerInProgress {
                    input,
                    call: &call,
                    trace: step.trace(),
                    pieces,
                };
                self.read_answer(turn, reading).await
            }
            Err(failure) => ModelCallResult::failed(log.failed(failure), !self.others.is_empty()),
        };
        meter.end(result.failure.as_ref().map(|failure| &failure.error().code));
        for failed in &retries {
            let error = failed.error.clone();
            self.announce_failure(turn, error, true).await;
        }
        step.end(turn, &result, &retries);
        let answer = result.answer;
        if let Some(failure) = result.failure {
            let message = failure.error().message.clone();
            self.announce_failure(turn, message, failure.is_retried())
                .await;
            return Err(failure);
        }
        let event = AfterResponse {
            about: turn.context.about(),
            response: answer.message(),
        };
        turn.context.announce(event).await;
        turn.persist_usage().await?;
        Ok(answer)
    }

    /// What the model is sent: the messages as far as they fit and as the connector takes them, and as listeners leave them.
    async fn prepare(
        &self,
        turn: &mut Turn,
        input: &ModelCallInput<'_>,
        transcript: &mut Transcript,
    ) -> Result<PreparedCall, ModelCallFailure> {
        let draft = ModelCallDraft {
            plan: input.plan,
            connector: &self.connector,
            tools: &input.tools,
            messages: &transcript.messages,
            instructions: transcript.instructions,
            is_fallback: self.is_fallback,
        };
        let fitting = model_input::fit(turn, input.run, draft).await;
        if let Some(fitting) = fitting.map_err(|error| self.refusal(error))? {
            transcript.messages = fitting.messages;
            if let Some(view) = fitting.view {
                transcript.left_out.view = view;
            }
            transcript.left_out.other.extend(fitting.truncated);
        }
        let replaced = media::replace(turn, input, &self.connector, &mut transcript.messages).await;
        replaced.map_err(|error| self.refusal(error))?;
        let mut call = input.call(&turn.context, &transcript.messages).await?;
        reasoning_parts::keep_own(&mut call.messages, &self.connector.id);
        let mut dropped: Vec<DroppedParts> = transcript.left_out.all().cloned().collect();
        for missing in capabilities::leave_out(&self.connector, &mut call) {
            turn.output.warn(&missing.note);
            dropped.push(missing.dropped);
        }
        if !input.run.skip.content_parsing {
            let refused = capabilities::refuse(&self.connector, &call.messages);
            refused.map_err(|error| self.refusal(error))?;
        }
        Ok(PreparedCall { call, dropped })
    }

    /// A call that is too much for the agent's own connector is refused; a fallback that cannot take it is passed over.
    fn refusal(&self, error: Error) -> ModelCallFailure {
        let is_of_connector = matches!(
            error.code,
            ErrorCode::LimitExceeded | ErrorCode::InvalidArgument
        );
        match self.is_fallback && is_of_connector {
            true => ModelCallFailure::TryNext(error),
            false => ModelCallFailure::Final(error),
        }
    }

    /// Reads what the model says, each piece shown at once. A failure comes with what had been said before it.
    async fn read_answer(&self, turn: &mut Turn, reading: AnswerInProgress<'_>) -> ModelCallResult {
        let AnswerInProgress {
            input,
            call,
            trace,
            mut pieces,
        } = reading;
        let run = input.run;
        let log = FailureLog::new(turn.context.disclosure(), &self.connector, call);
        let mut writer = AnswerWriter::new(turn.agent_outbox(run), turn.context.is_nested());
        writer.client_tools.clone_from(&input.plan.call.tools);
        let mut meter = UsageMeter::start(turn, call, &self.connector, trace.clone());
        let failure = loop {
            let shown = match pieces.next().await {
                Some(Ok(piece)) => {
                    meter.answer.take(&piece);
                    if let AnswerPiece::ReasoningPart(part) = &piece {
                        self.tell_reasoning_part(turn, run, part);
                    }
                    writer.show(&meter.answer)
                }
                Some(Err(failure)) => Err(log.failed(failure).into()),
                None => break None,
            };
            if let Err(error) = shown {
                break Some(error);
            }
        };
        let mut answer = meter.finish();
        reasoning_parts::mark(&mut answer, &self.connector.id);
        // Before the answer is noted: what is gone on with behind a call is not there without what it has used.
        let booked = turn
            .journal
            .usage
            .book(&answer, &self.connector, turn.context.purpose);
        let (cost, booked) = match booked {
            Ok(cost) => (cost, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let noted = match failure {
            None => booked.and_then(|()| turn.note_answer(run, &answer, writer.shown())),
            Some(_) => booked,
        };
        let failure = failure.or(noted.err());
        let status = match failure {
            None => MessageStatus::Completed,
            Some(_) => MessageStatus::Partial,
        };
        let record = AnswerRecord {
            answer: answer.clone(),
            agent: run.agent.id.clone(),
            shown: writer.finish(status),
        };
        turn.output.keep_answer(record, status);
        ModelCallResult {
            answer,
            cost,
            failure: failure.map(ModelCallFailure::Final),
        }
    }

    /// Tells what the provider wants back to a client that brings it along again.
    fn tell_reasoning_part(&self, turn: &Turn, run: &AgentRun, part: &ReasoningPart) {
        let context = &turn.context;
        if context.request.tells_reasoning_parts && !context.is_nested() {
            let mut part = part.clone();
            part.set_connector(&self.connector.id);
            let told = json!({"part": part});
            turn.agent_outbox(run).emit("reasoning_part", told);
        }
    }

    async fn announce_failure(&self, turn: &Turn, error: String, retried: bool) {
        let event = EngineError {
            about: turn.context.about(),
            provider: self.connector.kind.clone(),
            error,
            retried,
        };
        turn.context.announce(event).await;
    }
}

impl ModelCallInput<'_> {
    /// The call with these messages, as listeners leave it.
    async fn call(&self, context: &RequestContext, messages: &[ChatMessage]) -> Result<ModelCall> {
        let mut options = self.plan.call.generation.clone();
        if self.tools.is_empty() {
            options.remove("tool_choice");
        }
        let call = ModelCall {
            messages: messages.to_vec(),
            tools: self.tools.clone(),
            options,
            trace: None,
        };
        if !context.has_listener::<BeforeResponse>() {
            return Ok(call);
        }
        let event = BeforeResponse {
            about: context.about(),
            request: call.clone(),
        };
        let asked = context.ask(event).await?.request;
        Ok(manifest::with_origins(context, asked, &call))
    }
}

impl Turn {
    /// Notes an answer that asks for nothing, before anybody is told that it is whole: whoever goes on with the turn does not
    /// ask for it again.
    fn note_answer(
        &mut self,
        run: &AgentRun,
        answer: &ModelAnswer,
        shown: &[String],
    ) -> Result<()> {
        // What was not shown could not be told from what is stored; calls are open until the answer is.
        if shown.is_empty() || !answer.tool_calls.is_empty() {
            return Ok(());
        }
        let position = self.journal.position;
        self.journal.note(JournalStep::Answered {
            run: position.run,
            round: position.round,
            answer: Box::new(answer.clone()),
            unstored: Some(UnstoredAnswer {
                agent: run.agent.id.clone(),
                shown: shown.to_vec(),
            }),
        })
    }
}

fn open(context: &RequestContext, connector: &Arc<Connector>) -> Result<Arc<dyn Provider>> {
    let provider = context.core.models.open(connector);
    provider.map_err(|failure| Error::new(ErrorCode::ConfigError, failure.message))
}
