//! Running a hook by hand: all that comes of it is told, whether or not it fails.

use super::{AgentHooks, CreateResult, HookExecution, NextResult, failure};
use crate::ctx::{MemoryChange, ScriptContext};
use crate::error::{Disclosure, Error};
use crate::trace::{NodeOptions, TraceNode};
use ambit_script::SourceLocation;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What came of a run of a hook.
#[derive(Debug)]
pub struct HookAttempt {
    /// What it returned.
    pub value: Value,
    /// What it did to memory.
    pub changes: Vec<MemoryChange>,
    /// Processor time.
    pub cpu: Duration,
    /// Why it failed, or why what it returned cannot be read.
    pub error: Option<Error>,
    /// Where it failed.
    pub at: Option<SourceLocation>,
}

impl AgentHooks {
    /// Runs a hook. `None` where there is no such hook.
    pub async fn attempt(
        &self,
        scope: &Arc<ScriptContext>,
        hook: &str,
        arguments: Vec<Value>,
    ) -> Option<HookAttempt> {
        let program = self.program().filter(|program| program.has(hook))?;
        let node = scope.trace.add(NodeOptions::new("hook", hook));
        let arguments = arguments.into_iter().map(Into::into).collect();
        let executed = self.execute(scope, hook, &node, arguments).await;
        let HookExecution { run, measured } = executed?;
        let mut attempt = HookAttempt {
            value: Value::Null,
            changes: run.memory_names().changes,
            cpu: measured.cpu,
            error: None,
            at: None,
        };
        match measured.outcome {
            Ok(outcome) => {
                attempt.value = outcome.value.unwrap_or_default();
                attempt.error = read_error(hook, attempt.value.clone(), &node);
            }
            // A computed default export turned out not to have it.
            Err(ambit_script::Error::NoFunction { .. }) => return None,
            Err(error) => {
                attempt.at = place(&error).cloned();
                attempt.error = Some(failure::of(&error, program.entry(), hook));
            }
        }
        Some(attempt)
    }
}

/// Why a turn could not read what a hook returned.
fn read_error(hook: &str, value: Value, node: &TraceNode) -> Option<Error> {
    match hook {
        "Create" => CreateResult::read(value, node, Disclosure::Withheld).err(),
        _ => NextResult::read(value, node, Disclosure::Withheld).err(),
    }
}

fn place(error: &ambit_script::Error) -> Option<&SourceLocation> {
    match error {
        ambit_script::Error::Thrown(thrown) => thrown.stack.first().map(|frame| &frame.at),
        ambit_script::Error::Load(error) => error.at.as_ref(),
        _ => None,
    }
}
