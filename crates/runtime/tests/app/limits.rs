//! Limits of an app and its agents.

use ambit_runtime::app::{App, AppAgent};
use ambit_runtime::config::{ConfigObject, Overrides, Setting};
use ambit_runtime::limits::AgentLimits;
use serde_json::{Value, json};
use std::time::Duration;

fn limits(app: &Value, agent: &Value) -> AgentLimits {
    let level = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut whole = App::default();
    whole.settings.limits.update(&mut level(app));
    let mut own = AppAgent::default();
    own.package.runtime.limits = Overrides::read(agent.clone()).unwrap();
    AgentLimits::of(&whole, &own)
}

#[test]
fn an_app_sets_a_limit_and_an_agent_only_lowers_it() {
    let none = json!({});
    let cpu = |app: &Value, agent: &Value| limits(app, agent).run.cpu;
    let heap = |app: &Value, agent: &Value| limits(app, agent).run.heap;
    assert_eq!(cpu(&none, &none), Duration::from_secs(5));
    assert_eq!(cpu(&json!({"cpu": "20s"}), &none), Duration::from_secs(20));
    assert_eq!(
        cpu(&json!({"cpu": "20s"}), &json!({"cpu": 2})),
        Duration::from_secs(2)
    );
    assert_eq!(cpu(&none, &json!({"cpu": "20s"})), Duration::from_secs(5));
    assert_eq!(
        heap(&json!({"heap": "32MiB"}), &json!({"heap": "64MiB"})),
        32 << 20
    );
    assert_eq!(heap(&json!({"heap": 1024}), &none), 1_024);
    assert_eq!(limits(&none, &json!({"timers": 5})).run.timers, 5);
}
