//! The list of chats, one chat, and changing and removing them.

use crate::bed::{Bed, ann, bob, chief, cid, over, twin};
use crate::counting::Counting;
use crate::names::share;
use ambit_runtime::chats::{
    self, Chat, ChatFilter, ChatOrder, MessageFilter, Name, Part, Share, Status, Window,
};
use ambit_runtime::{Authorized, Code, requests};
use ambit_storage::SessionIdentity;
use ambit_storage::address::Space;
use ambit_storage::batch::Write;
use ambit_storage::directory::{Filter, Order, PageRequest, Track};
use ambit_storage::driver::Options;
use ambit_storage::lease::OnBusy;
use futures::FutureExt;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("a_chat_shows_what_its_turns_left", |bed| shows(bed).boxed()),
    ("a_chat_keeps_what_a_person_changed", |bed| {
        changes(bed).boxed()
    }),
    (
        "a_change_that_is_none_is_refused_and_stores_nothing",
        |bed| refuses(bed).boxed(),
    ),
    ("a_chat_of_no_team_is_not_shared", |bed| {
        teamless(bed).boxed()
    }),
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
    (
        "g065_removing_a_chat_takes_all_of_it_and_nothing_else",
        |bed| removes(bed).boxed(),
    ),
    ("a_chat_with_a_running_turn_is_not_removed", |bed| {
        busy(bed).boxed()
    }),
    ("g057_chats_of_others_answer_like_unknown_ones", |bed| {
        foreign(bed).boxed()
    }),
    ("g153_a_reversed_range_is_refused", |bed| {
        reversed(bed).boxed()
    }),
    ("g146_unknown_names_are_refused_with_the_nearest", |_| {
        unknown().boxed()
    }),
];

pub const ALL: Window = Window {
    skip: 0,
    limit: 100,
};

pub fn named(chat_id: &str) -> Name<'_> {
    Name {
        chat_id,
        assistant_id: None,
    }
}

async fn list(bed: &Bed, who: &Authorized, filter: &ChatFilter, window: Window) -> Part<Chat> {
    let wanted = (filter, ChatOrder::default());
    chats::list(&bed.ambit, who, wanted, window).await.unwrap()
}

fn ids(part: &Part<Chat>) -> Vec<&str> {
    part.items
        .iter()
        .map(|chat| chat.chat_id.as_str())
        .collect()
}

async fn change(bed: &Bed, who: &Authorized, chat: &str, change: serde_json::Value) -> Chat {
    let change = change.as_object().unwrap();
    let changed = chats::update(&bed.ambit, who, named(chat), change).await;
    changed.unwrap()
}

