//! One answer: a model is called and heard as it speaks. Where it fails before it has said anything, the connectors that stand
//! in for it are called one after the other.

use super::Turn;
use super::agent_run::AgentRun;
use super::answer_writer::AnswerWriter;
use super::call_plan::ModelCallPlan;
use super::context_window::{self, ModelCallDraft};
use super::converse::Transcript;
use super::media;
use super::turn_answers;
use super::usage::UsageMeter;
use crate::app::Connector;
use crate::error::{Error, ErrorCode, Result};
use crate::event::{AfterResponse, BeforeResponse};
use crate::frame::MessageStatus;
use crate::journal::{JournalStep, UnstoredAnswer};
use crate::llm::retry::{self, RetryNotice};
use crate::llm::{self, ModelAnswer, capabilities, reasoning_parts};
use ambit_storage::event::EngineError;
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// The connector that a leg asks, and those that are left to stand in for it. One that has failed is not asked again while
/// the leg lasts.
pub(super) struct FallbackChain {
    connector: Arc<Connector>,
    provider: Arc<dyn llm::Provider>,
    others: VecDeque<Arc<Connector>>,
    is_fallback: bool,
}

/// What a model is asked, whichever it is.
pub(super) struct ModelCallInput<'a> {
    pub leg: &'a AgentRun,
    pub plan: &'a ModelCallPlan,
    pub tools: Vec<Value>,
}

/// Why there is no answer.
enum ModelCallFailure {
    /// This connector has none, and has shown nothing: another may have one.
    TryNext(Error),
    /// No other connector may be asked.
    Final(Error),
}

impl From<Error> for ModelCallFailure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// What was heard of one call.
struct ModelCallResult {
    answer: ModelAnswer,
    failure: Option<ModelCallFailure>,
    retries: Vec<RetryNotice>,
}

impl FallbackChain {
    pub fn of(turn: &Turn, plan: &ModelCallPlan) -> Result<Self> {
        let models = turn.loaded.app.models(&plan.connector);
        let (connector, others) = models.map_err(|error| Error {
            code: ErrorCode::ConfigError,
            ..error
        })?;
        Ok(Self {
            provider: open(turn, &connector)?,
            connector,
            others: others.into(),
            is_fallback: false,
        })
    }

    /// Asks one connector after the other with all that a model is to see by now, as far as it fits.
    pub async fn ask(
        &mut self,
        turn: &mut Turn,
        asked: &ModelCallInput<'_>,
        heard: &mut Transcript,
    ) -> Result<ModelAnswer> {
        let (at, round) = turn.position;
        heard.messages.extend(turn.take_appended(at, round).await?);
        loop {
            match self.attempt(turn, asked, heard).await {
                Ok(answer) => return Ok(answer),
                Err(ModelCallFailure::Final(error)) => return Err(error),
                Err(ModelCallFailure::TryNext(error)) => self.fall_back(turn, error)?,
            }
        }
    }

