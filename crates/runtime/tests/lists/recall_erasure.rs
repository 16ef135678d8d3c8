//! What is forgotten of conversations is forgotten by their owner's index too, before that is acknowledged.

use crate::bed::{Bed, ann, chief};
use crate::chats::named;
use crate::messages::{store, supersede};
use crate::recall_bed::{chats_with, find, index_size, long_chat};
use ambit_runtime::chats;
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePages, ValuePart};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::Message;
use ambit_storage::{Ambit, AmbitSettings, Caller, LiveAgent, Retention, SessionQuery};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("g204_no_index_outlives_what_it_was_made_of", |bed| {
        forgotten(bed).boxed()
    }),
    ("g204_an_erasure_during_a_search_leaves_nothing", |bed| {
        raced(bed).boxed()
    }),
    ("g210_an_answer_that_is_hidden_is_not_found", |bed| {
        hidden(bed).boxed()
    }),
];

type Forget = for<'a> fn(&'a Bed, &'a LiveAgent) -> BoxFuture<'a, ()>;

const WAYS: [(&str, Forget); 6] = [
    ("clear", |_, live| {
        async {
            live.history().clear().await.unwrap();
            live.context().save().await.unwrap();
        }
        .boxed()
    }),
    ("context remove", |_, live| {
        async { drop(live.context().remove().await.unwrap()) }.boxed()
    }),
    ("chat remove", |bed, _| {
        async { chats::remove(&bed.ambit, &ann(), named("c")).await.unwrap() }.boxed()
    }),
    ("erase", |_, live| {
        async {
            let messages = live.history().messages().await.unwrap();
            let ids: Vec<&str> = messages.iter().map(|it| it.id.as_str()).collect();
            live.history().erase(&ids).await.unwrap();
        }
        .boxed()
    }),
    ("person", |bed, _| {
        async {
            let ambit = bed.ambit.acting_as(&Caller::system("t1"));
            let report = SessionQuery::every(&ambit).for_user("ann").remove().await;
            assert!(report.unwrap().failed.is_empty());
        }
        .boxed()
    }),
    ("retention", |bed, _| {
        async {
            bed.clock.advance(Duration::from_secs(3 * 24 * 3_600));
            let ambit = keeping(bed);
            ambit.index_sweep().step(1_000).await.unwrap();
        }
        .boxed()
    }),
];

fn keeping(bed: &Bed) -> Ambit {
    let retention = Retention::default().idle_days("chatHistory", 2).unwrap();
    let settings = AmbitSettings {
        retention,
        ..AmbitSettings::default()
    };
    crate::bed::over_with(bed.driver.clone(), bed.options.clone(), settings)
}

async fn forgotten(bed: Bed) {
    for (way, forget) in WAYS {
        let live = long_chat(&bed, &ann(), "c", "canary").await;
        assert_eq!(chats_with(&bed, &ann(), "canary").await, ["c"], "{way}");
        assert!(index_size(&bed, &live).await > 0, "{way}");
        forget(&bed, &live).await;
        assert_eq!(index_size(&bed, &live).await, 0, "{way}");
        assert!(chats_with(&bed, &ann(), "canary").await.is_empty(), "{way}");
        assert!(find(&bed, &chief("t1"), "canary").await.items.is_empty());
    }
}

/// The names of what the index of ann's conversations has.
async fn names(bed: &Bed, live: &LiveAgent) -> Vec<String> {
    let history = live.history();
    let space = Space::recall("t1", history.identity(), history.placement().names());
    let driver = bed.driver.as_ref();
    let mut pages = ValuePages::of(driver, &space, Pattern::all(), ValuePart::Nothing);
    let mut names = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        names.extend(page.into_iter().map(|(name, _)| name));
    }
    names
}

async fn raced(bed: Bed) {
    long_chat(&bed, &ann(), "stays", "lamp").await;
    for _ in 0..8 {
        let live = long_chat(&bed, &ann(), "c", "canary").await;
        let found = chats::row(&bed.ambit, &ann(), named("c")).await.unwrap();
        let (bed, row) = (&bed, found.id);
        let search = async || find(bed, &ann(), "canary").await;
        let searches = futures::future::join_all((0..3).map(|_| search()));
        let remove = async { chats::remove(&bed.ambit, &ann(), named("c")).await.unwrap() };
        futures::join!(searches, remove);
        let names = names(bed, &live).await;
        let cursor = format!("chat/{row}");
        assert!(!names.contains(&cursor), "{names:?}");
        assert!(chats_with(bed, &ann(), "canary").await.is_empty());
        assert_eq!(chats_with(bed, &ann(), "number42").await, ["stays"]);
    }
}

async fn hidden(bed: Bed) {
    let live = long_chat(&bed, &ann(), "c", "lamp").await;
    store(&live, "r9", [Message::assistant("the canary")]).await;
    assert_eq!(chats_with(&bed, &ann(), "canary").await, ["c"]);
    assert!(index_size(&bed, &live).await > 0);
    supersede(&live, 101, "r10").await;
    assert!(chats_with(&bed, &ann(), "canary").await.is_empty());
    assert_eq!(chats_with(&bed, &ann(), "lamp").await, ["c"]);
}
