//! The model's part: it is called until it asks for no more tools, and heard as it speaks.

use super::Turn;
use super::call::{Asked, Line};
use super::leg::Leg;
use super::plan::Plan;
use super::prompt;
use super::round::Round;
use super::tools::{self, Offered};
use crate::error::{Error, Result};
use crate::hook::Created;
use crate::journal::Step;
use crate::llm;
use serde_json::Value;

/// What came of the model's part.
#[derive(Default)]
pub(super) struct Heard {
    /// What was sent to the model, or would have been.
    pub messages: Vec<Value>,
    /// How many of them are instructions.
    pub instructions: usize,
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
    let mut line = Line::of(turn, plan).map_err(Failed::at("build"))?;
    turn.said.is_structured = plan.is_structured();
    let tools = offered.definitions();
    let mut asked = Asked { leg, plan, tools };
    let most = leg.agent.mcp.max_turn;
    for round in 0.. {
        turn.at = (leg.at, round);
        heard.messages.extend(turn.replay.added(leg.at, round));
        let is_last = round >= most;
        if is_last {
            turn.warn(&last_call(most));
            asked.tools.clear();
        }
        let answer = match turn.replay.answered(leg.at, round) {
            Some(answer) => answer.clone(),
            None => {
                let answer = line.ask(turn, &asked, heard).await;
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
        let stored = turn.store_answers_of(leg.at).await;
        stored.map_err(Failed::at("tool"))?;
        let step = Step::Answered {
            leg: leg.at,
            round,
            answer: Box::new(answer.clone()),
            unstored: None,
        };
        turn.record(step).await.map_err(Failed::at("tool"))?;
        turn.reach("turn.answered");
    }
    let work = Round {
        leg,
        round,
        answer,
        offered,
    };
    work.run(turn).await.map_err(Failed::at("tool"))
}

/// One call of a model without an agent: a script reads what it says, and runs what it asks for.
pub(super) async fn call(turn: &mut Turn, leg: &Leg, plan: &Plan) -> Result<llm::Answer> {
    let mut heard = Heard {
        messages: leg.messages.clone(),
        ..Heard::default()
    };
    let asked = Asked {
        leg,
        plan,
        tools: plan.client_tools.clone(),
    };
    Line::of(turn, plan)?.ask(turn, &asked, &mut heard).await
}
