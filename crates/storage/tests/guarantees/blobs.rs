//! Bodies above the inline limit: G88.

use crate::bed::{Bed, Case, Notes, chat, heard};
use crate::dump::{forgets, keeps};
use ambit_storage::address::{DEFAULT_TENANT, ERASURES, ITEMS, Space};
use ambit_storage::driver::{Driver, LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::{ChatHistoryStorage, INLINE, UsageRecord};
use ambit_storage::{Context, LiveAgent, SessionIdentity};

pub const CASES: &[Case] = cases![
    g088_a_large_message_is_kept_beside_the_log_and_read_as_any_other,
    g088_a_large_message_goes_with_its_history,
    g088_a_large_message_goes_when_it_is_erased,
    g088_a_large_usage_record_is_summed_and_goes_with_its_owner,
];

/// A text that is above the limit and found by its mark.
fn large(mark: &str) -> String {
    format!("{mark} ").repeat(INLINE / mark.len() + 1)
}

/// How many values the space of this identity has, and how long the longest entry of its log is.
async fn sizes(driver: &dyn Driver, identity: &SessionIdentity) -> (usize, usize) {
    let space = Space::of(DEFAULT_TENANT, identity);
    let scan = ValueScan::first(Pattern::all(), 100, ValuePart::Nothing);
    let values = driver.scan(&space, &scan).await.unwrap();
    // How often something was erased is counted beside the large bodies.
    let values = values.iter().filter(|(name, _)| name != ERASURES).count();
    let log = driver
        .read(&space.log(ITEMS), LogRange::from(1, 100))
        .await
        .unwrap();
    let lengths = log.entries.iter().map(|entry| entry.body.as_str().len());
    (values, lengths.max().unwrap_or_default())
}

async fn with_large(bed: &Bed) -> LiveAgent {
    let text = large("secretive");
    chat(&bed.ambit(), "c", &["before", &text, "after"]).await
}

async fn g088_a_large_message_is_kept_beside_the_log_and_read_as_any_other(bed: Bed) {
    let agent = with_large(&bed).await;
    let text = large("secretive");
    assert_eq!(heard(&agent).await, ["before", text.as_str(), "after"]);
    assert_eq!(agent.history().count().await.unwrap(), 3);
    let (values, longest) = sizes(bed.driver.as_ref(), agent.history().identity()).await;
    assert_eq!((values, longest < 1_000), (1, true));
    let query = Context::named(bed.ambit(), "Support");
    let row = query.page(None, 10).await.unwrap().items.remove(0);
    assert_eq!(row.items, 3);
}

async fn g088_a_large_message_goes_with_its_history(bed: Bed) {
    let agent = with_large(&bed).await;
    agent.context().clear().await.unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(
        sizes(bed.driver.as_ref(), agent.history().identity()).await,
        (0, 0)
    );
    with_large(&bed).await;
    let query = Context::named(bed.ambit(), "Support");
    query
        .for_storage::<ChatHistoryStorage>()
        .remove()
        .await
        .unwrap();
    assert_eq!(
        sizes(bed.driver.as_ref(), agent.history().identity()).await,
        (0, 0)
    );
    assert!(forgets(&bed, "secretive").await);
}

async fn g088_a_large_message_goes_when_it_is_erased(bed: Bed) {
    let agent = with_large(&bed).await;
    let id = agent.history().messages().await.unwrap()[1].id.clone();
    assert_eq!(agent.history().erase(&[&id]).await.unwrap(), 1);
    assert_eq!(
        sizes(bed.driver.as_ref(), agent.history().identity())
            .await
            .0,
        0
    );
    // The first removal from a file is never put off.
    assert!(!keeps(&bed, "secretive").await);
}

async fn g088_a_large_usage_record_is_summed_and_goes_with_its_owner(bed: Bed) {
    let agent = chat(&bed.ambit(), "c", &[]).await;
    let record = UsageRecord {
        prompt_tokens: 7,
        provider_name: Some(large("provider")),
        ..UsageRecord::default()
    };
    agent.context().usage().record(record).unwrap();
    let notes = agent.context().storage::<Notes>().await.unwrap();
    notes.add(large("note")).unwrap();
    agent.context().save().await.unwrap();
    assert_eq!(notes.get().await.unwrap(), [large("note")]);
    assert_eq!(
        sizes(bed.driver.as_ref(), agent.context().usage().identity())
            .await
            .0,
        1
    );
    let before = agent.usage().aggregate().await.unwrap().unwrap();
    let now = bed.clock().now();
    let cut = agent
        .usage()
        .from_instant(now - 60_000)
        .to_instant(now + 60_000);
    assert_eq!(cut.aggregate().await.unwrap(), Some(before.clone()));
    let report = agent.context().remove().await.unwrap();
    assert_eq!((report.done.len(), report.failed), (2, vec![]));
    let kept = ambit_storage::Usage::all(bed.ambit())
        .aggregate()
        .await
        .unwrap();
    assert_eq!(kept, Some(before));
    assert_eq!(sizes(bed.driver.as_ref(), notes.identity()).await, (0, 0));
}
