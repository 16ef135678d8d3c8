//! A step of a turn.

use super::event::{LogLevel, NodeView, TraceEvent, TraceLogEntry, TraceStatus};
use super::facts::StepFacts;
use super::state::{NODES, TraceState};
use super::{Millis, Trace, TraceSpace};
use crate::manifest::ModelCallEnd;
use crate::net::OutgoingTrace;
use serde_json::{Map, Value};

/// A node of a trace. Cheap to clone; clones are the same node. A node that there was no room for takes every call silently.
#[derive(Clone)]
pub struct TraceNode {
    trace: Trace,
    number: Option<u32>,
}

/// How a node begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeOptions {
    /// What people read.
    pub label: String,
    /// What kind of step.
    pub kind: String,
    /// What people see beside the label.
    pub icon: String,
    /// What the step is for.
    pub description: String,
    /// More of it.
    pub metadata: Map<String, Value>,
    /// What goes in.
    pub input: Value,
    /// What is known of it so far, of a step of the runtime.
    pub facts: Option<StepFacts>,
}

impl NodeOptions {
    /// A step of this kind with a label.
    pub fn new(kind: &str, label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    /// The same with what goes in.
    pub fn with_input(self, input: Value) -> Self {
        Self { input, ..self }
    }

    /// The same with more of it.
    pub fn with_metadata(self, metadata: Value) -> Self {
        let metadata = match metadata {
            Value::Object(metadata) => metadata,
            _ => Map::new(),
        };
        Self { metadata, ..self }
    }

    /// The same with what is known of it.
    pub fn with_facts(self, facts: StepFacts) -> Self {
        Self {
            facts: Some(facts),
            ..self
        }
    }
}

impl TraceNode {
    pub(super) fn of(trace: &Trace, number: Option<u32>) -> Self {
        let trace = trace.clone();
        Self { trace, number }
    }

    /// A new node below all of these.
    pub(super) fn start(trace: &Trace, parents: &[u32], start: NodeOptions) -> Self {
        let mut number = None;
        trace.emit(|state, at| {
            number = state.add_node(parents);
            let Some(number) = number else {
                state.overflow(NODES);
                return Vec::new();
            };
            let cutter = &mut state.cutter;
            let node = NodeView {
                id: id(number),
                parent_ids: parents.iter().map(|parent| id(*parent)).collect(),
                label: cutter.text(start.label),
                kind: cutter.text(start.kind),
                icon: cutter.text(start.icon),
                description: cutter.text(start.description),
                metadata: cutter.map(start.metadata),
                input: cutter.value(start.input),
                facts: start.facts,
                start_at: at,
                ..NodeView::default()
            };
            let node = Box::new(node);
            vec![TraceEvent::NodeStart { node }]
        });
        Self::of(trace, number)
    }

    /// The trace it is part of.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Its number; `None` where nothing is recorded of it.
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// Its id in the trace; empty where nothing is recorded of it.
    pub fn id(&self) -> String {
        self.number.map_or_else(String::new, id)
    }

    /// Its id in the trace, if something is recorded of it.
    pub fn recorded_id(&self) -> Option<String> {
        self.number.map(id)
    }

    /// Notes that its script has read a value of memory, for the manifests of calls behind it.
    pub(crate) fn note_read(&self, space: &str, key: &str) {
        self.trace.note_read(&self.id(), space, key);
    }

    /// A step below this one.
    pub fn add(&self, start: NodeOptions) -> Self {
        Self::join(std::slice::from_ref(self), start)
    }

    /// A step below all of these, of which there must be one.
    pub fn join(parents: &[Self], start: NodeOptions) -> Self {
        let numbers: Vec<u32> = parents.iter().filter_map(|parent| parent.number).collect();
        match parents.first() {
            Some(first) if numbers.is_empty() => Self::of(&first.trace, None),
            Some(first) => Self::start(&first.trace, &numbers, start),
            None => Self::of(&Trace::off(""), None),
        }
    }

    /// Writes a line.
    pub fn log(&self, level: LogLevel, message: impl Into<String>, data: Value) {
        let message = message.into();
        self.emit(|number, state, at| {
            if !state.add_line() {
                return None;
            }
            Some(TraceEvent::LogAdded(TraceLogEntry {
                node_id: id(number),
                level,
                message: state.cutter.text(message),
                data: state.cutter.value(data),
                at,
            }))
        });
    }

    /// A warning without data.
    pub fn warn(&self, message: impl Into<String>) {
        self.log(LogLevel::Warn, message, Value::Null);
    }

