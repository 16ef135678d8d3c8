//! The trace of a turn: a tree of what happened, for showing and debugging. Nothing here ever fails, and nothing here changes
//! the turn.

mod calls;
mod event;
mod facts;
mod node;
mod reads;
mod space;
mod state;
mod tree;
mod truncate;

pub(crate) use calls::{
    StoredCallEvent, StoredCalls, call_end_entry, call_entries, stored_call_events,
};
pub use event::{
    LogLevel, NodeView, SpaceValue, SpaceView, TraceEvent, TraceLogEntry, TraceOrigin, TraceStatus,
    TraceSubject,
};
pub use facts::{AgentFacts, HookFacts, MemoryUse, ModelFacts, SearchFacts, StepFacts, ToolFacts};
pub use node::{NodeOptions, TraceNode};
pub use space::TraceSpace;
pub use tree::{TraceInfo, TraceTree, fold, fold_texts};
pub(crate) use truncate::FieldTruncator;
pub use truncate::{has_cut_instructions, is_cut};

use crate::lock::lock;
use crate::manifest::{BlockContent, MemoryRead};
use crate::stream::StreamWriter;
use crate::trace_context::TracePropagation;
use ambit_storage::clock::{Clock, Millis};
use state::{FULL, TraceState};
use std::sync::{Arc, Mutex};

/// Keeps the events of a trace.
pub trait TraceSink: Send + Sync {
    /// Takes an event as JSON text, behind all before it. Must not wait.
    fn append(&self, text: String);

    /// True where it holds as much as it should: only how things ended is added from now on.
    fn is_full(&self) -> bool;
}

impl TraceSink for StreamWriter {
    fn append(&self, text: String) {
        Self::append(self, text);
    }

    fn is_full(&self) -> bool {
        Self::is_full(self)
    }
}

/// What a trace may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLimits {
    /// Nodes.
    pub nodes: usize,
    /// Log lines.
    pub logs: usize,
    /// Bytes of one field, as JSON.
    pub field: usize,
}

/// The trace of one turn. Cheap to clone; clones are the same trace.
#[derive(Clone)]
pub struct Trace {
    id: Arc<str>,
    live: Option<Arc<LiveTrace>>,
    propagation: Option<Arc<TracePropagation>>,
}

struct LiveTrace {
    state: Mutex<TraceState>,
    clock: Clock,
    sink: Box<dyn TraceSink>,
}

/// What a trace is made of.
pub struct TraceSettings {
    /// What it is about.
    pub about: TraceSubject,
    /// Where it comes from.
    pub origin: TraceOrigin,
    /// What is known of the agent that was asked.
    pub agent: AgentFacts,
    /// What requests to others say of it, if anything.
    pub propagation: Option<TracePropagation>,
    /// What it may hold.
    pub limits: TraceLimits,
    /// The time.
    pub clock: Clock,
    /// Where its events go.
    pub sink: Box<dyn TraceSink>,
}

impl Trace {
    /// Begins a trace and its root.
    pub fn start(settings: TraceSettings) -> Self {
        Self::resume(settings, &TraceTree::default())
    }

    /// Goes on with a trace that another process began. Its nodes are still there; those that were running have failed with
    /// that process.
    pub fn resume(settings: TraceSettings, before: &TraceTree) -> Self {
        let id: Arc<str> = settings.about.trace_id.as_str().into();
        let state = TraceState::new(settings.limits, before);
        let live = LiveTrace {
            state: Mutex::new(state),
            clock: settings.clock,
            sink: settings.sink,
        };
        let trace = Self {
            id,
            live: Some(Arc::new(live)),
            propagation: settings.propagation.map(Arc::new),
        };
        let about = settings.about;
        if before.nodes.is_empty() {
            let label = about.assistant_id.clone();
            let origin = Some(settings.origin).filter(|origin| *origin != TraceOrigin::default());
            let origin = origin.map(Box::new);
            trace.emit(|_, at| vec![TraceEvent::Init { about, origin, at }]);
            let root = NodeOptions::new("turn", label);
            let facts = StepFacts::Agent(settings.agent);
            TraceNode::start(&trace, &[], root.with_facts(facts));
        }
        for node in trace.running() {
            if node.number() != Some(1) {
                node.fail("the process that ran this has ended");
            }
        }
        trace
    }

    /// A trace that records nothing. Everything can be called on it.
    pub fn off(id: &str) -> Self {
        Self {
            id: id.into(),
            live: None,
            propagation: None,
        }
    }

