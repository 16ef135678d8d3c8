//! Conversations and messages found by their words: what is found, by whom, and what it costs.

use crate::bed::{Bed, ann, bob, chief, cid, over, person, twin};
use crate::chats::ALL;
use crate::counting::Counting;
use crate::messages::store;
use crate::names::share;
use crate::recall_bed::{chats_with, find, index_size, long_chat, messages_with, try_find};
use ambit_runtime::ErrorCode;
use ambit_runtime::chats::{self, ChatFilter, ChatStatus, MessageFilter, PageWindow};
use ambit_runtime::recall::{self, ChatMatches, RecallSettings, SessionSearch};
use ambit_storage::address::Space;
use ambit_storage::driver::DriverOptions;
use ambit_storage::storage::Message;
use futures::FutureExt;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("chats_are_found_by_what_was_said_in_them", |bed| {
        words(bed).boxed()
    }),
    ("other_filters_leave_fewer_chats", |bed| {
        filters(bed).boxed()
    }),
    ("only_what_was_said_is_found", |bed| said(bed).boxed()),
    ("messages_of_a_chat_are_found", |bed| messages(bed).boxed()),
    ("g210_a_message_is_found_from_its_save_on", |bed| {
        at_once(bed).boxed()
    }),
    ("g210_an_open_turn_is_searched_and_not_indexed", |bed| {
        open_turn(bed).boxed()
    }),
    ("g202_what_others_said_changes_nothing", |bed| {
        unseen(bed).boxed()
    }),
    ("a_shared_chat_is_found_until_it_is_private", |bed| {
        shared(bed).boxed()
    }),
    ("callers_without_constraints_may_name_a_person", |bed| {
        whole(bed).boxed()
    }),
    ("g211_recall_adds_nothing_to_a_turns_commits", |bed| {
        free(bed).boxed()
    }),
    ("an_app_may_leave_roles_out_or_recall", |bed| {
        settings(bed).boxed()
    }),
];

/// What is the same over every store, and takes long over some.
pub const LONG_CASES: &[(&str, crate::Run)] = &[(
    "of_a_whole_tenant_the_thousand_owners_active_last_are_searched",
    |bed| many_owners(bed).boxed(),
)];

async fn words(bed: Bed) {
    bed.talk(&ann(), "support", "a", "the blue lamp").await;
    bed.talk(&ann(), "support", "b", "lamps, lamps, lamps")
        .await;
    bed.talk(&ann(), "sales", "c", "a green chair").await;
    let found = find(&bed, &ann(), "LAMP").await;
    let names: Vec<&str> = found
        .items
        .iter()
        .map(|it| it.chat.chat_id.as_str())
        .collect();
    assert_eq!((names.as_slice(), found.total), (&["b", "a"][..], 2));
    assert_eq!(found.searched, None);
    let best = &found.items[0];
    assert_eq!(best.score, best.matches[0].score);
    assert!(0.0 < found.items[1].score && found.items[1].score < best.score && best.score <= 1.0);
    let shown = &best.matches[0];
    assert_eq!(shown.snippet, "lamps, lamps, lamps");
    assert_eq!(shown.ranges, [[0, 5], [7, 12], [14, 19]]);
    assert_eq!((shown.role, best.matches.len()), ("user", 2));
    let second = PageWindow { skip: 1, limit: 1 };
    let search = SessionSearch {
        text: "lamp",
        filter: &ChatFilter::default(),
        window: second,
    };
    let (who, settings) = (ann(), RecallSettings::default());
    let page = recall::search_sessions(&bed.ambit, &who, &settings, search).await;
    let page = page.unwrap();
    assert_eq!((page.items[0].chat.chat_id.as_str(), page.total), ("a", 2));
    assert!(chats_with(&bed, &ann(), "table").await.is_empty());
    assert!(chats_with(&bed, &ann(), "!?").await.is_empty());
}

