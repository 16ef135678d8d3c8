//! What scripts may use, put together from the limits of an app and its agent.

use crate::app::{App, AppAgent, LimitSettings};
use crate::concurrent_calls::ConcurrencyLimits;
use crate::config::ByteSize;
use crate::{net, outbox, trace};
use std::time::Duration;

/// The limits of one agent's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimits {
    /// A turn, from the moment when a node takes it on.
    pub turn: Duration,
    /// One run of a script.
    pub run: ambit_script::RunLimits,
    /// Processes within processes.
    pub process_depth: usize,
    /// Delegations and agent calls within each other.
    pub delegate_depth: usize,
    /// What a turn may say.
    pub outbox: outbox::OutboxLimits,
    /// Bytes of one value of memory.
    pub memory_value: usize,
    /// A trace.
    pub trace: trace::TraceLimits,
    /// Bytes of log output of a run.
    pub log: usize,
    /// Requests of a run.
    pub http: net::HttpLimits,
    /// Calls that one `All`, `Any`, `Race` or `CallToolsParallel` may make.
    pub calls: ConcurrencyLimits,
}

impl Default for AgentLimits {
    /// Those of an app that sets none.
    fn default() -> Self {
        Self::of(&App::default(), &AppAgent::default())
    }
}

impl AgentLimits {
    /// The limits of an agent's scripts: an app sets them, an agent may only lower them.
    pub fn of(app: &App, agent: &AppAgent) -> Self {
        let most = &app.settings.limits;
        let own = agent.package.runtime.limits.over(most);
        let time = |of: fn(&LimitSettings) -> Duration| of(most).min(of(&own));
        let size = |of: fn(&LimitSettings) -> ByteSize| of(most).min(of(&own)).0;
        let count = |of: fn(&LimitSettings) -> usize| of(most).min(of(&own));
        Self {
            turn: time(|it| it.turn),
            run: ambit_script::RunLimits {
                cpu: time(|it| it.cpu),
                wall: time(|it| it.wall),
                heap: size(|it| it.heap),
                stack: size(|it| it.stack),
                returned: size(|it| it.returned),
                timers: count(|it| it.timers),
                ..ambit_script::RunLimits::default()
            },
            process_depth: count(|it| it.process_depth),
            delegate_depth: count(|it| it.delegate_depth),
            outbox: outbox::OutboxLimits {
                message: size(|it| it.message),
                output: size(|it| it.output),
                messages: count(|it| it.messages),
            },
            memory_value: size(|it| it.memory_value),
            trace: trace::TraceLimits {
                nodes: count(|it| it.trace_nodes),
                logs: count(|it| it.trace_logs),
                field: size(|it| it.trace_field),
            },
            log: size(|it| it.log),
            http: net::HttpLimits {
                at_once: count(|it| it.http_calls),
                time: time(|it| it.http_timeout),
                body: size(|it| it.http_body),
                redirects: count(|it| it.http_redirects),
            },
            calls: ConcurrencyLimits {
                most: count(|it| it.calls),
                at_once: count(|it| it.calls_at_once),
            },
        }
    }
}

impl Default for outbox::OutboxLimits {
    fn default() -> Self {
        AgentLimits::default().outbox
    }
}

impl Default for trace::TraceLimits {
    fn default() -> Self {
        AgentLimits::default().trace
    }
}

impl Default for net::HttpLimits {
    fn default() -> Self {
        AgentLimits::default().http
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigObject, Setting};
    use serde_json::{Value, json};

    fn limits(app: &Value, agent: &Value) -> AgentLimits {
        let mut whole = App::default();
        let mut given = app.as_object().cloned().unwrap();
        whole.settings.limits.update(&mut given);
        let mut own = AppAgent::default();
        own.package.runtime.limits = Setting::read(agent.clone()).unwrap();
        AgentLimits::of(&whole, &own)
    }

    #[test]
    fn an_app_sets_limits_and_an_agent_only_lowers_them() {
        let app =
            json!({"cpu": 10, "heap": "128MiB", "wall": "500ms", "log": 7, "http_timeout": "2s"});
        let found = limits(&app, &json!({"cpu": 60, "heap": 4096, "log": 9}));
        let mut expected = AgentLimits::default();
        expected.run.cpu = Duration::from_secs(10);
        expected.run.heap = 4096;
        expected.run.wall = Duration::from_millis(500);
        expected.log = 7;
        expected.http.time = Duration::from_secs(2);
        assert_eq!(found, expected);
    }

    #[test]
    fn what_nobody_sets_is_what_a_run_has_by_itself() {
        let run = AgentLimits::default().run;
        assert_eq!(run, ambit_script::RunLimits::default());
    }
}
