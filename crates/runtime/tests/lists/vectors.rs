//! Conversations and memories are found by meaning once their vectors are there, and by words until then.

use crate::bed::{Bed, ann, bob, over, twin};
use crate::chats::named;
use crate::counting::Counting;
use crate::memory_bed::{index_of, large, user_memory};
use crate::messages::store;
use crate::recall_bed::{index_size, long_chat};
use crate::vectors_bed::{Meaning, notes};
use ambit_runtime::ErrorCode;
use ambit_runtime::chats;
use ambit_runtime::memory_search::erase_gone_values;
use ambit_storage::Caller;
use ambit_storage::SessionQuery;
use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::Message;
use futures::FutureExt;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Barrier;

pub const CASES: &[(&str, crate::Run)] = &[
    ("conversations_are_found_by_meaning", |bed| {
        conversations(bed).boxed()
    }),
    ("memories_are_found_by_meaning", |bed| memories(bed).boxed()),
    ("g206_words_find_while_the_embedder_is_down", |bed| {
        down(bed).boxed()
    }),
    ("g206_a_text_that_is_refused_is_found_by_words", |bed| {
        refused(bed).boxed()
    }),
    ("g206_of_two_nodes_one_embeds_each_text", |bed| {
        two_nodes(bed).boxed()
    }),
    ("g205_another_model_makes_the_index_anew", |bed| {
        other_space(bed).boxed()
    }),
    ("g204_vectors_of_conversations_go_with_them", |bed| {
        forgotten(bed).boxed()
    }),
    ("g204_vectors_of_values_go_with_them", |bed| {
        values_gone(bed).boxed()
    }),
    (
        "g204_an_erasure_while_vectors_are_made_leaves_nothing",
        |bed| raced(bed).boxed(),
    ),
    ("g202_what_others_mean_is_not_found", |bed| {
        others(bed).boxed()
    }),
    ("g211_vectors_add_nothing_to_a_turns_commits", |bed| {
        free(bed).boxed()
    }),
    ("vectors_are_booked_on_whose_they_are", |bed| {
        booked(bed).boxed()
    }),
];

async fn conversations(bed: Bed) {
    let meaning = Meaning::new();
    bed.talk(&ann(), "support", "a", "a red couch").await;
    bed.talk(&ann(), "support", "b", "a red car").await;
    assert_eq!(meaning.chats(&bed, &ann(), "couch").await, ["a"]);
    assert!(meaning.chats(&bed, &ann(), "sofa").await.is_empty());
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.chats(&bed, &ann(), "sofa").await, ["a"]);
    assert_eq!(meaning.chats(&bed, &ann(), "automobile").await, ["b"]);
    assert!(meaning.chats(&bed, &ann(), "physician").await.is_empty());
    // What both words and vectors find comes before what one of them finds.
    bed.talk(&ann(), "support", "c", "a settee").await;
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.chats(&bed, &ann(), "settee").await, ["c", "a"]);
    assert_eq!(meaning.repeated(), Vec::<String>::new());
}

async fn memories(bed: Bed) {
    let meaning = Meaning::new();
    let memory = user_memory(&bed, &ann()).await;
    memory.set("seat", &json!("a couch"), None).await.unwrap();
    memory.set("ride", &json!("a car"), None).await.unwrap();
    assert_eq!(meaning.keys(&memory, "couch").await, ["seat"]);
    assert!(meaning.keys(&memory, "sofa").await.is_empty());
    meaning.embed_values(&bed).await;
    assert_eq!(meaning.keys(&memory, "sofa").await, ["seat"]);
    // Another value is found by words until its vector is there, and never as what it was.
    memory.set("seat", &json!("a doctor"), None).await.unwrap();
    assert!(meaning.keys(&memory, "sofa").await.is_empty());
    assert_eq!(meaning.keys(&memory, "doctor").await, ["seat"]);
    meaning.embed_values(&bed).await;
    assert_eq!(meaning.keys(&memory, "physician").await, ["seat"]);
    // So it is in a large one.
    let twins = large(&bed, &twin(), 1_200).await;
    twins.set("seat", &json!("a couch"), None).await.unwrap();
    assert_eq!(meaning.keys(&twins, "couch").await, ["seat"]);
    meaning.embed_values(&bed).await;
    assert_eq!(meaning.keys(&twins, "sofa").await, ["seat"]);
}

