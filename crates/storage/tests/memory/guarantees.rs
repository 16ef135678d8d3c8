//! What memory promises beyond its single methods.

use super::{fresh, store, user, value, values};
use ambit_storage::SessionIdentity;
use ambit_storage::address::Space;
use ambit_storage::clock::Clock;
use ambit_storage::directory::{RowFilter, TrackRequest};
use ambit_storage::driver::ValuePart;
use ambit_storage::memory::{ChatMemoryOwner, Memory, MemorySettings, RowTracking, Ttl};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_list_holds_at_most_100_000_items() {
    let memory = fresh();
    let items: Vec<u8> = vec![1; 100_000];
    assert_eq!(memory.push("l", &items).await.unwrap(), 100_000);
    for refused in [memory.push("l", &1).await, memory.add_to_set("l", &2).await] {
        assert_eq!(
            refused.unwrap_err().to_string(),
            "list exceeds 100000 items"
        );
    }
    let longer = memory.set("l", &vec![1; 100_001], None).await;
    assert_eq!(longer.unwrap_err().to_string(), "list exceeds 100000 items");
    assert_eq!(memory.array_len("l").await.unwrap(), 100_000);
}

#[tokio::test]
async fn g012_a_value_is_stored_as_it_was_at_the_call() {
    let memory = fresh();
    let cell = std::cell::RefCell::new(vec![1]);
    let pending = memory.push("l", &cell);
    cell.borrow_mut().push(2);
    pending.await.unwrap();
    assert_eq!(values(&memory.array_all("l").await.unwrap()), json!([1]));
}

#[tokio::test]
async fn g095_only_set_replaces_the_life() {
    let clock = Clock::default();
    let memory = user(&store(&clock), "ann");
    let two_hours = Some(Ttl::seconds(7_200.0).unwrap());
    memory.set("n", &1, two_hours).await.unwrap();
    memory.set("l", &json!([1]), two_hours).await.unwrap();
    memory.set("kept", &json!([1]), two_hours).await.unwrap();
    clock.advance(Duration::from_secs(3_600));
    memory.incr("n", 1.0).await.unwrap();
    memory.push("l", &2).await.unwrap();
    memory.add_to_set("l", &3).await.unwrap();
    memory.array_set("l", 0, &0).await.unwrap();
    memory.set("kept", &1, None).await.unwrap();
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(memory.keys(None).await.unwrap(), ["kept"]);
}

#[tokio::test]
async fn the_default_life_of_a_namespace_counts_where_a_write_says_nothing() {
    let clock = Clock::default();
    let settings = MemorySettings {
        default_ttl: Ttl::parse("1m").unwrap(),
        ..MemorySettings::default()
    };
    let memory = Memory::team(store(&clock), "default", Some("red"), settings).unwrap();
    memory.set("default", &1, None).await.unwrap();
    memory.incr("created", 1.0).await.unwrap();
    memory.set("forever", &1, Some(Ttl::Never)).await.unwrap();
    clock.advance(Duration::from_secs(60));
    assert_eq!(memory.keys(None).await.unwrap(), ["forever"]);
}

