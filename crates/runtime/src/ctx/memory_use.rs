//! When the scripts of a run used memory, as traces tell it.

use super::{ScriptCall, memory};
use crate::lock::lock;
use crate::trace::MemoryUse;
use std::sync::Mutex;

/// The methods that read. All others write.
const READING: &[&str] = &[
    "Get",
    "Has",
    "Keys",
    "Len",
    "ArrayLen",
    "ArrayGet",
    "ArraySlice",
    "ArrayPage",
    "ArrayAll",
    "Search",
];

/// The uses of memory in a run.
#[derive(Default)]
pub struct MemoryUses {
    read: Mutex<MemoryUse>,
    written: Mutex<MemoryUse>,
}

impl MemoryUses {
    /// Notes a call that is over, if it was one of memory.
    pub fn note(&self, call: &ScriptCall<'_>, start_at: i64, end_at: i64) {
        if ![memory::NAMESPACE.name, memory::SPACE.name].contains(&call.class) {
            return;
        }
        let uses = match READING.contains(&call.method.name()) {
            true => &self.read,
            false => &self.written,
        };
        lock(uses).add(start_at, end_at);
    }

    /// When memory was read, and when it was written.
    pub fn all(&self) -> (Option<MemoryUse>, Option<MemoryUse>) {
        let used = |uses: &Mutex<MemoryUse>| Some(*lock(uses)).filter(|uses| uses.calls > 0);
        (used(&self.read), used(&self.written))
    }
}