async fn down(bed: Bed) {
    let meaning = Meaning::new();
    let is_down = &meaning.embedder.is_down;
    bed.talk(&ann(), "support", "a", "a couch").await;
    is_down.store(true, Ordering::SeqCst);
    assert_eq!(meaning.chats(&bed, &ann(), "couch").await, ["a"]);
    let failed = meaning.try_embed_messages(&bed).await.unwrap_err();
    assert_eq!(failed.code, ErrorCode::Unavailable);
    assert!(failed.message.contains("\"e5\""), "{}", failed.message);
    is_down.store(false, Ordering::SeqCst);
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.chats(&bed, &ann(), "sofa").await, ["a"]);
    // Vectors are there, and none of the query.
    is_down.store(true, Ordering::SeqCst);
    assert_eq!(meaning.chats(&bed, &ann(), "couch").await, ["a"]);
    assert!(meaning.chats(&bed, &ann(), "settee").await.is_empty());
}

async fn refused(bed: Bed) {
    let meaning = Meaning::new();
    *meaning.embedder.refused.lock().unwrap() = Some("x");
    bed.talk(&ann(), "support", "a", "xsecret couch").await;
    bed.talk(&ann(), "support", "b", "a plain couch").await;
    assert_eq!(meaning.chats(&bed, &ann(), "xsecret").await, ["a"]);
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.chats(&bed, &ann(), "sofa").await, ["b"]);
    assert_eq!(meaning.chats(&bed, &ann(), "xsecret").await, ["a"]);
    // It is not asked for again.
    *meaning.embedder.refused.lock().unwrap() = None;
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.count("xsecret couch"), 0);
}

async fn two_nodes(bed: Bed) {
    let meaning = Meaning::new();
    long_chat(&bed, &ann(), "c", "couch").await;
    assert_eq!(meaning.chats(&bed, &ann(), "couch").await, ["c"]);
    // The first waits with its first batch until the second has come and gone.
    let both = Arc::new(Barrier::new(2));
    let first = both.clone();
    *meaning.embedder.meanwhile.lock().unwrap() = Some(Box::new(move || {
        let first = first.clone();
        async move {
            first.wait().await;
            first.wait().await;
        }
        .boxed()
    }));
    let second = async {
        both.wait().await;
        meaning.embed_messages(&bed).await;
        both.wait().await;
    };
    futures::join!(meaning.embed_messages(&bed), second);
    assert_eq!(meaning.repeated(), Vec::<String>::new());
    assert_eq!(meaning.count("couch number42 of many"), 1);
    // Nor does a node that comes later.
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.count("couch number42 of many"), 1);
    assert_eq!(meaning.chats(&bed, &ann(), "sofa").await, ["c"]);
}