async fn filters(bed: Bed) {
    bed.talk(&ann(), "support", "a", "one lamp").await;
    bed.talk(&ann(), "sales", "b", "another lamp").await;
    let change = json!({"status": "archived"});
    crate::changes::change(&bed, &ann(), "a", change).await;
    for (filter, expected) in [
        (
            ChatFilter {
                assistant_id: Some("sales".to_owned()),
                ..ChatFilter::default()
            },
            "b",
        ),
        (
            ChatFilter {
                status: Some(ChatStatus::Archived),
                ..ChatFilter::default()
            },
            "a",
        ),
        (
            ChatFilter {
                keywords: Some("ANOTHER".to_owned()),
                ..ChatFilter::default()
            },
            "b",
        ),
    ] {
        let found = try_find(&bed.ambit, &ann(), "lamp", &filter).await.unwrap();
        assert_eq!((found.items.len(), found.total), (1, 1), "{filter:?}");
        assert_eq!(found.items[0].chat.chat_id, expected);
    }
}

/// Tools, thinking and instructions speak of lamps too, and a temporary chat.
async fn said(bed: Bed) {
    let live = crate::messages::chat(&bed).await;
    let calls = vec![ambit_storage::storage::ToolCall {
        id: "1".to_owned(),
        name: "lamp".to_owned(),
        arguments: json!({"q": "lamp"}),
        extras: Default::default(),
    }];
    let answer = Message {
        tool_calls: calls,
        extras: json!({"reasoning_content": "a lamp"})
            .as_object()
            .unwrap()
            .clone(),
        ..Message::assistant("")
    };
    let result = Message::result("1", json!("lamp"));
    let spoken = [
        Message::system("lamp"),
        Message::user("nothing"),
        answer,
        result,
    ];
    store(&live, "r1", spoken).await;
    let opened = chats::open(&bed.ambit, &ann(), "support", Some("_temp_1")).await;
    store(&opened.unwrap(), "r2", [Message::user("lamp")]).await;
    assert!(chats_with(&bed, &ann(), "lamp").await.is_empty());
    assert_eq!(chats_with(&bed, &ann(), "nothing").await, ["c"]);
}

async fn messages(bed: Bed) {
    long_chat(&bed, &ann(), "c", "lamp").await;
    bed.talk(&ann(), "support", "c", "a lamp").await;
    let filter = MessageFilter {
        limit: 3,
        ..MessageFilter::default()
    };
    let found = messages_with(&bed, "number7 lamp", &filter).await.unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].snippet, "lamp number7 of many");
    assert_eq!(found[0].ranges, [[0, 4], [5, 12]]);
    assert!(found.is_sorted_by(|one, next| one.score >= next.score));
    let answers = MessageFilter {
        role: Some("assistant".to_owned()),
        ..filter.clone()
    };
    let found = messages_with(&bed, "lamp", &answers).await.unwrap();
    let texts: Vec<&str> = found.iter().map(|found| found.snippet.as_str()).collect();
    assert_eq!(texts, ["to a lamp"]);
    let before = MessageFilter {
        before: Some(2_000),
        ..filter
    };
    let found = messages_with(&bed, "lamp", &before).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message.sequence, 1_000);
    let limited = MessageFilter::default();
    assert!(
        messages_with(&bed, "lamp", &limited)
            .await
            .unwrap()
            .is_empty()
    );
}

/// Before and behind the beginning of an index, on this node and another one.
async fn at_once(bed: Bed) {
    let live = long_chat(&bed, &ann(), "c", "lamp").await;
    assert_eq!(index_size(&bed, &live).await, 0);
    assert_eq!(chats_with(&bed, &ann(), "number99").await, ["c"]);
    let begun = index_size(&bed, &live).await;
    assert!(begun > 0);
    let other = over(bed.driver.clone(), DriverOptions::default());
    for word in ["chair", "table", "shelf"] {
        let turn = format!("r-{word}");
        store(&live, &turn, [Message::user(word)]).await;
        for ambit in [&bed.ambit, &other] {
            let found = try_find(ambit, &ann(), word, &ChatFilter::default()).await;
            assert_eq!(found.unwrap().items[0].matches[0].snippet, word);
        }
    }
    // So few are read again rather than written.
    assert_eq!(index_size(&bed, &live).await, begun);
    long_chat(&bed, &ann(), "d", "carpet").await;
    assert_eq!(chats_with(&bed, &ann(), "carpet").await, ["d"]);
    assert!(index_size(&bed, &live).await > begun);
    assert_eq!(chats_with(&bed, &ann(), "shelf").await, ["c"]);
}

