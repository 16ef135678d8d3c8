//! What models were told in a turn whose process is killed: no answer is stored without it, and it is told once.

use crate::app::ann;
use crate::points::{killed, later};
use crate::store::{self, Fresh};
use crate::turns::{end, open_turns, stream};
use ambit_runtime::inspect::calls;
use ambit_runtime::manifest::ModelCallStatus;
use ambit_storage::address::{ITEMS, LogKey};
use ambit_storage::driver::{Driver, FaultPoints, LogRange};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

crate::cases![
    g191_killed_when_an_answer_with_tool_calls_is_stored,
    g191_killed_when_the_results_are_stored,
    g191_killed_before_the_last_commit,
];

async fn entries(driver: &dyn Driver, log: LogKey) -> Vec<Value> {
    let page = driver.read(&log, LogRange::from(1, 1_000)).await.unwrap();
    let entries = page.entries.iter();
    entries.map(|entry| entry.body.to().unwrap()).collect()
}

/// Kills a turn there, compares the answers with the manifests that are stored, and has another node finish the turn.
async fn kept(fresh: Fresh, point: &str, times: u64) {
    killed(&fresh, "hello", point, times).await;
    let stores = store::open(&fresh.url, Duration::ZERO, FaultPoints::default()).await;
    let driver = stores.index().unwrap().driver().clone();
    let open = open_turns(&driver).await.remove(0);
    let stored = entries(&*driver, open.space.log(ITEMS)).await;
    let calling = |entry: &&Value| {
        entry["tool_calls"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    };
    let answers = stored.iter().filter(calling);
    assert_eq!(answers.count(), 1);
    let log = open.space.log(format!("turn/{}/trace", open.request_id));
    let trace = entries(&*driver, log.clone()).await;
    let mut events = trace.iter().filter_map(Value::as_array).flatten();
    let has_manifest = events.any(|event| event["manifest"].is_string());
    assert!(has_manifest, "{trace:?}");
    let node = later(&fresh).await;
    let told = end(&stream(&node, &open.request_id, 0).await);
    assert_eq!(told["status"], "completed", "{told}");
    let trace = entries(&*driver, log).await;
    let events = trace.iter().filter_map(Value::as_array).flatten();
    let contents = events.filter(|event| event["type"] == "content");
    let hashes: Vec<&str> = contents.filter_map(|it| it["hash"].as_str()).collect();
    let different: BTreeSet<&str> = hashes.iter().copied().collect();
    assert!(!hashes.is_empty());
    assert_eq!(different.len(), hashes.len(), "a content is kept twice");
    let (ambit, ann) = (node.contexts(&ann()), ann());
    let calls = calls::of_request(&ambit, &ann, &open.request_id).await;
    let calls = calls.unwrap().manifests;
    let ids: BTreeSet<&str> = calls.iter().map(|call| call.call_id.as_str()).collect();
    assert_eq!(ids.len(), calls.len(), "no number is given twice");
    assert!(calls.len() >= 2, "{ids:?}");
    let last = calls.last().unwrap();
    assert_ne!(last.end.status, ModelCallStatus::Running);
    let again = node.model_call_request(&ann, &last.call_id).await.unwrap();
    assert!(again.exact, "{again:?}");
}

async fn g191_killed_when_an_answer_with_tool_calls_is_stored(fresh: Fresh) {
    kept(fresh, "turn.answered", 1).await;
}

async fn g191_killed_when_the_results_are_stored(fresh: Fresh) {
    kept(fresh, "turn.settled", 2).await;
}

async fn g191_killed_before_the_last_commit(fresh: Fresh) {
    kept(fresh, "turn.before_close", 1).await;
}
