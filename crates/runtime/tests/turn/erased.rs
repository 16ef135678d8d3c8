//! Erasing a turn while another one begins.

use crate::place::{agent, ann, ask, borrowed, end, place_over, remembered, request};
use ambit_runtime::ErrorCode;
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, FaultPoints};
use serde_json::json;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g167_no_turn_begins_while_a_turn_is_erased() {
    let (tell, told) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let fault_points = FaultPoints::new(move |point| {
        if point == "erase.held" {
            tell.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    });
    let options = DriverOptions {
        fault_points,
        ..DriverOptions::default()
    };
    let stores = Stores::builder(options).build().unwrap();
    let place = Arc::new(place_over(&borrowed(&agent(&json!({}), "")), stores).await);
    let first = ask(&place, request("hello", "canary")).await;
    let id = end(&first)["request_id"].as_str().unwrap().to_owned();
    let erasing = {
        let place = place.clone();
        tokio::spawn(async move { place.runtime.erase_turn(&ann(), &id).await })
    };
    tokio::task::spawn_blocking(move || told.recv().unwrap())
        .await
        .unwrap();
    let refused = place.runtime.start(request("hello", "and now?")).await;
    assert_eq!(refused.err().unwrap().code, ErrorCode::ChatBusy);
    go_on.send(()).unwrap();
    erasing.await.unwrap().unwrap();
    let left = remembered(&place, "hello").await.join("\n");
    assert!(!left.contains("canary"), "{left}");
    // The conversation is given back.
    let frames = ask(&place, request("hello", "and now?")).await;
    assert_eq!(end(&frames)["status"], "completed");
}
