//! The hooks of one agent: `Create` before the model, `Next` after it; and beside the turns what decides where sessions are
//! kept and what listens to events.

mod agent_script;
mod attempt;
mod create_result;
mod events;
pub(crate) mod failure;
mod hook_fields;
mod hook_fuse;
mod listeners;
mod next_result;
mod session_script;

pub use agent_script::AgentScriptLoader;
pub use attempt::HookAttempt;
pub use create_result::CreateResult;
pub(crate) use events::listen_for_feed;
pub use events::{EVENTS, EventDefinition, feed_types};
pub use hook_fields::Delegate;
pub use listeners::{EventListeners, EventMapping};
pub use next_result::{NextOutcome, NextResult};
pub use session_script::SessionScript;

use crate::app::{App, AppAgent};
use crate::call_metrics;
use crate::chat::{self, BlockKind, BlockSource, ChatMessage, MessageOrigin};
use crate::ctx::{self, ContextProperties, RunHost, ScriptContext};
use crate::error::{Disclosure, Error, Result};
use crate::limits::AgentLimits;
use crate::manifest::short_hash;
use crate::net::AllowList;
use crate::search::automatic::clear_contents;
use crate::trace::{HookFacts, NodeOptions, StepFacts, TraceNode};
use ambit_script::{Engine, HostValue, MeasuredRun, Program, ProgramSource, SourceFiles};
use ambit_telemetry::{Metrics, table};
use hook_fuse::HookFuse;
use serde_json::{Number, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The functions of `src/index.ts` that a turn calls.
pub(crate) const HOOKS: [&str; 2] = ["Create", "Next"];

/// The compiled hooks of one agent, and what they may use.
#[derive(Clone)]
pub struct AgentHooks {
    engine: Engine,
    program: Option<Arc<Program>>,
    /// The version of their file.
    version: Option<String>,
    limits: AgentLimits,
    /// What of the app's hosts the agent leaves.
    hosts: Option<AllowList>,
    metrics: Arc<Metrics>,
    fuse: Arc<HookFuse>,
}

/// What a hook returned, and the node of its run.
struct HookResult {
    value: Value,
    node: TraceNode,
    facts: HookFacts,
}

/// A run of a hook that has ended, and how.
struct HookExecution {
    run: Arc<RunHost>,
    measured: MeasuredRun,
}

impl AgentHooks {
    /// Compiles an agent's hooks. An agent without any has none; a script that does not compile is an error of the app.
    pub fn load(
        engine: &Engine,
        files: &dyn SourceFiles,
        app: &App,
        agent: &AppAgent,
    ) -> Result<Self> {
        let text = agent.hooks.as_ref().map(|file| files.read(file));
        let text = text.and_then(|text| text.ok().flatten());
        let program = agent.hooks.as_ref().map(|file| {
            let folder = agent.folder.clone();
            let file = file.clone();
            engine.load(files, &ProgramSource { file, folder })
        });
        Ok(Self {
            engine: engine.clone(),
            program: program.transpose().map_err(|error| failure::load(&error))?,
            version: text.map(|text| short_hash(text.as_bytes())),
            limits: AgentLimits::of(app, agent),
            hosts: agent.allowed_hosts()?,
            metrics: Arc::default(),
            fuse: Arc::default(),
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

    /// The compiled file of the hooks, if there is one.
    pub fn program(&self) -> Option<&Program> {
        self.program.as_deref()
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
        self.check_fuse(scope, "Create")?;
        if !self.has("Create") {
            return Ok(None);
        }
        let arguments = vec![chat::to_json(messages), options];
        let Some(ran) = self.run(scope, "Create", arguments).await? else {
            return Ok(None);
        };
        let HookResult { value, node, facts } = ran;
        let read = checked(&node, facts, || {
            CreateResult::read(value, &node, scope.disclosure)
        });
        let read = read.map_err(|error| self.note_unreadable(scope, "Create", error));
        let mut created = read?;
        let messages = created.iter_mut().flat_map(|it| &mut it.messages).flatten();
        let source = self.source("Create", &node);
        let origin = || MessageOrigin::new(BlockKind::Hook, source.clone());
        messages.for_each(|message| message.origin = origin());
        Ok(created)
    }

    /// What this function has made in the run of a node.
    pub fn source(&self, function: &str, node: &TraceNode) -> BlockSource {
        BlockSource {
            file: self.program().map(|program| program.entry().to_owned()),
            version: self.version.clone(),
            function: Some(function.to_owned()),
            node_id: node.recorded_id(),
            ..BlockSource::default()
        }
    }

    /// Runs `Next`. `None` where there is none, or where it leaves the answer as it is.
    pub async fn next(
        &self,
        scope: &Arc<ScriptContext>,
        payload: Value,
        options: Value,
    ) -> Result<Option<NextResult>> {
        self.check_fuse(scope, "Next")?;
        let Some(ran) = self.run(scope, "Next", vec![payload, options]).await? else {
            return Ok(None);
        };
        let HookResult { value, node, facts } = ran;
        let read = checked(&node, facts, || {
            NextResult::read(value, &node, scope.disclosure)
        });
        read.map_err(|error| self.note_unreadable(scope, "Next", error))
    }

    /// Whether the agent is refused to somebody, because its hooks were ended for their limits.
    pub fn is_refused(&self) -> bool {
        self.fuse.is_refused(Instant::now())
    }

    fn check_fuse(&self, scope: &ScriptContext, hook: &str) -> Result<()> {
        let ContextProperties {
            authorized,
            assistant_id,
            ..
        } = &scope.properties;
        let is_free = self.fuse.check(authorized, assistant_id, Instant::now());
        is_free.inspect_err(|error| self.count_failure(scope, hook, error))
    }

    fn note_failure(&self, scope: &ScriptContext, error: &Error) {
        let who = &scope.properties.authorized;
        if self.fuse.note(who, error, Instant::now()) {
            tracing::warn!(
                request.id = scope.properties.request_id,
                agent.id = scope.properties.assistant_id,
                error.code = error.code.as_str(),
                "the agent is refused to the caller for a minute: its hooks were ended for their limits again and again"
            );
        }
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
        let given: Vec<Arc<Value>> = arguments.into_iter().map(Arc::new).collect();
        let node = begin_node(scope, &facts, program.entry(), &given);
        let shared = given.iter().cloned().map(HostValue::Shared).collect();
        let executed = self.execute(scope, hook, &node, shared).await;
        let Some(HookExecution { run, measured }) = executed else {
            return Ok(None);
        };
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
            Err(thrown) => {
                let error = failure::of(&thrown, program.entry(), hook);
                let told = failure::told(&thrown, error.clone(), scope.disclosure);
                run.own().cursor.end(Some(&told.message));
                let given: Vec<Value> = given.iter().map(|it| Value::clone(it)).collect();
                node.set_facts_with(failed(facts, &error), metadata);
                let failed = failure::FailedRun {
                    scope,
                    hook,
                    node: &node,
                    given: &given,
                    run: &run,
                    error: &error,
                    told: &told,
                };
                failed.record();
                self.count_failure(scope, hook, &error);
                self.note_failure(scope, &error);
                return Err(Error {
                    is_logged: true,
                    ..told
                });
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

    /// Runs a function of the hooks below a node. `None` where there are no hooks.
    async fn execute(
        &self,
        scope: &Arc<ScriptContext>,
        hook: &str,
        node: &TraceNode,
        arguments: Vec<HostValue>,
    ) -> Option<HookExecution> {
        let program = self.program.as_ref()?;
        let http = scope.http.for_run(self.limits.http, self.hosts.as_ref());
        let http = http.within_trace(node.outgoing());
        let run = Arc::new(RunHost::new(scope, hook, node.clone(), http));
        let mut given = vec![ctx::object(run.own())];
        given.extend(arguments);
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
        Some(HookExecution { run, measured })
    }

    fn count(&self, scope: &ScriptContext, hook: &str, times: [Duration; 2]) {
        let labels = [scope.properties.assistant_id.as_str(), hook];
        let [took, cpu] = times.map(|time| time.as_secs_f64());
        self.metrics.observe(&table::HOOK_SECONDS, labels, took);
        self.metrics.add(&table::HOOK_CPU_SECONDS, labels, cpu);
    }

    /// Logs and counts a result that cannot be read.
    fn note_unreadable(&self, scope: &ScriptContext, hook: &str, error: Error) -> Error {
        self.count_failure(scope, hook, &error);
        failure::record_unreadable(error, scope, hook)
    }

    fn count_failure(&self, scope: &ScriptContext, hook: &str, error: &Error) {
        let agent = scope.properties.assistant_id.as_str();
        let labels = [agent, hook, call_metrics::label(&error.code)];
        self.metrics.count(&table::HOOK_FAILURES, labels);
    }
}

/// The node of a run. Where internals are withheld it names no file.
fn begin_node(
    scope: &ScriptContext,
    facts: &HookFacts,
    file: &str,
    arguments: &[Arc<Value>],
) -> TraceNode {
    let start = NodeOptions::new("hook", facts.hook.as_str());
    let mut start = start.with_facts(StepFacts::Hook(facts.clone()));
    if scope.disclosure == Disclosure::Full {
        start = start.with_metadata(json!({"file": file}));
    }
    if scope.trace.trace().is_on() {
        let mut input: Vec<Value> = arguments.iter().map(|it| Value::clone(it)).collect();
        input.iter_mut().for_each(clear_contents);
        start.input = Value::Array(input);
    }
    scope.trace.add(start)
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
