//! What scripts may use: the defaults, what an app sets, and what an agent narrows.

use crate::app::{Agent, App};
use crate::error::{Code, Error, Result};
use crate::{outbox, trace};
use serde_json::{Map, Value};
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

/// How a limit is written.
enum Place<'a> {
    Count(&'a mut usize),
    Time(&'a mut Duration),
}

/// One limit: its name in `app.yao` and `package.yao`, and where it is kept.
type Row = (&'static str, for<'a> fn(&'a mut Limits) -> Place<'a>);

const LIMITS: &[Row] = &[
    ("cpu", |limits| Place::Time(&mut limits.run.cpu)),
    ("wall", |limits| Place::Time(&mut limits.run.wall)),
    ("heap", |limits| Place::Count(&mut limits.run.heap)),
    ("stack", |limits| Place::Count(&mut limits.run.stack)),
    ("returned", |limits| Place::Count(&mut limits.run.returned)),
    ("timers", |limits| Place::Count(&mut limits.run.timers)),
    ("process_depth", |limits| {
        Place::Count(&mut limits.process_depth)
    }),
    ("delegate_depth", |limits| {
        Place::Count(&mut limits.delegate_depth)
    }),
    ("message", |limits| Place::Count(&mut limits.outbox.message)),
    ("output", |limits| Place::Count(&mut limits.outbox.output)),
    ("messages", |limits| {
        Place::Count(&mut limits.outbox.messages)
    }),
    ("memory_value", |limits| {
        Place::Count(&mut limits.memory_value)
    }),
    ("trace_nodes", |limits| {
        Place::Count(&mut limits.trace.nodes)
    }),
    ("trace_logs", |limits| Place::Count(&mut limits.trace.logs)),
    ("trace_field", |limits| {
        Place::Count(&mut limits.trace.field)
    }),
    ("log", |limits| Place::Count(&mut limits.log)),
];

/// The names of all limits that can be set.
pub fn names() -> impl Iterator<Item = &'static str> {
    LIMITS.iter().map(|(name, _)| *name)
}

impl Limits {
    /// The limits of an agent's scripts: an app sets them, an agent may only lower them.
    pub fn of(app: &App, agent: &Agent) -> Result<Self> {
        let mut limits = Self::default();
        limits.set(&app.settings.limits, "ambit.limits", false)?;
        limits.set(&agent.limits, "runtime.limits", true)?;
        Ok(limits)
    }

    /// Takes over what is set. Counts are numbers, or texts such as `64MiB`; times are seconds, or texts such as `500ms`.
    fn set(&mut self, limits: &Map<String, Value>, at: &str, only_lower: bool) -> Result<()> {
        for (name, value) in limits {
            let Some((_, place)) = LIMITS.iter().find(|(known, _)| known == name) else {
                let known: Vec<&str> = names().collect();
                let what = format!("{at}.{name}: unknown limit; known are {}", known.join(", "));
                return Err(Error::new(Code::ConfigError, what));
            };
            let wrong = || {
                let what = format!("{at}.{name}: {value} is no limit; a number above 0 is");
                Error::new(Code::ConfigError, what)
            };
            match place(self) {
                Place::Count(count) => {
                    let new = size(value).ok_or_else(wrong)?;
                    *count = if only_lower { new.min(*count) } else { new };
                }
                Place::Time(time) => {
                    let new = duration(value).ok_or_else(wrong)?;
                    *time = if only_lower { new.min(*time) } else { new };
                }
            }
        }
        Ok(())
    }
}

/// A number above 0, or one with `KiB` or `MiB` behind it.
fn size(value: &Value) -> Option<usize> {
    let number = match value {
        Value::Number(number) => usize::try_from(number.as_u64()?).ok()?,
        Value::String(text) => {
            let units = [("KiB", 1 << 10), ("MiB", 1 << 20)];
            let (number, unit) = units
                .iter()
                .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)))
                .unwrap_or((text, 1));
            number.trim().parse::<usize>().ok()?.checked_mul(unit)?
        }
        _ => return None,
    };
    (number > 0).then_some(number)
}

/// Seconds above 0, or a text with a unit.
fn duration(value: &Value) -> Option<Duration> {
    match ambit_storage::memory::Ttl::of(value).ok()?? {
        ambit_storage::memory::Ttl::Never => None,
        ambit_storage::memory::Ttl::After(millis) => {
            Some(Duration::from_millis(u64::try_from(millis).ok()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn limits(app: Value, agent: Value) -> Result<Limits> {
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
        let found = limits(app, json!({"cpu": 60, "heap": 4096, "log": 9})).unwrap();
        let mut expected = Limits::default();
        expected.run.cpu = Duration::from_secs(10);
        expected.run.heap = 4096;
        expected.run.wall = Duration::from_millis(500);
        expected.log = 7;
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_limit_is_refused_by_name() {
        let text = |app: Value| limits(app, json!({})).unwrap_err().to_string();
        assert!(
            text(json!({"cpus": 1}))
                .starts_with("ambit.limits.cpus: unknown limit; known are cpu,")
        );
        for value in [json!(0), json!(-1), json!("much"), json!(null), json!("0s")] {
            let found = text(json!({"cpu": value.clone()}));
            assert_eq!(
                found,
                format!("ambit.limits.cpu: {value} is no limit; a number above 0 is")
            );
        }
    }
}
