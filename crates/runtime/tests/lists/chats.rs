//! The list of chats, and finding one by its name.

use crate::bed::{Bed, ann, bob, cid, over};
use crate::changes::change;
use crate::counting::{Counting, ReadCounts};
use crate::names::share;
use ambit_runtime::chats::{
    self, ChatFilter, ChatInfo, ChatName, ChatOrder, ChatStatus, ListPart, MessageFilter,
    PageWindow,
};
use ambit_runtime::{Authorized, ErrorCode};
use ambit_storage::SessionIdentity;
use ambit_storage::batch::BatchWrite;
use ambit_storage::directory::TrackRequest;
use ambit_storage::driver::DriverOptions;
use futures::FutureExt;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("chats_are_filtered_and_ordered", |bed| filters(bed).boxed()),
    ("shared_chats_stand_among_ones_own_in_order", |bed| {
        mixed(bed).boxed()
    }),
    ("g081_pages_of_chats_have_each_once", |bed| {
        pages(bed).boxed()
    }),
    ("g080_a_page_of_many_chats_reads_no_message", |bed| {
        many(bed).boxed()
    }),
    ("a_name_of_several_agents_needs_the_agent", |bed| {
        several(bed).boxed()
    }),
    ("g153_a_reversed_range_is_refused", |bed| {
        reversed(bed).boxed()
    }),
    ("g146_unknown_names_are_refused_with_the_nearest", |_| {
        unknown().boxed()
    }),
];

pub const ALL: PageWindow = PageWindow {
    skip: 0,
    limit: 100,
};

pub fn named(chat_id: &str) -> ChatName<'_> {
    ChatName {
        chat_id,
        assistant_id: None,
        context: None,
    }
}

pub async fn list(
    bed: &Bed,
    who: &Authorized,
    filter: &ChatFilter,
    window: PageWindow,
) -> ListPart<ChatInfo> {
    chats::list(&bed.ambit, who, filter, window).await.unwrap()
}

fn ids(part: &ListPart<ChatInfo>) -> Vec<&str> {
    part.items
        .iter()
        .map(|chat| chat.chat_id.as_str())
        .collect()
}

async fn filters(bed: Bed) {
    for (agent, chat, text) in [
        ("support", "a", "Lost parcel"),
        ("sales", "b", "New parcel PRICES"),
        ("support", "c", "Refund"),
    ] {
        bed.talk(&ann(), agent, chat, text).await;
        bed.clock.advance(Duration::from_secs(10));
    }
    change(&bed, &ann(), "a", json!({"status": "archived", "sort": 2})).await;
    change(&bed, &ann(), "b", json!({"sort": 1})).await;
    let of = |keywords: &str| ChatFilter {
        keywords: Some(keywords.to_owned()),
        ..ChatFilter::default()
    };
    let status = |status| ChatFilter {
        status: Some(status),
        ..ChatFilter::default()
    };
    let second = chats::get(&bed.ambit, &ann(), named("b")).await.unwrap();
    let since = second.last_message_at / 1_000 * 1_000;
    let agent = ChatFilter {
        assistant_id: Some("sales".to_owned()),
        ..ChatFilter::default()
    };
    let after = ChatFilter {
        from: Some(since),
        ..ChatFilter::default()
    };
    let before = ChatFilter {
        to: Some(since),
        ..ChatFilter::default()
    };
    for (filter, expected) in [
        (ChatFilter::default(), vec!["c", "b", "a"]),
        (of("parcel"), vec!["b", "a"]),
        (of("prices  parcel"), vec!["b"]),
        (of("nothing"), vec![]),
        (status(ChatStatus::Archived), vec!["a"]),
        (status(ChatStatus::Active), vec!["c", "b"]),
        (agent, vec!["b"]),
        (after, vec!["c", "b"]),
        (before, vec!["a"]),
    ] {
        let found = list(&bed, &ann(), &filter, ALL).await;
        assert_eq!(ids(&found), expected, "{filter:?}");
        assert_eq!(found.total, expected.len() as u64, "{filter:?}");
    }
    for order in ["last_message_at", "updated_at", "created_at", "sort"] {
        let filter = ChatFilter {
            order: ChatOrder::parse(order).unwrap(),
            ..ChatFilter::default()
        };
        let found = list(&bed, &ann(), &filter, ALL).await;
        assert_eq!(ids(&found), ["c", "b", "a"], "{order:?}");
    }
}

