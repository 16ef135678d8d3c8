//! The memory engine through its public API, over the memory driver.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod guarantees;
mod methods;

use ambit_storage::Json;
use ambit_storage::clock::Clock;
use ambit_storage::driver::{Driver, DriverOptions, memory};
use ambit_storage::memory::{Memory, MemorySettings};
use serde_json::Value;
use std::sync::Arc;

fn store(clock: &Clock) -> Arc<dyn Driver> {
    let options = DriverOptions {
        clock: clock.clone(),
        ..DriverOptions::default()
    };
    Arc::new(memory::MemoryDriver::new(options))
}

fn user(driver: &Arc<dyn Driver>, id: &str) -> Memory {
    Memory::user(
        Arc::clone(driver),
        "default",
        Some(id),
        MemorySettings::default(),
    )
    .unwrap()
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
