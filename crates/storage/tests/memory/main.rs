//! The memory engine through its public API, over the memory driver.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod guarantees;
mod methods;

use ambit_storage::Json;
use ambit_storage::clock::Clock;
use ambit_storage::driver::{Driver, Options, memory};
use ambit_storage::memory::{Memory, Settings};
use serde_json::Value;
use std::sync::Arc;

fn store(clock: &Clock) -> Arc<dyn Driver> {
    let options = Options {
        clock: clock.clone(),
        ..Options::default()
    };
    Arc::new(memory::Memory::new(options))
}

fn user(driver: &Arc<dyn Driver>, id: &str) -> Memory {
    Memory::user(Arc::clone(driver), "default", Some(id), Settings::default()).unwrap()
}

fn fresh() -> Memory {
    user(&store(&Clock::default()), "ann")
}

fn value(json: Option<Json>) -> Option<Value> {
    json.map(|json| json.to().unwrap())
}

fn values(items: &[Json]) -> Value {
    Json::of(items).unwrap().to().unwrap()
}
