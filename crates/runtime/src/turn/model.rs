//! The model's part: it is called until it asks for no more tools, and heard as it speaks.

use super::Turn;
use super::fit::{self, Wanted};
use super::leg::Leg;
use super::plan::Plan;
use super::prompt;
use super::said::Spoken;
use super::tools::{self, Offered};
use super::voice::Voice;
use crate::app::Connector;
use crate::error::{Code, Error, Result};
use crate::event::{AfterResponse, BeforeResponse};
use crate::frame::Status;
use crate::hook::Created;
use crate::journal::Step;
use crate::llm::retry::{self, Retry};
use crate::llm::{self, capabilities};
use ambit_storage::event::EngineError;
use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;

/// What came of the model's part.
#[derive(Default)]
pub(super) struct Heard {
    /// What was sent to the model, or would have been.
    pub messages: Vec<Value>,
    /// How many of them are instructions.
    instructions: usize,
    /// The last answer, as `payload.completion`.
    pub completion: Option<Value>,
    /// Why there is no good answer.
    pub failure: Option<Failed>,
}

/// A failure that `Next` may turn around.
pub(super) struct Failed {
    /// `build`, `llm` or `tool`.
    pub stage: &'static str,
    pub error: Error,
}

impl Failed {
    pub fn at(stage: &'static str) -> impl Fn(Error) -> Self {
        move |error| Self { stage, error }
    }
}

/// Calls the agent's model until it has answered. A failure is part of what was heard.
pub(super) async fn converse(turn: &mut Turn, leg: &Leg, created: Created) -> Heard {
    let mut heard = Heard::default();
    turn.said.is_structured = false;
    let talked = match Plan::new(turn, leg, created) {
        Ok(plan) => talk(turn, leg, &plan, &mut heard).await,
        Err(error) => Err(Failed::at("build")(error)),
    };
    if let Err(failed) = talked {
        heard.failure = Some(failed);
    }
    heard
}

async fn talk(turn: &mut Turn, leg: &Leg, plan: &Plan, heard: &mut Heard) -> Result<(), Failed> {
    let mut instructions = prompt::instructions(turn, leg, plan);
    heard.instructions = instructions.messages.len();
    heard.messages.append(&mut instructions.messages);
    let own = plan.messages.as_ref().unwrap_or(&leg.messages);
    heard.messages.extend_from_slice(own);
    if !instructions.has_own && plan.servers.is_empty() && plan.client_tools.is_empty() {
        return Ok(());
    }
    let offered = offered(turn, leg, plan, heard).await?;
    let model = Model::of(turn, plan).map_err(Failed::at("build"))?;
    turn.said.is_structured = plan.is_structured();
    let most = leg.agent.mcp.max_turn;
    for round in 0.. {
        turn.at = (leg.at, round);
        heard.messages.extend(turn.replay.added(leg.at, round));
        let is_last = round >= most;
        if is_last {
            turn.warn(&last_call(most));
        }
        let answer = match turn.replay.answered(leg.at, round) {
            Some(answer) => answer.clone(),
            None => {
                let tools = match is_last {
                    true => Vec::new(),
                    false => offered.definitions(),
                };
                let answer = model.ask(turn, leg, (plan, tools), heard).await;
                answer.map_err(Failed::at("llm"))?
            }
        };
        turn.said.finish_reason.clone_from(&answer.finish_reason);
        heard.completion = Some(turn.completion(&answer));
        let is_done = is_last || answer.tool_calls.is_empty() || offered.has_client_tool(&answer);
        let runs_tools = !is_last && offered.has_own_tool(&answer);
        if runs_tools {
            heard.messages.push(answer.message());
            let results = run_tools(turn, leg, (round, &answer, &offered)).await?;
            heard.messages.extend(results);
        }
        if offered.has_client_tool(&answer) {
            // The client's results come with its next request; nothing can stand between them and their calls.
            return Ok(());
        }
        // From here on nothing comes in unless it is taken in below.
        turn.live.set_closing(is_done).await;
        let done = is_done.then_some(&answer);
        let added = turn.take_added(done).await.map_err(Failed::at("llm"))?;
        if is_done && !added {
            return Ok(());
        }
        turn.live.set_closing(false).await;
        if is_done {
            heard.messages.push(answer.message());
        }
        if !leg.agent.mcp.tool_loop && !is_done {
            return Ok(());
        }
    }
    Ok(())
}

