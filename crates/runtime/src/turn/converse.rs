//! The model's part: it is called until it asks for no more tools, and heard as it speaks.

use super::Turn;
use super::agent_run::AgentRun;
use super::call_plan::ModelCallPlan;
use super::instructions;
use super::model_call::{FallbackChain, ModelCallInput};
use super::offered_tools::{self, OfferedTools};
use super::tool_round::ToolRound;
use crate::error::{Error, Result};
use crate::hook::CreateResult;
use crate::journal::JournalStep;
use crate::llm;
use serde_json::Value;

/// What came of the model's part.
#[derive(Default)]
pub(super) struct Transcript {
    /// What was sent to the model, or would have been.
    pub messages: Vec<Value>,
    /// How many of them are instructions.
    pub instructions: usize,
    /// The last answer, as `payload.completion`.
    pub completion: Option<Value>,
    /// Why there is no good answer.
    pub failure: Option<StageFailure>,
}

/// A failure that `Next` may turn around.
pub(super) struct StageFailure {
    /// `build`, `llm` or `tool`.
    pub stage: &'static str,
    pub error: Error,
}

impl StageFailure {
    pub fn at(stage: &'static str) -> impl Fn(Error) -> Self {
        move |error| Self { stage, error }
    }
}

/// Calls the agent's model until it has answered. A failure is part of what was heard.
pub(super) async fn converse(turn: &mut Turn, leg: &AgentRun, created: CreateResult) -> Transcript {
    let mut heard = Transcript::default();
    turn.answers.is_structured = false;
    let talked = match ModelCallPlan::new(turn, leg, created) {
        Ok(plan) => call_until_done(turn, leg, &plan, &mut heard).await,
        Err(error) => Err(StageFailure::at("build")(error)),
    };
    if let Err(failed) = talked {
        heard.failure = Some(failed);
    }
    heard
}

async fn call_until_done(
    turn: &mut Turn,
    leg: &AgentRun,
    plan: &ModelCallPlan,
    heard: &mut Transcript,
) -> Result<(), StageFailure> {
    let mut instructions = instructions::instructions(turn, leg, plan);
    heard.instructions = instructions.messages.len();
    heard.messages.append(&mut instructions.messages);
    let own = plan.messages.as_ref().unwrap_or(&leg.messages);
    heard.messages.extend_from_slice(own);
    if !instructions.has_own && plan.servers.is_empty() && plan.client_tools.is_empty() {
        return Ok(());
    }
    let offered = offered(turn, leg, plan, heard).await?;
    let mut line = FallbackChain::of(turn, plan).map_err(StageFailure::at("build"))?;
    turn.answers.is_structured = plan.is_structured();
    let tools = offered.definitions();
    let mut asked = ModelCallInput { leg, plan, tools };
    let most = leg.agent.mcp.max_turn;
    for round in 0.. {
        turn.position = (leg.index, round);
        heard.messages.extend(turn.replay.added(leg.index, round));
        let is_last = round >= most;
        if is_last {
            turn.warn(&last_call(most));
            asked.tools.clear();
        }
        let answer = match turn.replay.answered(leg.index, round) {
            Some(answer) => answer.clone(),
            None => {
                let answer = line.ask(turn, &asked, heard).await;
                answer.map_err(StageFailure::at("llm"))?
            }
        };
        turn.answers.finish_reason.clone_from(&answer.finish_reason);
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
        turn.live_turn.set_closing(is_done).await;
        let done = is_done.then_some(&answer);
        let added = turn
            .take_added(done)
            .await
            .map_err(StageFailure::at("llm"))?;
        if is_done && !added {
            return Ok(());
        }
        turn.live_turn.set_closing(false).await;
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
    leg: &AgentRun,
    plan: &ModelCallPlan,
    heard: &mut Transcript,
) -> Result<OfferedTools, StageFailure> {
    let offered = offered_tools::offered(turn, leg, plan).await;
    let offered = offered.map_err(StageFailure::at("build"))?;
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
    leg: &AgentRun,
    (round, answer, offered): (usize, &llm::ModelAnswer, &OfferedTools),
) -> Result<Vec<Value>, StageFailure> {
    if turn.replay.answered(leg.index, round).is_none() {
        let stored = turn.store_answers_of(leg.index).await;
        stored.map_err(StageFailure::at("tool"))?;
        let step = JournalStep::Answered {
            leg: leg.index,
            round,
            answer: Box::new(answer.clone()),
            unstored: None,
        };
        turn.record(step).await.map_err(StageFailure::at("tool"))?;
        turn.reach_fault_point("turn.answered");
    }
    let work = ToolRound {
        leg,
        round,
        answer,
        offered,
    };
    work.run(turn).await.map_err(StageFailure::at("tool"))
}

/// One call of a model without an agent: a script reads what it says, and runs what it asks for.
pub(super) async fn call(
    turn: &mut Turn,
    leg: &AgentRun,
    plan: &ModelCallPlan,
) -> Result<llm::ModelAnswer> {
    let mut heard = Transcript {
        messages: leg.messages.clone(),
        ..Transcript::default()
    };
    let asked = ModelCallInput {
        leg,
        plan,
        tools: plan.client_tools.clone(),
    };
    FallbackChain::of(turn, plan)?
        .ask(turn, &asked, &mut heard)
        .await
}
