//! Conversations that are larger than what is held of one at once.

use crate::place::{agent, ann, ask, borrowed, end, place, request, session};
use ambit_runtime::chats::EntryRange;
use ambit_runtime::{ConversationSource, Error, ErrorCode, Frame, TurnRequest};
use ambit_storage::storage::Message;
use serde_json::json;

fn turn_of(frames: &[Frame]) -> String {
    end(frames)["request_id"].as_str().unwrap().to_owned()
}

fn behind(turn: &str) -> TurnRequest {
    TurnRequest {
        chat: None,
        source: Some(ConversationSource::Behind(turn.to_owned())),
        ..request("hello", "and then?")
    }
}

fn check_too_large(refused: Option<Error>) {
    let refused = refused.unwrap();
    assert_eq!(refused.status, Some(413), "{refused}");
    assert_eq!(refused.code, ErrorCode::LimitExceeded);
}

#[tokio::test]
async fn a_conversation_is_held_up_to_a_number_of_bytes() {
    let package = json!({"options": {"history_size": 1}});
    let place = place(&borrowed(&agent(&package, ""))).await;
    let first = turn_of(&ask(&place, request("hello", "one")).await);
    let live = session(&place, "hello").await;
    for _ in 0..9 {
        let large = Message::user("x".repeat(8 << 20));
        live.history().add_message(large).await.unwrap();
    }
    live.context().save().await.unwrap();
    let second = turn_of(&ask(&place, request("hello", "two")).await);
    ask(&place, request("hello", "three")).await;
    let runtime = &place.runtime;
    let who = ann();
    let all = runtime.entries_around(&who, &first, EntryRange::All).await;
    check_too_large(all.err());
    let last = runtime.entries_around(&who, &first, EntryRange::Last(4));
    assert_eq!(last.await.unwrap().entries.len(), 4);
    check_too_large(runtime.start(behind(&second)).await.err());
    // What comes before the first turn's end is small.
    let frames = ask(&place, behind(&first)).await;
    assert_eq!(end(&frames)["status"], "completed");
    // However large a conversation is, parts of it can be erased.
    runtime.erase_turn(&ann(), &first).await.unwrap();
}

#[tokio::test]
async fn a_conversation_is_copied_up_to_ten_thousand_messages() {
    let package = json!({"options": {"history_size": 1}});
    let place = place(&borrowed(&agent(&package, ""))).await;
    let first = turn_of(&ask(&place, request("hello", "one")).await);
    let live = session(&place, "hello").await;
    for _ in 0..20 {
        for _ in 0..500 {
            let message = Message::user("x");
            live.history().add_message(message).await.unwrap();
        }
        live.context().save().await.unwrap();
    }
    let second = turn_of(&ask(&place, request("hello", "two")).await);
    ask(&place, request("hello", "three")).await;
    let refused = place.runtime.start(behind(&second)).await.err();
    check_too_large(refused);
    let frames = ask(&place, behind(&first)).await;
    assert_eq!(end(&frames)["status"], "completed");
}