/// What the model may call, with examples behind the instructions.
async fn offered(
    turn: &Turn,
    leg: &Leg,
    plan: &Plan,
    heard: &mut Heard,
) -> Result<Offered, Failed> {
    let offered = tools::offered(turn, leg, plan).await;
    let offered = offered.map_err(Failed::at("build"))?;
    if let Some(samples) = offered.samples(leg.agent.mcp.samples) {
        heard.messages.insert(heard.instructions, samples);
        heard.instructions += 1;
    }
    Ok(offered)
}

fn last_call(most: usize) -> String {
    format!("the limit of {most} tool rounds is reached: one last call without tools")
}

/// Makes the answer durable and runs the tools it asks for; the answer is what the model is told.
async fn run_tools(
    turn: &mut Turn,
    leg: &Leg,
    (round, answer, offered): (usize, &llm::Answer, &Offered),
) -> Result<Vec<Value>, Failed> {
    if turn.replay.answered(leg.at, round).is_none() {
        turn.store_answers().await.map_err(Failed::at("tool"))?;
        let step = Step::Answered {
            leg: leg.at,
            round,
            answer: Box::new(answer.clone()),
            unstored: None,
        };
        turn.record(step).await.map_err(Failed::at("tool"))?;
        turn.reach("turn.answered");
    }
    let work = tools::Round {
        leg,
        round,
        answer,
        offered,
    };
    work.run(turn).await.map_err(Failed::at("tool"))
}

/// A model that is about to be called.
struct Model {
    connector: Arc<Connector>,
    provider: Arc<dyn llm::Provider>,
}

/// One call.
struct Call<'a> {
    plan: &'a Plan,
    tools: Vec<Value>,
    messages: &'a [Value],
}

impl Model {
    fn of(turn: &Turn, plan: &Plan) -> Result<Self> {
        let connector = turn
            .loaded
            .app
            .model(&plan.connector)
            .map_err(|error| Error {
                code: Code::ConfigError,
                ..error
            })?;
        let provider = turn.core.models.open(&connector);
        let provider =
            provider.map_err(|failure| Error::new(Code::ConfigError, failure.message))?;
        Ok(Self {
            connector,
            provider,
        })
    }

    /// Calls the model with all that it is to see by now, as far as it fits.
    async fn ask(
        &self,
        turn: &mut Turn,
        leg: &Leg,
        (plan, tools): (&Plan, Vec<Value>),
        heard: &mut Heard,
    ) -> Result<llm::Answer> {
        let (at, round) = turn.at;
        heard.messages.extend(turn.take_appended(at, round).await?);
        let wanted = Wanted {
            plan,
            connector: &self.connector,
            tools: &tools,
            messages: &heard.messages,
            instructions: heard.instructions,
        };
        if let Some(fitting) = fit::fit(turn, leg, wanted).await? {
            heard.messages = fitting;
        }
        let call = Call {
            plan,
            tools,
            messages: &heard.messages,
        };
        self.speak(turn, leg, &call).await
    }

