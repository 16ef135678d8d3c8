//! Calls of agents and models from inside a turn: turns within the turn. Of what they say only what was shown is stored. After a
//! crash the hook that called runs again, and calls again: what its agents had done is kept for that, and not done once more.

mod call;
mod chunk_listener;
mod journal;
mod scoped_task;
mod script_model_call;

pub(super) use journal::{NestedCallJournal, NestedCallRecord, NestedCallStep};

use super::Turn;
use super::agent_run::AgentRun;
use super::output::TurnOutput;
use super::request_context::TurnSettings;
use super::shared_state::SharedState;
use super::turn_journal::{StepLog, TurnJournal};
use super::turn_parts::TurnParts;
use super::usage::TurnUsage;
use super::uses_client::UsesClient;
use crate::app::AppAgent;
use crate::chat;
use crate::ctx::ScriptContext;
use crate::ctx::{CalleeKind, DetachedContextOptions, NestedCall, TurnHost};
use crate::error::Result;
use crate::journal::{TurnIds, TurnKeys};
use crate::loaded_app::LoadedApp;
use crate::outbox::{AgentOutbox, MessageAuthor};
use crate::process::ContextProcessRunner;
use crate::request::{CallOptions, RequestOrigin, ScriptCallOptions, SkipOptions, TurnRequest};
use crate::runtime_core::RuntimeCore;
use crate::stream::{StreamOptions, StreamTarget, StreamWriter};
use crate::tool::ToolCaller;
use crate::trace::{NodeOptions, StepFacts, Trace, TraceNode};
use crate::uses::UsesAsker;
use ambit_script::HostError;
use ambit_storage::{LiveAgent, ids};
use call::{NestedAnswer, NestedOutput, NestedTurn, NestedWork};
use futures::future::BoxFuture;
use scoped_task::ScopedTask;
use serde_json::{Value, json};
use std::sync::Arc;

/// Answers what the hooks of one agent ask of the runtime.
pub(super) struct AgentTurnHost {
    core: Arc<RuntimeCore>,
    loaded: Arc<LoadedApp>,
    session: LiveAgent,
    ids: TurnIds,
    trace_log: StreamWriter,
    /// What they use for the turn.
    usage: Arc<TurnUsage>,
    settings: TurnSettings,
    shared_state: Option<Arc<SharedState>>,
    /// The agents so far, the asking one last.
    chain: Vec<String>,
    /// What its calls have done, if that is kept.
    calls: Option<Arc<NestedCallJournal>>,
    origin: CallOrigin,
    /// What the asking turn is for.
    purpose: Option<&'static str>,
}

/// From where a call is made.
struct CallOrigin {
    /// The key of the call that it is made in, if that is one.
    call: Option<String>,
    /// The index of the agent's run.
    run: usize,
    /// What the calling script runs for.
    step: String,
}

impl CallOrigin {
    /// What a call is known by after a crash. The messages are those that the script gave: how they are read may change from
    /// version to version.
    fn made_with(&self, nested: &NestedCall) -> Value {
        let Self { call, run, step } = self;
        let NestedCall {
            name,
            messages,
            options,
            ..
        } = nested;
        json!([[call, run, step], name, messages, options])
    }
}

impl Turn {
    /// Whom the hooks of this agent ask for what only a runtime can do.
    pub(super) fn turn_host(&self, run: &AgentRun, step: &str) -> AgentTurnHost {
        let context = &self.context;
        let call = self.journal.call_record();
        let call = call.map(|record| record.key.clone());
        AgentTurnHost {
            core: context.core.clone(),
            loaded: context.loaded.clone(),
            session: self.conversation.session.clone(),
            ids: context.ids.clone(),
            trace_log: self.output.trace_log.clone(),
            usage: self.journal.usage.clone(),
            settings: context.settings.clone(),
            shared_state: self.output.shared_state.clone(),
            chain: run.chain.clone(),
            purpose: context.purpose,
            calls: self.journal.nested_calls.clone(),
            origin: CallOrigin {
                call,
                run: run.index,
                step: step.to_owned(),
            },
        }
    }
}

