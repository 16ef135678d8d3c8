//! The hooks of one agent: `Create` before the model, `Next` after it; and beside the turns what decides where sessions are
//! kept and what listens to events.

mod aside;
mod created;
mod events;
pub(crate) mod failure;
mod listeners;
mod nexted;
mod returned;
mod sessions;

pub use created::Created;
pub(crate) use events::EVENTS;
pub(crate) use listeners::described;
pub use listeners::{Listeners, Payload, Seen};
pub use nexted::{Nexted, Outcome};
pub use returned::Delegate;
pub use sessions::Sessions;

use crate::app::{Agent, App};
use crate::ctx::{self, Run, Scope};
use crate::error::{Code, Error, Result};
use crate::limits::Limits;
use crate::net::AllowList;
use crate::trace::{Node, Start};
use ambit_script::{Engine, Files, Program, Source};
use serde_json::Value;
use std::sync::Arc;

/// The compiled hooks of one agent, and what they may use.
#[derive(Clone)]
pub struct Hooks {
    engine: Engine,
    program: Option<Arc<Program>>,
    limits: Limits,
    /// What of the app's hosts the agent leaves.
    hosts: Option<AllowList>,
}

/// What a hook returned, and the node of its run.
struct Ran {
    value: Value,
    node: Node,
}

impl Hooks {
    /// Compiles an agent's hooks. An agent without any has none; a script that does not compile is an error of the app.
    pub fn load(engine: &Engine, files: &dyn Files, app: &App, agent: &Agent) -> Result<Self> {
        let program = agent.hooks.as_ref().map(|file| {
            let folder = agent.folder.clone();
            let file = file.clone();
            engine.load(files, &Source { file, folder })
        });
        let hosts = agent.http.as_deref().map(AllowList::parse).transpose();
        let hosts = hosts.map_err(|error| {
            let text = error.message.replace("capabilities.http", "runtime.http");
            Error::new(Code::ConfigError, text)
        })?;
        Ok(Self {
            engine: engine.clone(),
            program: program.transpose().map_err(|error| failure::load(&error))?,
            limits: Limits::of(app, agent),
            hosts,
        })
    }

    /// True if the agent has this hook.
    pub fn has(&self, hook: &str) -> bool {
        self.program
            .as_ref()
            .is_some_and(|program| program.has(hook))
    }

    /// What the scripts may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Runs `Create`. `None` where there is none, or where it changes nothing.
    pub async fn create(
        &self,
        scope: &Arc<Scope>,
        messages: Vec<Value>,
        options: Value,
    ) -> Result<Option<Created>> {
        let arguments = vec![Value::Array(messages), options];
        let Some(ran) = self.run(scope, "Create", arguments).await? else {
            return Ok(None);
        };
        checked(&ran.node, || Created::read(ran.value, &ran.node))
    }

    /// Runs `Next`. `None` where there is none, or where it leaves the answer as it is.
    pub async fn next(
        &self,
        scope: &Arc<Scope>,
        payload: Value,
        options: Value,
    ) -> Result<Option<Nexted>> {
        let Some(ran) = self.run(scope, "Next", vec![payload, options]).await? else {
            return Ok(None);
        };
        checked(&ran.node, || Nexted::read(ran.value, &ran.node))
    }

    /// Runs a hook in a runtime of its own. `None` where there is no such hook.
    async fn run(
        &self,
        scope: &Arc<Scope>,
        hook: &str,
        arguments: Vec<Value>,
    ) -> Result<Option<Ran>> {
        let Some(program) = self.program.as_ref().filter(|program| program.has(hook)) else {
            return Ok(None);
        };
        let mut start = Start::new("hook", hook);
        if scope.trace.trace().is_on() {
            start.input = Value::Array(arguments.clone());
        }
        let node = scope.trace.add(start);
        let http = scope.http.for_run(self.limits.http, self.hosts.as_ref());
        let run = Arc::new(Run::new(scope, hook, node.clone(), http));
        let mut given = vec![ctx::object(run.own())];
        given.extend(arguments.into_iter().map(Into::into));
        let result = self
            .engine
            .run(ambit_script::Run {
                program: Arc::clone(program),
                function: hook.to_owned(),
                arguments: given,
                host: Arc::clone(&run) as Arc<dyn ambit_script::Host>,
                limits: self.limits.run,
                within: None,
            })
            .await;
        run.end();
        let outcome = match result {
            Ok(outcome) => outcome,
            // A computed default export turned out not to have it.
            Err(ambit_script::Error::NoFunction { .. }) => {
                node.close(crate::trace::Status::Skipped);
                return Ok(None);
            }
            Err(error) => {
                let error = failure::of(&error, program.entry(), hook);
                run.own().cursor.end(Some(&error.message));
                failure::record(&error, scope, hook, &node);
                return Err(error);
            }
        };
        run.own().cursor.end(None);
        let dropped = outcome.dropped + run.nest().waiting();
        if dropped > 0 {
            let what = format!(
                "{hook} had settled while {dropped} of its timers and calls were still pending; they are dropped"
            );
            node.warn(what);
        }
        let value = outcome.value.unwrap_or_default();
        Ok(Some(Ran { value, node }))
    }
}

/// Reads what a hook returned; the node of the run ends with what came of it.
fn checked<T>(node: &Node, read: impl FnOnce() -> Result<Option<T>>) -> Result<Option<T>> {
    let read = read();
    match &read {
        Ok(_) => node.complete(None),
        Err(error) => node.fail(&error.message),
    }
    read
}
