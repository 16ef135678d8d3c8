//! Calls of agents and models from inside a turn: turns within the turn. Of what they say only what was shown is stored. After a
//! crash the hook that called runs again, and calls again: what its agents had done is kept for that, and not done once more.

mod kept;
mod listener;
mod lone;
mod task;
mod within;

pub(super) use kept::{Calls, Done};
pub(super) use within::Fork;

use super::begin::Parts;
use super::leg::Leg;
use super::meter::Spent;
use super::model;
use super::plan::Plan;
use super::{Settings, Turn};
use crate::app::Agent;
use crate::ask::{Ask, Callee, Nested, OnChunk, Wanted};
use crate::census::Counted;
use crate::ctx::Scope;
use crate::error::Result;
use crate::frame::Status;
use crate::journal::{Ids, Names};
use crate::loaded::Loaded;
use crate::outbox::{Outbox, Speaker, Voice};
use crate::request::{Origin, Request, Skip};
use crate::runtime::Core;
use crate::stream::{Log, Options, Place};
use crate::trace::{self, Node};
use ambit_script::HostError;
use ambit_storage::{LiveAgent, ids};
use async_trait::async_trait;
use listener::Listener;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use task::Task;

/// Answers what the hooks of one agent ask.
pub(super) struct Asker {
    core: Arc<Core>,
    loaded: Arc<Loaded>,
    session: LiveAgent,
    ids: Ids,
    trace_log: Log,
    /// What they use for the turn.
    spent: Arc<Spent>,
    settings: Settings,
    /// The agents so far, the asking one last.
    chain: Vec<String>,
    /// What its calls have done, if that is kept.
    calls: Option<Arc<Calls>>,
    /// Where it asks: the call it is in, the agent's place in the chain, and the step.
    place: Value,
}

impl Turn {
    /// Whom the hooks of this agent ask for what only a runtime can do.
    pub(super) fn asker(&self, leg: &Leg, step: &str) -> Asker {
        let within = self.fork.as_ref().and_then(|fork| fork.kept.as_ref());
        let within = within.map(|kept| kept.key.as_str());
        Asker {
            calls: self.calls.clone(),
            place: json!([within, leg.at, step]),
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            session: self.session.clone(),
            ids: self.ids.clone(),
            trace_log: self.trace_log.clone(),
            spent: self.spent.clone(),
            settings: self.settings.clone(),
            chain: leg.chain.clone(),
        }
    }
}

#[async_trait]
impl Ask for Asker {
    async fn open_context(&self, caller: &Scope, wanted: Wanted) -> Result<Arc<Scope>> {
        self.core.open_context(caller, wanted).await
    }