impl TurnHost for AgentTurnHost {
    fn open_context<'a>(
        &'a self,
        caller: &'a ScriptContext,
        options: DetachedContextOptions,
    ) -> BoxFuture<'a, Result<Arc<ScriptContext>>> {
        Box::pin(self.core.open_context(caller, options))
    }

    fn call<'a>(
        &'a self,
        caller: &'a ScriptContext,
        mut nested: NestedCall,
    ) -> BoxFuture<'a, Result<Value, HostError>> {
        Box::pin(async move {
            let on_chunk = nested.on_chunk.take();
            let mut answer = match nested.callee {
                CalleeKind::Agent => json!({"agent_id": nested.name}),
                CalleeKind::Model => json!({"connector": nested.name}),
            };
            let mut shown = String::new();
            let ended = match self.begin(caller, nested) {
                Err(error) => Some(Err(error)),
                Ok(call) => {
                    let output = call.output.clone();
                    let listener = on_chunk.map(|on_chunk| output.listen(on_chunk));
                    let mut listener = listener.transpose()?;
                    // A task of its own: calls within calls would not fit on one stack.
                    let mut task = ScopedTask::start(call.run());
                    let ended = match &mut listener {
                        None => Some(task.join().await),
                        Some(listener) => listener.hear(task.join()).await?,
                    };
                    if ended.is_none() {
                        task.stop().await;
                    }
                    shown = match &listener {
                        Some(listener) if ended.is_none() => listener.text(),
                        _ => output.text(),
                    };
                    ended
                }
            };
            if ended.is_none() {
                answer["stopped"] = true.into();
            }
            let (ended, error) = match ended {
                Some(Ok(ended)) => (ended, None),
                Some(Err(error)) => (NestedAnswer::default(), Some(error.message)),
                None => (NestedAnswer::default(), None),
            };
            let content = match ended.content.is_empty() {
                true => shown,
                false => ended.content,
            };
            answer["response"] = ended.response;
            answer["content"] = content.into();
            answer["error"] = error.into();
            Ok(answer)
        })
    }

    fn asker(&self, caller: &ScriptContext, node: TraceNode) -> Arc<dyn UsesAsker> {
        let scope = Arc::new(ScriptContext {
            trace: node.clone(),
            ..caller.clone()
        });
        let properties = &scope.properties;
        let caller = ToolCaller {
            authorized: properties.authorized.clone(),
            agent: scope.agent.id.clone(),
            servers: scope.servers.clone(),
            request_id: properties.request_id.clone(),
            timeout: scope.agent.package.mcp.options.timeout,
            node: node.clone(),
            processes: Arc::new(ContextProcessRunner::Outside {
                scope: scope.clone(),
                node,
            }),
            progress: None,
        };
        Arc::new(UsesClient {
            scope,
            toolbox: self.core.tools(&self.loaded),
            caller,
        })
    }
}

impl AgentTurnHost {
    /// What the caller's trace says of an agent that it calls.
    fn node_of_agent(
        &self,
        caller: &ScriptContext,
        name: &str,
        agent: &str,
        thread: &Value,
    ) -> NodeOptions {
        let locale = &caller.properties.origin.locale;
        let facts = self.loaded.agent_facts(agent, locale);
        NodeOptions::new("agent", name)
            .with_metadata(json!({"agent_id": agent, "thread_id": thread}))
            .with_facts(StepFacts::Agent(facts))
    }

    fn begin(&self, caller: &ScriptContext, nested: NestedCall) -> Result<NestedTurn> {
        let agent = match nested.callee {
            CalleeKind::Agent => self.loaded.agent(&nested.name)?.0,
            CalleeKind::Model => caller.agent.clone(),
        };
        let messages = nested.read_messages()?;
        let record = self.record(&nested);
        let context_id = format!("{}.f{}", self.ids.request_id, ids::unguessable());
        let outbox = self.outbox(caller, &nested, &agent, &context_id);
        let NestedCall {
            callee,
            name,
            options,
            purpose,
            ..
        } = nested;
        let node = match options.skip.trace == Some(true) {
            true => Trace::off(&context_id).root(),
            false => {
                let options = match callee {
                    CalleeKind::Agent => {
                        let thread = json!(outbox.author().thread);
                        self.node_of_agent(caller, &name, &agent.id, &thread)
                    }
                    CalleeKind::Model => NodeOptions::new("step", name.as_str()),
                };
                let messages = chat::to_json(&messages);
                caller.trace.add(options.with_input(messages))
            }
        };
        let mut request = self.request(caller, &options);
        request.agent.clone_from(&agent.id);
        request.messages.clone_from(&messages);
        if callee == CalleeKind::Agent {
            request.further.clone_from(&options.given);
        }
        let output = NestedOutput::new(outbox);
        let ids = TurnIds {
            context_id,
            ..self.ids.clone()
        };
        let output_of_turn = self.output(caller, &output.outbox, node.clone());
        let mut turn = self.turn(request, ids, record, output_of_turn)?;
        turn.context.purpose = purpose.or(self.purpose);
        turn.context.builtin_step = self.builtin_step(callee, &name);
        let ended = turn.resume_call();
        let work = match callee {
            CalleeKind::Agent => NestedWork::Agent,
            CalleeKind::Model => NestedWork::model(&turn, name, messages, options)?,
        };
        Ok(NestedTurn {
            turn,
            work,
            output,
            ended,
            node,
            is_over: false,
            _running: self.usage.begin(),
        })
    }