/// What an open turn has said may change without a word to any index.
async fn open_turn(bed: Bed) {
    let live = long_chat(&bed, &ann(), "c", "lamp").await;
    chats_with(&bed, &ann(), "lamp").await;
    let begun = index_size(&bed, &live).await;
    let (space, _) = live.context().place();
    let open = json!({"tenant": "t1", "agent": "support", "base": live.context().identity(),
        "space": space, "request_id": "r-open"});
    let key = Space::turns().key(format!("{}/r-open", space.digest()));
    let write = |op| ambit_storage::batch::BatchWrite::apply(key.clone(), op, None);
    let set = ambit_storage::Json::of(&open).unwrap();
    bed.commit([write(ambit_storage::operation::Operation::Set(set.into()))])
        .await;
    let said = (0..100).map(|at| Message::user(format!("chair {at}")));
    store(&live, "r-open", said).await;
    assert_eq!(chats_with(&bed, &ann(), "chair").await, ["c"]);
    assert_eq!(index_size(&bed, &live).await, begun);
    bed.commit([write(ambit_storage::operation::Operation::Del)])
        .await;
    assert_eq!(chats_with(&bed, &ann(), "chair").await, ["c"]);
    assert!(index_size(&bed, &live).await > begun);
}

/// The answer with the words of others in the same store and without them is the same to the last digit.
async fn unseen(bed: Bed) {
    let alone = Bed::new(&crate::bed::STORES[0]).await;
    for bed in [&bed, &alone] {
        long_chat(bed, &ann(), "a", "lamp").await;
        bed.talk(&ann(), "support", "b", "the canary lamp").await;
    }
    for (who, chat) in [
        (bob(), "x"),
        (cid(), "y"),
        (twin(), "a"),
        (chief("t1"), "z"),
    ] {
        long_chat(&bed, &who, chat, "canary").await;
        bed.talk(&who, "support", chat, "a secret lamp").await;
        find(&bed, &who, "lamp").await;
    }
    for text in ["lamp", "canary", "secret", "canary lamp number3"] {
        let short = |found: ChatMatches| {
            let items = found.items.into_iter();
            let items = items.map(|it| {
                let matches = it.matches.into_iter().map(|one| (one.snippet, one.score));
                (it.chat.chat_id, it.score, matches.collect::<Vec<_>>())
            });
            (items.collect::<Vec<_>>(), found.total, found.searched)
        };
        let expected = short(find(&alone, &ann(), text).await);
        assert_eq!(short(find(&bed, &ann(), text).await), expected, "{text}");
    }
}

async fn shared(bed: Bed) {
    bed.talk(&ann(), "support", "a", "the lamp").await;
    bed.talk(&ann(), "support", "b", "my own lamp").await;
    share(&bed, "a", "team").await;
    assert_eq!(chats_with(&bed, &bob(), "lamp").await, ["a"]);
    assert!(chats_with(&bed, &cid(), "lamp").await.is_empty());
    assert!(chats_with(&bed, &twin(), "lamp").await.is_empty());
    share(&bed, "a", "private").await;
    assert!(chats_with(&bed, &bob(), "lamp").await.is_empty());
}