    /// Calls the model and shows what it says as it says it.
    async fn speak(&self, turn: &mut Turn, leg: &Leg, call: &Call<'_>) -> Result<llm::Answer> {
        let mut request = self.request(turn, call).await?;
        for note in capabilities::leave_out(&self.connector, &mut request) {
            turn.warn(&note);
        }
        if !leg.call.skip.content_parsing {
            capabilities::refuse(&self.connector, &request.messages)?;
        }
        let index = turn.said.calls;
        turn.said.calls += 1;
        let id = self.connector.id.as_str();
        let input = json!({"messages": request.messages, "tools": request.tools, "options": request.options});
        let node = turn.node(leg, "llm", id, input);
        turn.said.connector = Some(id.to_owned());
        turn.outbox.emit(
            "step_start",
            json!({"step": "llm", "index": index, "connector": id}),
        );
        let started = turn.now();
        let (answer, failure, retries) = self.listen(turn, leg, &request).await;
        for retry in retries {
            self.tell_failure(turn, retry.failure.to_string(), true)
                .await;
        }
        match &failure {
            None => node.complete(Some(answer.message())),
            Some(failure) => node.fail(&failure.message),
        }
        self.count(turn, &answer)?;
        turn.outbox.emit(
            "step_end",
            json!({
                "step": "llm", "index": index, "connector": id, "duration_ms": turn.now() - started,
                "finish_reason": answer.finish_reason, "usage": answer.usage,
            }),
        );
        if let Some(failure) = failure {
            self.tell_failure(turn, failure.message.clone(), false)
                .await;
            return Err(failure);
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
    async fn request(&self, turn: &Turn, call: &Call<'_>) -> Result<llm::Call> {
        let mut options = call.plan.options.clone();
        if call.tools.is_empty() {
            options.remove("tool_choice");
        }
        let request = llm::Call {
            messages: call.messages.to_vec(),
            tools: call.tools.clone(),
            options,
        };
        if !turn.hears::<BeforeResponse>() {
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
                Code::HookError,
                format!("a BeforeResponse listener changed the request to what is none: {error}"),
            )
        })
    }

    /// What the model says, each piece shown at once. A failure comes with what had been said before it.
    async fn listen(
        &self,
        turn: &mut Turn,
        leg: &Leg,
        request: &llm::Call,
    ) -> (llm::Answer, Option<Error>, Vec<Retry>) {
        let mut answer = llm::Answer::default();
        let (trace, mut retries) = (turn.trace.root(), Vec::new());
        let mut on_retry = |retry: &Retry| {
            let (attempt, failure) = (retry.attempt, &retry.failure);
            trace.warn(format!("call {attempt} of the model failed: {failure}"));
            retries.push(retry.clone());
        };
        let pieces = retry::call(self.provider.as_ref(), request, None, &mut on_retry).await;
        let mut pieces = match pieces {
            Ok(pieces) => pieces,
            Err(failure) => return (answer, Some(Error::from(failure)), retries),
        };
        let mut voice = Voice::new(turn.speaker(leg));
        let failure = loop {
            let said = match pieces.next().await {
                Some(Ok(piece)) => {
                    answer.take(&piece);
                    voice.say(&answer)
                }
                Some(Err(failure)) => Err(Error::from(failure)),
                None => break None,
            };
            if let Err(error) = said {
                break Some(error);
            }
        };
        let status = if failure.is_none() {
            Status::Completed
        } else {
            Status::Partial
        };
        let shown = voice.finish(status);
        let mut kept = answer.clone();
        if failure.is_some() {
            // Nobody will run what was asked for in a broken answer.
            kept.tool_calls.clear();
        }
        if !(kept.text.is_empty() && kept.reasoning.is_empty() && kept.tool_calls.is_empty())
            || (failure.is_none() && kept != llm::Answer::default())
        {
            let spoken = Spoken {
                at: turn.at,
                answer: kept,
                agent: leg.agent.id.clone(),
                shown,
            };
            turn.said.answers.push(spoken);
        }
        (answer, failure, retries)
    }

    /// Books what the call used.
    fn count(&self, turn: &mut Turn, answer: &llm::Answer) -> Result<()> {
        let Some(mut record) = answer.record(&self.connector.kind) else {
            return Ok(());
        };
        turn.said.usage.add(&answer.usage);
        record.turn_id = Some(turn.ids.request_id.clone());
        turn.session.context().usage().record(record)?;
        Ok(())
    }
}