async fn other_space(bed: Bed) {
    let meaning = Meaning::new();
    bed.talk(&ann(), "support", "a", "a couch").await;
    let memory = user_memory(&bed, &ann()).await;
    memory.set("seat", &json!("a couch"), None).await.unwrap();
    meaning.chats(&bed, &ann(), "couch").await;
    meaning.keys(&memory, "couch").await;
    meaning.embed_messages(&bed).await;
    meaning.embed_values(&bed).await;

    // The model behind the connector is another one: its queries meet no vectors of the old one.
    *meaning.embedder.model.lock().unwrap() = "m2";
    assert!(meaning.chats(&bed, &ann(), "sofa").await.is_empty());
    assert!(meaning.keys(&memory, "sofa").await.is_empty());
    bed.talk(&ann(), "support", "b", "a settee").await;
    memory.set("more", &json!("a settee"), None).await.unwrap();
    meaning.embed_messages(&bed).await;
    meaning.embed_values(&bed).await;
    let mut found = meaning.chats(&bed, &ann(), "sofa").await;
    found.sort();
    assert_eq!(found, ["a", "b"]);
    let mut found = meaning.keys(&memory, "sofa").await;
    found.sort();
    assert_eq!(found, ["more", "seat"]);

    // Another connector does not even look at what the first has made.
    let other = Meaning::by("e6", meaning.embedder.clone());
    assert_eq!(other.chats(&bed, &ann(), "couch").await, ["a"]);
    assert!(other.chats(&bed, &ann(), "sofa").await.is_empty());
    other.embed_messages(&bed).await;
    assert_eq!(other.chats(&bed, &ann(), "sofa").await.len(), 2);
}

async fn forgotten(bed: Bed) {
    let meaning = Meaning::new();
    for way in ["clear", "chat", "person"] {
        let live = long_chat(&bed, &ann(), "c", "couch").await;
        assert_eq!(meaning.chats(&bed, &ann(), "couch").await, ["c"], "{way}");
        let words = index_size(&bed, &live).await;
        meaning.embed_messages(&bed).await;
        assert!(index_size(&bed, &live).await > words + 100, "{way}");
        let noted = notes(&bed).await;
        assert!(noted.len() == 1 && noted[0].contains("ann"), "{noted:?}");
        match way {
            "clear" => {
                live.history().clear().await.unwrap();
                live.context().save().await.unwrap();
            }
            "chat" => chats::remove(&bed.ambit, &ann(), named("c")).await.unwrap(),
            _ => {
                let ambit = bed.ambit.acting_as(&Caller::system("t1"));
                let report = SessionQuery::every(&ambit).for_user("ann").remove().await;
                assert!(report.unwrap().failed.is_empty());
            }
        }
        assert_eq!(index_size(&bed, &live).await, 0, "{way}");
        assert_eq!(notes(&bed).await, Vec::<String>::new(), "{way}");
        meaning.embed_messages(&bed).await;
        assert_eq!(index_size(&bed, &live).await, 0, "{way}");
        assert!(meaning.chats(&bed, &ann(), "sofa").await.is_empty());
    }
}

async fn values_gone(bed: Bed) {
    let meaning = Meaning::new();
    let memory = user_memory(&bed, &ann()).await;
    for at in 0..40 {
        let value = json!(format!("couch {at}"));
        memory
            .set(&format!("k{at:02}"), &value, None)
            .await
            .unwrap();
    }
    meaning.keys(&memory, "couch").await;
    meaning.embed_values(&bed).await;
    let vectors = |index: &str| {
        let names = index.lines().filter(|line| line.starts_with("vectors/"));
        names.filter(|line| line.contains("/of/")).count()
    };
    assert_eq!(vectors(&index_of(&bed, &memory).await), 40);
    memory.del("k07").await.unwrap();
    memory.set("k08", &json!("other"), None).await.unwrap();
    erase_gone_values(bed.ambit.stores()).await;
    let index = index_of(&bed, &memory).await;
    assert_eq!(vectors(&index), 38);
    assert!(!index.contains("k07"));
    assert_eq!(meaning.keys(&memory, "sofa").await.len(), 10);
    memory.clear().await.unwrap();
    assert_eq!(index_of(&bed, &memory).await, "");
}

