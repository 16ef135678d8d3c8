//! Several calls of one instance of a program.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::{ENTRY, engine, program};
use ambit_script::{Error, NoHost, ProgramInstance, RunLimits};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

const COUNTER: &str = "let n = 0;
    export const Add = (by: number) => n += by;
    export const Throw = () => { n++; throw new Error('no'); };
    export const Leave = () => { setTimeout(() => { n = 1000; }, 0); return Promise.resolve().then(() => n); };
    export const Never = () => new Promise(() => {});
    export const Later = () => new Promise(resolve => setTimeout(() => resolve(n), 5));
    export const Loop = () => { for (;;) {} };
    export const Sleep = () => new Promise(resolve => setTimeout(resolve, 60_000));";

fn open(limits: RunLimits) -> ProgramInstance {
    let engine = engine();
    let program = program(&engine, COUNTER);
    engine
        .open(program, Arc::new(NoHost), limits, None)
        .unwrap()
}

async fn call(
    instance: &mut ProgramInstance,
    function: &str,
    arguments: &[Json],
) -> Result<Json, String> {
    let arguments = arguments.iter().cloned().map(Into::into).collect();
    let result = instance.call(function, arguments).await;
    result
        .map(|outcome| outcome.value.unwrap_or_default())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn calls_of_one_instance_share_its_state() {
    let mut one = open(RunLimits::default());
    let mut other = open(RunLimits::default());
    assert_eq!(call(&mut one, "Add", &[json!(2)]).await, Ok(json!(2)));
    assert_eq!(call(&mut other, "Add", &[json!(5)]).await, Ok(json!(5)));
    assert_eq!(call(&mut one, "Later", &[]).await, Ok(json!(2)));
    assert_eq!(call(&mut one, "Add", &[json!(1)]).await, Ok(json!(3)));
}

#[tokio::test]
async fn an_error_ends_the_call_and_not_the_instance() {
    let mut one = open(RunLimits::default());
    let thrown = call(&mut one, "Throw", &[]).await;
    assert_eq!(thrown, Err(format!("Error: no ({ENTRY}:3:49)")));
    let never = call(&mut one, "Never", &[]).await;
    assert_eq!(
        never,
        Err("Never returned a promise that never settles".to_owned())
    );
    let none = call(&mut one, "None", &[]).await;
    assert_eq!(none, Err(format!("{ENTRY} has no function None")));
    assert_eq!(call(&mut one, "Add", &[json!(1)]).await, Ok(json!(2)));
}

#[tokio::test]
async fn what_a_call_leaves_over_does_not_reach_the_next() {
    let mut one = open(RunLimits::default());
    assert_eq!(call(&mut one, "Leave", &[]).await, Ok(json!(0)));
    assert_eq!(call(&mut one, "Later", &[]).await, Ok(json!(0)));
}

#[tokio::test]
async fn a_limit_ends_the_instance() {
    let mut one = open(RunLimits {
        cpu: Duration::from_millis(100),
        ..RunLimits::default()
    });
    let over = |function: &str| {
        Err(format!(
            "{ENTRY} {function}: script used more than 0.1s of CPU"
        ))
    };
    assert_eq!(call(&mut one, "Add", &[json!(1)]).await, Ok(json!(1)));
    assert_eq!(call(&mut one, "Loop", &[]).await, over("Loop"));
    assert_eq!(call(&mut one, "Add", &[json!(1)]).await, over("Add"));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends_the_instance() {
    let mut one = open(RunLimits::default());
    let sleeps = tokio::time::timeout(Duration::from_millis(20), one.call("Sleep", vec![])).await;
    assert!(sleeps.is_err());
    assert_eq!(one.call("Add", vec![]).await, Err(Error::Cancelled));
}

#[tokio::test]
async fn an_instance_outlives_the_engine_it_came_from_and_may_never_be_called() {
    let mut one = open(RunLimits::default());
    assert_eq!(call(&mut one, "Add", &[json!(1)]).await, Ok(json!(1)));
    drop(open(RunLimits::default()));
    drop(one);
}
