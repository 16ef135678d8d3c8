//! Large memories are searched by an index that follows their values.

use crate::bed::{Bed, ann, bob, twin};
use crate::memory_bed::{
    fill, index_of, keys_with, large, put, search_for, try_search, user_memory, words,
};
use ambit_runtime::ErrorCode;
use ambit_runtime::memory_search::MemoryMatch;
use ambit_storage::memory::Ttl;
use futures::FutureExt;
use serde_json::json;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("a_large_memory_is_searched_by_what_it_has_now", |bed| {
        follows(bed).boxed()
    }),
    ("g200_values_rank_alike_with_an_index_and_without", |bed| {
        ranks_alike(bed).boxed()
    }),
    ("g202_a_large_memory_is_found_by_its_owner_alone", |bed| {
        own_alone(bed).boxed()
    }),
    (
        "g203_filters_and_patterns_of_a_large_memory_give_all_that_match",
        |bed| narrowed(bed).boxed(),
    ),
    ("g211_an_index_of_a_memory_begins_with_a_search", |bed| {
        begins(bed).boxed()
    }),
    ("searches_at_once_find_the_same", |bed| at_once(bed).boxed()),
    ("a_memory_with_too_many_changes_is_caught_up_with", |bed| {
        caught_up(bed).boxed()
    }),
    ("few_large_values_have_an_index_too", |bed| {
        few_large(bed).boxed()
    }),
];

async fn follows(bed: Bed) {
    let memory = large(&bed, &ann(), 3_000).await;
    assert_eq!(keys_with(&memory, "#42").await, ["even/k00042"]);
    let found = try_search(&memory, search_for("#2999")).await;
    let found = found.unwrap().remove(0);
    assert_eq!(found.value.to::<serde_json::Value>().unwrap()["n"], 2_999);
    assert!(found.snippet.contains(&words("#2999 of many")));

    memory
        .set("even/k00042", &json!("a lamp"), None)
        .await
        .unwrap();
    memory.set("new", &json!("a lamp too"), None).await.unwrap();
    memory.del("odd/k00043").await.unwrap();
    let hour = Some(Ttl::parse("1h").unwrap());
    memory.set("brief", &json!("a lamp"), hour).await.unwrap();
    assert_eq!(
        keys_with(&memory, "lamp").await,
        ["brief", "new", "even/k00042"]
    );
    assert!(keys_with(&memory, "#42 #43").await.is_empty());
    bed.clock.advance(Duration::from_secs(3_601));
    assert_eq!(keys_with(&memory, "lamp").await, ["new", "even/k00042"]);

    // Many changes at once go into the index.
    let space = memory.location().unwrap().space;
    let lamps = (0..200).map(|at| put(&space, &format!("even/k{:05}", at * 2), &json!("a lamp")));
    bed.commit(lamps).await;
    assert_eq!(keys_with(&memory, "lamp").await.len(), 100);
    assert!(keys_with(&memory, "#44").await.is_empty());
    assert_eq!(keys_with(&memory, "#45").await, ["odd/k00045"]);
}

fn scores(found: &[MemoryMatch]) -> Vec<(&str, f64)> {
    let scores = found.iter();
    scores
        .map(|found| (found.key.as_str(), found.score.unwrap()))
        .collect()
}

async fn ranks_alike(bed: Bed) {
    let memory = large(&bed, &ann(), 1_800).await;
    for text in ["words #7", "many", "#11 #13 words", "k00101"] {
        // So few have such a name that they are read.
        let read = search_for(text).pattern("odd/*");
        let read = try_search(&memory, read).await.unwrap();
        let indexed = search_for(text).filter(&json!({"group": "odd"}));
        let indexed = try_search(&memory, indexed.unwrap()).await.unwrap();
        let (read, indexed) = (scores(&read), scores(&indexed));
        assert_eq!(read.len(), indexed.len(), "{text}");
        for ((key, score), (other, again)) in read.iter().zip(&indexed) {
            assert_eq!(key, other, "{text}");
            assert!((score - again).abs() < 1e-6, "{text}: {score} and {again}");
        }
    }
}