async fn whole(bed: Bed) {
    bed.talk(&ann(), "support", "a", "the lamp").await;
    bed.talk(&bob(), "support", "b", "a lamp").await;
    bed.talk(&twin(), "support", "c", "a lamp").await;
    let found = find(&bed, &chief("t1"), "lamp").await;
    let searched = found.searched.unwrap();
    assert_eq!((found.total, searched.owners, searched.left_out), (2, 2, 0));
    let of = |user: &str| ChatFilter {
        user_id: Some(user.to_owned()),
        ..ChatFilter::default()
    };
    let of_bob = try_find(&bed.ambit, &chief("t1"), "lamp", &of("bob")).await;
    let of_bob = of_bob.unwrap();
    assert_eq!((of_bob.total, of_bob.searched), (1, None));
    assert_eq!(of_bob.items[0].chat.chat_id, "b");
    let refused = try_find(&bed.ambit, &ann(), "lamp", &of("bob")).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    let own = try_find(&bed.ambit, &ann(), "lamp", &of("ann")).await;
    assert_eq!(own.unwrap().total, 1);
}

async fn many_owners(bed: Bed) {
    let says = async |user: &str, word: &str| {
        let who = person("t1", user, None);
        let opened = chats::open(&bed.ambit, &who, "support", Some(user)).await;
        let live = opened.unwrap();
        store(&live, word, [Message::user(format!("a {word}"))]).await;
    };
    says("early", "stork").await;
    says("silent", "heron").await;
    bed.clock.advance(Duration::from_secs(10));
    for at in 0..999 {
        says(&format!("person{at}"), "lamp").await;
    }
    says("early", "crane").await;
    let whole = chief("t1");
    let found = find(&bed, &whole, "stork").await;
    let searched = found.searched.unwrap();
    assert_eq!(
        (found.total, searched.owners, searched.left_out),
        (1, 1_000, 1)
    );
    assert_eq!(find(&bed, &whole, "heron").await.total, 0);
    // Who is named is searched all the same.
    let silent = ChatFilter {
        user_id: Some("silent".to_owned()),
        ..ChatFilter::default()
    };
    let found = try_find(&bed.ambit, &whole, "heron", &silent).await;
    let found = found.unwrap();
    assert_eq!((found.total, found.searched), (1, None));
}

/// A turn writes the same before the first search and once there is an index.
async fn free(mut bed: Bed) {
    let counting = Arc::new(Counting::new(bed.driver.clone()));
    bed.ambit = over(counting.clone(), DriverOptions::default());
    let live = long_chat(&bed, &ann(), "c", "lamp").await;
    bed.turn(&live, "r-0", "x0").await;
    let bytes = |written: Vec<String>| -> Vec<usize> {
        assert!(written.iter().all(|write| !write.contains("i:recall")));
        written.iter().map(String::len).collect()
    };
    counting.written();
    bed.turn(&live, "r-1", "x1").await;
    let before = bytes(counting.written());
    find(&bed, &ann(), "lamp").await;
    assert!(index_size(&bed, &live).await > 0);
    counting.written();
    bed.turn(&live, "r-2", "x2").await;
    assert_eq!(bytes(counting.written()), before);
}

async fn settings(bed: Bed) {
    let live = long_chat(&bed, &ann(), "c", "lamp").await;
    store(&live, "r2", [Message::assistant("a chair")]).await;
    let filter = ChatFilter::default();
    let search = |text| SessionSearch {
        text,
        filter: &filter,
        window: ALL,
    };
    let ambit = &bed.ambit;
    for roles in [&["user", "assistant"][..], &["user"], &["assistant"]] {
        let settings = RecallSettings {
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            ..RecallSettings::default()
        };
        for (text, role) in [("lamp", "user"), ("chair", "assistant")] {
            let found = recall::search_sessions(ambit, &ann(), &settings, search(text)).await;
            let total = u64::from(roles.contains(&role));
            assert_eq!(found.unwrap().total, total, "{roles:?} {text}");
        }
    }
    let off = RecallSettings {
        is_enabled: false,
        ..RecallSettings::default()
    };
    let refused = recall::search_sessions(ambit, &ann(), &off, search("lamp")).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Unsupported);
}
