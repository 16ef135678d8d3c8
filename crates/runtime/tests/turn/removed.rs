//! Removing a conversation while a turn of it begins.

use crate::place::{Place, agent, ann, ask, borrowed, end, place_over, request, session};
use ambit_runtime::chats::{self, ChatName};
use ambit_runtime::{ConversationSource, Error, ErrorCode, TurnRequest};
use ambit_storage::driver::{DriverOptions, FaultPoints};
use ambit_storage::lease::OnBusy;
use ambit_storage::{SessionQuery, Stores};
use serde_json::json;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

/// A turn that has found its conversation and holds it not yet.
struct OpenedTurn {
    is_opened: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

/// A place of one conversation, whose next turn waits where it has been opened.
async fn place() -> (Arc<Place>, OpenedTurn, String) {
    let (tell, is_opened) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let fault_points = FaultPoints::new(move |point| {
        if point == "turn.opened" {
            tell.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    });
    let options = DriverOptions {
        fault_points,
        ..DriverOptions::default()
    };
    let stores = Stores::builder(options).build().unwrap();
    let place = Arc::new(place_over(&borrowed(&agent(&json!({}), "")), stores).await);
    // The first turn has nobody to wait for.
    go_on.send(()).unwrap();
    let first = ask(&place, request("hello", "one")).await;
    is_opened.recv().unwrap();
    let turn = end(&first)["request_id"].as_str().unwrap().to_owned();
    (place, OpenedTurn { is_opened, go_on }, turn)
}

fn chat() -> ChatName<'static> {
    ChatName {
        chat_id: "chat-1",
        ..ChatName::default()
    }
}

fn from(source: ConversationSource) -> TurnRequest {
    TurnRequest {
        chat: None,
        source: Some(source),
        ..request("hello", "two")
    }
}

/// Begins a turn, removes its conversation when the turn has found it, and returns how the turn is refused.
async fn refused(place: &Arc<Place>, opened: OpenedTurn, request: TurnRequest) -> Error {
    let turn = {
        let place = place.clone();
        tokio::spawn(async move { place.runtime.start(request).await.err() })
    };
    let OpenedTurn { is_opened, go_on } = opened;
    tokio::task::spawn_blocking(move || is_opened.recv().unwrap())
        .await
        .unwrap();
    let ambit = place.runtime.contexts(&ann());
    chats::remove(&ambit, &ann(), chat()).await.unwrap();
    go_on.send(()).unwrap();
    let refused = turn.await.unwrap().unwrap();
    assert_eq!(SessionQuery::every(&ambit).count().await.unwrap(), 0);
    // Nobody holds what is not there.
    let again = session(place, "hello").await;
    again.context().begin_turn(OnBusy::Reject).await.unwrap();
    refused
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_conversation_that_is_removed_while_a_turn_begins_is_not_made_anew() {
    let (place, opened, _) = place().await;
    let ambit = place.runtime.contexts(&ann());
    let row = chats::get(&ambit, &ann(), chat()).await.unwrap().context;
    let refused = refused(&place, opened, from(ConversationSource::Row(row.clone()))).await;
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert_eq!(refused.message, format!("conversation \"{row}\" not found"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_goes_on_from_a_response_whose_conversation_is_removed_meanwhile() {
    let (place, opened, turn) = place().await;
    let refused = refused(&place, opened, from(ConversationSource::Behind(turn))).await;
    assert_eq!(
        (refused.code, refused.param.as_deref()),
        (ErrorCode::NotFound, Some("previous_response_id"))
    );
}
