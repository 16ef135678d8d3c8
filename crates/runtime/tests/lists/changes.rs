//! One chat: shown, changed and removed.

use crate::bed::{Bed, ann, bob, chief, cid, over, twin};
use crate::chats::{ALL, list, named};
use crate::names::share;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::chats::conversations::{self, NewMessages};
use ambit_runtime::chats::{self, ChatFilter, ChatInfo, ChatShare, ChatStatus, MessageFilter};
use ambit_runtime::{Authorized, ErrorCode, turn_location};
use ambit_storage::address::Space;
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder};
use ambit_storage::event::{IdentityRemoving, MessageAdding, Verdict};
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::{ChatHistoryStorage, StorageKind, UsageRecord};
use futures::FutureExt;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

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
    (
        "g065_removing_a_chat_takes_all_of_it_and_nothing_else",
        |bed| removes(bed).boxed(),
    ),
    ("a_chat_with_a_running_turn_is_not_removed", |bed| {
        busy(bed).boxed()
    }),
    (
        "a_chat_whose_turn_begins_during_its_removal_stays_as_it_is",
        |bed| busy_meanwhile(bed).boxed(),
    ),
    (
        "messages_do_not_bring_back_a_chat_that_is_removed_meanwhile",
        |bed| removed_meanwhile(bed).boxed(),
    ),
    ("g057_chats_of_others_answer_like_unknown_ones", |bed| {
        foreign(bed).boxed()
    }),
];

pub async fn change(
    bed: &Bed,
    who: &Authorized,
    chat: &str,
    change: serde_json::Value,
) -> ChatInfo {
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
    let expected = ChatInfo {
        chat_id: "billing".to_owned(),
        title: "How do I get my money back, please, and when will ".to_owned(),
        assistant_id: "support".to_owned(),
        source: None,
        last_connector: Some("gpt".to_owned()),
        last_mode: None,
        status: ChatStatus::Active,
        share: ChatShare::Private,
        sort: 0,
        metadata: Map::new(),
        last_message_at: chat.last_message_at,
        created_at: chat.created_at,
        updated_at: chat.updated_at,
        context: chat.context.clone(),
        user_id: chat.user_id.clone(),
        team_id: chat.team_id.clone(),
        running: None,
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
    let expected = ChatInfo {
        title: "Money".to_owned(),
        status: ChatStatus::Archived,
        share: ChatShare::Team,
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
    assert_eq!((chat.status, chat.sort), (ChatStatus::Active, -3));
}

#[expect(clippy::too_many_lines, reason = "one table of refusals")]
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
    ] {
        let change = wrong.as_object().unwrap();
        let error = chats::update(&bed.ambit, &ann(), named("billing"), change).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{wrong}");
        assert_eq!(error.param.as_deref(), Some(param), "{wrong}");
        assert!(error.message.contains(part), "{wrong}: {}", error.message);
    }
    let large = json!({"metadata": {"a": "x".repeat(17_000)}});
    let change = large.as_object().unwrap();
    let error = chats::update(&bed.ambit, &ann(), named("billing"), change).await;
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "metadata is larger than 16384 bytes");
    assert_eq!(
        (error.code, error.status),
        (ErrorCode::LimitExceeded, Some(413))
    );
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

/// Everything that a store has of a tenant's conversations.
async fn contents(bed: &Bed) -> BTreeMap<String, String> {
    let page = PageRequest {
        order: RowOrder::Oldest,
        after: None,
        limit: 500,
    };
    let rows = bed
        .driver
        .identities(&RowFilter::tenant("t1"), &page)
        .await
        .unwrap();
    let mut found = BTreeMap::new();
    for row in rows {
        let space = Space::of("t1", &row.identity);
        for log in bed.driver.logs(&space).await.unwrap() {
            let range = ambit_storage::driver::LogRange::from(1, 1_000);
            let page = bed.driver.read(&space.log(&log), range).await.unwrap();
            found.insert(format!("{space} {log}"), format!("{page:?}"));
        }
        let scan = ambit_storage::driver::ValueScan::first(
            ambit_storage::pattern::Pattern::all(),
            1_000,
            ambit_storage::driver::ValuePart::Whole,
        );
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
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(
        turn_location::find(&bed.ambit, &ann(), "r-gone")
            .await
            .is_err()
    );
}

async fn busy(bed: Bed) {
    let live = bed.talk(&ann(), "support", "billing", "one").await;
    live.context().begin_turn(OnBusy::Reject).await.unwrap();
    let error = chats::remove(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::ChatBusy);
    live.context().end_turn().await.unwrap();
    chats::remove(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
}

async fn busy_meanwhile(bed: Bed) {
    let who = ann();
    let live = chats::open(&bed.ambit, &who, "support", Some("billing"));
    let live = live.await.unwrap();
    // The usage has the older row.
    let record = UsageRecord {
        prompt_tokens: 1,
        ..UsageRecord::default()
    };
    live.context().usage().record(record).unwrap();
    live.context().save().await.unwrap();
    bed.turn(&live, "r-one", "one").await;
    let before = contents(&bed).await;
    let beginning = Mutex::new(Some(live.clone()));
    bed.ambit.bus().before(move |event: &mut IdentityRemoving| {
        let is_history = event.identity.scope() == Some(ChatHistoryStorage::PREFIX);
        let live = beginning.lock().unwrap().take_if(|_| is_history);
        Box::pin(async move {
            if let Some(live) = live {
                live.context().begin_turn(OnBusy::Reject).await?;
            }
            Ok(Verdict::Continue)
        })
    });
    let refused = chats::remove(&bed.ambit, &ann(), named("billing")).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::ChatBusy);
    assert_eq!(contents(&bed).await, before);
    live.context().end_turn().await.unwrap();
    chats::remove(&bed.ambit, &ann(), named("billing"))
        .await
        .unwrap();
    assert_eq!(contents(&bed).await, BTreeMap::new());
}

async fn removed_meanwhile(bed: Bed) {
    let live = bed.talk(&ann(), "support", "billing", "one").await;
    let row = live.context().row_id().unwrap();
    let other = over(bed.driver.clone(), bed.options.clone());
    bed.ambit.bus().before(move |_: &mut MessageAdding| {
        let other = other.clone();
        Box::pin(async move {
            let removed = chats::remove(&other, &ann(), named("billing")).await;
            removed.unwrap();
            Ok(Verdict::Continue)
        })
    });
    let new = NewMessages {
        messages: vec![ChatMessage::user("late")],
        ..NewMessages::default()
    };
    let refused = conversations::append(&bed.ambit, &ann(), &row, new).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(contents(&bed).await, BTreeMap::new());
    let (space, driver) = live.context().place();
    assert_eq!(driver.logs(&space).await.unwrap(), Vec::<String>::new());
}

async fn foreign(bed: Bed) {
    bed.talk(&ann(), "support", "billing", "one").await;
    let none = Map::new();
    for who in [bob(), cid(), twin(), chief("t2"), crate::bed::nobody("t1")] {
        for (chat, verb) in [("billing", "known"), ("never", "unknown")] {
            let told = |error: ambit_runtime::Error| {
                (error.code, error.message.replace(chat, "…"), error.param)
            };
            let expected = (ErrorCode::NotFound, "chat \"…\" not found".to_owned(), None);
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
