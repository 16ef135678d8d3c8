//! Calls of agents and models from inside a turn: turns within the turn. Nothing of them is journalled, and of what they say
//! only what was shown is stored. After a crash the hook that called runs again, and calls again.

use super::begin::Parts;
use super::leg::{CallOptions, Leg};
use super::model;
use super::plan::Plan;
use super::{Settings, Turn};
use crate::app::Agent;
use crate::ask::{Ask, Callee, Nested, Wanted};
use crate::ctx::Scope;
use crate::error::{Error, Result};
use crate::frame::{Shown, Status};
use crate::journal::{Ids, Names};
use crate::limits::Limits;
use crate::llm::Usage;
use crate::loaded::Loaded;
use crate::outbox::{Speaker, Voice};
use crate::request::{Origin, Request, Skip};
use crate::runtime::Core;
use crate::stream::{Entry, Log, Options, Place, Reader};
use crate::trace::{self, Node, Start};
use ambit_script::HostError;
use ambit_storage::{LiveAgent, ids};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

/// What a turn within a turn has of the one around it.
pub(super) struct Fork {
    /// The agents above it, the one that was asked first.
    pub above: Vec<String>,
    /// Where it speaks.
    pub voice: Voice,
    /// What it hangs below in the trace.
    pub node: Node,
}

/// Answers what the hooks of one agent ask.
struct Asker {
    core: Arc<Core>,
    loaded: Arc<Loaded>,
    session: LiveAgent,
    ids: Ids,
    trace_log: Log,
    spent: Arc<Mutex<Usage>>,
    settings: Settings,
    /// The agents so far, the asking one last.
    chain: Vec<String>,
}

impl Turn {
    /// Whom the hooks of this agent ask for what only a runtime can do.
    pub(super) fn asker(&self, leg: &Leg) -> Arc<dyn Ask> {
        Arc::new(Asker {
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            session: self.session.clone(),
            ids: self.ids.clone(),
            trace_log: self.trace_log.clone(),
            spent: self.spent.clone(),
            settings: self.settings.clone(),
            chain: leg.chain.clone(),
        })
    }
}

#[async_trait]
impl Ask for Asker {
    async fn open_context(&self, caller: &Scope, wanted: Wanted) -> Result<Arc<Scope>> {
        self.core.open_context(caller, wanted).await
    }

    async fn call(&self, caller: &Scope, mut nested: Nested) -> Result<Value, HostError> {
        let on_chunk = nested.on_chunk.take();
        let (name, callee) = (nested.name.clone(), nested.callee);
        let began = self.begin(caller, nested);
        let (result, content, is_stopped) = match began {
            Err(error) => (Err(error), String::new(), false),
            Ok(mut call) => {
                let mut heard = on_chunk.map(|on_chunk| call.listen(on_chunk)).transpose()?;
                let ended = {
                    let Call { turn, work, .. } = &mut call;
                    let work = work.run(turn);
                    match &mut heard {
                        None => Some(work.await),
                        Some(heard) => heard.while_running(work).await?,
                    }
                };
                if let (Some(_), Some(heard)) = (&ended, &mut heard) {
                    heard.rest().await?;
                }
                call.end(ended).await
            }
        };
        let mut answer = match callee {
            Callee::Agent => json!({"agent_id": name}),
            Callee::Model => json!({"connector": name}),
        };
        answer["error"] = json!(result.as_ref().err().map(|error| error.message.as_str()));
        answer["response"] = result.unwrap_or_default();
        answer["content"] = content.into();
        if is_stopped {
            answer["stopped"] = true.into();
        }
        Ok(answer)
    }
}