#[tokio::test]
async fn g096_incr_is_exact_or_refused() {
    let memory = fresh();
    let most = 9_007_199_254_740_991_i64;
    memory.set("n", &(most - 1), None).await.unwrap();
    assert_eq!(memory.incr("n", 1.0).await.unwrap().as_i64(), Some(most));
    let refused = memory.incr("n", 1.0).await.unwrap_err().to_string();
    assert_eq!(refused, "Incr: result out of range for key \"n\"");
    assert_eq!(value(memory.get("n").await.unwrap()), Some(json!(most)));
    let below = memory.decr("m", most as f64).await.unwrap();
    assert_eq!(below.as_i64(), Some(-most));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g097_each_item_and_each_value_goes_to_one_caller() {
    let memory = fresh();
    let items: Vec<u32> = (0..1_000).collect();
    memory.push("l", &items).await.unwrap();
    memory.set("v", &1, None).await.unwrap();
    let consumers = (0..8).map(|_| tokio::spawn(consume(memory.clone())));
    let (mut taken, mut winners) = (Vec::new(), 0);
    for outcome in futures::future::join_all(consumers).await {
        let (items, won) = outcome.unwrap();
        taken.extend(items);
        winners += usize::from(won);
    }
    taken.sort_unstable();
    assert_eq!((taken, winners), (items, 1));
}

async fn consume(memory: Memory) -> (Vec<u32>, bool) {
    let mut taken = Vec::new();
    while let Some(item) = memory.pop("l").await.unwrap() {
        taken.push(item.to().unwrap());
        tokio::task::yield_now().await;
    }
    (taken, memory.get_del("v").await.unwrap().is_some())
}

#[tokio::test]
async fn g101_falsy_values_are_present() {
    let memory = fresh();
    for falsy in [json!(null), json!(false), json!(0), json!(""), json!([])] {
        memory.set("k", &falsy, None).await.unwrap();
        assert!(memory.has("k").await.unwrap(), "{falsy}");
        assert_eq!(value(memory.get("k").await.unwrap()), Some(falsy));
    }
    assert_eq!(memory.get("missing").await.unwrap(), None);
}

#[tokio::test]
async fn g102_patterns_and_clear_stay_in_their_own_space() {
    let driver = store(&Clock::default());
    let (ann, bob) = (user(&driver, "ann"), user(&driver, "ann_"));
    let keys = [
        "a*b", "a_b", "axb", "p:1", "p:2", "p\u{0}", "p%", "é", "\\x",
    ];
    for memory in [&ann, &bob] {
        for key in keys {
            memory.set(key, &1, None).await.unwrap();
        }
    }
    ann.del("p:*").await.unwrap();
    ann.del("a_b").await.unwrap();
    ann.del("a\\*b").await.unwrap();
    ann.del("\\x").await.unwrap();
    assert_eq!(ann.keys(None).await.unwrap(), ["axb", "p\u{0}", "p%", "é"]);
    assert_eq!(ann.keys(Some("p%")).await.unwrap(), ["p%"]);
    assert_eq!(ann.keys(Some("a?b")).await.unwrap(), [""; 0]);
    ann.clear().await.unwrap();
    assert!(ann.is_empty().await.unwrap());
    assert_eq!(bob.len().await.unwrap(), keys.len() as u64);
}

#[tokio::test]
async fn g104_keys_are_read_by_pages_and_all_come_once() {
    let memory = fresh();
    let mut names: Vec<String> = (0..2_500).map(|number| format!("k{number}")).collect();
    for name in &names {
        memory.set(name, &1, None).await.unwrap();
    }
    names.sort();
    assert_eq!(memory.keys(None).await.unwrap(), names);
    assert_eq!(memory.len().await.unwrap(), 2_500);
    assert_eq!(memory.keys(Some("k1*9")).await.unwrap().len(), 111);
    memory.del("k*").await.unwrap();
    assert_eq!(memory.len().await.unwrap(), 0);
}

#[tokio::test]
async fn g105_request_memory_ends_with_its_request() {
    let request =
        || Memory::request(Clock::default(), "t", "ctx-1", MemorySettings::default()).unwrap();
    let memory = request();
    assert_eq!((memory.id(), memory.space()), ("ctx-1", "context"));
    let delegate = memory.clone();
    memory.set("k", &1, None).await.unwrap();
    assert!(delegate.has("k").await.unwrap());
    assert!(!request().has("k").await.unwrap());
    memory.end().await.unwrap();
    memory.end().await.unwrap();
    let late = delegate.get("k").await.unwrap_err().to_string();
    assert_eq!(late, "the memory store (it was closed) is unavailable");
}

#[tokio::test]
async fn ending_leaves_the_other_namespaces_alone() {
    let memory = fresh();
    memory.set("k", &1, None).await.unwrap();
    memory.end().await.unwrap();
    assert!(memory.has("k").await.unwrap());
}

#[tokio::test]
async fn an_id_that_no_identity_may_have_is_refused() {
    let driver = store(&Clock::default());
    let bad = Memory::user(driver, "t", Some(""), MemorySettings::default());
    let text = bad.err().unwrap().to_string();
    assert_eq!(text, "user_id is empty; leave it out if there is none");
}

fn conversation(user: &str) -> ChatMemoryOwner {
    let builder = SessionIdentity::builder("helper").user_id(user);
    let identity = builder.chat_name("billing").build().unwrap();
    let track = TrackRequest {
        id: format!("row-{user}"),
        tenant: "default".to_owned(),
        identity: identity.with_scope("memory").unwrap(),
        agent: "helper".to_owned(),
        base: identity.clone(),
        placement: vec!["memory".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    };
    ChatMemoryOwner {
        identity,
        tracking: Some(RowTracking { track, index: None }),
    }
}

#[tokio::test]
async fn g031_the_first_value_of_a_chat_brings_its_index_row() {
    let driver = store(&Clock::default());
    let open = |user| {
        let conversation = Some(conversation(user));
        Memory::chat(
            Arc::clone(&driver),
            "default",
            conversation,
            MemorySettings::default(),
        )
        .unwrap()
    };
    let memory = open("ann");
    assert_eq!((memory.id(), memory.space()), ("billing", "chat"));
    memory.get("k").await.unwrap();
    memory.del("k").await.unwrap();
    memory.clear().await.unwrap();
    memory.incr("k", f64::MAX).await.unwrap_err();
    assert_eq!(driver.count(&RowFilter::default()).await.unwrap(), 0);
    memory.set("k", &1, None).await.unwrap();
    memory.push("l", &1).await.unwrap();
    assert_eq!(driver.count(&RowFilter::default()).await.unwrap(), 1);
    let space = Space::of(
        "default",
        &conversation("ann").tracking.unwrap().track.identity,
    );
    let stored = driver.get(&space.key("k"), ValuePart::Whole).await.unwrap();
    assert_eq!(stored.unwrap().value.as_str(), "1");
    assert!(!open("bob").has("k").await.unwrap());
    open("bob").set("k", &2, None).await.unwrap();
    assert_eq!(driver.count(&RowFilter::default()).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g098_add_to_set_from_8_writers_leaves_no_duplicate() {
    let memory = fresh();
    let writers = (0..8).map(|first| {
        let memory = memory.clone();
        tokio::spawn(async move {
            for item in (first..first + 100).map(|number| number % 50) {
                memory.add_to_set("s", &item).await.unwrap();
                memory.incr("n", 1.0).await.unwrap();
            }
        })
    });
    let ends = futures::future::join_all(writers).await;
    assert!(ends.iter().all(Result::is_ok));
    let mut items: Vec<u32> = Vec::new();
    for item in memory.array_all("s").await.unwrap() {
        items.push(item.to().unwrap());
    }
    items.sort_unstable();
    assert_eq!(items, (0..50).collect::<Vec<u32>>());
    assert_eq!(memory.incr("n", 0.0).await.unwrap().as_i64(), Some(800));
}
