//! Calls of agents and models from inside a turn: turns within the turn. Of what they say only what was shown is stored. After a
//! crash the hook that called runs again, and calls again: what its agents had done is kept for that, and not done once more.

mod chunk_listener;
mod journal;
mod parent_turn;
mod scoped_task;
mod script_model_call;

pub(super) use journal::{NestedCallJournal, NestedCallStep};
pub(super) use parent_turn::ParentTurn;

use super::agent_run::AgentRun;
use super::call_plan::ModelCallPlan;
use super::converse;
use super::open::TurnParts;
use super::usage::TurnUsage;
use super::{Turn, TurnSettings};
use crate::app::AppAgent;
use crate::ctx::ScriptContext;
use crate::error::Result;
use crate::frame::MessageStatus;
use crate::journal::{TurnIds, TurnKeys};
use crate::loaded_app::LoadedApp;
use crate::outbox::{AgentOutbox, MessageAuthor, Outbox};
use crate::request::{RequestOrigin, SkipOptions, TurnRequest};
use crate::runtime::RuntimeCore;
use crate::stream::{StreamOptions, StreamTarget, StreamWriter};
use crate::trace::{self, TraceNode};
use crate::turn_host::{CalleeKind, ChunkCallback, DetachedContextOptions, NestedCall, TurnHost};
use ambit_script::HostError;
use ambit_storage::{LiveAgent, ids};
use async_trait::async_trait;
use chunk_listener::ChunkListener;
use scoped_task::ScopedTask;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Answers what the hooks of one agent ask.
pub(super) struct AgentTurnHost {
    core: Arc<RuntimeCore>,
    loaded: Arc<LoadedApp>,
    session: LiveAgent,
    ids: TurnIds,
    trace_log: StreamWriter,
    /// What they use for the turn.
    spent: Arc<TurnUsage>,
    settings: TurnSettings,
    /// The agents so far, the asking one last.
    chain: Vec<String>,
    /// What its calls have done, if that is kept.
    calls: Option<Arc<NestedCallJournal>>,
    /// Where it asks: the call it is in, the agent's place in the chain, and the step.
    place: Value,
}

impl Turn {
    /// Whom the hooks of this agent ask for what only a runtime can do.
    pub(super) fn turn_host(&self, leg: &AgentRun, step: &str) -> AgentTurnHost {
        let within = self.parent.as_ref().and_then(|fork| fork.record.as_ref());
        let within = within.map(|kept| kept.key.as_str());
        AgentTurnHost {
            calls: self.calls.clone(),
            place: json!([within, leg.index, step]),
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            session: self.session.clone(),
            ids: self.ids.clone(),
            trace_log: self.trace_log.clone(),
            spent: self.usage.clone(),
            settings: self.settings.clone(),
            chain: leg.chain.clone(),
        }
    }
}

#[async_trait]
impl TurnHost for AgentTurnHost {
    async fn open_context(
        &self,
        caller: &ScriptContext,
        wanted: DetachedContextOptions,
    ) -> Result<Arc<ScriptContext>> {
        self.core.open_context(caller, wanted).await
    }

    async fn call(
        &self,
        caller: &ScriptContext,
        mut nested: NestedCall,
    ) -> Result<Value, HostError> {
        let on_chunk = nested.on_chunk.take();
        let mut answer = match nested.callee {
            CalleeKind::Agent => json!({"agent_id": nested.name}),
            CalleeKind::Model => json!({"connector": nested.name}),
        };
        let ended = match self.begin(caller, nested) {
            Err(error) => (Some(Err(error)), String::new()),
            Ok(call) => {
                let shown = call.shown.clone();
                let mut listener = on_chunk
                    .map(|on_chunk| shown.listen(on_chunk))
                    .transpose()?;
                // A task of its own: calls within calls would not fit on one stack.
                let mut task = ScopedTask::start(call.run());
                let ended = match &mut listener {
                    None => Some(task.join().await),
                    Some(listener) => listener.hear(task.join()).await?,
                };
                if ended.is_none() {
                    task.stop().await;
                }
                (ended, shown.said())
            }
        };
        let (response, content, error) = match ended {
            (Some(Ok((response, content))), said) => {
                let content = if content.is_empty() { said } else { content };
                (response, content, None)
            }
            (Some(Err(error)), said) => (Value::Null, said, Some(error.message)),
            (None, said) => {
                answer["stopped"] = true.into();
                (Value::Null, said, None)
            }
        };
        answer["response"] = response;
        answer["content"] = content.into();
        answer["error"] = error.into();
        Ok(answer)
    }
}

