//! The hooks of one agent: `Create` before the model, `Next` after it; and beside the turns what decides where sessions are
//! kept and what listens to events.

mod agent_script;
mod create_result;
mod events;
pub(crate) mod failure;
mod hook_fields;
mod listeners;
mod next_result;
mod session_script;

pub use agent_script::AgentScriptLoader;
pub use create_result::CreateResult;
pub use events::feed_types;
pub(crate) use events::{EVENTS, listen_for_feed};
pub use hook_fields::Delegate;
pub use listeners::{EventListeners, EventMapping};
pub use next_result::{NextOutcome, NextResult};
pub use session_script::SessionScript;

use crate::app::{App, AppAgent};
use crate::call_metrics;
use crate::chat::{self, ChatMessage};
use crate::ctx::{self, RunHost, ScriptContext};
use crate::error::{Error, Result};
use crate::limits::AgentLimits;
use crate::net::AllowList;
use crate::search::automatic::clear_contents;
use crate::trace::{HookFacts, NodeOptions, StepFacts, TraceNode};
use ambit_script::{Engine, Program, ProgramSource, SourceFiles};
use ambit_telemetry::{Metrics, table};
use serde_json::{Number, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The compiled hooks of one agent, and what they may use.
#[derive(Clone)]
pub struct AgentHooks {
    engine: Engine,
    program: Option<Arc<Program>>,
    limits: AgentLimits,
    /// What of the app's hosts the agent leaves.
    hosts: Option<AllowList>,
    metrics: Arc<Metrics>,
}

/// What a hook returned, and the node of its run.
struct HookResult {
    value: Value,
    node: TraceNode,
    facts: HookFacts,
}

impl AgentHooks {
    /// Compiles an agent's hooks. An agent without any has none; a script that does not compile is an error of the app.
    pub fn load(
        engine: &Engine,
        files: &dyn SourceFiles,
        app: &App,
        agent: &AppAgent,
    ) -> Result<Self> {
        let program = agent.hooks.as_ref().map(|file| {
            let folder = agent.folder.clone();
            let file = file.clone();
            engine.load(files, &ProgramSource { file, folder })
        });
        Ok(Self {
            engine: engine.clone(),
            program: program.transpose().map_err(|error| failure::load(&error))?,
            limits: AgentLimits::of(app, agent),
            hosts: agent.allowed_hosts()?,
            metrics: Arc::default(),
        })
    }

    /// The same hooks, which are counted there.
    pub fn counted_in(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// True if the agent has this hook.
    pub fn has(&self, hook: &str) -> bool {
        self.program
            .as_ref()
            .is_some_and(|program| program.has(hook))
    }

    /// What the scripts may use.
    pub fn limits(&self) -> &AgentLimits {
        &self.limits
    }

    /// Runs `Create`. `None` where there is none, or where it changes nothing.
    pub async fn create(
        &self,
        scope: &Arc<ScriptContext>,
        messages: &[ChatMessage],
        options: Value,
    ) -> Result<Option<CreateResult>> {
        if !self.has("Create") {
            return Ok(None);
        }
        let arguments = vec![chat::to_json(messages), options];
        let Some(ran) = self.run(scope, "Create", arguments).await? else {
            return Ok(None);
        };
        let HookResult { value, node, facts } = ran;
        let read = checked(&node, facts, || CreateResult::read(value, &node));
        read.inspect_err(|error| self.count_failure(scope, "Create", error))
    }

    /// Runs `Next`. `None` where there is none, or where it leaves the answer as it is.
    pub async fn next(
        &self,
        scope: &Arc<ScriptContext>,
        payload: Value,
        options: Value,
    ) -> Result<Option<NextResult>> {
        let Some(ran) = self.run(scope, "Next", vec![payload, options]).await? else {
            return Ok(None);
        };
        let HookResult { value, node, facts } = ran;
        let read = checked(&node, facts, || NextResult::read(value, &node));
        read.inspect_err(|error| self.count_failure(scope, "Next", error))
    }

    /// Runs a hook in a runtime of its own. `None` where there is no such hook.
    async fn run(
        &self,
        scope: &Arc<ScriptContext>,
        hook: &str,
        arguments: Vec<Value>,
    ) -> Result<Option<HookResult>> {
        let Some(program) = self.program.as_ref().filter(|program| program.has(hook)) else {
            return Ok(None);
        };
        let mut facts = HookFacts::of(&scope.agent.id, hook);
        let start = NodeOptions::new("hook", hook).with_metadata(json!({"file": program.entry()}));
        let mut start = start.with_facts(StepFacts::Hook(facts.clone()));
        if scope.trace.trace().is_on() {
            let mut input = arguments.clone();
            input.iter_mut().for_each(clear_contents);
            start.input = Value::Array(input);
        }
        let node = scope.trace.add(start);
        let http = scope.http.for_run(self.limits.http, self.hosts.as_ref());
        let http = http.within_trace(node.outgoing());
        let run = Arc::new(RunHost::new(scope, hook, node.clone(), http));
        let mut given = vec![ctx::object(run.own())];
        given.extend(arguments.into_iter().map(Into::into));
        let began = Instant::now();
        let script = ambit_script::ScriptRun {
            program: Arc::clone(program),
            function: hook.to_owned(),
            arguments: given,
            host: Arc::clone(&run) as Arc<dyn ambit_script::Host>,
            limits: self.limits.run,
            within: None,
        };
        let measured = self.engine.run_measured(script).await;
        run.end();
        self.count(scope, hook, [began.elapsed(), measured.cpu]);
        facts.cpu_ms = Number::from_f64(measured.cpu.as_secs_f64() * 1_000.0);
        (facts.memory_read, facts.memory_written) = run.memory_uses();
        let metadata = json!({"cpu_ms": facts.cpu_ms, "memory": run.memory_names()});
        let outcome = match measured.outcome {
            Ok(outcome) => outcome,
            // A computed default export turned out not to have it.
            Err(ambit_script::Error::NoFunction { .. }) => {
                node.close(crate::trace::TraceStatus::Skipped);
                return Ok(None);
            }
            Err(error) => {
                let error = failure::of(&error, program.entry(), hook);
                run.own().cursor.end(Some(&error.message));
                node.set_facts_with(failed(facts, &error), metadata);
                failure::record(&error, scope, hook, &node);
                self.count_failure(scope, hook, &error);
                return Err(error);
            }
        };
        run.own().cursor.end(None);
        let dropped = outcome.dropped + run.resources().scheduled_count();
        if dropped > 0 {
            let what = format!(
                "{hook} had settled while {dropped} of its timers and calls were still pending; they are dropped"
            );
            node.warn(what);
        }
        let value = outcome.value.unwrap_or_default();
        node.set_facts_with(StepFacts::Hook(facts.clone()), metadata);
        Ok(Some(HookResult { value, node, facts }))
    }

    fn count(&self, scope: &ScriptContext, hook: &str, times: [Duration; 2]) {
        let labels = [scope.properties.assistant_id.as_str(), hook];
        let [took, cpu] = times.map(|time| time.as_secs_f64());
        self.metrics.observe(&table::HOOK_SECONDS, labels, took);
        self.metrics.add(&table::HOOK_CPU_SECONDS, labels, cpu);
    }

    fn count_failure(&self, scope: &ScriptContext, hook: &str, error: &Error) {
        let agent = scope.properties.assistant_id.as_str();
        let labels = [agent, hook, call_metrics::label(&error.code)];
        self.metrics.count(&table::HOOK_FAILURES, labels);
    }
}

/// Reads what a hook returned; the node of the run ends with what came of it.
fn checked<T>(
    node: &TraceNode,
    facts: HookFacts,
    read: impl FnOnce() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let read = read();
    match &read {
        Ok(_) => node.complete(None),
        Err(error) => {
            node.set_facts(failed(facts, error));
            node.fail(&error.message);
        }
    }
    read
}

fn failed(facts: HookFacts, error: &Error) -> StepFacts {
    StepFacts::Hook(HookFacts {
        error_code: Some(call_metrics::label(&error.code).to_owned()),
        ..facts
    })
}