async fn mixed(bed: Bed) {
    for (who, chat) in [
        (bob(), "b1"),
        (ann(), "a1"),
        (bob(), "b2"),
        (ann(), "a2"),
        (ann(), "a3"),
    ] {
        bed.talk(&who, "support", chat, chat).await;
        bed.clock.advance(Duration::from_secs(10));
    }
    share(&bed, "a1", "team").await;
    share(&bed, "a3", "team").await;
    let filter = ChatFilter::default();
    let all = list(&bed, &bob(), &filter, ALL).await;
    assert_eq!(ids(&all), ["a3", "b2", "a1", "b1"]);
    assert_eq!(all.total, 4);
    let one = PageWindow { skip: 2, limit: 1 };
    assert_eq!(ids(&list(&bed, &bob(), &filter, one).await), ["a1"]);
    assert_eq!(
        ids(&list(&bed, &cid(), &filter, ALL).await),
        Vec::<&str>::new()
    );
    // What is shared and one's own is listed once.
    assert_eq!(
        ids(&list(&bed, &ann(), &filter, ALL).await),
        ["a3", "a2", "a1"]
    );
}

/// Tracks so many chats of Ann's without data.
async fn track(bed: &Bed, count: usize) {
    let row = |number| tracked("t1", &format!("c{number:05}"));
    bed.commit((0..count).map(row)).await;
}

/// The row of a chat of Ann's of this tenant.
pub fn tracked(tenant: &str, chat: &str) -> BatchWrite {
    let base = SessionIdentity::builder("support").user_id("ann");
    let base = base.chat_name(chat).build().unwrap();
    BatchWrite::Track(Box::new(TrackRequest {
        id: format!("row-{tenant}-{chat}"),
        tenant: tenant.to_owned(),
        identity: base.with_scope("chatHistory").unwrap(),
        agent: "support".to_owned(),
        base,
        placement: vec!["main".to_owned()],
        created_by: Some("ann".to_owned()),
        team: Some("red".to_owned()),
        labels: BTreeMap::new(),
    }))
}

async fn pages(bed: Bed) {
    track(&bed, 1_203).await;
    let mut seen = Vec::new();
    let filter = ChatFilter {
        order: ChatOrder::Created,
        ..ChatFilter::default()
    };
    for page in 0..13 {
        let window = PageWindow {
            skip: page * 100,
            limit: 100,
        };
        let part = chats::list(&bed.ambit, &ann(), &filter, window)
            .await
            .unwrap();
        assert_eq!(part.total, 1_203);
        seen.extend(part.items.into_iter().map(|chat| chat.chat_id));
    }
    let expected: Vec<String> = (0..1_203).rev().map(|at| format!("c{at:05}")).collect();
    assert_eq!(seen, expected);
}

async fn many(bed: Bed) {
    track(&bed, 10_000).await;
    let counting = Arc::new(Counting::new(bed.driver.clone()));
    let options = DriverOptions {
        clock: bed.clock.clone(),
        ..DriverOptions::default()
    };
    let ambit = over(counting.clone(), options);
    let wanted = &ChatFilter::default();
    let window = PageWindow { skip: 0, limit: 20 };
    let part = chats::list(&ambit, &ann(), wanted, window).await.unwrap();
    assert_eq!((part.items.len(), part.total), (20, 10_000));
    let expected = ReadCounts {
        reads: 0,
        pages: 1,
        scans: 20,
    };
    assert_eq!(counting.counts(), expected);
}

async fn several(bed: Bed) {
    bed.talk(&ann(), "support", "billing", "one").await;
    bed.talk(&ann(), "sales", "billing", "two").await;
    let error = chats::get(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(error.param.as_deref(), Some("assistant_id"));
    assert!(
        error.message.contains("sales, support"),
        "{}",
        error.message
    );
    let name = ChatName {
        chat_id: "billing",
        assistant_id: Some("sales"),
        context: None,
    };
    let chat = chats::get(&bed.ambit, &ann(), name).await.unwrap();
    assert_eq!(chat.title, "two");
    let name = ChatName {
        assistant_id: Some("nobody"),
        ..name
    };
    let error = chats::get(&bed.ambit, &ann(), name).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

async fn reversed(bed: Bed) {
    let filter = ChatFilter {
        from: Some(5),
        to: Some(5),
        ..ChatFilter::default()
    };
    let error = chats::list(&bed.ambit, &ann(), &filter, ALL)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code, error.param.as_deref()),
        (ErrorCode::InvalidArgument, Some("to"))
    );
    let filter = MessageFilter {
        after: Some(5),
        before: Some(4),
        limit: 1,
        ..MessageFilter::default()
    };
    let error = chats::messages(&bed.ambit, &ann(), named("x"), &filter)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code, error.param.as_deref()),
        (ErrorCode::InvalidArgument, Some("before"))
    );
}

async fn unknown() {
    let error = ChatOrder::parse("createdat").unwrap_err();
    assert_eq!(
        error.message,
        "order_by \"createdat\" is unknown; known are last_message_at, updated_at, created_at, sort; \
         did you mean \"created_at\"?"
    );
    let error = ChatStatus::parse("activ").unwrap_err();
    assert!(
        error.message.ends_with("did you mean \"active\"?"),
        "{}",
        error.message
    );
}