    /// The same with what requests to others say of it.
    pub(crate) fn propagating(self, propagation: Option<TracePropagation>) -> Self {
        Self {
            propagation: propagation.map(Arc::new),
            ..self
        }
    }

    /// The trace's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The time, where something is recorded.
    pub(crate) fn now(&self) -> Option<Millis> {
        self.live.as_ref().map(|live| live.clock.now())
    }

    fn propagation(&self) -> Option<&TracePropagation> {
        self.propagation.as_deref()
    }

    /// True where something is recorded.
    pub fn is_on(&self) -> bool {
        self.live.is_some()
    }

    /// True for a content of a call that is to be kept: it is new here, and there is room for it.
    pub(crate) fn takes_content(&self, content: &BlockContent) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|live| live.lock().add_content(content))
    }

    fn note_read(&self, node: &str, space: &str, key: &str) {
        if let Some(live) = &self.live {
            live.lock().reads.add(node, space, key);
        }
    }

    /// The values of memory that scripts of the turn have read so far.
    pub(crate) fn reads(&self) -> Vec<MemoryRead> {
        self.look(|state| state.reads.all().to_vec())
            .unwrap_or_default()
    }

    /// The node of the turn, above all others.
    pub fn root(&self) -> TraceNode {
        self.node(1)
    }

    /// The node of this number; 0 and others that there are not take every call silently.
    pub fn node(&self, number: u32) -> TraceNode {
        TraceNode::of(self, Some(number).filter(|number| *number > 0))
    }

    /// Ends the trace. What is still running ends with it, in the same way; `error` says why a turn failed.
    pub fn finish(&self, status: TraceStatus, error: Option<&str>) {
        for node in self.running().into_iter().rev() {
            match status {
                TraceStatus::Failed => node.fail(error.unwrap_or("the turn failed")),
                other => node.close(other),
            }
        }
        self.emit(|state, at| {
            state.is_done = true;
            vec![TraceEvent::Complete { status, at }]
        });
    }

    fn running(&self) -> Vec<TraceNode> {
        let Some(live) = &self.live else {
            return Vec::new();
        };
        let numbers = live.lock().running();
        numbers.into_iter().map(|n| self.node(n)).collect()
    }

    /// Changes the state and sends the events that come of it, so that nobody's events come between.
    fn emit(&self, change: impl FnOnce(&mut TraceState, Millis) -> Vec<TraceEvent>) {
        let Some(live) = &self.live else {
            return;
        };
        let mut state = live.lock();
        if state.is_done {
            return;
        }
        let events = change(&mut state, live.clock.now());
        for event in events {
            let event = match live.sink.is_full() {
                true => event.brief(),
                false => Some(event),
            };
            match event {
                Some(event) => live.append(&event),
                None => state.overflow(FULL),
            }
        }
        for warning in state.warnings(live.clock.now()) {
            live.append(&warning);
        }
    }

    /// Looks at the state.
    fn look<T>(&self, look: impl FnOnce(&TraceState) -> T) -> Option<T> {
        let live = self.live.as_ref()?;
        Some(look(&live.lock()))
    }
}