async fn own_alone(bed: Bed) {
    let memory = large(&bed, &ann(), 1_200).await;
    let (bobs, twins) = (
        user_memory(&bed, &bob()).await,
        large(&bed, &twin(), 1_200).await,
    );
    bobs.set("note", &json!(words("#7")), None).await.unwrap();
    memory.set("secret", &json!("canary"), None).await.unwrap();
    assert_eq!(keys_with(&memory, "canary #7").await.len(), 2);
    assert_eq!(keys_with(&bobs, "canary #7").await, ["note"]);
    assert_eq!(keys_with(&twins, "canary #7").await, ["odd/k00007"]);
}

async fn narrowed(bed: Bed) {
    let memory = large(&bed, &ann(), 3_000).await;
    let last = json!({"n": {"$gte": 2_990}});
    let search = search_for("many").filter(&last).unwrap();
    assert_eq!(try_search(&memory, search.clone()).await.unwrap().len(), 10);
    let even = search.clone().pattern("even/*");
    assert_eq!(try_search(&memory, even).await.unwrap().len(), 5);
    assert_eq!(search.limit(3).unwrap().of(&memory).await.unwrap().len(), 3);
    let few = search_for("many").pattern("*99");
    assert_eq!(try_search(&memory, few).await.unwrap().len(), 30);
    let all = search_for(" ").filter(&last).unwrap();
    let all = try_search(&memory, all).await.unwrap();
    assert_eq!((all.len(), all[0].score), (10, None));
    assert_eq!(
        (all[0].key.as_str(), all[9].key.as_str()),
        ("even/k02990", "odd/k02999")
    );
}

async fn begins(bed: Bed) {
    let memory = large(&bed, &ann(), 1_000).await;
    assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
    memory.set("more", &json!(1), None).await.unwrap();
    assert_eq!(index_of(&bed, &memory).await, "");
    assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
    let index = index_of(&bed, &memory).await;
    assert!(!index.is_empty());
    memory.set("more", &json!("lamp"), None).await.unwrap();
    memory.del("odd/k00007").await.unwrap();
    assert_eq!(index_of(&bed, &memory).await, index);
}

async fn at_once(bed: Bed) {
    let memory = large(&bed, &ann(), 2_000).await;
    for round in 0..3 {
        let searches = (0..4).map(|_| keys_with(&memory, "#8 #9 lamp"));
        let write = async {
            for at in 0..20 {
                let key = format!("w{round}-{at}");
                memory.set(&key, &json!("chair"), None).await.unwrap();
            }
        };
        let (found, ()) = futures::join!(futures::future::join_all(searches), write);
        for keys in found {
            assert_eq!(keys, ["even/k00008", "odd/k00009"]);
        }
    }
    let index = index_of(&bed, &memory).await;
    assert_eq!(index.matches("even/k00008").count(), 1, "it was added once");
    assert_eq!(keys_with(&memory, "chair").await.len(), 60);
}

async fn caught_up(bed: Bed) {
    let memory = large(&bed, &ann(), 10_500).await;
    let search = search_for("#10499");
    let error = try_search(&memory, search.clone()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert_eq!(
        error.message,
        "10500 values of this memory were new or changed since it was searched last, more than the 10000 that one search takes in; \
         500 are left: search again, or name fewer of them by pattern"
    );
    let found = try_search(&memory, search).await.unwrap();
    assert_eq!(scores(&found)[0].0, "odd/k10499");
}

async fn few_large(bed: Bed) {
    let memory = user_memory(&bed, &ann()).await;
    fill(&bed, &memory, 20).await;
    let space = memory.location().unwrap().space;
    let long = "paper ".repeat(20_000);
    let writes = (0..20).map(|at| {
        put(
            &space,
            &format!("long{at}"),
            &json!([long, words(&format!("#{}", 1_000 + at))]),
        )
    });
    bed.commit(writes).await;
    assert_eq!(keys_with(&memory, "#1007").await, ["long7"]);
    assert_eq!(keys_with(&memory, "#7").await, ["odd/k00007"]);
    assert!(!index_of(&bed, &memory).await.is_empty());
}
