//! Requests with an idempotency key whose node is slow between the claim of the key and the turn, so that another node takes over.

use crate::repeat::{ask, conflict};
use crate::site::{Answer, HELLO, Site, Stream, write};
use crate::turns::{status, streamed};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::clock::Clock;
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::driver::{self, Driver, DriverOptions, FaultPoints, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::{Stores, ids};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};

/// The key of all requests of a test.
const KEY: &str = "k1";

/// Two nodes over one store. The first turn that the slow one opens waits at a point until it may go on, and to the other one every
/// claim of the slow one looks as if it were not renewed.
struct Nodes {
    store: Arc<FlakyDriver>,
    slow: Arc<Site>,
    other: Site,
    tries: watch::Receiver<u32>,
    is_opened: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl Nodes {
    async fn new() -> Self {
        Self::stalling_at("turn.opened").await
    }

    async fn stalling_at(stall: &'static str) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        for (name, text) in HELLO {
            write(&folder.path().join(name), text);
        }
        let memory = driver::open("memory:", DriverOptions::default());
        let store = Arc::new(FlakyDriver::new(memory.await.unwrap()));
        let (tell, is_opened) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let (may_go_on, is_first) = (Mutex::new(may_go_on), AtomicBool::new(true));
        let fault_points = FaultPoints::new(move |point| {
            if point == stall && is_first.swap(false, Ordering::SeqCst) {
                tell.send(()).unwrap();
                let _may_go_on = may_go_on.lock().unwrap().recv();
            }
        });
        let slow = DriverOptions {
            fault_points,
            ..DriverOptions::default()
        };
        let (count, tries) = watch::channel(0);
        let ahead = DriverOptions {
            clock: Clock::default(),
            fault_points: FaultPoints::new(move |point| {
                count.send_modify(|count| *count += u32::from(point == "turn.opened"));
            }),
            ..DriverOptions::default()
        };
        ahead.clock.advance(Duration::from_secs(60));
        Self {
            slow: Arc::new(node(&store, &folder, slow).await),
            other: node(&store, &folder, ahead).await,
            store,
            tries,
            is_opened,
            go_on,
        }
    }

    /// Sends a request to the slow node and waits until it has a claim and no turn.
    async fn stall(self, body: &Value) -> StalledRequest {
        let Self {
            store,
            slow,
            other,
            tries,
            is_opened,
            go_on,
        } = self;
        let (site, sent) = (slow.clone(), body.clone());
        let answer = tokio::spawn(async move { ask(&site, KEY, &sent).await });
        spawn_blocking(move || is_opened.recv().unwrap())
            .await
            .unwrap();
        StalledRequest {
            store,
            _slow: slow,
            other,
            tries,
            answer,
            go_on,
        }
    }
}

/// A request that the slow node has claimed and not begun.
struct StalledRequest {
    store: Arc<FlakyDriver>,
    _slow: Arc<Site>,
    other: Site,
    /// How often the other node has tried to begin a turn.
    tries: watch::Receiver<u32>,
    answer: JoinHandle<Answer>,
    go_on: mpsc::Sender<()>,
}

impl StalledRequest {
    /// Lets the slow node go on; returns the other one and what the slow one answers.
    async fn go_on(self) -> (Site, Answer) {
        self.go_on.send(()).unwrap();
        (self.other, self.answer.await.unwrap())
    }

    /// Until when the claim is not taken over.
    async fn claimed_until(&self) -> i64 {
        let claims = claims(&*self.store).await;
        claims[0]["outcome"]["until"].as_i64().unwrap()
    }
}

/// What is stored of keys.
async fn claims(store: &dyn Driver) -> Vec<Value> {
    let keys = Space::repeats(DEFAULT_TENANT);
    let scan = ValueScan::first(Pattern::all(), 2, ValuePart::Whole);
    let found = store.scan(&keys, &scan).await.unwrap();
    let values = found.iter().map(|(_, entry)| entry.value.to::<Value>());
    values.map(Result::unwrap).collect()
}

async fn node(store: &Arc<FlakyDriver>, folder: &Arc<TempDir>, options: DriverOptions) -> Site {
    let stores = Stores::builder(options).driver("shared", store.clone());
    let stores = Arc::new(stores.build().unwrap());
    Site::over(stores, folder.clone(), |_| {}).await
}

fn said(chat: Option<&str>) -> Value {
    json!({"model": "hello", "chat_id": chat, "messages": [{"role": "user", "content": "hi"}]})
}

