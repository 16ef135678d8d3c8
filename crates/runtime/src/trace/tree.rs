//! A trace as it stands after its events.

use super::event::{
    NodeView, SpaceView, TraceEvent, TraceLogEntry, TraceOrigin, TraceStatus, TraceSubject,
};
use super::facts::StepFacts;
use crate::llm::TokenUsage;
use ambit_storage::clock::Millis;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// A whole trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TraceTree {
    /// What it is about, and how far it is.
    pub info: TraceInfo,
    /// The nodes in the order in which they began.
    pub nodes: Vec<NodeView>,
    /// The lines in the order in which they were written.
    pub logs: Vec<TraceLogEntry>,
    /// The boards in the order in which they were made.
    pub spaces: Vec<SpaceView>,
    /// Where it comes from.
    #[serde(skip)]
    pub origin: TraceOrigin,
}

/// A trace in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceInfo {
    /// What it is about.
    #[serde(flatten)]
    pub about: TraceSubject,
    /// How far it is.
    pub status: TraceStatus,
    /// From its beginning to its end, if it has ended.
    pub duration_ms: Option<Millis>,
    /// When it began.
    pub created_at: Millis,
}

impl TraceTree {
    /// What its calls of models have used.
    pub fn usage(&self) -> TokenUsage {
        let mut all = TokenUsage::default();
        for node in &self.nodes {
            if let Some(StepFacts::Model(facts)) = &node.facts {
                facts.usage.iter().for_each(|usage| all.add(usage));
            }
        }
        all
    }
}

/// The trace that these entries of its log make. An entry that cannot be read is passed over: a trace is never worth an error.
pub fn fold_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> TraceTree {
    let read = |text: &str| serde_json::from_str(text).ok();
    fold(texts.into_iter().filter_map(read))
}

/// The trace that these events make.
pub fn fold(events: impl IntoIterator<Item = TraceEvent>) -> TraceTree {
    let mut folding = TreeBuilder::default();
    for event in events {
        folding.add(event);
    }
    folding.tree
}

#[derive(Default)]
struct TreeBuilder {
    tree: TraceTree,
    /// Where each node stands, by its id.
    indexes: HashMap<String, usize>,
}

impl TreeBuilder {
    fn add(&mut self, event: TraceEvent) {
        match event {
            // A turn that is taken up again begins its trace again; the first beginning counts.
            TraceEvent::Init { about, origin, at } if self.tree.info.created_at == 0 => {
                self.tree.info.about = about;
                self.tree.origin = origin.map(|origin| *origin).unwrap_or_default();
                self.tree.info.created_at = at;
            }
            TraceEvent::Init { .. } => {}
            TraceEvent::NodeStart { node } => {
                self.indexes.insert(node.id.clone(), self.tree.nodes.len());
                self.tree.nodes.push(*node);
            }
            TraceEvent::NodeComplete {
                id,
                status,
                output,
                at,
            } => self.node(&id, |node| {
                node.status = status;
                node.end_at = Some(at);
                set(&mut node.output, output);
            }),
            TraceEvent::NodeFailed { id, error, at } => self.node(&id, |node| {
                node.status = TraceStatus::Failed;
                node.end_at = Some(at);
                node.error = Some(error);
            }),
            TraceEvent::NodeUpdated {
                id,
                output,
                metadata,
                facts,
                ..
            } => self.node(&id, |node| {
                set(&mut node.output, output);
                node.metadata.extend(metadata);
                if let Some(facts) = facts {
                    node.facts = Some(*facts);
                }
            }),
            TraceEvent::LogAdded(line) => self.tree.logs.push(line),
            TraceEvent::Complete { status, at } => {
                let info = &mut self.tree.info;
                info.status = status;
                info.duration_ms = Some((at - info.created_at).max(0));
            }
            board => self.board(board),
        }
    }

    fn board(&mut self, event: TraceEvent) {
        match event {
            TraceEvent::SpaceCreated { space } => self.tree.spaces.push(*space),
            TraceEvent::SpaceDeleted { id, .. } => self.tree.spaces.retain(|space| space.id != id),
            TraceEvent::MemoryAdd(noted) | TraceEvent::MemoryUpdate(noted) => {
                if let Some(space) = self.space(&noted.space_id) {
                    let all = std::mem::take(&mut space.values).into_iter();
                    let mut sorted: BTreeMap<String, Value> = all.collect();
                    sorted.insert(noted.key, noted.value);
                    space.values = sorted.into_iter().collect();
                }
            }
            TraceEvent::MemoryDelete { space_id, key, .. } => {
                if let Some(space) = self.space(&space_id) {
                    space.values.shift_remove(&key);
                }
            }
            _ => {}
        }
    }

    fn node(&mut self, id: &str, change: impl FnOnce(&mut NodeView)) {
        let index = self.indexes.get(id).copied();
        if let Some(node) = index.and_then(|index| self.tree.nodes.get_mut(index)) {
            change(node);
        }
    }

    fn space(&mut self, id: &str) -> Option<&mut SpaceView> {
        self.tree.spaces.iter_mut().find(|space| space.id == id)
    }
}

fn set(field: &mut Value, value: Option<Value>) {
    if let Some(value) = value {
        *field = value;
    }
}