    /// The step for which Ambit itself calls the model of a role.
    fn builtin_step(&self, callee: CalleeKind, name: &str) -> Option<String> {
        let step = &self.origin.step;
        let is_builtin = callee == CalleeKind::Model && name == format!("use::{step}");
        is_builtin.then(|| step.clone())
    }

    /// The record of a call. Models have no effects of their own.
    fn record(&self, nested: &NestedCall) -> Option<NestedCallRecord> {
        let calls = self.calls.as_ref()?;
        let is_agent = nested.callee == CalleeKind::Agent;
        is_agent.then(|| calls.begin(&self.origin.made_with(nested)))
    }

    /// What the caller is asked for, as far as it is the caller's.
    fn request(&self, caller: &ScriptContext, options: &ScriptCallOptions) -> TurnRequest {
        let mut metadata = caller.properties.metadata.clone();
        metadata.extend(options.metadata());
        TurnRequest {
            authorized: caller.properties.authorized.clone(),
            chat: Some(self.ids.chat_id.clone()),
            call: CallOptions {
                disable_global_prompts: None,
                ..options.call.clone()
            },
            skip: SkipOptions {
                history: true,
                output: false,
                ..SkipOptions::default().with(options.skip)
            },
            origin: RequestOrigin {
                referer: "agent_fork".to_owned(),
                ..caller.properties.origin.clone()
            },
            metadata,
            ..TurnRequest::default()
        }
    }

    /// Where a call is shown: an agent in a thread of its own, a model as the script that calls it; one that the client does
    /// not see in an outbox of its own.
    fn outbox(
        &self,
        caller: &ScriptContext,
        nested: &NestedCall,
        agent: &AppAgent,
        context_id: &str,
    ) -> AgentOutbox {
        let (outbox, author) = (caller.outbox.outbox(), caller.outbox.author());
        if nested.is_silent || author.is_silent {
            let (space, driver) = self.session.context().place();
            let target = StreamTarget {
                driver,
                log: TurnKeys::new(space, context_id).events(),
                check: None,
            };
            let log = StreamWriter::open(target, StreamOptions::transient());
            return outbox.detached(log).for_author(MessageAuthor {
                assistant_id: agent.id.clone(),
                ..MessageAuthor::default()
            });
        }
        match nested.callee {
            CalleeKind::Agent => {
                let locale = &caller.properties.origin.locale;
                let name = self.loaded.agent_facts(&agent.id, locale).name;
                caller.outbox.fork(&name, &agent.id, false)
            }
            CalleeKind::Model => caller.outbox.clone(),
        }
    }

    /// What the turn within the turn shows: it speaks into this outbox, and is traced below a node of the caller.
    fn output(&self, caller: &ScriptContext, outbox: &AgentOutbox, root: TraceNode) -> TurnOutput {
        let trace = caller.trace.trace().clone();
        TurnOutput {
            author: outbox.author().clone(),
            root,
            shared_state: self.shared_state.clone(),
            ..TurnOutput::new(outbox.outbox().clone(), trace, self.trace_log.clone())
        }
    }

    /// The turn within the turn.
    fn turn(
        &self,
        request: TurnRequest,
        ids: TurnIds,
        record: Option<NestedCallRecord>,
        output: TurnOutput,
    ) -> Result<Turn> {
        let (_, hooks) = self.loaded.agent(&request.agent)?;
        let parts = TurnParts {
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            limits: *hooks.limits(),
            session: self.session.clone(),
            request,
            ids,
            started_at: self.core.stores.options().clock.now(),
        };
        let log = record.map_or(StepLog::None, StepLog::NestedCall);
        let journal = TurnJournal::new(log, self.usage.clone(), self.calls.clone());
        let mut turn = parts.build(journal, output)?;
        let context = &mut turn.context;
        context.callers.clone_from(&self.chain);
        context.settings = TurnSettings {
            metadata: std::mem::take(&mut context.settings.metadata),
            // What is for the agent that calls alone.
            servers: None,
            instructions: None,
            ..self.settings.clone()
        };
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_what_the_script_gave() {
        let origin = CallOrigin {
            call: None,
            run: 1,
            step: "Next".to_owned(),
        };
        let messages = json!([{"content": [{"text": "a", "type": "text"}], "role": "user"}]);
        let nested = NestedCall {
            callee: CalleeKind::Agent,
            name: "inner".to_owned(),
            messages: messages.as_array().unwrap().clone(),
            options: ScriptCallOptions::default(),
            is_silent: false,
            purpose: None,
            on_chunk: None,
        };
        let expected = json!([[null, 1, "Next"], "inner", messages, {}]);
        assert_eq!(origin.made_with(&nested).to_string(), expected.to_string());
    }
}