async fn shows(bed: Bed) {
    let text = "How do I\n  get my money back, please, and when will that be?";
    bed.talk(&ann(), "support", "billing", text).await;
    let chat = chats::get(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
    let expected = Chat {
        chat_id: "billing".to_owned(),
        title: "How do I get my money back, please, and when will ".to_owned(),
        assistant_id: "support".to_owned(),
        last_connector: Some("gpt".to_owned()),
        last_mode: None,
        status: Status::Active,
        share: Share::Private,
        sort: 0,
        metadata: Map::new(),
        last_message_at: chat.last_message_at,
        created_at: chat.created_at,
        updated_at: chat.updated_at,
    };
    assert_eq!(chat, expected);
    assert!(chat.created_at > 0 && chat.updated_at >= chat.created_at / 1_000 * 1_000);
    assert_eq!(
        list(&bed, &ann(), &ChatFilter::default(), ALL).await.items,
        [expected]
    );
}

async fn changes(bed: Bed) {
    let live = bed.talk(&ann(), "support", "billing", "one").await;
    let metadata = json!({"colour": "red"});
    let wanted = json!({
        "title": "Money", "status": "archived", "share": "team", "sort": -3, "metadata": metadata,
    });
    let changed = change(&bed, &ann(), "billing", wanted).await;
    bed.turn(&live, "r2", "two").await;
    let chat = chats::get(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
    let expected = Chat {
        title: "Money".to_owned(),
        status: Status::Archived,
        share: Share::Team,
        sort: -3,
        metadata: metadata.as_object().unwrap().clone(),
        last_message_at: chat.last_message_at,
        updated_at: chat.updated_at,
        ..changed
    };
    assert_eq!(chat, expected);
    let back = json!({"title": null, "metadata": null, "status": "active"});
    let chat = change(&bed, &ann(), "billing", back).await;
    assert_eq!((chat.title.as_str(), chat.metadata), ("one", Map::new()));
    assert_eq!((chat.status, chat.sort), (Status::Active, -3));
}

async fn refuses(bed: Bed) {
    bed.talk(&ann(), "support", "billing", "one").await;
    let before = chats::get(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
    for (wrong, param, part) in [
        (json!({"titel": "x"}), "titel", "did you mean \"title\"?"),
        (json!({"chat_id": "x"}), "chat_id", "cannot be changed"),
        (
            json!({"title": 1}),
            "title",
            "must be a text or null, not 1",
        ),
        (json!({"title": ""}), "title", "1 to 1000 bytes"),
        (
            json!({"status": "archive"}),
            "status",
            "did you mean \"archived\"?",
        ),
        (
            json!({"share": "public"}),
            "share",
            "known are private, team",
        ),
        (
            json!({"sort": 1.5}),
            "sort",
            "must be a whole number, not 1.5",
        ),
        (
            json!({"metadata": [1]}),
            "metadata",
            "must be an object or null",
        ),
        (
            json!({"title": "kept?", "sort": "1"}),
            "sort",
            "must be a whole number",
        ),
        (
            json!({"metadata": {"a": "x".repeat(17_000)}}),
            "metadata",
            "exceeds 16384 bytes",
        ),
    ] {
        let change = wrong.as_object().unwrap();
        let error = chats::update(&bed.ambit, &ann(), named("billing"), change).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{wrong}");
        assert_eq!(error.param.as_deref(), Some(param), "{wrong}");
        assert!(error.message.contains(part), "{wrong}: {}", error.message);
    }
    let after = chats::get(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
    assert_eq!(after, before);
}

async fn teamless(bed: Bed) {
    let alone = crate::bed::person("t1", "dan", None);
    bed.talk(&alone, "support", "billing", "one").await;
    let change = json!({"share": "team"});
    let change = change.as_object().unwrap();
    let error = chats::update(&bed.ambit, &alone, named("billing"), change).await;
    assert_eq!(error.unwrap_err().param.as_deref(), Some("share"));
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
        (status(Status::Archived), vec!["a"]),
        (status(Status::Active), vec!["c", "b"]),
        (agent, vec!["b"]),
        (after, vec!["c", "b"]),
        (before, vec!["a"]),
    ] {
        let found = list(&bed, &ann(), &filter, ALL).await;
        assert_eq!(ids(&found), expected, "{filter:?}");
        assert_eq!(found.total, expected.len() as u64, "{filter:?}");
    }
    for (order, expected) in [
        ("last_message_at", ["c", "b", "a"]),
        ("updated_at", ["c", "b", "a"]),
        ("created_at", ["c", "b", "a"]),
        ("sort", ["c", "b", "a"]),
    ] {
        let filter = ChatFilter::default();
        let order = (&filter, ChatOrder::parse(order).unwrap());
        let found = chats::list(&bed.ambit, &ann(), order, ALL).await.unwrap();
        assert_eq!(ids(&found), expected, "{order:?}");
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
    let one = Window { skip: 2, limit: 1 };
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
    let row = |number: usize| {
        let base = SessionIdentity::builder("support").user_id("ann");
        let base = base.chat_name(format!("c{number:05}")).build().unwrap();
        Write::Track(Box::new(Track {
            id: format!("row{number}"),
            tenant: "t1".to_owned(),
            identity: base.with_scope("chatHistory").unwrap(),
            agent: "support".to_owned(),
            base,
            placement: vec!["main".to_owned()],
            created_by: Some("ann".to_owned()),
            team: Some("red".to_owned()),
            labels: BTreeMap::new(),
        }))
    };
    bed.commit((0..count).map(row)).await;
}

async fn pages(bed: Bed) {
    track(&bed, 1_203).await;
    let (mut seen, filter) = (Vec::new(), ChatFilter::default());
    for page in 0..13 {
        let window = Window {
            skip: page * 100,
            limit: 100,
        };
        let order = (&filter, ChatOrder::Created);
        let part = chats::list(&bed.ambit, &ann(), order, window)
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
    let options = Options {
        clock: bed.clock.clone(),
        ..Options::default()
    };
    let ambit = over(counting.clone(), options);
    let wanted = (&ChatFilter::default(), ChatOrder::default());
    let window = Window { skip: 0, limit: 20 };
    let part = chats::list(&ambit, &ann(), wanted, window).await.unwrap();
    assert_eq!((part.items.len(), part.total), (20, 10_000));
    assert_eq!(
        counting.counts(),
        (0, 1, 20),
        "reads of logs, pages of rows, scans of values"
    );
}

async fn several(bed: Bed) {
    bed.talk(&ann(), "support", "billing", "one").await;
    bed.talk(&ann(), "sales", "billing", "two").await;
    let error = chats::get(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert_eq!(error.param.as_deref(), Some("assistant_id"));
    assert!(
        error.message.contains("sales, support"),
        "{}",
        error.message
    );
    let name = Name {
        chat_id: "billing",
        assistant_id: Some("sales"),
    };
    let chat = chats::get(&bed.ambit, &ann(), name).await.unwrap();
    assert_eq!(chat.title, "two");
    let name = Name {
        assistant_id: Some("nobody"),
        ..name
    };
    let error = chats::get(&bed.ambit, &ann(), name).await.unwrap_err();
    assert_eq!(error.code, Code::NotFound);
}

/// Everything that a store has of a tenant's conversations.
async fn contents(bed: &Bed) -> BTreeMap<String, String> {
    let page = PageRequest {
        order: Order::Oldest,
        after: None,
        limit: 500,
    };
    let rows = bed
        .driver
        .identities(&Filter::tenant("t1"), &page)
        .await
        .unwrap();
    let mut found = BTreeMap::new();
    for row in rows {
        let space = Space::of("t1", &row.identity);
        for log in bed.driver.logs(&space).await.unwrap() {
            let range = ambit_storage::driver::Range::from(1, 1_000);
            let page = bed.driver.read(&space.log(&log), range).await.unwrap();
            found.insert(format!("{space} {log}"), format!("{page:?}"));
        }
        let scan = ambit_storage::driver::Scan {
            pattern: ambit_storage::pattern::Pattern::all(),
            after: None,
            limit: 1_000,
            part: ambit_storage::driver::Part::Whole,
        };
        for (name, entry) in bed.driver.scan(&space, &scan).await.unwrap() {
            found.insert(format!("{space} {name}"), format!("{entry:?}"));
        }
        found.insert(
            format!("row {}", row.identity.storage_key()),
            format!("{row:?}"),
        );
    }
    found
}

async fn removes(bed: Bed) {
    bed.talk(&ann(), "support", "a%", "sibling").await;
    bed.talk(&bob(), "support", "a_b", "namesake").await;
    let before = contents(&bed).await;
    bed.talk(&ann(), "support", "a_b", "gone").await;
    share(&bed, "a_b", "team").await;
    assert_ne!(contents(&bed).await, before);
    chats::remove(&bed.ambit, &ann(), named("a_b"))
        .await
        .unwrap();
    assert_eq!(contents(&bed).await, before);
    let error = chats::remove(&bed.ambit, &ann(), named("a_b"))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    assert!(requests::find(&bed.ambit, &ann(), "r-gone").await.is_err());
}

async fn busy(bed: Bed) {
    let live = bed.talk(&ann(), "support", "billing", "one").await;
    live.context().begin_turn(OnBusy::Reject).await.unwrap();
    let error = chats::remove(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::ChatBusy);
    live.context().end_turn().await.unwrap();
    chats::remove(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
}

async fn foreign(bed: Bed) {
    bed.talk(&ann(), "support", "billing", "one").await;
    let none = Map::new();
    for who in [bob(), cid(), twin(), chief("t2"), crate::bed::nobody("t1")] {
        for (chat, verb) in [("billing", "known"), ("never", "unknown")] {
            let told = |error: ambit_runtime::Error| {
                (error.code, error.message.replace(chat, "…"), error.param)
            };
            let expected = (Code::NotFound, "chat \"…\" not found".to_owned(), None);
            let ambit = &bed.ambit;
            let filter = MessageFilter::default();
            let got = chats::get(ambit, &who, named(chat)).await.unwrap_err();
            assert_eq!(told(got), expected, "get {verb} {who:?}");
            let got = chats::update(ambit, &who, named(chat), &none)
                .await
                .unwrap_err();
            assert_eq!(told(got), expected, "update {verb} {who:?}");
            let got = chats::remove(ambit, &who, named(chat)).await.unwrap_err();
            assert_eq!(told(got), expected, "remove {verb} {who:?}");
            let got = chats::messages(ambit, &who, named(chat), &filter)
                .await
                .unwrap_err();
            assert_eq!(told(got), expected, "messages {verb} {who:?}");
        }
    }
    chats::get(&bed.ambit, &chief("t1"), named("billing"))
        .await
        .unwrap();
}

async fn reversed(bed: Bed) {
    let filter = ChatFilter {
        from: Some(5),
        to: Some(5),
        ..ChatFilter::default()
    };
    let wanted = (&filter, ChatOrder::default());
    let error = chats::list(&bed.ambit, &ann(), wanted, ALL)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code, error.param.as_deref()),
        (Code::InvalidArgument, Some("to"))
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
        (Code::InvalidArgument, Some("before"))
    );
}

async fn unknown() {
    let error = ChatOrder::parse("createdat").unwrap_err();
    assert_eq!(
        error.message,
        "order_by \"createdat\" is unknown; known are last_message_at, updated_at, created_at, sort; \
         did you mean \"created_at\"?"
    );
    let error = Status::parse("activ").unwrap_err();
    assert!(
        error.message.ends_with("did you mean \"active\"?"),
        "{}",
        error.message
    );
}
