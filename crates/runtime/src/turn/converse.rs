//! The model's part of an agent's run: model calls and rounds of tool calls, until the model asks for no more.

use super::Turn;
use super::agent_run::AgentRun;
use super::create::ModelCallPlan;
use super::model_call::{FallbackChain, ModelCallInput};
use super::model_input;
use super::omissions::{Omissions, leave_out_chat};
use super::recent_messages::{self, SCRIPT_LIMITS};
use super::tool_round::ToolRound;
use super::tools::OfferedTools;
use crate::chat::{
    BlockKind, BlockSource, BlockVia, ChatMessage, DroppedMessages, DroppedParts, Role,
    ToolDefinition,
};
use crate::error::{Error, Result};
use crate::hook::CreateResult;
use crate::journal::RoundPosition;
use crate::llm::{ModelAnswer, ModelCompletion};
use crate::search::AutomaticSearch;
use std::cell::LazyCell;

/// What came of the model's part.
#[derive(Default)]
pub(super) struct Transcript {
    /// What was sent to the model, or would have been.
    pub messages: Vec<ChatMessage>,
    /// How many of them are instructions.
    pub instructions: usize,
    /// What is not among them.
    pub left_out: Omissions,
    /// The last answer, as `payload.completion`.
    pub completion: Option<ModelCompletion>,
    /// What was searched for before the call, as `payload.search`.
    pub search: Option<Box<AutomaticSearch>>,
}

impl Transcript {
    /// Has no more tools called.
    fn leave_out_tools(&mut self, tools: &mut Vec<ToolDefinition>) {
        if !tools.is_empty() {
            let names = tools.iter().map(|tool| tool.name.as_str());
            let dropped = DroppedParts::tools(names, "max_turn");
            self.left_out.other.push(dropped);
            tools.clear();
        }
    }
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
            offered: Some(&setup.offered),
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
                transcript.leave_out_tools(&mut input.tools);
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
                let said = self.output.answers.message(&answer);
                transcript.messages.push(said);
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
        transcript.messages.extend(appended(added));
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
        transcript.left_out = run.left_out.clone();
        if instructions.without_global > 0 {
            let count = u64::try_from(instructions.without_global).ok();
            let dropped = DroppedParts::messages(BlockKind::Global, "global_disabled", count);
            transcript.left_out.other.push(dropped);
        }
        if let (Some(text), 0) = (&self.context.request.instructions, run.index) {
            let own = ChatMessage::new(Role::Developer, text.as_str());
            let own = own.with_source(BlockKind::Request, BlockSource::default());
            transcript.messages.push(own);
            transcript.instructions += 1;
            instructions.has_own = true;
        }
        match &plan.messages {
            Some(created) => {
                let (created, left_out) = run.created(created);
                transcript.messages.extend(created);
                transcript.left_out.other.extend(left_out);
            }
            None => transcript.messages.extend_from_slice(&run.messages),
        }
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
        let step = self.context.builtin_step.as_deref();
        let (kind, source) = match step.or(self.context.purpose) {
            Some(name) => {
                let name = Some(name.to_owned());
                let other = BlockSource::default();
                (BlockKind::Builtin, BlockSource { name, ..other })
            }
            None => (BlockKind::Hook, run.hooks.source("ctx.llm", &run.node)),
        };
        let messages = run.messages.iter().cloned();
        let messages = messages.map(|message| message.with_source(kind, source.clone()));
        let mut transcript = Transcript {
            messages: messages.collect(),
            ..Transcript::default()
        };
        let input = ModelCallInput {
            run,
            plan,
            tools: plan.call.tools.clone(),
            offered: None,
        };
        let mut chain = FallbackChain::of(&self.context, plan)?;
        chain.ask(self, &input, &mut transcript).await
    }
}

/// Messages that came in while the turn ran.
pub(super) fn appended(
    messages: impl IntoIterator<Item = ChatMessage>,
) -> impl Iterator<Item = ChatMessage> {
    messages.into_iter().map(|message| {
        let source = message.origin.source();
        message.with_source(BlockKind::Appended, source)
    })
}

impl AgentRun {
    /// The messages that `Create` gives in the place of the agent's own: those that are the same keep where they come from. And what it
    /// does not give.
    fn created(&self, created: &[ChatMessage]) -> (Vec<ChatMessage>, Vec<DroppedParts>) {
        // In a turn that goes on behind a crash: the run of the hook is not known any more.
        let source = BlockSource {
            node_id: None,
            ..self.hooks.source("Create", &self.node)
        };
        let mut next = 0;
        let mut is_given = vec![false; self.messages.len()];
        let created = created.iter().map(|message| {
            match model_input::place_of(&self.messages, message, &mut next) {
                Some(at) => {
                    is_given[at] = true;
                    let mut message = self.messages[at].clone();
                    message.origin.via = Some(BlockVia::Create);
                    message
                }
                None if message.origin.kind().is_some() => message.clone(),
                None => message.clone().with_source(BlockKind::Hook, source.clone()),
            }
        });
        let created = created.collect();
        let mut left_out = DroppedMessages::default();
        let limits = &self.hooks.limits().run;
        let seen = LazyCell::new(|| recent_messages::staying_for_hook(&self.messages, limits));
        for (at, (message, is_given)) in self.messages.iter().zip(is_given).enumerate() {
            if is_given {
                left_out.keep();
                continue;
            }
            let reason = if seen[at] { "hook" } else { SCRIPT_LIMITS };
            leave_out_chat(&mut left_out, reason, message);
        }
        (created, left_out.into_parts())
    }
}