/// A call under way. Dropped, it ends as far as it got.
struct NestedTurn {
    turn: Turn,
    work: NestedWork,
    shown: NestedOutput,
    /// What came of it in an earlier attempt.
    ended: Option<(Value, String)>,
    node: TraceNode,
    is_over: bool,
    /// Ends behind all of it.
    _running: TaskTrackerToken,
}

/// Where a call speaks.
#[derive(Clone)]
struct NestedOutput {
    speaker: AgentOutbox,
    /// The messages that were there before.
    before: usize,
}

/// What is done.
enum NestedWork {
    Agent,
    Model(Box<(AgentRun, ModelCallPlan)>),
}

impl AgentTurnHost {
    fn begin(&self, caller: &ScriptContext, nested: NestedCall) -> Result<NestedTurn> {
        let NestedCall {
            callee,
            name,
            messages,
            mut options,
            is_silent,
            ..
        } = nested;
        let agent = match callee {
            CalleeKind::Agent => self.loaded.agent(&name)?.0,
            CalleeKind::Model => caller.agent.clone(),
        };
        // Models have no effects of their own.
        let calls = self.calls.as_ref().filter(|_| callee == CalleeKind::Agent);
        let kept = calls.map(|calls| calls.begin(&json!([self.place, name, messages, options])));
        let context_id = format!("{}.f{}", self.ids.request_id, ids::unguessable());
        let speaker = self.speaker(caller, (callee, &agent, is_silent), &context_id);
        let skip = options.remove("skip").unwrap_or_default();
        let node = match skip.get("trace") == Some(&Value::Bool(true)) {
            true => trace::Trace::off(&context_id).root(),
            false => parent_turn::node(caller, (callee, &name), &messages),
        };
        let mut request = self.request(caller, &mut options);
        request.agent.clone_from(&agent.id);
        request.messages.clone_from(&messages);
        request.skip = SkipOptions {
            history: true,
            output: false,
            ..SkipOptions::default().with(&skip)
        };
        if callee == CalleeKind::Agent {
            request.further = parent_turn::further(&options);
        }
        let messages_before = speaker.outbox().messages().len();
        let mut turn = self.turn(caller, request, (context_id, speaker.outbox()))?;
        let ended = turn.resume_call(kept.as_ref());
        turn.parent = Some(ParentTurn {
            ancestors: self.chain.clone(),
            voice: speaker.author().clone(),
            node: node.clone(),
            record: kept,
        });
        let work = match callee {
            CalleeKind::Agent => NestedWork::Agent,
            CalleeKind::Model => NestedWork::Model(Box::new(script_model_call::call(
                &turn,
                (name, messages),
                options,
            )?)),
        };
        Ok(NestedTurn {
            turn,
            work,
            shown: NestedOutput {
                speaker,
                before: messages_before,
            },
            ended,
            node,
            is_over: false,
            _running: self.spent.begin(),
        })
    }

    /// What the caller is asked for, as far as it is the caller's.
    fn request(&self, caller: &ScriptContext, options: &mut Map<String, Value>) -> TurnRequest {
        let mut metadata = caller.properties.metadata.clone();
        if let Some(Value::Object(more)) = options.remove("metadata") {
            metadata.extend(more);
        }
        let text = |name: &str| options.get(name).and_then(Value::as_str).map(str::to_owned);
        TurnRequest {
            authorized: caller.properties.authorized.clone(),
            chat: Some(self.ids.chat_id.clone()),
            connector: text("connector"),
            mode: text("mode"),
            origin: RequestOrigin {
                referer: "agent_fork".to_owned(),
                ..caller.properties.origin.clone()
            },
            metadata,
            ..TurnRequest::default()
        }
    }

