//! A small labelled board shown with a trace.

use super::event::{SpaceValue, SpaceView, TraceEvent};
use super::node::NodeOptions;
use super::state::NODES;
use super::{Millis, Trace};
use serde_json::Value;

/// A board. Cheap to clone; clones are the same board. One that there was no room for stays empty.
#[derive(Clone)]
pub struct TraceSpace {
    trace: Trace,
    number: Option<u32>,
}

impl Trace {
    /// The board with this id, if there is one.
    pub fn space(&self, id: &str) -> Option<TraceSpace> {
        let number = id.strip_prefix('s')?.parse().ok()?;
        self.look(|state| state.space(number).is_some())
            .filter(|is_there| *is_there)?;
        Some(TraceSpace {
            trace: self.clone(),
            number: Some(number),
        })
    }
}

impl TraceSpace {
    pub(super) fn start(trace: &Trace, start: NodeOptions) -> Self {
        let mut number = None;
        trace.emit(|state, at| {
            number = state.add_space();
            let Some(number) = number else {
                state.overflow(NODES);
                return Vec::new();
            };
            let cutter = &mut state.cutter;
            let space = Box::new(SpaceView {
                id: id(number),
                label: cutter.text(start.label),
                kind: cutter.text(start.kind),
                icon: cutter.text(start.icon),
                description: cutter.text(start.description),
                metadata: cutter.map(start.metadata),
                created_at: at,
                ..SpaceView::default()
            });
            vec![TraceEvent::SpaceCreated { space }]
        });
        let trace = trace.clone();
        Self { trace, number }
    }

    /// A board that stays empty.
    pub(super) fn silent(trace: &Trace) -> Self {
        let (trace, number) = (trace.clone(), None);
        Self { trace, number }
    }

    /// Its id; empty where nothing is recorded of it.
    pub fn id(&self) -> String {
        self.number.map_or_else(String::new, id)
    }

    /// Puts a value.
    pub fn set(&self, key: &str, value: Value) {
        let Some(number) = self.number else {
            return;
        };
        self.trace.emit(|state, at| {
            if !state.add_line() {
                return Vec::new();
            }
            let key = state.cutter.text(key.to_owned());
            let value = state.cutter.value(value);
            let Some(board) = state.space_mut(number) else {
                return Vec::new();
            };
            let is_new = board.insert(key.clone(), value.clone()).is_none();
            let noted = SpaceValue {
                space_id: id(number),
                key,
                value,
                at,
            };
            vec![if is_new {
                TraceEvent::MemoryAdd(noted)
            } else {
                TraceEvent::MemoryUpdate(noted)
            }]
        });
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Value> {
        let number = self.number?;
        let value = self
            .trace
            .look(|state| state.space(number)?.get(key).cloned());
        value.flatten()
    }

    /// The keys, sorted.
    pub fn keys(&self) -> Vec<String> {
        let keys = self.number.and_then(|number| {
            self.trace
                .look(|state| Some(state.space(number)?.keys().cloned().collect()))
        });
        keys.flatten().unwrap_or_default()
    }

    /// Takes a key away.
    pub fn delete(&self, key: &str) {
        self.remove(|at| at == key);
    }

    /// Takes all keys away.
    pub fn clear(&self) {
        self.remove(|_| true);
    }

    fn remove(&self, is_meant: impl Fn(&str) -> bool) {
        let Some(number) = self.number else {
            return;
        };
        self.trace.emit(|state, at| {
            let Some(board) = state.space_mut(number) else {
                return Vec::new();
            };
            let all = std::mem::take(board).into_iter();
            let (gone, kept) = all.partition(|(key, _)| is_meant(key));
            *board = kept;
            let gone: std::collections::BTreeMap<String, Value> = gone;
            gone.into_keys()
                .map(|key| deleted(number, key, at))
                .collect()
        });
    }
}

fn deleted(number: u32, key: String, at: Millis) -> TraceEvent {
    TraceEvent::MemoryDelete {
        space_id: id(number),
        key,
        at,
    }
}

fn id(number: u32) -> String {
    format!("s{number}")
}