impl LiveTrace {
    fn append(&self, event: &TraceEvent) {
        if let Ok(text) = serde_json::to_string(event) {
            self.sink.append(text);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TraceState> {
        lock(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Keeps texts, and is full when told so.
    #[derive(Clone, Default)]
    struct MemorySink(Arc<(Mutex<Vec<String>>, AtomicBool)>);

    impl TraceSink for MemorySink {
        fn append(&self, text: String) {
            self.0.0.lock().unwrap().push(text);
        }

        fn is_full(&self) -> bool {
            self.0.1.load(Ordering::Relaxed)
        }
    }

    impl MemorySink {
        fn settings(&self) -> TraceSettings {
            TraceSettings {
                about: TraceSubject {
                    trace_id: "t1".to_owned(),
                    ..TraceSubject::default()
                },
                origin: TraceOrigin::default(),
                agent: AgentFacts::default(),
                propagation: None,
                limits: TraceLimits::default(),
                clock: Clock::default(),
                sink: Box::new(self.clone()),
            }
        }

        fn tree(&self) -> TraceTree {
            fold_texts(self.0.0.lock().unwrap().iter().map(String::as_str))
        }
    }

    fn shown(tree: &TraceTree) -> Vec<Value> {
        let nodes = tree.nodes.iter();
        nodes
            .map(|node| {
                json!([
                    node.id,
                    node.parent_ids,
                    node.label,
                    node.status,
                    node.error
                ])
            })
            .collect()
    }

    #[test]
    fn a_finished_trace_has_no_running_node_and_takes_nothing_more() {
        for (status, error) in [
            (TraceStatus::Completed, Value::Null),
            (TraceStatus::Cancelled, Value::Null),
            (TraceStatus::Failed, json!("no model")),
        ] {
            let sink = MemorySink::default();
            let trace = Trace::start(sink.settings());
            let done = trace.root().add(NodeOptions::new("llm", "done"));
            done.complete(Some(json!(1)));
            let open = trace.root().add(NodeOptions::new("tool", "open"));
            trace.finish(status, error.as_str());
            open.log(LogLevel::Info, "late", Value::Null);
            trace.root().add(NodeOptions::new("tool", "late"));
            trace.finish(TraceStatus::Completed, None);
            let tree = sink.tree();
            let expected = [
                json!(["n1", [], "", status, error]),
                json!(["n2", ["n1"], "done", "completed", null]),
                json!(["n3", ["n1"], "open", status, error]),
            ];
            assert_eq!(shown(&tree), expected);
            assert_eq!((tree.info.status, tree.logs.len()), (status, 0));
        }
    }

    #[test]
    fn what_runs_below_a_cancelled_node_is_cancelled_with_it() {
        let sink = MemorySink::default();
        let trace = Trace::start(sink.settings());
        let call = trace.root().add(NodeOptions::new("agent", "call"));
        let hook = call.add(NodeOptions::new("hook", "hook"));
        hook.add(NodeOptions::new("tool", "done")).complete(None);
        let steps = ["a", "b"].map(|label| hook.add(NodeOptions::new("step", label)));
        TraceNode::join(&steps, NodeOptions::new("step", "joined"));
        trace.root().add(NodeOptions::new("tool", "beside"));
        call.cancel();
        let tree = sink.tree();
        let nodes = tree.nodes.iter();
        let found: Vec<(&str, TraceStatus)> = nodes
            .map(|node| (node.label.as_str(), node.status))
            .collect();
        let expected = [
            ("", TraceStatus::Running),
            ("call", TraceStatus::Cancelled),
            ("hook", TraceStatus::Cancelled),
            ("done", TraceStatus::Completed),
            ("a", TraceStatus::Cancelled),
            ("b", TraceStatus::Cancelled),
            ("joined", TraceStatus::Cancelled),
            ("beside", TraceStatus::Running),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_trace_goes_on_where_another_process_left_it() {
        let sink = MemorySink::default();
        let before = Trace::start(sink.settings());
        before.root().add(NodeOptions::new("llm", "lost"));
        let board = before.root().add_space(NodeOptions::new("plan", "board"));
        board.set("k", json!(1));
        let trace = Trace::resume(sink.settings(), &sink.tree());
        trace
            .root()
            .add(NodeOptions::new("llm", "again"))
            .complete(None);
        assert_eq!(
            trace.space("s1").and_then(|board| board.get("k")),
            Some(json!(1))
        );
        trace.finish(TraceStatus::Completed, None);
        let expected = [
            json!(["n1", [], "", "completed", null]),
            json!([
                "n2",
                ["n1"],
                "lost",
                "failed",
                "the process that ran this has ended"
            ]),
            json!(["n3", ["n1"], "again", "completed", null]),
        ];
        assert_eq!(shown(&sink.tree()), expected);
        let ended = Trace::resume(sink.settings(), &sink.tree());
        ended.root().add(NodeOptions::new("llm", "too late"));
        assert_eq!(sink.tree().nodes.len(), 3);
    }

    #[test]
    fn a_full_trace_keeps_how_things_ended() {
        let sink = MemorySink::default();
        let trace = Trace::start(sink.settings());
        let open = trace.root().add(NodeOptions::new("llm", "open"));
        sink.0.1.store(true, Ordering::Relaxed);
        trace
            .root()
            .add(NodeOptions::new("llm", "dropped"))
            .complete(None);
        open.log(LogLevel::Info, "dropped", Value::Null);
        open.complete(Some(json!("dropped")));
        trace.finish(TraceStatus::Completed, None);
        let tree = sink.tree();
        let expected = [
            json!(["n1", [], "", "completed", null]),
            json!(["n2", ["n1"], "open", "completed", null]),
        ];
        assert_eq!(shown(&tree), expected);
        assert_eq!(tree.nodes[1].output, Value::Null);
        let logs: Vec<&str> = tree.logs.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(logs, ["the trace is full; only how things ended is added"]);
    }
}
