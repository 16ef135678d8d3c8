//! The threads of a turn as subagents, and the steps of the turn and of its threads.

use super::event::{AgUiEvent, AgUiEventContent};
use ambit_runtime::frame::{MessageStatus, ThreadStartEvent};
use ambit_runtime::public_id;
use indexmap::IndexMap;

/// What is known of threads and steps.
#[derive(Default)]
pub struct Subagents {
    threads: IndexMap<String, SubagentThread>,
    /// The steps that run. Two calls of models at once may have one name: it ends with the last of them.
    steps: Vec<RunningStep>,
}

#[derive(Default)]
struct SubagentThread {
    /// How often it began; each time it is another subagent.
    openings: usize,
    is_open: bool,
    /// Steps that have begun before the thread shows anything.
    early_steps: Vec<String>,
}

#[derive(Clone, PartialEq)]
struct RunningStep {
    thread: Option<String>,
    name: String,
}

impl Subagents {
    /// The id of a thread's subagent.
    pub fn run_id(&self, request_id: &str, thread: &str) -> String {
        let id = public_id::message_id(request_id, thread);
        let openings = self.threads.get(thread).map_or(0, |known| known.openings);
        match openings {
            0 | 1 => id,
            again => format!("{id}.c{}", again - 1),
        }
    }

    /// A thread begins, in which this agent speaks; one that had ended is another subagent from now on.
    pub fn begin(
        &mut self,
        request_id: &str,
        agent: &str,
        start: &ThreadStartEvent<'_>,
    ) -> Vec<AgUiEvent> {
        let parent = start.parent_thread_id.filter(|parent| {
            let known = self.threads.get(*parent);
            known.is_some_and(|known| known.openings > 0)
        });
        let parent = parent.map(|parent| self.run_id(request_id, parent));
        let call = start.call_message_id;
        let call = call.map(|message| public_id::call_id(request_id, message));
        let thread = self.threads.entry(start.thread_id.to_owned()).or_default();
        if thread.is_open {
            return Vec::new();
        }
        thread.is_open = true;
        thread.openings += 1;
        let steps = std::mem::take(&mut thread.early_steps);
        let id = self.run_id(request_id, start.thread_id);
        let mut events = vec![AgUiEvent {
            content: AgUiEventContent::SubagentStarted {
                name: agent.to_owned(),
                parent_subagent_run_id: parent,
                parent_tool_call_id: call,
            },
            subagent_run_id: Some(id),
        }];
        for name in steps {
            events.extend(self.begin_step(request_id, Some(start.thread_id), name));
        }
        events
    }

    /// A thread ends, and what runs in it.
    pub fn end(&mut self, request_id: &str, thread: &str, status: MessageStatus) -> Vec<AgUiEvent> {
        let id = self.run_id(request_id, thread);
        let Some(known) = self.threads.get_mut(thread).filter(|known| known.is_open) else {
            return Vec::new();
        };
        known.is_open = false;
        let mut events = self.end_steps(request_id, |step| step.thread.as_deref() == Some(thread));
        let content = match status {
            MessageStatus::Completed => AgUiEventContent::SubagentFinished {},
            MessageStatus::Partial => AgUiEventContent::SubagentError {
                message: "the agent was stopped before its end",
                code: "cancelled",
            },
            MessageStatus::Error => AgUiEventContent::SubagentError {
                message: "the agent failed",
                code: "internal",
            },
        };
        events.push(AgUiEvent {
            content,
            subagent_run_id: Some(id),
        });
        events
    }

    /// A step begins.
    pub fn begin_step(
        &mut self,
        request_id: &str,
        thread: Option<&str>,
        name: String,
    ) -> Option<AgUiEvent> {
        if let Some(thread) = thread {
            let known = self.threads.entry(thread.to_owned()).or_default();
            if !known.is_open {
                known.early_steps.push(name);
                return None;
            }
        }
        let step = RunningStep {
            thread: thread.map(str::to_owned),
            name: name.clone(),
        };
        let runs_already = self.steps.contains(&step);
        self.steps.push(step);
        (!runs_already).then(|| AgUiEvent {
            content: AgUiEventContent::StepStarted { step_name: name },
            subagent_run_id: thread.map(|thread| self.run_id(request_id, thread)),
        })
    }

    /// A step ends.
    pub fn end_step(
        &mut self,
        request_id: &str,
        thread: Option<&str>,
        name: &str,
    ) -> Option<AgUiEvent> {
        if let Some(known) = thread.and_then(|thread| self.threads.get_mut(thread)) {
            let early = known.early_steps.iter().position(|step| step == name);
            early.map(|at| known.early_steps.remove(at));
        }
        let step = RunningStep {
            thread: thread.map(str::to_owned),
            name: name.to_owned(),
        };
        let at = self.steps.iter().position(|running| *running == step)?;
        self.steps.remove(at);
        let runs_on = self.steps.contains(&step);
        (!runs_on).then(|| self.step_end(request_id, step))
    }

    /// Ends all that runs.
    pub fn end_all(&mut self, request_id: &str, status: MessageStatus) -> Vec<AgUiEvent> {
        let open = self.threads.iter().filter(|(_, known)| known.is_open);
        let open: Vec<String> = open.map(|(thread, _)| thread.clone()).collect();
        let ended = open.iter().rev();
        let mut events: Vec<AgUiEvent> = ended
            .flat_map(|thread| self.end(request_id, thread, status))
            .collect();
        events.extend(self.end_steps(request_id, |_| true));
        events
    }

    fn end_steps(
        &mut self,
        request_id: &str,
        is_over: impl Fn(&RunningStep) -> bool,
    ) -> Vec<AgUiEvent> {
        let mut over: Vec<RunningStep> = Vec::new();
        for step in std::mem::take(&mut self.steps) {
            match is_over(&step) {
                true if over.contains(&step) => {}
                true => over.push(step),
                false => self.steps.push(step),
            }
        }
        let over = over.into_iter().rev();
        over.map(|step| self.step_end(request_id, step)).collect()
    }

    fn step_end(&self, request_id: &str, step: RunningStep) -> AgUiEvent {
        let thread = step.thread.as_deref();
        AgUiEvent {
            subagent_run_id: thread.map(|thread| self.run_id(request_id, thread)),
            content: AgUiEventContent::StepFinished {
                step_name: step.name,
            },
        }
    }
}
