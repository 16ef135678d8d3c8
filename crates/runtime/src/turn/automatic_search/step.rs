//! Asking whoever does a step of a search. Whatever goes wrong with it is told in the trace, and the search goes on.

use crate::chat::ChatMessage;
use crate::ctx::{CalleeKind, NestedCall};
use crate::error::{Error, ErrorCode};
use crate::request::ScriptCallOptions;
use crate::search::answers::AnswerError;
use crate::trace::{NodeOptions, Trace, TraceNode};
use crate::turn::Turn;
use crate::turn::agent_run::AgentRun;
use crate::uses::{UsesAsker, UsesFailure, UsesRequest, UsesTarget};
use futures::FutureExt;
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a step may take.
const STEP: Duration = Duration::from_secs(5);
/// The role of the model that is asked where `uses` says `builtin`.
pub(super) const LIGHT: &str = "use::light";
/// The most tokens of that model's answer.
const TOKENS: u32 = 200;

/// Asks for the steps of one search.
pub(super) struct SearchStepAsker<'a> {
    pub turn: &'a Turn,
    pub run: &'a AgentRun,
    /// The search, in the trace.
    pub node: &'a TraceNode,
    /// When the search must be over.
    pub deadline: Instant,
}

/// A step, and what is asked.
pub(super) struct SearchStep {
    /// As `uses` names it.
    pub key: &'static str,
    /// As the trace names it.
    pub name: &'static str,
    /// What an agent is told; without it the request.
    pub words: Option<String>,
    /// What the light model is told before the request.
    pub instruction: &'static str,
    pub request: Value,
    /// What the trace holds of the request.
    pub traced: Value,
}

/// Why a step has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepFailure {
    /// The value of `uses` names nobody.
    Unknown,
    /// Whoever was asked gave none that can be read.
    Failed,
}

/// What comes of some work in time, or why nothing does.
pub(super) async fn within<T>(
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Result<T, &'static str> {
    match timeout_at(deadline, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err("a defect of Ambit ended it"),
        Err(_) => Err("timed out"),
    }
}

impl SearchStepAsker<'_> {
    /// What a value of `uses` means. One that names nobody is told, and skips its step.
    pub fn target(&self, key: &str, value: &str) -> Option<UsesTarget> {
        match UsesTarget::read(&self.turn.context.loaded.app, value) {
            Ok(target) => Some(target),
            Err(why) => {
                self.node.warn(format!("uses.{key} is skipped: {why}"));
                None
            }
        }
    }

    /// Whether a model has the role `light`.
    pub fn has_light_model(&self) -> bool {
        self.turn.context.loaded.app.models(LIGHT).is_ok()
    }

    /// Asks; why there is no answer is told in the trace.
    pub async fn ask<T>(
        &self,
        target: &UsesTarget,
        step: SearchStep,
        read: impl Fn(&Value) -> Result<T, AnswerError>,
    ) -> Result<T, StepFailure> {
        let (key, name) = (step.key, step.name);
        let options = NodeOptions::new(name, name).with_input(step.traced.clone());
        let node = self.node.add(options);
        let before = self.turn.journal.usage.tokens().total_tokens;
        let until = self.deadline.min(Instant::now() + STEP);
        let mut failure = StepFailure::Failed;
        let answer = match within(until, self.answer(target, step, &node)).await {
            Err(why) => Err(why.to_owned()),
            Ok(Err(why)) => {
                if matches!(why, UsesFailure::Unknown(_)) {
                    failure = StepFailure::Unknown;
                }
                Err(why.to_string())
            }
            Ok(Ok(answer)) => read(&answer).map_err(|error| error.to_string()),
        };
        match answer {
            Ok(answer) => {
                let used = self.turn.journal.usage.tokens().total_tokens - before;
                node.complete(Some(json!({"usage": {"total_tokens": used}})));
                Ok(answer)
            }
            Err(why) => {
                node.fail(&why);
                self.node
                    .warn(format!("uses.{key}, {}: {why}", target.name()));
                Err(failure)
            }
        }
    }

    async fn answer(
        &self,
        target: &UsesTarget,
        step: SearchStep,
        node: &TraceNode,
    ) -> Result<Value, UsesFailure> {
        if *target == UsesTarget::Builtin {
            return self.ask_light_model(step, node).await;
        }
        // What is asked and answered holds texts of results, which are in no trace.
        let untraced = Trace::off(self.turn.context.id()).root();
        let client = self.turn.uses_client(self.run, step.key, untraced)?;
        let words = step.words.unwrap_or_else(|| step.request.to_string());
        let wanted = UsesRequest {
            key: step.key,
            messages: vec![ChatMessage::user(words)],
            arguments: step.request,
        };
        client.ask(target, wanted).await
    }

    async fn ask_light_model(
        &self,
        step: SearchStep,
        node: &TraceNode,
    ) -> Result<Value, UsesFailure> {
        let turn = self.turn;
        let scope = turn.script_context_below(self.run, step.key, node.clone())?;
        let messages = [
            ChatMessage::system(step.instruction),
            ChatMessage::user(step.request.to_string()),
        ];
        let options = [("max_tokens", json!(TOKENS)), ("temperature", json!(0))];
        let options = options.map(|(name, value)| (name.to_owned(), value));
        let nested = NestedCall {
            callee: CalleeKind::Model,
            name: LIGHT.to_owned(),
            messages: messages.iter().map(ChatMessage::to_json).collect(),
            options: ScriptCallOptions::from(Map::from_iter(options)),
            is_silent: true,
            purpose: Some("search"),
            on_chunk: None,
        };
        let failed = |code, why: String| UsesFailure::Failed(Error::new(code, why));
        let answer = scope.turn_host.call(&scope, nested).await;
        let answer = answer.map_err(|error| failed(ErrorCode::Internal, error.message))?;
        match answer["error"].as_str() {
            Some(why) => Err(failed(ErrorCode::LlmError, why.to_owned())),
            None => Ok(answer["content"].clone()),
        }
    }
}
