//! What scripts may use: the defaults, what an app sets, and what an agent narrows. Names, units and defaults are the rows
//! of `app::limits`.

use crate::app::limits::{LIMITS, in_force};
use crate::app::{Agent, App};
use crate::{outbox, trace};
use std::time::Duration;

/// The limits of one agent's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One run of a script.
    pub run: ambit_script::Limits,
    /// Processes within processes.
    pub process_depth: usize,
    /// Delegations and agent calls within each other.
    pub delegate_depth: usize,
    /// What a turn may say.
    pub outbox: outbox::Limits,
    /// Bytes of one value of memory.
    pub memory_value: usize,
    /// A trace.
    pub trace: trace::Limits,
    /// Bytes of log output of a run.
    pub log: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run: ambit_script::Limits::default(),
            process_depth: 32,
            delegate_depth: 10,
            outbox: outbox::Limits::default(),
            memory_value: 1 << 20,
            trace: trace::Limits::default(),
            log: 1 << 20,
        }
    }
}

/// Puts a limit in its place.
type Place = fn(&mut Limits, u64);

/// Where each limit of scripts and turns is kept.
const PLACES: &[(&str, Place)] = &[
    ("cpu", |limits, most| {
        limits.run.cpu = Duration::from_millis(most)
    }),
    ("wall", |limits, most| {
        limits.run.wall = Duration::from_millis(most)
    }),
    ("heap", |limits, most| limits.run.heap = count(most)),
    ("stack", |limits, most| limits.run.stack = count(most)),
    ("returned", |limits, most| limits.run.returned = count(most)),
    ("timers", |limits, most| limits.run.timers = count(most)),
    ("process_depth", |limits, most| {
        limits.process_depth = count(most)
    }),
    ("delegate_depth", |limits, most| {
        limits.delegate_depth = count(most)
    }),
    ("message", |limits, most| {
        limits.outbox.message = count(most)
    }),
    ("output", |limits, most| limits.outbox.output = count(most)),
    ("messages", |limits, most| {
        limits.outbox.messages = count(most)
    }),
    ("memory_value", |limits, most| {
        limits.memory_value = count(most)
    }),
    ("trace_nodes", |limits, most| {
        limits.trace.nodes = count(most)
    }),
    ("trace_logs", |limits, most| limits.trace.logs = count(most)),
    ("trace_field", |limits, most| {
        limits.trace.field = count(most)
    }),
    ("log", |limits, most| limits.log = count(most)),
];

impl Limits {
    /// The limits of an agent's scripts: an app sets them, an agent may only lower them.
    pub fn of(app: &App, agent: &Agent) -> Self {
        let mut limits = Self::default();
        for (name, place) in PLACES {
            if let Some(limit) = LIMITS.iter().find(|limit| limit.name == *name) {
                let most = in_force(limit, &app.settings.limits, &agent.limits);
                place(&mut limits, most);
            }
        }
        limits
    }
}

fn count(most: u64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn limits(app: Value, agent: Value) -> Limits {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let mut whole = App::default();
        whole.settings.limits = map(app);
        let agent = Agent {
            limits: map(agent),
            ..Agent::default()
        };
        Limits::of(&whole, &agent)
    }

    #[test]
    fn an_app_sets_limits_and_an_agent_only_lowers_them() {
        let app = json!({"cpu": 10, "heap": "128MiB", "wall": "500ms", "log": 7});
        let found = limits(app, json!({"cpu": 60, "heap": 4096, "log": 9}));
        let mut expected = Limits::default();
        expected.run.cpu = Duration::from_secs(10);
        expected.run.heap = 4096;
        expected.run.wall = Duration::from_millis(500);
        expected.log = 7;
        assert_eq!(found, expected);
    }

    #[test]
    fn every_place_is_of_a_limit_and_the_defaults_are_the_tables() {
        for (name, _) in PLACES {
            assert!(LIMITS.iter().any(|limit| limit.name == *name), "{name}");
        }
        assert_eq!(limits(json!({}), json!({})), Limits::default());
    }
}
