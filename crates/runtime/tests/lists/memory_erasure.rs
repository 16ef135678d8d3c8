//! What is gone from a large memory is gone from its index too: at once where much goes, else with the next upkeep.

use crate::bed::{Bed, ann};
use crate::chats::named;
use crate::memory_bed::{fill, index_of, keys_with, large, put};
use ambit_runtime::chats;
use ambit_runtime::index_vectors::UpkeepTask;
use ambit_runtime::memory_search::erase_gone_values;
use ambit_storage::batch::BatchWrite;
use ambit_storage::conformance::{FaultKind, FlakyDriver};
use ambit_storage::memory::{Memory, MemorySettings, Ttl};
use ambit_storage::operation::Operation;
use ambit_storage::{Caller, SessionQuery};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("g204_no_index_outlives_the_memory_it_was_made_of", |bed| {
        forgotten(bed).boxed()
    }),
    ("g204_upkeep_erases_the_values_that_are_gone", |bed| {
        erased(bed).boxed()
    }),
    ("a_pattern_that_nothing_matches_leaves_the_index", |bed| {
        untouched(bed).boxed()
    }),
    ("g211_an_index_that_is_dropped_goes_in_steps", |bed| {
        dropped_in_steps(bed).boxed()
    }),
    ("upkeep_is_the_work_of_one_node", |bed| {
        one_node(bed).boxed()
    }),
    (
        "g204_a_memory_cleared_during_a_search_leaves_nothing",
        |bed| raced(bed).boxed(),
    ),
    ("g204_upkeep_and_searches_at_once_lose_nothing", |bed| {
        beside_searches(bed).boxed()
    }),
];

type Forget = for<'a> fn(&'a Bed, &'a Memory) -> BoxFuture<'a, ()>;

/// What drops the index of a chat's memory at once.
const WAYS: [(&str, Forget); 4] = [
    ("clear", |_, memory| {
        async { memory.clear().await.unwrap() }.boxed()
    }),
    ("pattern", |_, memory| {
        async { memory.del("*k00*").await.unwrap() }.boxed()
    }),
    ("chat", |bed, _| {
        async { chats::remove(&bed.ambit, &ann(), named("c")).await.unwrap() }.boxed()
    }),
    ("person", |bed, _| {
        async {
            let ambit = bed.ambit.acting_as(&Caller::system("t1"));
            let report = SessionQuery::every(&ambit).for_user("ann").remove().await;
            assert!(report.unwrap().failed.is_empty());
        }
        .boxed()
    }),
];

async fn forgotten(bed: Bed) {
    for (way, forget) in WAYS {
        let live = bed.talk(&ann(), "support", "c", "one").await;
        let memory = live.context().memory().unwrap();
        fill(&bed, &memory, 1_100).await;
        assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"], "{way}");
        assert!(!index_of(&bed, &memory).await.is_empty(), "{way}");
        forget(&bed, &memory).await;
        assert_eq!(index_of(&bed, &memory).await, "", "{way}");
        assert!(keys_with(&memory, "#7").await.is_empty(), "{way}");
    }
}

async fn untouched(bed: Bed) {
    let memory = large(&bed, &ann(), 1_100).await;
    assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
    let index = index_of(&bed, &memory).await;
    memory.del("tmp/*").await.unwrap();
    assert_eq!(index_of(&bed, &memory).await, index);
    memory.del("odd/k00007*").await.unwrap();
    assert_eq!(index_of(&bed, &memory).await, "");
}

async fn dropped_in_steps(bed: Bed) {
    // A node dies behind the commit of the values, one in the midst of the pages.
    for passing in [1, 2] {
        let memory = large(&bed, &ann(), 1_100).await;
        assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
        let location = memory.location().unwrap();
        let pages = (0..200).map(|at| format!("page/9/{at:03}"));
        let pages = pages.map(|page| put(&location.index(), &page, &json!("k00007")));
        bed.commit(pages).await;
        let whole = index_of(&bed, &memory).await.len();
        let flaky = Arc::new(FlakyDriver::new(bed.driver.clone()));
        flaky.fail_after(passing, FaultKind::Write, u64::MAX);
        let (tenant, settings) = (&location.space.tenant, MemorySettings::default());
        let dying = Memory::user(flaky, tenant, Some("ann"), settings).unwrap();
        assert!(dying.del("odd/k0000*").await.is_err());
        let rest = index_of(&bed, &memory).await;
        assert!(rest.contains("k00007") && rest.len() < whole);
        // Upkeep erases the rest, or the next search does.
        if passing == 1 {
            erase_gone_values(bed.ambit.stores()).await;
            assert_eq!(index_of(&bed, &memory).await, "");
        }
        assert_eq!(keys_with(&memory, "#7 #11").await, ["odd/k00011"]);
        assert!(!index_of(&bed, &memory).await.contains("k00007"));
    }
}

