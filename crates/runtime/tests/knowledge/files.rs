//! Collections of files, beside nodes whose app has other files.

use crate::{Place, RULES, place};
use ambit_knowledge::{KnowledgeBase, KnowledgeSettings};
use ambit_storage::address::Space;
use ambit_storage::driver::{Driver, ValuePages, ValuePart};
use ambit_storage::lease::{Lease, OnBusy};
use ambit_storage::pattern::Pattern;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const MINUTE: Duration = Duration::from_secs(60);

impl Place {
    fn driver(&self) -> Arc<dyn Driver> {
        self.runtime.stores().index().unwrap().driver().clone()
    }

    /// A node whose app has no collections.
    fn other(&self) -> KnowledgeBase {
        KnowledgeBase::open(KnowledgeSettings::new(self.driver()))
    }

    /// Lets time pass, in the store too.
    async fn pass(&self, time: Duration) {
        sleep(time).await;
        self.runtime.stores().options().clock.advance(time);
    }
}

async fn has_rules(node: &KnowledgeBase) -> bool {
    node.has_file_collections(&["rules"]).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn g217_a_node_says_what_it_defines_while_a_file_is_no_document() {
    let limits = r#"{"name": "test", "ambit": {"search": {"limits": {"file": 40}}}}"#;
    let place = place(&[
        ("app.yao", limits),
        ("kb/rules.kb.yao", RULES),
        ("docs/a.md", &"Vacation without end. ".repeat(9)),
    ])
    .await;
    place.runtime.settle_collections().await.unwrap();
    let other = place.other();
    // It looks at the file more and more seldom.
    for half in 1..=30 {
        place.pass(MINUTE / 2).await;
        other.keep_file_collections(&[]).await.unwrap();
        assert!(has_rules(&other).await, "gone after {half} half minutes");
    }
}

#[tokio::test(start_paused = true)]
async fn g217_a_node_makes_again_what_was_dropped_under_it() {
    let place = place(&[
        ("kb/rules.kb.yao", RULES),
        ("docs/a.md", "Thirty days of vacation."),
    ])
    .await;
    place.runtime.settle_collections().await.unwrap();
    for _ in 0..5 {
        place.pass(MINUTE).await;
    }
    // As if the node had been away: what it said has ended.
    let other = place.other();
    place.runtime.stores().options().clock.advance(MINUTE * 4);
    other.keep_file_collections(&[]).await.unwrap();
    assert!(!has_rules(&other).await);
    for _ in 0..3 {
        place.pass(MINUTE).await;
    }
    assert!(has_rules(&other).await);
}

/// What a store has under names that begin so.
async fn stored(driver: &dyn Driver, prefix: &str) -> Vec<(u64, Value)> {
    let names = Pattern::parse(&format!("{prefix}*"));
    let space = Space::collections(None);
    let mut pages = ValuePages::of(driver, &space, names, ValuePart::Whole);
    let found = pages.next().await.unwrap().unwrap().into_iter();
    let found = found.map(|(_, entry)| (entry.version, entry.value.to().unwrap()));
    found.collect()
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_another_node_says_once_what_it_defines() {
    let place = place(&[
        ("kb/rules.kb.yao", RULES),
        ("docs/a.md", "Thirty days of vacation."),
    ])
    .await;
    place.runtime.settle_collections().await.unwrap();
    let driver = place.driver();
    let (_, record) = stored(driver.as_ref(), "collection/rules").await.remove(0);
    let key = record["place"]["key"].as_str().unwrap();
    let lease = Space::collection(None, &format!("{key}.files")).lease();
    let lease = Lease::take(driver.clone(), lease, OnBusy::Reject).await;
    let lease = lease.unwrap();
    let mut said = BTreeSet::new();
    let watching = async {
        for _ in 0..100 {
            sleep(Duration::from_millis(100)).await;
            let statements = stored(driver.as_ref(), "defined/rules/").await;
            said.extend(statements.into_iter().map(|(version, _)| version));
        }
    };
    tokio::select! {
        settled = place.runtime.settle_collections() => panic!("{settled:?} beside another node"),
        () = watching => {}
    }
    // By whoever waits, and by the node's own loop once a minute.
    assert!(said.len() <= 3, "{} times", said.len());
    lease.release().await.unwrap();
}