    /// The turn within the turn, which speaks into this outbox.
    fn turn(
        &self,
        caller: &ScriptContext,
        request: TurnRequest,
        (context_id, outbox): (String, &Outbox),
    ) -> Result<Turn> {
        let parts = TurnParts {
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            limits: *self.loaded.agent(&request.agent)?.1.limits(),
            session: self.session.clone(),
            request,
            ids: TurnIds {
                context_id,
                ..self.ids.clone()
            },
            started_at: self.core.stores.options().clock.now(),
        };
        let traced = (caller.trace.trace().clone(), self.trace_log.clone());
        let inside = (self.spent.clone(), self.calls.clone());
        let mut turn = parts.turn(outbox.clone(), traced, inside)?;
        turn.settings = TurnSettings {
            metadata: turn.settings.metadata,
            // What is for the agent that calls alone.
            servers: None,
            instructions: None,
            ..self.settings.clone()
        };
        Ok(turn)
    }

    /// Who speaks: an agent in a thread of its own, a model as the script that calls it; one that the client does not see in
    /// an outbox of its own.
    fn speaker(
        &self,
        caller: &ScriptContext,
        (callee, agent, is_silent): (CalleeKind, &Arc<AppAgent>, bool),
        context_id: &str,
    ) -> AgentOutbox {
        let (outbox, voice) = (caller.speaker.outbox(), caller.speaker.author());
        if is_silent || voice.is_silent {
            let (space, driver) = self.session.context().place();
            let place = StreamTarget {
                driver,
                log: TurnKeys::new(space, context_id).events(),
                check: None,
            };
            let log = StreamWriter::open(place, StreamOptions::transient());
            return outbox.detached(log).for_author(MessageAuthor {
                thread: None,
                is_silent: false,
                assistant_id: agent.id.clone(),
            });
        }
        match callee {
            CalleeKind::Agent => caller.speaker.fork(&agent.name, &agent.id, false),
            CalleeKind::Model => caller.speaker.clone(),
        }
    }
}

impl NestedWork {
    async fn run(&self, turn: &mut Turn) -> Result<(Value, String)> {
        match self {
            Self::Agent => {
                let response = turn.run_agents().await?;
                let content = match (&response.next, &response.completion["content"]) {
                    (Value::Null, Value::String(text)) => text.clone(),
                    (Value::Null, _) => String::new(),
                    (Value::String(text), _) => text.clone(),
                    (other, _) => other.to_string(),
                };
                Ok((response.to_json(turn), content))
            }
            Self::Model(call) => {
                let (leg, plan) = call.as_ref();
                let answer = converse::call(turn, leg, plan).await?;
                let completion = turn.completion(&answer);
                Ok((completion, answer.text))
            }
        }
    }
}

impl NestedTurn {
    async fn run(mut self) -> Result<(Value, String)> {
        let ended = match self.ended.take() {
            Some(ended) => Ok(ended),
            None => {
                let ended = self.work.run(&mut self.turn).await;
                if let Ok(ended) = &ended {
                    self.turn.keep_end(ended).await;
                }
                ended
            }
        };
        match &ended {
            Ok((_, content)) => self.node.complete(Some(content.as_str().into())),
            Err(error) => self.node.fail(&error.message),
        }
        self.finish(match ended {
            Ok(_) => MessageStatus::Completed,
            Err(_) => MessageStatus::Partial,
        });
        ended
    }

    fn finish(&mut self, status: MessageStatus) {
        self.is_over = true;
        if matches!(self.work, NestedWork::Agent) {
            self.shown.speaker.end_thread(status);
        }
    }
}

impl Drop for NestedTurn {
    fn drop(&mut self) {
        if !self.is_over {
            // Behind a defect nothing more is tried: a second one would end the process.
            if !std::thread::panicking() {
                self.turn.break_off();
            }
            self.node.close(trace::TraceStatus::Cancelled);
            self.finish(MessageStatus::Partial);
        }
        if let Some(fork) = &self.turn.parent {
            fork.leave(&self.turn.usage);
        }
    }
}

impl NestedOutput {
    fn listen(&self, on_chunk: ChunkCallback) -> Result<ChunkListener> {
        let log = self.speaker.outbox().log();
        ChunkListener::new(log, self.speaker.author().thread.clone(), on_chunk)
    }

    /// The texts that were shown.
    fn said(&self) -> String {
        let thread = &self.speaker.author().thread;
        let mut messages = self.speaker.outbox().messages();
        messages.drain(..self.before.min(messages.len()));
        messages.retain(|message| message.kind == "text" && message.thread_id == *thread);
        let texts = messages
            .iter()
            .filter_map(|message| message.props.get("content")?.as_str());
        texts.collect::<Vec<&str>>().join("\n")
    }
}
