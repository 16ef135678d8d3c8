//! The limits that an app may set and an agent may narrow: one row each.

use super::read::fields::{bytes, milliseconds};
use super::read::{FieldSpec, ValueKind};
use serde_json::{Map, Value};

/// A limit.
pub struct LimitDefinition {
    /// Its key in `ambit.limits` and `runtime.limits`.
    pub name: &'static str,
    /// What it counts.
    pub unit: LimitUnit,
    /// Its value where no file says anything.
    pub default: u64,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Time, in milliseconds.
    Milliseconds,
    /// Memory or text, in bytes.
    Bytes,
    /// Things.
    Things,
}

use LimitUnit::{Bytes, Milliseconds, Things};

const ROWS: [LimitDefinition; 24] = [
    row("turn", Milliseconds, 3_600_000),
    row("cpu", Milliseconds, 5_000),
    row("wall", Milliseconds, 600_000),
    row("heap", Bytes, 64 << 20),
    row("stack", Bytes, 1 << 20),
    row("process_depth", Things, 32),
    row("delegate_depth", Things, 10),
    row("message", Bytes, 1 << 20),
    row("output", Bytes, 16 << 20),
    row("messages", Things, 10_000),
    row("returned", Bytes, 4 << 20),
    row("memory_value", Bytes, 1 << 20),
    row("trace_nodes", Things, 5_000),
    row("trace_logs", Things, 20_000),
    row("trace_field", Bytes, 64 << 10),
    row("log", Bytes, 1 << 20),
    row("timers", Things, 1_000),
    row("http_calls", Things, 16),
    row("http_timeout", Milliseconds, 30_000),
    row("http_body", Bytes, 16 << 20),
    row("http_redirects", Things, 5),
    row("calls", Things, 64),
    row("calls_at_once", Things, 16),
    row("program", Bytes, 2 << 20),
];

/// All of them.
pub const LIMITS: &[LimitDefinition] = &ROWS;

/// Their keys, for whoever reads a file.
pub const TABLE: &[FieldSpec] = &keys();

const fn row(name: &'static str, unit: LimitUnit, default: u64) -> LimitDefinition {
    LimitDefinition {
        name,
        unit,
        default,
    }
}

/// A limit that is the same for every app.
const FIXED: FieldSpec =
    FieldSpec::unused("memory_list", ": a list of memory has at most 100000 items");

const fn keys() -> [FieldSpec; ROWS.len() + 1] {
    let mut keys = [const { FIXED }; ROWS.len() + 1];
    let mut at = 0;
    while at < ROWS.len() {
        let kind = match ROWS[at].unit {
            Milliseconds => ValueKind::Duration,
            Bytes => ValueKind::Size,
            Things => ValueKind::Count,
        };
        keys[at] = FieldSpec::new(ROWS[at].name, kind);
        at += 1;
    }
    keys
}

/// The limit that counts: the app's, which the agent may only lower.
pub fn in_force(
    limit: &LimitDefinition,
    app: &Map<String, Value>,
    agent: &Map<String, Value>,
) -> u64 {
    let given = |level: &Map<String, Value>| amount(limit.unit, level.get(limit.name)?);
    let most = given(app).unwrap_or(limit.default);
    given(agent).map_or(most, |own| own.min(most))
}

fn amount(unit: LimitUnit, value: &Value) -> Option<u64> {
    match (unit, value) {
        (Milliseconds, value) => milliseconds(value),
        (Bytes, Value::String(text)) => bytes(text),
        (_, value) => value.as_u64(),
    }
}
