//! The model's part of an agent's run: model calls and rounds of tool calls, until the model asks for no more.

use super::Turn;
use super::agent_run::AgentRun;
use super::create::ModelCallPlan;
use super::model_call::{FallbackChain, ModelCallInput};
use super::model_input;
use super::tool_round::ToolRound;
use super::tools::OfferedTools;
use crate::chat::{ChatMessage, Role};
use crate::error::{Error, Result};
use crate::hook::CreateResult;
use crate::journal::RoundPosition;
use crate::llm::{ModelAnswer, ModelCompletion};
use crate::search::AutomaticSearch;

/// What came of the model's part.
#[derive(Default)]
pub(super) struct Transcript {
    /// What was sent to the model, or would have been.
    pub messages: Vec<ChatMessage>,
    /// How many of them are instructions.
    pub instructions: usize,
    /// The last answer, as `payload.completion`.
    pub completion: Option<ModelCompletion>,
    /// What was searched for before the call, as `payload.search`.
    pub search: Option<Box<AutomaticSearch>>,
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

/// What the model of an agent is called with in every round.
pub(super) struct ModelSetup {
    plan: ModelCallPlan,
    pub offered: OfferedTools,
}

impl Turn {
    /// Calls the agent's model, and the tools that it asks for, until it has answered.
    pub(super) async fn converse(
        &mut self,
        run: &AgentRun,
        created: CreateResult,
        transcript: &mut Transcript,
    ) -> Result<(), StageFailure> {
        self.output.answers.is_structured = false;
        let setup = self.prepare(run, created, transcript).await;
        let Some(setup) = setup.map_err(StageFailure::at("build"))? else {
            return Ok(());
        };
        let chain = FallbackChain::of(&self.context, &setup.plan);
        let mut chain = chain.map_err(StageFailure::at("build"))?;
        let mut input = ModelCallInput {
            run,
            plan: &setup.plan,
            tools: setup.offered.definitions(),
        };
        let models = chain.connectors();
        let mut position = RoundPosition::first(run.index);
        // What comes in during the search belongs to the first round, and is what is searched for then.
        self.enter_round(position, transcript);
        self.search_before_model(&input, &models, transcript).await;
        self.output.answers.is_structured = setup.plan.call.generation.is_structured();
        loop {
            let is_last = self.is_last_round(run, position);
            if is_last {
                input.tools.clear();
            }
            let answer = match self.journal.replay.answered(position) {
                Some(answer) => answer.clone(),
                None => {
                    let answer = chain.ask(self, &input, transcript).await;
                    answer.map_err(StageFailure::at("llm"))?
                }
            };
            self.take_answer(&answer, transcript);
            if !is_last && setup.offered.has_own_tool(&answer) {
                let round = ToolRound {
                    run,
                    position,
                    answer: &answer,
                    offered: &setup.offered,
                };
                let ran = round.run(self, &mut transcript.messages).await;
                ran.map_err(StageFailure::at("tool"))?;
            }
            if setup.offered.has_client_tool(&answer) {
                // The client's results come with its next request; nothing can stand between them and their calls.
                return Ok(());
            }
            let is_done = is_last || answer.tool_calls.is_empty();
            let goes_on = self.goes_on(&answer, is_done).await;
            if !goes_on.map_err(StageFailure::at("llm"))? {
                return Ok(());
            }
            if is_done {
                transcript.messages.push(answer.message());
            } else if !run.agent.package.mcp.options.tool_loop {
                return Ok(());
            }
            position = position.next();
            self.enter_round(position, transcript);
        }
    }

    /// Enters a round: what came in before it is part of the conversation from here on.
    fn enter_round(&mut self, position: RoundPosition, transcript: &mut Transcript) {
        self.journal.position = position;
        let added = self.journal.replay.added(position);
        transcript.messages.extend(added);
    }

    /// The plan, with the messages and the tools that follow from it. `None` where there is nothing to ask the model.
    pub(super) async fn prepare(
        &self,
        run: &AgentRun,
        created: CreateResult,
        transcript: &mut Transcript,
    ) -> Result<Option<ModelSetup>> {
        let plan = ModelCallPlan::new(&self.context, run, created)?;
        let mut instructions = model_input::instructions(&self.context, &self.output, run, &plan);
        transcript.instructions = instructions.messages.len();
        transcript.messages.append(&mut instructions.messages);
        if let (Some(text), 0) = (&self.context.request.instructions, run.index) {
            let own = ChatMessage::new(Role::Developer, text.as_str());
            transcript.messages.push(own);
            transcript.instructions += 1;
            instructions.has_own = true;
        }
        let messages = plan.messages.as_ref().unwrap_or(&run.messages);
        transcript.messages.extend_from_slice(messages);
        if !instructions.has_own && plan.servers().is_empty() && plan.call.tools.is_empty() {
            return Ok(None);
        }
        let offered = OfferedTools::list(self, run, &plan).await?;
        if let Some(samples) = offered.samples(run.agent.package.mcp.options.samples) {
            transcript.messages.insert(transcript.instructions, samples);
            transcript.instructions += 1;
        }
        Ok(Some(ModelSetup { plan, offered }))
    }

    /// Whether no more tools may be called.
    fn is_last_round(&self, run: &AgentRun, position: RoundPosition) -> bool {
        let most = run.agent.package.mcp.options.max_turn;
        let is_last = position.round >= most;
        if is_last {
            self.output.warn(&format!(
                "the limit of {most} tool rounds is reached: one last call without tools"
            ));
        }
        is_last
    }

    fn take_answer(&mut self, answer: &ModelAnswer, transcript: &mut Transcript) {
        let finish_reason = &mut self.output.answers.finish_reason;
        finish_reason.clone_from(&answer.finish_reason);
        let usage = self.journal.usage.tokens();
        transcript.completion = Some(self.output.completion(answer, &usage));
    }

    /// Takes in what came in during the round. Whether another round follows.
    async fn goes_on(&mut self, answer: &ModelAnswer, is_done: bool) -> Result<bool> {
        // From here on nothing comes in unless it is taken in below.
        self.context.live.set_closing(is_done).await;
        let has_added = self.take_added(is_done.then_some(answer)).await?;
        if is_done && !has_added {
            return Ok(false);
        }
        self.context.live.set_closing(false).await;
        Ok(true)
    }

    /// One call of a model without an agent: a script reads what it says, and runs what it asks for.
    pub(super) async fn call_model(
        &mut self,
        run: &AgentRun,
        plan: &ModelCallPlan,
    ) -> Result<ModelAnswer> {
        let mut transcript = Transcript {
            messages: run.messages.clone(),
            ..Transcript::default()
        };
        let input = ModelCallInput {
            run,
            plan,
            tools: plan.call.tools.clone(),
        };
        let mut chain = FallbackChain::of(&self.context, plan)?;
        chain.ask(self, &input, &mut transcript).await
    }
}