async fn raced(bed: Bed) {
    let bed = Arc::new(bed);
    let meaning = Meaning::new();
    let live = long_chat(&bed, &ann(), "c", "couch").await;
    meaning.chats(&bed, &ann(), "couch").await;
    let (ambit, is_gone) = (bed.ambit.clone(), Arc::new(tokio::sync::Notify::new()));
    let told = is_gone.clone();
    *meaning.embedder.meanwhile.lock().unwrap() = Some(Box::new(move || {
        let (ambit, told) = (ambit.clone(), told.clone());
        async move {
            chats::remove(&ambit, &ann(), named("c")).await.unwrap();
            told.notify_one();
        }
        .boxed()
    }));
    meaning.embed_messages(&bed).await;
    is_gone.notified().await;
    assert_eq!(index_size(&bed, &live).await, 0);
    assert_eq!(notes(&bed).await, Vec::<String>::new());
    // Nothing is written down about whoever may have been erased.
    let booked = meaning.booked.lock().unwrap();
    assert!(!booked.is_empty() && booked.iter().all(|(payer, _)| payer.user.is_none()));
}

async fn others(bed: Bed) {
    let meaning = Meaning::new();
    bed.talk(&ann(), "support", "a", "a couch").await;
    bed.talk(&bob(), "support", "b", "a car").await;
    for who in [ann(), bob(), twin()] {
        meaning.chats(&bed, &who, "red").await;
    }
    meaning.embed_messages(&bed).await;
    assert_eq!(meaning.chats(&bed, &ann(), "sofa").await, ["a"]);
    assert!(meaning.chats(&bed, &bob(), "sofa").await.is_empty());
    assert!(meaning.chats(&bed, &twin(), "sofa").await.is_empty());
    crate::names::share(&bed, "a", "team").await;
    assert_eq!(meaning.chats(&bed, &bob(), "sofa").await, ["a"]);
    crate::names::share(&bed, "a", "private").await;
    assert!(meaning.chats(&bed, &bob(), "sofa").await.is_empty());
}

/// A turn and a write of memory are the same before there are vectors and with them.
async fn free(mut bed: Bed) {
    let meaning = Meaning::new();
    let counting = Arc::new(Counting::new(bed.driver.clone()));
    bed.ambit = over(counting.clone(), DriverOptions::default());
    let live = long_chat(&bed, &ann(), "c", "couch").await;
    bed.turn(&live, "r-0", "x0").await;
    let bytes = |written: Vec<String>| -> Vec<usize> {
        let is_of_index = |write: &String| write.contains("i:recall") || write.contains("i:values");
        assert!(!written.iter().any(is_of_index));
        written.iter().map(String::len).collect()
    };
    counting.written();
    bed.turn(&live, "r-1", "x1").await;
    let before = bytes(counting.written());
    meaning.chats(&bed, &ann(), "couch").await;
    meaning.keys(&live.context().memory().unwrap(), "x1").await;
    meaning.embed_messages(&bed).await;
    meaning.embed_values(&bed).await;
    counting.written();
    bed.turn(&live, "r-2", "x2").await;
    assert_eq!(bytes(counting.written()), before);
}

async fn booked(bed: Bed) {
    let meaning = Meaning::new();
    let live = bed.talk(&ann(), "support", "a", "one").await;
    store(
        &live,
        "r9",
        [Message::user("two"), Message::assistant("three")],
    )
    .await;
    user_memory(&bed, &twin())
        .await
        .set("k", &json!("four"), None)
        .await
        .unwrap();
    meaning.chats(&bed, &ann(), "one").await;
    let twins = user_memory(&bed, &twin()).await;
    meaning.keys(&twins, "four").await;
    meaning.embed_messages(&bed).await;
    meaning.embed_values(&bed).await;
    let booked = meaning.booked.lock().unwrap();
    let found: Vec<(&str, Option<&str>, u64)> = booked
        .iter()
        .map(|(payer, used)| (payer.tenant.as_str(), payer.user.as_deref(), used.tokens))
        .collect();
    assert_eq!(found, [("t1", Some("ann"), 4), ("t2", Some("ann"), 1)]);
    assert!(
        booked
            .iter()
            .all(|(_, used)| used.connector == "e5" && used.model == "m1")
    );
}
