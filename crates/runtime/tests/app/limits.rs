//! Limits of an app and its agents.

use ambit_runtime::app::limits::{LIMITS, in_force};
use serde_json::{Map, Value, json};

fn limit(name: &str, app: &Value, agent: &Value) -> u64 {
    let limit = LIMITS.iter().find(|limit| limit.name == name).unwrap();
    let level = |value: &Value| value.as_object().cloned().unwrap_or_else(Map::new);
    in_force(limit, &level(app), &level(agent))
}

#[test]
fn an_app_sets_a_limit_and_an_agent_only_lowers_it() {
    let none = json!({});
    assert_eq!(limit("cpu", &none, &none), 5_000);
    assert_eq!(limit("cpu", &json!({"cpu": "20s"}), &none), 20_000);
    assert_eq!(
        limit("cpu", &json!({"cpu": "20s"}), &json!({"cpu": 2})),
        2_000
    );
    assert_eq!(limit("cpu", &none, &json!({"cpu": "20s"})), 5_000);
    assert_eq!(
        limit("heap", &json!({"heap": "32MiB"}), &json!({"heap": "64MiB"})),
        32 << 20
    );
    assert_eq!(limit("heap", &json!({"heap": 1024}), &none), 1_024);
    assert_eq!(limit("timers", &none, &json!({"timers": 5})), 5);
}
