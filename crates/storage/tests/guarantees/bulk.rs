//! What a bulk operation asks of agents and of the index: G82.

use crate::agents::Asked;
use crate::bed::{Bed, Case, Notes, chat, invalid, spend};
use crate::count::Counting;
use ambit_storage::storage::ChatHistoryStorage;
use ambit_storage::{Ambit, Context, SessionQuery, Stores};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const CASES: &[Case] = cases![
    g082_bulk_operations_run_no_agent_code,
    g082_bulk_operations_ask_the_index_by_pages,
    g082_memory_goes_with_histories_removed_in_bulk,
    a_bulk_operation_without_a_match_does_nothing,
];

/// Sessions with messages, usage, notes and memory.
async fn sessions(ambit: &Ambit, count: usize) {
    for number in 0..count {
        let agent = chat(ambit, &format!("c{number}"), &["hi"]).await;
        spend(&agent, 1);
        let notes = agent.context().storage::<Notes>().await.unwrap();
        notes.add("note".to_owned()).unwrap();
        let memory = agent.context().memory().unwrap();
        memory.set("k", &1, None).await.unwrap();
        agent.context().save().await.unwrap();
    }
}

async fn g082_bulk_operations_run_no_agent_code(bed: Bed) {
    let asked = Arc::new(AtomicU64::new(0));
    let ambit = Ambit::builder(bed.stores().build().unwrap())
        .agent(Asked(asked.clone()))
        .build();
    sessions(&ambit, 3).await;
    assert_ne!(asked.swap(0, Ordering::SeqCst), 0);
    for query in [
        Context::of(&ambit, "Support").unwrap(),
        Context::named(&ambit, "Support"),
    ] {
        assert_eq!(query.dry_run().remove().await.unwrap().done.len(), 12);
        assert_eq!(query.clear().await.unwrap().failed, []);
    }
    let report = Context::named(&ambit, "Support").remove().await.unwrap();
    assert_eq!((report.done.len(), report.failed), (12, vec![]));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

async fn g082_bulk_operations_ask_the_index_by_pages(bed: Bed) {
    let counting = Counting::new(bed.driver.clone());
    let ambit = bed.over(counting.clone());
    let all = Context::named(&ambit, "Support");
    let histories = all.for_storage::<ChatHistoryStorage>();
    for query in [&all, &histories] {
        let mut asked = Vec::new();
        for count in [1, 6] {
            sessions(&ambit, count).await;
            counting.take();
            query.clear().await.unwrap();
            let cleared = counting.take().index;
            query.remove().await.unwrap();
            asked.push((cleared, counting.take().index));
            all.remove().await.unwrap();
        }
        assert_eq!(asked[0], asked[1]);
    }
}

async fn g082_memory_goes_with_histories_removed_in_bulk(bed: Bed) {
    // The index is in another store than the data.
    let stores = Stores::builder(bed.options()).driver("main", bed.driver.clone());
    let stores = stores
        .default_drivers(&["memory"])
        .scope_drivers("chatHistory", &["main"]);
    let elsewhere = crate::bed::with_agents(stores).build();
    for ambit in [bed.ambit(), elsewhere] {
        sessions(&ambit, 2).await;
        let all = Context::named(&ambit, "Support");
        let other = Context::named(&ambit, "Support").for_scope("memory");
        assert_eq!(other.count().await.unwrap(), 2);
        let histories = all.for_storage::<ChatHistoryStorage>();
        let report = histories.for_chat("c0").remove().await.unwrap();
        assert_eq!((report.done.len(), report.failed), (1, vec![]));
        let left = other.first().await.unwrap().unwrap();
        assert_eq!(
            (other.count().await.unwrap(), left.chat_name()),
            (1, Some("c1"))
        );
        let memory = |agent: ambit_storage::LiveAgent| async move {
            let memory = agent.context().memory().unwrap();
            memory.get("k").await.unwrap().is_some()
        };
        assert!(!memory(chat(&ambit, "c0", &[]).await).await);
        assert!(memory(chat(&ambit, "c1", &[]).await).await);
        all.remove().await.unwrap();
    }
}

async fn a_bulk_operation_without_a_match_does_nothing(bed: Bed) {
    let ambit = bed.ambit();
    let query: SessionQuery = Context::named(&ambit, "Nobody");
    let nothing = ambit_storage::BulkReport::default();
    assert_eq!(query.clear().await.unwrap(), nothing);
    assert_eq!(query.remove().await.unwrap(), nothing);
    let found = (query.first().await.unwrap(), query.count().await.unwrap());
    assert_eq!(found, (None, 0));
    assert!(query.is_empty().await.unwrap());
    assert_eq!(invalid(query.for_user("").first().await), "user");
}