    /// Goes on to the next connector that can be opened. Without one, the last failure is the turn's.
    fn fall_back(&mut self, turn: &Turn, mut error: Error) -> Result<()> {
        while let Some(next) = self.others.pop_front() {
            turn.warn(&format!(
                "{error}; connector \"{}\" is asked instead",
                next.id
            ));
            tracing::warn!(
                turn.id = turn.ids.request_id,
                connector.id = self.connector.id,
                connector.next = next.id,
                %error,
                "another model is asked"
            );
            match open(turn, &next) {
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

    async fn attempt(
        &self,
        turn: &mut Turn,
        asked: &ModelCallInput<'_>,
        heard: &mut Transcript,
    ) -> Result<ModelAnswer, ModelCallFailure> {
        let wanted = ModelCallDraft {
            plan: asked.plan,
            connector: &self.connector,
            tools: &asked.tools,
            messages: &heard.messages,
            instructions: heard.instructions,
        };
        let fitting = context_window::fit(turn, asked.leg, wanted).await;
        if let Some(fitting) = fitting.map_err(|error| self.classify_refusal(error))? {
            heard.messages = fitting;
        }
        let read = media::replace(turn, asked, (&self.connector, &mut heard.messages)).await;
        read.map_err(|error| self.classify_refusal(error))?;
        let mut request = self.request(turn, asked, &heard.messages).await?;
        reasoning_parts::keep_own(&mut request.messages, &self.connector.id);
        for note in capabilities::leave_out(&self.connector, &mut request) {
            turn.warn(&note);
        }
        if !asked.leg.call.skip.content_parsing {
            let refused = capabilities::refuse(&self.connector, &request.messages);
            refused.map_err(|error| self.classify_refusal(error))?;
        }
        self.call_model(turn, asked.leg, &request).await
    }

    /// A request that is too much for the agent's own connector is refused; a fallback that cannot take it is passed over.
    fn classify_refusal(&self, error: Error) -> ModelCallFailure {
        let is_its_own = matches!(
            error.code,
            ErrorCode::LimitExceeded | ErrorCode::InvalidArgument
        );
        match self.is_fallback && is_its_own {
            true => ModelCallFailure::TryNext(error),
            false => ModelCallFailure::Final(error),
        }
    }

    /// Calls the model and shows what it says as it says it.
    async fn call_model(
        &self,
        turn: &mut Turn,
        leg: &AgentRun,
        request: &llm::ModelCall,
    ) -> Result<ModelAnswer, ModelCallFailure> {
        let index = turn.answers.calls;
        turn.answers.calls += 1;
        let id = self.connector.id.as_str();
        let input = [
            ("messages", Value::Array(request.messages.clone())),
            ("tools", Value::Array(request.tools.clone())),
            ("options", Value::Object(request.options.clone())),
        ];
        let input = input.map(|(name, value)| (name.to_owned(), value));
        let node = turn.node(leg, "llm", id, Value::Object(input.into_iter().collect()));
        turn.answers.connector = Some(id.to_owned());
        turn.outbox.emit(
            "step_start",
            json!({"step": "llm", "index": index, "connector": id}),
        );
        let started = turn.now();
        let spoke = self.read_answer(turn, leg, request).await;
        let answer = spoke.answer;
        for retry in spoke.retries {
            self.tell_failure(turn, retry.failure.to_string(), true)
                .await;
        }
        match &spoke.failure {
            None => node.complete(Some(answer.message())),
            Some(missed) => node.fail(&missed.error().message),
        }
        turn.outbox.emit(
            "step_end",
            json!({
                "step": "llm", "index": index, "connector": id, "duration_ms": turn.now() - started,
                "finish_reason": answer.finish_reason, "usage": answer.usage,
            }),
        );
        if let Some(missed) = spoke.failure {
            let is_retried =
                matches!(missed, ModelCallFailure::TryNext(_)) && !self.others.is_empty();
            self.tell_failure(turn, missed.error().message.clone(), is_retried)
                .await;
            return Err(missed);
        }
        turn.announce(AfterResponse {
            about: turn.about(),
            response: answer.message(),
        })
        .await;
        turn.persist_usage().await?;
        Ok(answer)
    }

    async fn tell_failure(&self, turn: &Turn, error: String, retried: bool) {
        turn.announce(EngineError {
            about: turn.about(),
            provider: self.connector.kind.clone(),
            error,
            retried,
        })
        .await;
    }

    /// The call as listeners leave it.
    async fn request(
        &self,
        turn: &Turn,
        asked: &ModelCallInput<'_>,
        messages: &[Value],
    ) -> Result<llm::ModelCall> {
        let mut options = asked.plan.options.clone();
        if asked.tools.is_empty() {
            options.remove("tool_choice");
        }
        let request = llm::ModelCall {
            messages: messages.to_vec(),
            tools: asked.tools.clone(),
            options,
        };
        if !turn.has_listener::<BeforeResponse>() {
            return Ok(request);
        }
        let request =
            serde_json::to_value(&request).map_err(|error| Error::internal(error.to_string()))?;
        let event = turn
            .ask(BeforeResponse {
                about: turn.about(),
                request,
            })
            .await?;
        serde_json::from_value(event.request).map_err(|error| {
            Error::new(
                ErrorCode::HookError,
                format!("a BeforeResponse listener changed the request to what is none: {error}"),
            )
        })
    }

    /// What the model says, each piece shown at once. A failure comes with what had been said before it.
    async fn read_answer(
        &self,
        turn: &mut Turn,
        leg: &AgentRun,
        request: &llm::ModelCall,
    ) -> ModelCallResult {
        let (trace, mut retries) = (turn.root(), Vec::new());
        let mut on_retry = |retry: &RetryNotice| {
            let (attempt, failure) = (retry.attempt, &retry.failure);
            trace.warn(format!("call {attempt} of the model failed: {failure}"));
            retries.push(retry.clone());
        };
        let provider = self.provider.as_ref();
        let begun = retry::call(provider, request, turn.deadline, &mut on_retry).await;
        let mut pieces = match begun {
            Ok(pieces) => pieces,
            Err(failure) => {
                let missed = match failure.is_of_connector() {
                    true => ModelCallFailure::TryNext,
                    false => ModelCallFailure::Final,
                };
                return ModelCallResult {
                    answer: ModelAnswer::default(),
                    failure: Some(missed(failure.into())),
                    retries,
                };
            }
        };
        let mut voice = AnswerWriter::new(turn.speaker(leg), turn.parent.is_some());
        let mut meter = UsageMeter::start(turn, request, &self.connector.kind);
        let failure = loop {
            let said = match pieces.next().await {
                Some(Ok(piece)) => {
                    meter.answer.take(&piece);
                    voice.say(&meter.answer)
                }
                Some(Err(failure)) => Err(Error::from(failure)),
                None => break None,
            };
            if let Err(error) = said {
                break Some(ModelCallFailure::Final(error));
            }
        };
        let mut answer = meter.finish();
        reasoning_parts::mark(&mut answer, &self.connector.id);
        // Before the answer is noted: what is gone on with behind a call is not there without what it has used.
        let booked = turn.usage.book(&answer, &self.connector.kind);
        let noted = match failure {
            None => booked.and_then(|()| self.note(turn, leg, (&answer, voice.shown()))),
            Some(_) => booked,
        };
        let failure = failure.or(noted.err().map(ModelCallFailure::Final));
        let status = match failure {
            None => MessageStatus::Completed,
            Some(_) => MessageStatus::Partial,
        };
        turn_answers::keep_answer(turn, leg, (&answer, status), voice.finish(status));
        ModelCallResult {
            answer,
            failure,
            retries,
        }
    }
}

impl FallbackChain {
    /// Notes an answer that asks for nothing, before anybody is told that it is whole: whoever goes on with the turn does not
    /// ask for it again.
    fn note(
        &self,
        turn: &mut Turn,
        leg: &AgentRun,
        (answer, shown): (&ModelAnswer, &[String]),
    ) -> Result<()> {
        // What was not shown could not be told from what is stored; calls are open until the answer is.
        if shown.is_empty() || !answer.tool_calls.is_empty() {
            return Ok(());
        }
        let (at, round) = turn.position;
        turn.note(JournalStep::Answered {
            leg: at,
            round,
            answer: Box::new(answer.clone()),
            unstored: Some(UnstoredAnswer {
                agent: leg.agent.id.clone(),
                shown: shown.to_vec(),
            }),
        })
    }
}

fn open(turn: &Turn, connector: &Arc<Connector>) -> Result<Arc<dyn llm::Provider>> {
    let provider = turn.core.models.open(connector);
    provider.map_err(|failure| Error::new(ErrorCode::ConfigError, failure.message))
}

impl ModelCallFailure {
    fn error(&self) -> &Error {
        match self {
            Self::TryNext(error) | Self::Final(error) => error,
        }
    }
}
