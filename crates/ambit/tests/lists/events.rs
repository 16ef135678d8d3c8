//! The feed of events: what is told, to whom, and going on after a pause.

use crate::bed::{ANN, BOB, Bed, CHIEF, CID, TWIN};
use crate::feed::Told;
use crate::site::Answer;
use serde_json::json;
use std::time::Duration;

fn names(events: &[Told]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

/// Tenant and user of the sessions that these events are about.
fn people(events: &[Told]) -> Vec<(&str, &str)> {
    let mut people: Vec<(&str, &str)> = Vec::new();
    for Told { data, .. } in events {
        people.push((
            data["tenant"].as_str().unwrap(),
            data["identity"]["user_id"].as_str().unwrap(),
        ));
    }
    people.dedup();
    people
}

/// What the contract says of a turn with one answer in a new conversation.
const TURN: [&str; 26] = [
    "ContextCreated",
    "StorageRegistered",
    "StorageRegistered",
    "AgentInitialized",
    "ConversationStarted",
    "ChatHistoryLoaded",
    "MessageAdded",
    "ChatHistorySaved",
    "IdentityAdded",
    "IdentityStorageSaved",
    "ContextSaved",
    "AfterResponse",
    "ChatHistorySaved",
    "UsageRecorded",
    "IdentityAdded",
    "IdentityStorageSaved",
    "ContextSaved",
    "MessageAdded",
    "ChatHistorySaved",
    "IdentityStorageSaved",
    "ContextSaved",
    "AfterSend",
    "ChatHistorySaved",
    "IdentityStorageSaved",
    "ContextSaved",
    "ConversationEnded",
];

#[tokio::test]
async fn g123_a_follower_is_told_of_a_turn_in_the_order_of_its_events() {
    let bed = Bed::new().await;
    let mut feed = bed.follow(ANN, "", None).await;
    assert_eq!(bed.turn(ANN, "c1", "a text of Ann's").await.status, 200);
    let events = feed.turn().await;
    assert_eq!(names(&events), TURN);
    let mut added = events[6].data.clone();
    for made in [
        "/event_id",
        "/at",
        "/message/id",
        "/message/created_at",
        "/message/turn_id",
    ] {
        assert!(!added.pointer_mut(made).unwrap().take().is_null(), "{made}");
    }
    added["turn_id"].take();
    let identity = json!({
        "agent_name": "hello", "chat_name": "c1", "user_id": "ann", "group": null, "scope": null, "key": "hello_ann",
    });
    let message = json!({"id": null, "role": "user", "created_at": null, "turn_id": null});
    let expected = json!({
        "type": "MessageAdded", "event_id": null, "at": null, "tenant": "t1", "agent_name": "hello", "identity": identity,
        "turn_id": null, "caller_id": "ann", "message": message, "sequence": 1,
    });
    assert_eq!(added, expected);
    assert!(!feed.text.contains("a text of Ann's"), "{}", feed.text);
}

#[tokio::test]
async fn g123_what_was_vetoed_is_not_told_as_if_it_had_happened() {
    let events = "export function BeforeSend(event) { return {veto: 'not today'}; }";
    let bed = Bed::of(&[("assistants/hello/src/events.ts", events)]).await;
    let mut feed = bed.follow(ANN, "", None).await;
    assert_eq!(bed.turn(ANN, "c1", "hi").await.status, 403);
    let events = feed.turn().await;
    assert_eq!(names(&events), [&TURN[..6], &TURN[25..]].concat());
    assert_eq!(events.last().unwrap().data["status"], "vetoed");
}

#[tokio::test]
async fn g057_a_follower_is_told_of_what_it_may_list_alone() {
    let bed = Bed::new().await;
    let persons = [ANN, TWIN, BOB, CID];
    let mut feeds = Vec::new();
    for who in persons {
        feeds.push(bed.follow(who, "", None).await);
    }
    let mut chief = bed.follow(CHIEF, "", None).await;
    for who in persons {
        assert_eq!(bed.turn(who, "c1", "hi").await.status, 200);
    }
    for (mut feed, who) in feeds.into_iter().zip(persons) {
        assert_eq!(people(&feed.turn().await), [(who.0, who.1)]);
    }
    let mut all = Vec::new();
    for _ in 0..3 {
        all.extend(chief.turn().await);
    }
    assert_eq!(people(&all), [("t1", "ann"), ("t1", "bob"), ("t1", "cid")]);
}

#[tokio::test]
async fn a_follower_that_comes_back_is_told_all_that_it_has_missed_once() {
    let bed = Bed::new().await;
    let mut feed = bed.follow(ANN, "", None).await;
    let mut told = Vec::new();
    for chat in ["c1", "c2"] {
        bed.turn(ANN, chat, "hi").await;
        told.extend(feed.turn().await);
    }
    for known in 1..told.len() {
        let id = Some(told[known - 1].id.as_str());
        let mut again = bed.follow(ANN, "", id).await;
        let mut rest = again.turn().await;
        if known < TURN.len() {
            rest.extend(again.turn().await);
        }
        assert_eq!(rest, told[known..], "{id:?}");
    }
}

#[tokio::test]
async fn events_are_kept_for_ten_minutes_and_a_quiet_feed_goes_on_from_its_end() {
    let bed = Bed::new().await;
    let mut feed = bed.follow(ANN, "", None).await;
    bed.turn(ANN, "c1", "hi").await;
    let told = feed.turn().await;
    bed.site
        .stores
        .options()
        .clock
        .advance(Duration::from_secs(601));
    let request = bed
        .request(ANN, "/events")
        .header("last-event-id", &told[0].id);
    let expected = (410, "stream_expired".to_owned(), None);
    assert_eq!(Answer::of(request).await.failure(), expected);
    let end = told.last().unwrap().id.as_str();
    let mut again = bed.follow(ANN, "", Some(end)).await;
    bed.turn(ANN, "c2", "hi").await;
    assert_eq!(names(&again.turn().await), TURN);
}

#[tokio::test]
async fn a_feed_is_narrowed_by_agent_user_chat_group_and_type() {
    let agent = r#"{"name": "Other", "public": true, "connector": "script"}"#;
    let group =
        r#"{"name": "G", "public": true, "connector": "script", "context": {"group": "g"}}"#;
    let bed = Bed::of(&[
        ("assistants/other/package.yao", agent),
        ("assistants/grouped/package.yao", group),
    ])
    .await;
    for (filter, other, wanted) in [
        ("agent=other", (ANN, "hello"), (ANN, "other")),
        ("user=bob", (ANN, "hello"), (BOB, "hello")),
        ("group=g", (ANN, "hello"), (ANN, "grouped")),
        ("chat=grouped-chat", (ANN, "hello"), (ANN, "grouped")),
        ("user=bob&agent=other", (BOB, "hello"), (BOB, "other")),
    ] {
        let mut feed = bed.follow(CHIEF, &format!("?{filter}"), None).await;
        for (who, agent) in [other, wanted] {
            let chat = format!("{agent}-chat");
            assert_eq!(bed.turn_of(agent, who, &chat, "hi").await.status, 200);
        }
        let events = feed.turn().await;
        let found = |event: &Told| {
            let data = &event.data;
            (
                data["agent_name"].clone(),
                data["identity"]["user_id"].clone(),
            )
        };
        let mut found: Vec<_> = events.iter().map(found).collect();
        found.dedup();
        assert_eq!(found, [(json!(wanted.1), json!(wanted.0.1))], "{filter}");
    }
    let types = "?type=MessageAdded,ConversationEnded";
    let mut feed = bed.follow(ANN, types, None).await;
    bed.turn(ANN, "c1", "hi").await;
    let expected = ["MessageAdded", "MessageAdded", "ConversationEnded"];
    assert_eq!(names(&feed.turn().await), expected);
}

#[tokio::test]
async fn texts_are_told_only_where_the_app_says_so() {
    let app = r#"{"name": "Tests", "ambit": {"events": {"content": true}}}"#;
    let bed = Bed::of(&[("app.yao", app)]).await;
    let mut feed = bed.follow(ANN, "", None).await;
    bed.turn(ANN, "c1", "a text of Ann's").await;
    let events = feed.turn().await;
    assert_eq!(
        events[6].data["message"]["parts"],
        json!([{"type": "text", "text": "a text of Ann's"}])
    );
}

#[tokio::test]
async fn g071_a_temporary_conversation_is_in_no_feed() {
    let bed = Bed::new().await;
    let mut feed = bed.follow(ANN, "", None).await;
    assert_eq!(bed.turn(ANN, "_temp_1", "hi").await.status, 200);
    assert_eq!(bed.turn(ANN, "c1", "hi").await.status, 200);
    assert_eq!(names(&feed.turn().await), TURN);
    assert!(!feed.text.contains("_temp_1"));
}

#[tokio::test]
async fn g150_a_last_event_id_that_no_feed_has_given_is_refused() {
    let bed = Bed::new().await;
    for id in ["x", "7", "-1.0", "1.x", "7.0", "1.1"] {
        let request = bed.request(ANN, "/events").header("last-event-id", id);
        let expected = (
            400,
            "invalid_argument".to_owned(),
            Some("last-event-id".to_owned()),
        );
        assert_eq!(Answer::of(request).await.failure(), expected, "{id}");
    }
}