/// The ids of all turns.
async fn turns(site: &Site) -> Vec<Value> {
    let listed = site.get("/v1/chat/requests").await.json();
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|item| item["request_id"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_a_slow_node_whose_request_was_taken_over_begins_no_second_turn() {
    for chat in [None, Some("c1")] {
        let stalled = Nodes::new().await.stall(&said(chat)).await;
        let taken_over = ask(&stalled.other, KEY, &said(chat)).await;
        assert_eq!(taken_over.status, 200, "{}", taken_over.text);
        let (other, late) = stalled.go_on().await;
        assert_eq!(
            (late.status, late.json()),
            (200, taken_over.json()),
            "{chat:?}"
        );
        let id = taken_over.header("x-ambit-request").unwrap();
        assert_eq!(turns(&other).await, [json!(id)], "{chat:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_a_slow_node_does_not_end_the_turn_that_was_begun_for_it() {
    let mut body = streamed("go on slowly");
    body["on_busy"] = json!("interrupt");
    let stalled = Nodes::new().await.stall(&body).await;
    let path = "/v1/chat/completions";
    let request = stalled.other.request(Method::POST, path).json(&body);
    let mut taken_over = Stream::of(request.header("idempotency-key", KEY)).await;
    let mut events = taken_over.until(|data| data["type"] == "text").await;
    let (_other, late) = stalled.go_on().await;
    events.extend(taken_over.rest().await);
    assert_eq!(status(&events), "completed");
    let id = taken_over.request_id();
    assert_eq!(
        (late.status, late.header("x-ambit-request")),
        (200, Some(id.as_str()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_a_repetition_is_not_refused_for_the_lease_of_its_own_turn() {
    let body = said(Some("c1"));
    let nodes = Nodes::stalling_at("turn.held").await;
    let mut stalled = nodes.stall(&body).await;
    let asked = ask(&stalled.other, KEY, &body);
    tokio::pin!(asked);
    tokio::select! {
        answer = &mut asked => panic!("{}", answer.text),
        // The chat was busy once.
        tried = stalled.tries.wait_for(|tries| *tries > 1) => drop(tried.unwrap()),
    }
    stalled.go_on.send(()).unwrap();
    let (taken_over, late) = (asked.await, stalled.answer.await.unwrap());
    assert_eq!((late.status, late.json()), (200, taken_over.json()));
    assert_eq!(turns(&stalled.other).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_a_slow_node_does_not_bring_back_what_was_removed_meanwhile() {
    let stalled = Nodes::new().await.stall(&said(None)).await;
    let taken_over = ask(&stalled.other, KEY, &said(None)).await;
    let chat = taken_over.header("x-ambit-chat").unwrap();
    let path = format!("/v1/chat/sessions/{chat}");
    let removed = Answer::of(stalled.other.request(Method::DELETE, &path)).await;
    assert_eq!(removed.status, 204, "{}", removed.text);
    let (other, late) = stalled.go_on().await;
    assert_eq!(late.status, 409, "{}", late.text);
    assert_eq!(ask(&other, KEY, &said(None)).await.failure(), conflict());
    assert!(turns(&other).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_what_other_nodes_cannot_see_is_not_taken_over() {
    let chat = format!("_temp_{}", ids::unguessable());
    let stalled = Nodes::new().await.stall(&said(Some(&chat))).await;
    let refused = ask(&stalled.other, KEY, &said(Some(&chat))).await;
    assert_eq!(refused.failure(), conflict());
    let (_, late) = stalled.go_on().await;
    assert_eq!(late.status, 200, "{}", late.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_a_claim_is_renewed_again_when_its_store_has_recovered() {
    let stalled = Nodes::new().await.stall(&said(None)).await;
    let store = &stalled.store;
    store.fail(FaultKind::Write, u64::MAX);
    // None is under way any more that did not fail.
    let tried = store.seen(FaultKind::Write);
    store.wait_seen(FaultKind::Write, tried + 1).await;
    let claimed = stalled.claimed_until().await;
    // The claim misses a renewal.
    store.wait_seen(FaultKind::Write, tried + 2).await;
    assert_eq!(stalled.claimed_until().await, claimed);
    let mut written = store.seen(FaultKind::Answer);
    store.heal();
    while stalled.claimed_until().await == claimed {
        written += 1;
        store.wait_seen(FaultKind::Answer, written).await;
    }
    let (other, answer) = stalled.go_on().await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(turns(&other).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g162_a_key_is_free_again_although_the_answer_to_a_renewal_was_lost() {
    let stalled = Nodes::new().await.stall(&said(Some("c1"))).await;
    let store = &stalled.store;
    store.fail(FaultKind::Answer, 1);
    let answered = store.seen(FaultKind::Answer);
    store.wait_seen(FaultKind::Answer, answered + 1).await;
    let mut running = stalled.other.stream(&streamed("never ends")).await;
    running.until(|data| data["type"] == "text").await;
    let (other, late) = stalled.go_on().await;
    assert_eq!(late.failure().1, "chat_busy");
    let left = claims(&*other.store).await;
    assert!(left.is_empty(), "{left:?}");
}