/// A call under way. Dropped, it ends as far as it got.
struct Call {
    turn: Turn,
    work: Work,
    speaker: Speaker,
    node: Node,
    /// The messages that were shown there before.
    before: usize,
    is_over: bool,
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
        let context_id = format!("{}.f{}", self.ids.request_id, ids::unguessable());
        let speaker = self.speaker(caller, (callee, &agent, is_silent), &context_id);
        let kind = match callee {
            Callee::Agent => "agent",
            Callee::Model => "step",
        };
        let skip = options.remove("skip").unwrap_or_default();
        let node = match skip.get("trace") == Some(&Value::Bool(true)) {
            true => trace::Trace::off(&context_id).root(),
            false => caller.trace.add(Start::new(kind, name.as_str()).with_input(messages.clone().into())),
        };
        let mut metadata = caller.properties.metadata.clone();
        if let Some(Value::Object(more)) = options.remove("metadata") {
            metadata.extend(more);
        }
        let text = |name: &str| options.get(name).and_then(Value::as_str).map(str::to_owned);
        let request = Request {
            authorized: caller.properties.authorized.clone(),
            agent: agent.id.clone(),
            chat: Some(self.ids.chat_id.clone()),
            messages: messages.clone(),
            connector: text("connector"),
            mode: text("mode"),
            origin: Origin {
                referer: "agent_fork".to_owned(),
                ..caller.properties.origin.clone()
            },
            metadata,
            skip: Skip {
                history: true,
                output: false,
                ..Skip::default().with(&skip)
            },
            ..Request::default()
        };
        let parts = Parts {
            core: self.core.clone(),
            loaded: self.loaded.clone(),
            limits: Limits::of(&self.loaded.app, &agent),
            session: self.session.clone(),
            request,
            ids: Ids {
                context_id,
                ..self.ids.clone()
            },
            started_at: self.core.stores.options().clock.now(),
        };
        let outbox = speaker.outbox().clone();
        let before = outbox.messages().len();
        let traced = (caller.trace.trace().clone(), self.trace_log.clone());
        let mut turn = parts.turn(outbox.log(), outbox, traced)?;
        turn.spent = self.spent.clone();
        turn.settings = Settings {
            metadata: turn.settings.metadata,
            instructions: None,
            ..self.settings.clone()
        };
        turn.fork = Some(Fork {
            above: self.chain.clone(),
            voice: speaker.voice().clone(),
            node: node.clone(),
        });
        let work = match callee {
            Callee::Agent => Work::Agent,
            Callee::Model => Work::Model(Box::new(model_call(&turn, (name, messages), options)?)),
        };
        Ok(Call {
            turn,
            work,
            speaker,
            node,
            before,
            is_over: false,
        })
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
            let options = Options {
                is_persistent: false,
                kept: usize::MAX,
                ..Options::default()
            };
            return outbox.apart(Log::open(place, options)).speaker(Voice {
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

/// A call of a model as a script wants it: nothing of its agent is added.
fn model_call(
    turn: &Turn,
    (connector, messages): (String, Vec<Value>),
    mut options: Map<String, Value>,
) -> Result<(Leg, Plan)> {
    let (agent, hooks) = turn.loaded.agent(&turn.request.agent)?;
    let tools = match options.remove("tools") {
        Some(Value::Array(tools)) => tools,
        _ => Vec::new(),
    };
    let leg = Leg {
        at: 0,
        chain: vec![agent.id.clone()],
        agent,
        hooks,
        messages,
        call: CallOptions {
            skip: turn.request.skip,
            ..CallOptions::default()
        },
    };
    let plan = Plan {
        messages: None,
        options,
        connector,
        servers: Vec::new(),
        client_tools: tools,
        preset: None,
        mode: None,
        disable_global_prompts: true,
    };
    Ok((leg, plan))
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
    fn listen(&self, on_chunk: crate::ask::OnChunk) -> Result<Heard> {
        let log = self.speaker.outbox().log();
        Ok(Heard {
            thread: self.speaker.voice().thread.clone(),
            seen: log.last(),
            reader: log.reader(log.last())?,
            log,
            on_chunk,
        })
    }

    /// What came of it; `None` if it was stopped.
    async fn end(mut self, ended: Option<Result<(Value, String)>>) -> (Result<Value>, String, bool) {
        let status = match &ended {
            Some(Ok(_)) => Status::Completed,
            _ => Status::Partial,
        };
        match &ended {
            Some(Ok((_, content))) => self.node.complete(Some(content.as_str().into())),
            Some(Err(error)) => self.node.fail(&error.message),
            None => self.node.close(trace::Status::Cancelled),
        }
        self.finish(status);
        let is_stopped = ended.is_none();
        match ended {
            Some(Ok((response, content))) if !content.is_empty() => (Ok(response), content, false),
            Some(Ok((response, _))) => (Ok(response), self.said(), false),
            Some(Err(error)) => (Err(error), self.said(), false),
            None => (Ok(Value::Null), self.said(), is_stopped),
        }
    }

    /// The texts that were shown.
    fn said(&self) -> String {
        let voice = self.speaker.voice();
        let is_own = |shown: &Shown| shown.kind == "text" && shown.thread_id == voice.thread;
        let shown = self.speaker.outbox().messages().into_iter().skip(self.before);
        let texts = shown.filter(is_own).filter_map(|shown| {
            let text = shown.props.get("content")?.as_str()?;
            Some(text.to_owned())
        });
        texts.collect::<Vec<String>>().join("\n")
    }

    fn finish(&mut self, status: Status) {
        self.is_over = true;
        if self.speaker.voice().thread.is_some() && matches!(self.work, Work::Agent) {
            self.speaker.end_thread(status);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_over {
            self.node.close(trace::Status::Cancelled);
            self.finish(Status::Partial);
        }
    }
}

/// Gives a script what a call says.
struct Heard {
    log: Log,
    reader: Reader,
    thread: Option<String>,
    /// The last entry that was looked at.
    seen: u64,
    on_chunk: crate::ask::OnChunk,
}

impl Heard {
    /// What came of the work, or `None` where the script has stopped it.
    async fn while_running<T>(&mut self, work: impl Future<Output = T>) -> Result<Option<T>, HostError> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                entries = self.reader.next() => {
                    let Some(entries) = entries? else {
                        return Ok(Some(work.await));
                    };
                    if !self.give(&entries).await? {
                        return Ok(None);
                    }
                }
                ended = &mut work => return Ok(Some(ended)),
            }
        }
    }

    /// What was said to the end.
    async fn rest(&mut self) -> Result<(), HostError> {
        self.log.flush().await?;
        let last = self.log.written();
        while self.seen < last {
            let Some(entries) = self.reader.next().await? else {
                break;
            };
            if !self.give(&entries).await? {
                break;
            }
        }
        Ok(())
    }

    async fn give(&mut self, entries: &[Entry]) -> Result<bool, HostError> {
        for entry in entries {
            self.seen = entry.number;
            let frame: Value = serde_json::from_str(&entry.text)
                .map_err(|error| Error::internal(error.to_string()))?;
            let thread = frame.get("thread_id").or_else(|| frame.pointer("/props/data/thread_id"));
            if thread.and_then(Value::as_str) != self.thread.as_deref() {
                continue;
            }
            if !(self.on_chunk)(frame).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
