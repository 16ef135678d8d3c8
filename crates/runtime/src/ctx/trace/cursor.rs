//! Where a script is in its trace: the nodes that it has made, and which of them its next call is about.

use crate::lock::lock;
use crate::trace::{NodeOptions, TraceNode};
use std::sync::{Mutex, MutexGuard};

/// Where a script is in its trace.
pub struct TraceCursor {
    base: TraceNode,
    state: Mutex<TraceCursorState>,
}

#[derive(Default)]
struct TraceCursorState {
    current: Vec<TraceNode>,
    made: Vec<TraceNode>,
    is_marked: bool,
    is_silent: bool,
}

impl TraceCursor {
    /// At the node of a run.
    pub fn new(base: TraceNode) -> Self {
        let state = Mutex::default();
        Self { base, state }
    }

    /// The node of the run.
    pub fn base(&self) -> &TraceNode {
        &self.base
    }

    /// Writes a warning on the run's node.
    pub fn warn(&self, text: &str) {
        self.base.warn(text);
    }

    /// Ends the nodes that the script has left running.
    pub fn end(&self, error: Option<&str>) {
        for node in std::mem::take(&mut self.lock().made).into_iter().rev() {
            match error {
                Some(error) if node.is_running() => node.fail(error),
                _ => node.complete(None),
            }
        }
    }

    /// Makes all calls silent.
    pub fn release(&self) {
        self.end(None);
        self.lock().is_silent = true;
    }

    fn lock(&self) -> MutexGuard<'_, TraceCursorState> {
        lock(&self.state)
    }

    /// The current nodes: the newest of the script, or that of the run.
    pub fn current(&self) -> Vec<TraceNode> {
        let state = self.lock();
        if state.is_silent {
            return vec![self.silent()];
        }
        match state.current.as_slice() {
            [] => vec![self.base.clone()],
            current => current.to_vec(),
        }
    }

    /// New nodes below some; they become the current ones, and completed are those that the script began above them.
    pub fn begin(&self, parents: &[TraceNode], starts: Vec<(NodeOptions, bool)>) -> Vec<TraceNode> {
        let completes = starts.iter().all(|(_, completes)| *completes);
        let new: Vec<TraceNode> = starts
            .into_iter()
            .map(|(start, _)| TraceNode::join(parents, start))
            .collect();
        if completes {
            for parent in parents.iter().filter(|parent| self.is_made(parent)) {
                parent.complete(None);
            }
        }
        let mut state = self.lock();
        state.made.extend(new.iter().cloned());
        state.current.clone_from(&new);
        new
    }

    fn is_made(&self, node: &TraceNode) -> bool {
        let state = self.lock();
        let mut made = state.made.iter();
        made.any(|own| own.number() == node.number())
    }

    /// The node of this number.
    pub fn node(&self, number: u32) -> TraceNode {
        match self.is_silent() {
            true => self.silent(),
            false => self.base.trace().node(number),
        }
    }

    /// True once it was released.
    pub fn is_silent(&self) -> bool {
        self.lock().is_silent
    }

    /// Sets the flag that `is_marked` reads.
    pub fn mark(&self) {
        self.lock().is_marked = true;
    }

    /// True once it was marked.
    pub fn is_marked(&self) -> bool {
        self.lock().is_marked
    }

    fn silent(&self) -> TraceNode {
        self.base.trace().node(0)
    }
}