    async fn call(&self, caller: &Scope, mut nested: Nested) -> Result<Value, HostError> {
        let on_chunk = nested.on_chunk.take();
        let mut answer = match nested.callee {
            Callee::Agent => json!({"agent_id": nested.name}),
            Callee::Model => json!({"connector": nested.name}),
        };
        let ended = match self.begin(caller, nested) {
            Err(error) => (Some(Err(error)), String::new()),
            Ok(call) => {
                let shown = call.shown.clone();
                let mut listener = on_chunk
                    .map(|on_chunk| shown.listen(on_chunk))
                    .transpose()?;
                // A task of its own: calls within calls would not fit on one stack.
                let mut task = Task::start(call.run());
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
struct Call {
    turn: Turn,
    work: Work,
    shown: Shown,
    /// What came of it in an earlier attempt.
    ended: Option<(Value, String)>,
    node: Node,
    is_over: bool,
    /// Ends behind all of it.
    _running: Counted,
}

/// Where a call speaks.
#[derive(Clone)]
struct Shown {
    speaker: Speaker,
    /// The messages that were there before.
    before: usize,
}

/// What is done.
enum Work {
    Agent,
    Model(Box<(Leg, Plan)>),
}

impl Asker {
    fn begin(&self, caller: &Scope, nested: Nested) -> Result<Call> {
        let Nested {
            callee,
            name,
            messages,
            mut options,
            is_silent,
            ..
        } = nested;
        let agent = match callee {
            Callee::Agent => self.loaded.agent(&name)?.0,
            Callee::Model => caller.agent.clone(),
        };
        // Models have no effects of their own.
        let calls = self.calls.as_ref().filter(|_| callee == Callee::Agent);
        let kept = calls.map(|calls| calls.begin(&json!([self.place, name, messages, options])));
        let context_id = format!("{}.f{}", self.ids.request_id, ids::unguessable());
        let speaker = self.speaker(caller, (callee, &agent, is_silent), &context_id);
        let skip = options.remove("skip").unwrap_or_default();
        let node = match skip.get("trace") == Some(&Value::Bool(true)) {
            true => trace::Trace::off(&context_id).root(),
            false => within::node(caller, (callee, &name), &messages),
        };
        let mut request = self.request(caller, &mut options);
        request.agent.clone_from(&agent.id);
        request.messages.clone_from(&messages);
        request.skip = Skip {
            history: true,
            output: false,
            ..Skip::default().with(&skip)
        };
        if callee == Callee::Agent {
            request.further = within::further(&options);
        }
        let messages_before = speaker.outbox().messages().len();
        let mut turn = self.turn(caller, request, (context_id, speaker.outbox()))?;
        let ended = turn.taken_up(kept.as_ref());
        turn.fork = Some(Fork {
            above: self.chain.clone(),
            voice: speaker.voice().clone(),
            node: node.clone(),
            kept,
        });
        let work = match callee {
            Callee::Agent => Work::Agent,
            Callee::Model => Work::Model(Box::new(lone::call(&turn, (name, messages), options)?)),
        };
        Ok(Call {
            turn,
            work,
            shown: Shown {
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
    fn request(&self, caller: &Scope, options: &mut Map<String, Value>) -> Request {
        let mut metadata = caller.properties.metadata.clone();
        if let Some(Value::Object(more)) = options.remove("metadata") {
            metadata.extend(more);
        }
        let text = |name: &str| options.get(name).and_then(Value::as_str).map(str::to_owned);
        Request {
            authorized: caller.properties.authorized.clone(),
            chat: Some(self.ids.chat_id.clone()),
            connector: text("connector"),
            mode: text("mode"),
            origin: Origin {
                referer: "agent_fork".to_owned(),
                ..caller.properties.origin.clone()
            },
            metadata,
            ..Request::default()
        }
    }

    /// The turn within the turn, which speaks into this outbox.
    fn turn(
        &self,
        caller: &Scope,
        request: Request,
        (context_id, outbox): (String, &Outbox),
    ) -> Result<Turn> {
        let parts = Parts {
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            limits: *self.loaded.agent(&request.agent)?.1.limits(),
            session: self.session.clone(),
            request,
            ids: Ids {
                context_id,
                ..self.ids.clone()
            },
            started_at: self.core.stores.options().clock.now(),
        };
        let traced = (caller.trace.trace().clone(), self.trace_log.clone());
        let inside = (self.spent.clone(), self.calls.clone());
        let mut turn = parts.turn(outbox.clone(), traced, inside)?;
        turn.settings = Settings {
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
        caller: &Scope,
        (callee, agent, is_silent): (Callee, &Arc<Agent>, bool),
        context_id: &str,
    ) -> Speaker {
        let (outbox, voice) = (caller.speaker.outbox(), caller.speaker.voice());
        if is_silent || voice.is_silent {
            let (space, driver) = self.session.context().place();
            let place = Place {
                driver,
                log: Names::new(space, context_id).events(),
                check: None,
            };
            let log = Log::open(place, Options::unkept());
            return outbox.apart(log).speaker(Voice {
                thread: None,
                is_silent: false,
                assistant_id: agent.id.clone(),
            });
        }
        match callee {
            Callee::Agent => caller.speaker.fork(&agent.name, &agent.id, false),
            Callee::Model => caller.speaker.clone(),
        }
    }
}

impl Work {
    async fn run(&self, turn: &mut Turn) -> Result<(Value, String)> {
        match self {
            Self::Agent => {
                let response = turn.answer().await?;
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
                let answer = model::call(turn, leg, plan).await?;
                let completion = turn.completion(&answer);
                Ok((completion, answer.text))
            }
        }
    }
}

impl Call {
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
            Ok(_) => Status::Completed,
            Err(_) => Status::Partial,
        });
        ended
    }

    fn finish(&mut self, status: Status) {
        self.is_over = true;
        if matches!(self.work, Work::Agent) {
            self.shown.speaker.end_thread(status);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_over {
            // Behind a defect nothing more is tried: a second one would end the process.
            if !std::thread::panicking() {
                self.turn.break_off();
            }
            self.node.close(trace::Status::Cancelled);
            self.finish(Status::Partial);
        }
        if let Some(fork) = &self.turn.fork {
            fork.leave(&self.turn.spent);
        }
    }
}

impl Shown {
    fn listen(&self, on_chunk: OnChunk) -> Result<Listener> {
        let log = self.speaker.outbox().log();
        Listener::new(log, self.speaker.voice().thread.clone(), on_chunk)
    }

    /// The texts that were shown.
    fn said(&self) -> String {
        let thread = &self.speaker.voice().thread;
        let mut messages = self.speaker.outbox().messages();
        messages.drain(..self.before.min(messages.len()));
        messages.retain(|message| message.kind == "text" && message.thread_id == *thread);
        let texts = messages
            .iter()
            .filter_map(|message| message.props.get("content")?.as_str());
        texts.collect::<Vec<&str>>().join("\n")
    }
}
