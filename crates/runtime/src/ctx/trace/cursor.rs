//! Where a script is in its trace: the nodes that it has made, and which of them its next call is about.

use crate::lock::lock;
use crate::trace::{Node, Start};
use std::sync::{Mutex, MutexGuard};

/// Where a script is in its trace.
pub struct Cursor {
    base: Node,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Vec<Node>,
    made: Vec<Node>,
    is_marked: bool,
    is_silent: bool,
}

impl Cursor {
    /// At the node of a run.
    pub fn new(base: Node) -> Self {
        let state = Mutex::default();
        Self { base, state }
    }

    /// The node of the run.
    pub fn base(&self) -> &Node {
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

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The current nodes: the newest of the script, or that of the run.
    pub fn current(&self) -> Vec<Node> {
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
    pub fn begin(&self, parents: &[Node], starts: Vec<(Start, bool)>) -> Vec<Node> {
        let completes = starts.iter().all(|(_, completes)| *completes);
        let new: Vec<Node> = starts
            .into_iter()
            .map(|(start, _)| Node::join(parents, start))
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

    fn is_made(&self, node: &Node) -> bool {
        let state = self.lock();
        let mut made = state.made.iter();
        made.any(|own| own.number() == node.number())
    }

    /// The node of this number.
    pub fn node(&self, number: u32) -> Node {
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

    fn silent(&self) -> Node {
        self.base.trace().node(0)
    }
}