async fn erased(bed: Bed) {
    let memory = large(&bed, &ann(), 2_500).await;
    for at in 0..30 {
        let (key, value) = (format!("even/canary{at}"), json!("a canary's secret"));
        let hour = Some(Ttl::parse("1h").unwrap()).filter(|_| at % 3 == 0);
        memory.set(&key, &value, hour).await.unwrap();
    }
    assert_eq!(keys_with(&memory, "canary").await.len(), 30);
    // What few values are behind the index goes into it with many.
    fill(&bed, &memory, 100).await;
    assert_eq!(keys_with(&memory, "secret").await.len(), 30);
    assert!(index_of(&bed, &memory).await.contains("canary"));
    erase_gone_values(bed.ambit.stores()).await;
    assert_eq!(keys_with(&memory, "canary").await.len(), 30);

    bed.clock.advance(Duration::from_secs(3_601));
    for at in (0..30).filter(|at| at % 3 > 0) {
        let key = format!("even/canary{at}");
        match at % 3 {
            1 => memory.del(&key).await.unwrap(),
            _ => drop(memory.get_del(&key).await.unwrap()),
        }
    }
    memory
        .set("odd/k00007", &json!("a chair"), None)
        .await
        .unwrap();
    assert!(keys_with(&memory, "canary #7").await.is_empty());
    erase_gone_values(bed.ambit.stores()).await;
    let index = index_of(&bed, &memory).await;
    for gone in ["canary", "secret", "odd/k00007"] {
        assert!(!index.contains(gone), "{gone}");
    }
    assert_eq!(keys_with(&memory, "chair").await, ["odd/k00007"]);
    assert_eq!(keys_with(&memory, "#2499").await, ["odd/k02499"]);
    bed.has_no_file_with("canary").await;

    let space = memory.location().unwrap().space;
    let keys = memory.keys(None).await.unwrap().into_iter();
    let gone = keys.map(|key| BatchWrite::apply(space.key(key), Operation::Del, None));
    bed.commit(gone).await;
    erase_gone_values(bed.ambit.stores()).await;
    assert_eq!(index_of(&bed, &memory).await, "");
}

async fn one_node(bed: Bed) {
    let memory = large(&bed, &ann(), 1_200).await;
    assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
    memory.del("odd/k00007").await.unwrap();
    let index = index_of(&bed, &memory).await;
    assert!(index.contains("k00007"));
    let other = UpkeepTask::EraseValues.take(&bed.driver).await.unwrap();
    erase_gone_values(bed.ambit.stores()).await;
    assert_eq!(index_of(&bed, &memory).await, index);
    other.unwrap().release().await.unwrap();
    erase_gone_values(bed.ambit.stores()).await;
    assert!(!index_of(&bed, &memory).await.contains("k00007"));
}

async fn raced(bed: Bed) {
    let memory = large(&bed, &ann(), 1_200).await;
    for _ in 0..6 {
        fill(&bed, &memory, 1_200).await;
        let searches = (0..3).map(|_| keys_with(&memory, "#7"));
        let clear = async { memory.clear().await.unwrap() };
        futures::join!(futures::future::join_all(searches), clear);
        assert!(keys_with(&memory, "#7").await.is_empty());
        let index = index_of(&bed, &memory).await;
        assert!(!index.contains("k00007"), "{index}");
        erase_gone_values(bed.ambit.stores()).await;
        assert_eq!(index_of(&bed, &memory).await, "");
    }
}

async fn beside_searches(bed: Bed) {
    let memory = large(&bed, &ann(), 1_500).await;
    assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
    for round in 0..4 {
        let first = 100 + round * 100;
        for at in (first..first + 100).filter(|at| at % 2 == 0) {
            let key = format!("even/k{at:05}");
            memory
                .set(&key, &json!(["lamp", round]), None)
                .await
                .unwrap();
        }
        let searches = (0..3).map(|_| keys_with(&memory, "#7 #1499"));
        let upkeep =
            futures::future::join_all((0..2).map(|_| erase_gone_values(bed.ambit.stores())));
        let (found, _) = futures::join!(futures::future::join_all(searches), upkeep);
        for keys in found {
            assert_eq!(keys, ["odd/k00007", "odd/k01499"]);
        }
    }
    erase_gone_values(bed.ambit.stores()).await;
    assert!(keys_with(&memory, "#100 #498").await.is_empty());
    let lamps = keys_with(&memory, "lamp").await;
    assert_eq!(lamps.len(), 100, "of 200");
}
