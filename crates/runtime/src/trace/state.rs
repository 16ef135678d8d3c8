//! What a trace remembers while its turn runs: which nodes are running, what stands on the boards, and how much is left.

use super::event::{LogLevel, TraceEvent, TraceLogEntry, TraceStatus};
use super::reads::MemoryReads;
use super::truncate::FieldTruncator;
use super::{TraceLimits, TraceTree};
use crate::manifest::BlockContent;
use ambit_storage::clock::Millis;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// There are too many nodes.
pub const NODES: &str = "nodes";
const LINES: &str = "lines";
const FIELD: &str = "field";
/// Bytes of contents of calls that a trace keeps.
const CONTENTS: usize = 1 << 20;
/// There are too many bytes.
pub const FULL: &str = "full";

/// What is remembered of a node.
struct NodeState {
    status: TraceStatus,
    /// The nodes above it.
    parents: Vec<u32>,
}

/// The state of a trace.
pub struct TraceState {
    limits: TraceLimits,
    nodes: BTreeMap<u32, NodeState>,
    spaces: BTreeMap<u32, BTreeMap<String, Value>>,
    lines: usize,
    /// The hashes of the contents that are kept, and how many bytes these have.
    contents: BTreeSet<String>,
    content_bytes: usize,
    /// Which values of memory scripts have read.
    pub reads: MemoryReads,
    /// Cuts long fields.
    pub cutter: FieldTruncator,
    /// Nothing is added any more.
    pub is_done: bool,
    overflows: BTreeSet<&'static str>,
    reported: BTreeSet<&'static str>,
}

impl TraceState {
    /// The state after what is there already.
    pub fn new(limits: TraceLimits, before: &TraceTree) -> Self {
        let number = |id: &str| id[1.min(id.len())..].parse::<u32>().ok();
        let nodes = before.nodes.iter();
        let nodes = nodes.filter_map(|node| {
            let parents = node.parent_ids.iter().filter_map(|id| number(id));
            let (status, parents) = (node.status, parents.collect());
            Some((number(&node.id)?, NodeState { status, parents }))
        });
        let boards = before.spaces.iter().filter_map(|space| {
            let values = space.values.clone().into_iter().collect();
            Some((number(&space.id)?, values))
        });
        Self {
            limits,
            nodes: nodes.collect(),
            spaces: boards.collect(),
            lines: before.logs.len(),
            contents: BTreeSet::new(),
            content_bytes: 0,
            reads: MemoryReads::default(),
            cutter: FieldTruncator::new(limits.field),
            is_done: before.info.status != TraceStatus::Running,
            overflows: BTreeSet::new(),
            reported: BTreeSet::new(),
        }
    }

    /// The number of a new node below these, if there is room for one.
    pub fn add_node(&mut self, parents: &[u32]) -> Option<u32> {
        let number = self.number(&self.nodes)?;
        let (status, parents) = (TraceStatus::Running, parents.to_vec());
        self.nodes.insert(number, NodeState { status, parents });
        Some(number)
    }

    /// The number of a new board, if there is room for one: boards count as nodes.
    pub fn add_space(&mut self) -> Option<u32> {
        let number = self.number(&self.spaces)?;
        self.spaces.insert(number, BTreeMap::new());
        Some(number)
    }

    fn number<T>(&self, among: &BTreeMap<u32, T>) -> Option<u32> {
        let has_room = self.nodes.len() + self.spaces.len() < self.limits.nodes;
        let last = among.last_key_value().map_or(0, |(number, _)| *number);
        has_room.then_some(last + 1)
    }

    /// Says once that there are too many of something.
    pub fn overflow(&mut self, what: &'static str) {
        self.overflows.insert(what);
    }

    /// True if there is room for one more line; changes of boards count as lines.
    pub fn add_line(&mut self) -> bool {
        let has_room = self.lines < self.limits.logs;
        if has_room {
            self.lines += 1;
        } else {
            self.overflow(LINES);
        }
        has_room
    }

    /// True if a content is new and there is room for it.
    pub fn add_content(&mut self, content: &BlockContent) -> bool {
        let has_room = self.content_bytes + content.bytes <= CONTENTS;
        let is_new = has_room && self.contents.insert(content.hash.clone());
        if is_new {
            self.content_bytes += content.bytes;
        }
        is_new
    }

    /// Whether a node is running; `None` if there is no such node.
    pub fn status(&self, number: u32) -> Option<TraceStatus> {
        self.nodes.get(&number).map(|node| node.status)
    }

    /// Says how a node ended.
    pub fn close(&mut self, number: u32, status: TraceStatus) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.status = status;
        }
    }

    /// The nodes that are running, oldest first.
    pub fn running(&self) -> Vec<u32> {
        let running = self.nodes.iter();
        let running = running.filter(|(_, node)| node.status == TraceStatus::Running);
        running.map(|(number, _)| *number).collect()
    }

    /// Those of them that are below a node, at any depth.
    pub fn running_below(&self, number: u32) -> Vec<u32> {
        let mut below = BTreeSet::from([number]);
        // A node begins behind those above it.
        for (number, node) in self.nodes.range(number + 1..) {
            if node.parents.iter().any(|parent| below.contains(parent)) {
                below.insert(*number);
            }
        }
        below.remove(&number);
        below.retain(|number| self.status(*number) == Some(TraceStatus::Running));
        below.into_iter().collect()
    }

    /// What stands on a board.
    pub fn space(&self, number: u32) -> Option<&BTreeMap<String, Value>> {
        self.spaces.get(&number)
    }

    /// What stands on a board, to be changed.
    pub fn space_mut(&mut self, number: u32) -> Option<&mut BTreeMap<String, Value>> {
        self.spaces.get_mut(&number)
    }

    /// One warning for each limit that was met and not told of yet.
    pub fn warnings(&mut self, at: Millis) -> Vec<TraceEvent> {
        if self.cutter.has_cut {
            self.overflows.insert(FIELD);
        }
        let new: Vec<&'static str> = self.overflows.difference(&self.reported).copied().collect();
        self.reported.extend(&new);
        new.into_iter()
            .map(|what| {
                let limits = self.limits;
                let message = match what {
                    NODES => format!("a trace holds {} nodes; more are left out", limits.nodes),
                    LINES => format!("a trace holds {} log lines; more are left out", limits.logs),
                    FIELD => {
                        let most = limits.field;
                        format!("a field of a trace holds {most} bytes; what is longer is cut")
                    }
                    _ => "the trace is full; only how things ended is added".to_owned(),
                };
                TraceEvent::LogAdded(TraceLogEntry {
                    node_id: "n1".to_owned(),
                    level: LogLevel::Warn,
                    message,
                    data: Value::Null,
                    at,
                })
            })
            .collect()
    }
}
