//! The trace of a turn: a tree of what happened, for showing and debugging. Nothing here ever fails, and nothing here changes
//! the turn.

mod board;
mod cut;
mod event;
mod fold;
mod node;
mod state;

pub use board::Board;
pub(crate) use cut::Cutter;
pub use event::{About, Event, Level, LogLine, NodeView, Noted, SpaceView, Status};
pub use fold::{Info, Tree, fold, fold_texts};
pub use node::{Node, Start};

use crate::lock::lock;
use crate::stream::Log;
use ambit_storage::clock::{Clock, Millis};
use state::{FULL, State};
use std::sync::{Arc, Mutex};

/// Keeps the events of a trace.
pub trait Sink: Send + Sync {
    /// Takes an event as JSON text, behind all before it. Must not wait.
    fn append(&self, text: String);

    /// True where it holds as much as it should: only how things ended is added from now on.
    fn is_full(&self) -> bool;
}

impl Sink for Log {
    fn append(&self, text: String) {
        Self::append(self, text);
    }

    fn is_full(&self) -> bool {
        Self::is_full(self)
    }
}

/// What a trace may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes.
    pub nodes: usize,
    /// Log lines.
    pub logs: usize,
    /// Bytes of one field, as JSON.
    pub field: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            nodes: 5_000,
            logs: 20_000,
            field: 64 << 10,
        }
    }
}

/// The trace of one turn. Cheap to clone; clones are the same trace.
#[derive(Clone)]
pub struct Trace {
    id: Arc<str>,
    live: Option<Arc<Live>>,
}

struct Live {
    state: Mutex<State>,
    clock: Clock,
    sink: Box<dyn Sink>,
}

/// What a trace is made of.
pub struct Settings {
    /// What it is about.
    pub about: About,
    /// What it may hold.
    pub limits: Limits,
    /// The time.
    pub clock: Clock,
    /// Where its events go.
    pub sink: Box<dyn Sink>,
}

impl Trace {
    /// Begins a trace and its root.
    pub fn start(settings: Settings) -> Self {
        Self::go_on(settings, &Tree::default())
    }

    /// Goes on with a trace that another process began. Its nodes are still there; those that were running have failed with
    /// that process.
    pub fn go_on(settings: Settings, before: &Tree) -> Self {
        let id: Arc<str> = settings.about.trace_id.as_str().into();
        let state = State::new(settings.limits, before);
        let live = Live {
            state: Mutex::new(state),
            clock: settings.clock,
            sink: settings.sink,
        };
        let trace = Self {
            id,
            live: Some(Arc::new(live)),
        };
        let about = settings.about;
        if before.nodes.is_empty() {
            let label = about.assistant_id.clone();
            trace.emit(|_, at| vec![Event::Init { about, at }]);
            Node::start(&trace, &[], Start::new("turn", label));
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
        }
    }

    /// The trace's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// True where something is recorded.
    pub fn is_on(&self) -> bool {
        self.live.is_some()
    }

    /// The node of the turn, above all others.
    pub fn root(&self) -> Node {
        self.node(1)
    }

    /// The node of this number; 0 and others that there are not take every call silently.
    pub fn node(&self, number: u32) -> Node {
        Node::of(self, Some(number).filter(|number| *number > 0))
    }

    /// Ends the trace. What is still running ends with it, in the same way; `error` says why a turn failed.
    pub fn finish(&self, status: Status, error: Option<&str>) {
        for node in self.running().into_iter().rev() {
            match status {
                Status::Failed => node.fail(error.unwrap_or("the turn failed")),
                other => node.close(other),
            }
        }
        self.emit(|state, at| {
            state.is_done = true;
            vec![Event::Complete { status, at }]
        });
    }

    fn running(&self) -> Vec<Node> {
        let Some(live) = &self.live else {
            return Vec::new();
        };
        let numbers = live.lock().running();
        numbers.into_iter().map(|n| self.node(n)).collect()
    }

    /// Changes the state and sends the events that come of it, so that nobody's events come between.
    fn emit(&self, change: impl FnOnce(&mut State, Millis) -> Vec<Event>) {
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
    fn look<T>(&self, look: impl FnOnce(&State) -> T) -> Option<T> {
        let live = self.live.as_ref()?;
        Some(look(&live.lock()))
    }
}

impl Live {
    fn append(&self, event: &Event) {
        if let Ok(text) = serde_json::to_string(event) {
            self.sink.append(text);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
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
    struct Kept(Arc<(Mutex<Vec<String>>, AtomicBool)>);

    impl Sink for Kept {
        fn append(&self, text: String) {
            self.0.0.lock().unwrap().push(text);
        }

        fn is_full(&self) -> bool {
            self.0.1.load(Ordering::Relaxed)
        }
    }

    impl Kept {
        fn settings(&self) -> Settings {
            Settings {
                about: About {
                    trace_id: "t1".to_owned(),
                    ..About::default()
                },
                limits: Limits::default(),
                clock: Clock::default(),
                sink: Box::new(self.clone()),
            }
        }

        fn tree(&self) -> Tree {
            fold_texts(self.0.0.lock().unwrap().iter().map(String::as_str))
        }
    }

    fn shown(tree: &Tree) -> Vec<Value> {
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
            (Status::Completed, Value::Null),
            (Status::Cancelled, Value::Null),
            (Status::Failed, json!("no model")),
        ] {
            let kept = Kept::default();
            let trace = Trace::start(kept.settings());
            let done = trace.root().add(Start::new("llm", "done"));
            done.complete(Some(json!(1)));
            let open = trace.root().add(Start::new("tool", "open"));
            trace.finish(status, error.as_str());
            open.log(Level::Info, "late", Value::Null);
            trace.root().add(Start::new("tool", "late"));
            trace.finish(Status::Completed, None);
            let tree = kept.tree();
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
    fn a_trace_goes_on_where_another_process_left_it() {
        let kept = Kept::default();
        let before = Trace::start(kept.settings());
        before.root().add(Start::new("llm", "lost"));
        let board = before.root().add_board(Start::new("plan", "board"));
        board.set("k", json!(1));
        let trace = Trace::go_on(kept.settings(), &kept.tree());
        trace.root().add(Start::new("llm", "again")).complete(None);
        assert_eq!(
            trace.board("s1").and_then(|board| board.get("k")),
            Some(json!(1))
        );
        trace.finish(Status::Completed, None);
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
        assert_eq!(shown(&kept.tree()), expected);
        let ended = Trace::go_on(kept.settings(), &kept.tree());
        ended.root().add(Start::new("llm", "too late"));
        assert_eq!(kept.tree().nodes.len(), 3);
    }

    #[test]
    fn a_full_trace_keeps_how_things_ended() {
        let kept = Kept::default();
        let trace = Trace::start(kept.settings());
        let open = trace.root().add(Start::new("llm", "open"));
        kept.0.1.store(true, Ordering::Relaxed);
        trace
            .root()
            .add(Start::new("llm", "dropped"))
            .complete(None);
        open.log(Level::Info, "dropped", Value::Null);
        open.complete(Some(json!("dropped")));
        trace.finish(Status::Completed, None);
        let tree = kept.tree();
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