    /// Says what came out. What is said of a node counts as a line.
    pub fn set_output(&self, output: Value) {
        self.emit(|number, state, at| {
            state.add_line().then(|| TraceEvent::NodeUpdated {
                id: id(number),
                output: Some(state.cutter.value(output)),
                metadata: Map::new(),
                facts: None,
                at,
            })
        });
    }

    /// Says what is known of it by now.
    pub fn set_facts(&self, facts: StepFacts) {
        self.set_facts_with(facts, Value::Null);
    }

    /// The same, with metadata beside it: an object, or nothing.
    pub fn set_facts_with(&self, facts: StepFacts, metadata: Value) {
        self.emit(|number, state, at| {
            let metadata = match metadata {
                Value::Object(metadata) => state.cutter.map(metadata),
                _ => Map::new(),
            };
            Some(TraceEvent::NodeUpdated {
                id: id(number),
                output: None,
                metadata,
                facts: Some(Box::new(facts)),
                at,
            })
        });
    }

    /// What requests to others say that it does.
    pub fn outgoing(&self) -> Option<OutgoingTrace> {
        let propagation = self.trace.propagation()?;
        propagation.at(self.number.map(id).as_deref())
    }

    /// Says more about it.
    pub fn set_metadata(&self, key: &str, value: Value) {
        self.emit(|number, state, at| {
            let metadata = Map::from_iter([(key.to_owned(), value)]);
            state.add_line().then(|| TraceEvent::NodeUpdated {
                id: id(number),
                output: None,
                metadata: state.cutter.map(metadata),
                facts: None,
                at,
            })
        });
    }

    /// Notes what came of a call of a model.
    pub fn end_call(&self, call_id: &str, end: ModelCallEnd) {
        self.trace.emit(|_, at| {
            vec![TraceEvent::CallEnd {
                call_id: call_id.to_owned(),
                end: Box::new(end),
                at,
            }]
        });
    }

    /// Ends it as it should end. One that has ended stays as it is.
    pub fn complete(&self, output: Option<Value>) {
        self.end(TraceStatus::Completed, output);
    }

    /// Ends it in another way than by completing or failing. One that has ended stays as it is.
    pub fn close(&self, status: TraceStatus) {
        self.end(status, None);
    }

    /// Ends it as cancelled, and what is running below it. What has ended stays as it is.
    pub fn cancel(&self) {
        let below = |number| self.trace.look(|state| state.running_below(number));
        let below = self.number.and_then(below).unwrap_or_default();
        for number in below.into_iter().rev() {
            self.trace.node(number).close(TraceStatus::Cancelled);
        }
        self.close(TraceStatus::Cancelled);
    }

    /// Says that it failed; also after it has ended, for what fails last counts.
    pub fn fail(&self, error: &str) {
        self.emit(|number, state, at| {
            if state.status(number) != Some(TraceStatus::Running) && !state.add_line() {
                return None;
            }
            state.close(number, TraceStatus::Failed);
            Some(TraceEvent::NodeFailed {
                id: id(number),
                error: state.cutter.text(error.to_owned()),
                at,
            })
        });
    }

    /// True while it has not ended.
    pub fn is_running(&self) -> bool {
        let status = self
            .number
            .and_then(|number| self.trace.look(|state| state.status(number)));
        status.flatten() == Some(TraceStatus::Running)
    }

    /// A board beside the trace.
    pub fn add_space(&self, start: NodeOptions) -> TraceSpace {
        match self.number {
            Some(_) => TraceSpace::start(&self.trace, start),
            None => TraceSpace::silent(&self.trace),
        }
    }

    fn end(&self, status: TraceStatus, output: Option<Value>) {
        self.emit(|number, state, at| {
            if state.status(number) != Some(TraceStatus::Running) {
                return None;
            }
            state.close(number, status);
            Some(TraceEvent::NodeComplete {
                id: id(number),
                status,
                output: output.map(|output| state.cutter.value(output)),
                at,
            })
        });
    }

    fn emit(&self, change: impl FnOnce(u32, &mut TraceState, Millis) -> Option<TraceEvent>) {
        let Some(number) = self.number else {
            return;
        };
        self.trace.emit(|state, at| {
            let known = state.status(number).is_some();
            let event = known.then(|| change(number, state, at));
            event.flatten().into_iter().collect()
        });
    }
}

fn id(number: u32) -> String {
    format!("n{number}")
}
