//! When the scripts of a run used memory, and which values, as traces tell it.

use super::{ScriptCall, memory};
use crate::json_length::json_length;
use crate::lock::lock;
use crate::trace::MemoryUse;
use ambit_script::HostValue;
use serde::Serialize;
use serde_json::Value;
use std::sync::Mutex;
use utoipa::ToSchema;

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
/// The methods that give the whole value.
const GIVING: &[&str] = &["Get", "GetDel"];
/// The methods that are no use of one value.
const OF_NO_VALUE: &[&str] = &["Keys", "Len", "Clear", "Search"];
/// Names that are kept of each kind.
const MOST: usize = 50;
/// Changes that are kept.
const MOST_CHANGES: usize = 200;
/// What stands for all values of a namespace, as in patterns.
const ALL: &str = "*";

/// When a call began and ended, in milliseconds since 1970.
#[derive(Clone, Copy)]
pub struct CallTimes {
    pub start_at: i64,
    pub end_at: i64,
}

/// The uses of memory in a run.
#[derive(Default)]
pub struct MemoryUses {
    read: Mutex<MemoryUse>,
    written: Mutex<MemoryUse>,
    names: Mutex<MemoryNames>,
}

/// Which values of memory were used, each once, in the order of their first use.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryNames {
    read: Vec<UsedValue>,
    written: Vec<UsedValue>,
    /// Those of the request alone, read or written.
    context: Vec<UsedValue>,
    /// What was done to which values, each once; traces do not tell it.
    #[serde(skip)]
    pub changes: Vec<MemoryChange>,
}

/// What a script did to values of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryChange {
    /// The namespace: `user`, `team`, `chat` or `context`.
    pub space: String,
    /// The value, or the pattern of several.
    pub key: String,
    /// The method: `Set`, `Del`, `Push` …
    pub op: String,
}

/// A value that was used.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct UsedValue {
    /// The namespace.
    space: String,
    key: String,
    /// What kind of JSON it is, where the call has the whole value.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// How long it is as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
}

/// The namespace and the key of a value that a call has read, if it is one of memory.
pub fn read_value<'a>(call: &'a ScriptCall<'_>) -> Option<(&'static str, &'a str)> {
    let method = call.method.name();
    let is_read = READING.contains(&method) || GIVING.contains(&method);
    if !is_of_memory(call) || !is_read || OF_NO_VALUE.contains(&method) {
        return None;
    }
    let key = call.given(0)?.as_str()?;
    Some((memory::memory(call).space(), key))
}

fn is_of_memory(call: &ScriptCall<'_>) -> bool {
    [memory::NAMESPACE.name, memory::SPACE.name].contains(&call.class)
}

impl MemoryUses {
    /// Notes a call that is over and what it gave, if it was one of memory.
    pub fn note(&self, call: &ScriptCall<'_>, times: CallTimes, given: Option<&HostValue>) {
        if !is_of_memory(call) {
            return;
        }
        let is_read = READING.contains(&call.method.name());
        let uses = match is_read {
            true => &self.read,
            false => &self.written,
        };
        lock(uses).add(times.start_at, times.end_at);
        let mut names = lock(&self.names);
        names.add(call, is_read, given);
        if !is_read && given.is_some() {
            names.add_change(call);
        }
    }

    /// When memory was read, and when it was written.
    pub fn all(&self) -> (Option<MemoryUse>, Option<MemoryUse>) {
        let used = |uses: &Mutex<MemoryUse>| Some(*lock(uses)).filter(|uses| uses.calls > 0);
        (used(&self.read), used(&self.written))
    }

    /// Which values were used.
    pub fn names(&self) -> MemoryNames {
        lock(&self.names).clone()
    }
}

impl MemoryNames {
    fn add_change(&mut self, call: &ScriptCall<'_>) {
        let key = call.given(0).and_then(Value::as_str);
        let change = MemoryChange {
            space: memory::memory(call).space().to_owned(),
            key: key.unwrap_or(ALL).to_owned(),
            op: call.method.name().to_owned(),
        };
        if self.changes.len() < MOST_CHANGES && !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    fn add(&mut self, call: &ScriptCall<'_>, is_read: bool, given: Option<&HostValue>) {
        let method = call.method.name();
        let Some(Value::String(key)) = call.given(0) else {
            return;
        };
        if OF_NO_VALUE.contains(&method) {
            return;
        }
        let space = memory::memory(call).space();
        let names = match (space, is_read) {
            ("context", _) => &mut self.context,
            (_, true) => &mut self.read,
            (_, false) => &mut self.written,
        };
        let is_known = names
            .iter()
            .any(|used| used.key == *key && used.space == space);
        if is_known || names.len() == MOST {
            return;
        }
        let value = match given {
            Some(HostValue::Json(value)) if GIVING.contains(&method) => Some(value),
            _ if method == "Set" => call.given(1),
            _ => None,
        };
        names.push(UsedValue {
            space: space.to_owned(),
            key: key.clone(),
            kind: value.map(kind),
            bytes: value.map(json_length),
        });
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
