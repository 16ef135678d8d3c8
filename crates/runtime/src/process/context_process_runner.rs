//! Running processes for one context, from wherever: a script that is one of them gets the live `ctx` as its last argument.

use super::{ProcessCall, run};
use crate::ctx::{ContextHandle, RunHost, ScriptCall, ScriptContext};
use crate::error::Result;
use crate::tool::ProcessCaller;
use crate::trace::TraceNode;
use ambit_script::ParentRun;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// What runs processes for one context. Which processes these are, files of the app say, so that the list of those that
/// scripts may call says nothing about them.
pub enum ContextProcessRunner {
    /// Within the run of a script, whose limits are shared.
    Within {
        run: RunHost,
        reach: Arc<ContextHandle>,
        /// The run, for the script crate.
        caller: Option<ParentRun>,
    },
    /// From outside: each process is a run of its own.
    Outside {
        scope: Arc<ScriptContext>,
        /// Where it is traced.
        node: TraceNode,
    },
}

impl ContextProcessRunner {
    /// For what a script has called.
    pub fn within(call: &ScriptCall<'_>) -> Self {
        Self::Within {
            run: call.run.clone(),
            reach: Arc::clone(&call.reach),
            caller: call.caller.clone(),
        }
    }

    /// Runs a process. Dropping the future stops it.
    pub async fn run(&self, name: &str, arguments: Vec<Value>) -> Result<Value> {
        let (outer, node) = match self {
            Self::Within {
                run: own,
                reach,
                caller,
            } => {
                let call = ProcessCall {
                    name,
                    arguments,
                    run: own,
                    reach,
                    within: caller.as_ref(),
                    with_ctx: true,
                };
                return run(&call).await;
            }
            Self::Outside { scope, node } => (scope, node),
        };
        let hosts = outer.agent.allowed_hosts()?;
        let http = outer.http.for_run(outer.limits.http, hosts.as_ref());
        let own = RunHost::new(outer, name, node.clone(), http);
        let call = ProcessCall {
            name,
            arguments,
            run: &own,
            reach: own.own(),
            within: None,
            with_ctx: true,
        };
        let result = run(&call).await;
        let error = result.as_ref().err().map(|error| error.message.as_str());
        own.own().cursor.end(error);
        own.end();
        result
    }
}

impl ProcessCaller for ContextProcessRunner {
    fn run<'a>(&'a self, process: &'a str, arguments: Vec<Value>) -> BoxFuture<'a, Result<Value>> {
        Box::pin(Self::run(self, process, arguments))
    }
}
