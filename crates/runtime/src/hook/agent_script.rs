//! Scripts of an agent that run beside its turns: what decides where a session is kept, and what listens to events.

use super::failure;
use crate::app::{App, AppAgent};
use crate::error::{Disclosure, Error, Result};
use crate::globals::write_line;
use crate::limits::AgentLimits;
use crate::log_words::EchoFilter;
use ambit_script::{
    Engine, Host, HostCall, HostError, HostValue, Program, ProgramSource, RunOutcome, ScriptRun,
    SourceFiles,
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// One compiled file of an agent. Its functions get what they need as arguments; the host does nothing for them but log.
#[derive(Clone)]
pub struct AgentScript {
    engine: Engine,
    program: Arc<Program>,
    limits: ambit_script::RunLimits,
    agent: String,
    disclosure: Disclosure,
    /// What failures call it.
    shown_name: String,
}

/// What compiles the scripts of an agent.
pub struct AgentScriptLoader<'a> {
    pub engine: &'a Engine,
    /// The files of the app.
    pub files: &'a dyn SourceFiles,
    /// The app, whose limits hold.
    pub app: &'a App,
    pub agent: &'a AppAgent,
    /// How much is told of what goes on inside the scripts.
    pub disclosure: Disclosure,
}

impl AgentScriptLoader<'_> {
    /// Compiles a file, if the agent has it.
    pub(super) fn load(&self, file: Option<&String>) -> Result<Option<AgentScript>> {
        let Some(file) = file else {
            return Ok(None);
        };
        let source = ProgramSource {
            file: file.clone(),
            folder: self.agent.folder.clone(),
        };
        let program = self.engine.load(self.files, &source);
        Ok(Some(AgentScript {
            engine: self.engine.clone(),
            program: program.map_err(|error| failure::load(&error))?,
            limits: AgentLimits::of(self.app, self.agent).run,
            agent: self.agent.id.clone(),
            disclosure: self.disclosure,
            shown_name: match self.disclosure {
                Disclosure::Full => file.clone(),
                Disclosure::Withheld => format!("a script of the agent \"{}\"", self.agent.id),
            },
        }))
    }
}

impl AgentScript {
    /// The agent's id.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    pub fn file(&self) -> &str {
        self.program.entry()
    }

    /// What failures call it: its file, or where that is withheld whose it is.
    pub fn shown_name(&self) -> &str {
        &self.shown_name
    }

    /// True if the file has this function.
    pub fn has(&self, function: &str) -> bool {
        self.program.has(function)
    }

    /// What a call of a function leaves behind; `None` if there is no such function.
    pub async fn call(&self, function: &str, arguments: Vec<Value>) -> Result<Option<RunOutcome>> {
        if !self.has(function) {
            return Ok(None);
        }
        let given: Vec<Arc<Value>> = arguments.into_iter().map(Arc::new).collect();
        let result = self
            .engine
            .run(ScriptRun {
                program: Arc::clone(&self.program),
                function: function.to_owned(),
                arguments: given.iter().cloned().map(HostValue::Shared).collect(),
                host: Arc::new(ConsoleHost {
                    agent: self.agent.clone(),
                    function: format!("{} {function}", self.file()),
                }),
                limits: self.limits,
                within: None,
            })
            .await;
        match result {
            Ok(outcome) => Ok(Some(outcome)),
            Err(ambit_script::Error::NoFunction { .. }) => Ok(None),
            Err(error) => Err(self.failure(&error, function, &given)),
        }
    }

    /// Why a run failed, as it is passed on. Where that withholds something the log has it, without what the run was given.
    fn failure(&self, thrown: &ambit_script::Error, function: &str, given: &[Arc<Value>]) -> Error {
        let error = failure::of(thrown, self.file(), function);
        if self.disclosure == Disclosure::Withheld {
            let said = EchoFilter::of(&given.iter().map(|it| Value::clone(it)).collect());
            tracing::warn!(
                agent.id = self.agent,
                hook = format!("{} {function}", self.file()),
                error.code = %error.code,
                error.message = said.logged(&error.message, self.disclosure),
                error.stack = error.stack.join("\n"),
                "a script failed"
            );
        }
        failure::told(thrown, error, self.disclosure)
    }
}

/// Writes lines of the console and refuses everything else.
struct ConsoleHost {
    agent: String,
    function: String,
}

impl Host for ConsoleHost {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            if call.class == "console" {
                write_line(&self.agent, &self.function, &call.method, &call.arguments);
                return Ok(HostValue::Undefined);
            }
            let text = format!("{} is not available in {}", call.method, self.function);
            Err(HostError::new("unsupported", text))
        })
    }
}
