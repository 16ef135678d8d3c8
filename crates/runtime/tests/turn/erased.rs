//! What is left of turns and messages that were erased, also where others begin with a copy of them or one is being made.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, history, left, mirrored, model, place, place_over,
    remembered, request, said, session,
};
use ambit_runtime::chats::{self, ChatName, EntrySelection};
use ambit_runtime::{Authorized, ConversationSource, ErrorCode, Frame, TurnRequest};
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, FaultPoints};
use ambit_storage::lease::LEASE_LIFE;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

/// What a person says and nobody is to find any more.
const CANARY: &str = "canary";

fn turn_of(frames: &[Frame]) -> String {
    end(frames)["request_id"].as_str().unwrap().to_owned()
}

/// A request that goes on from an earlier turn.
fn behind(turn: &str) -> TurnRequest {
    TurnRequest {
        chat: None,
        source: Some(ConversationSource::Behind(turn.to_owned())),
        ..request("hello", "and then?")
    }
}

/// A conversation of Ann's by its name.
fn chat(chat_id: &str) -> ChatName<'_> {
    ChatName {
        chat_id,
        ..ChatName::default()
    }
}

/// The name of the conversation that begins with this turn.
fn begun_by(turn: &str) -> String {
    format!("resp_{turn}")
}

/// All that is stored of a conversation of Ann's.
async fn archive(place: &Place, chat: &str) -> String {
    archive_of(place, &ann(), chat).await
}

async fn archive_of(place: &Place, who: &Authorized, chat: &str) -> String {
    let ambit = place.runtime.contexts(who);
    let agent = ambit.agent("hello").unwrap();
    let user = who.user_id.as_deref().unwrap();
    let session = agent.for_user_id(user).chat(chat).await.unwrap();
    format!("{:?}", session.history().archive(1, 100).await.unwrap())
}

/// A place whose stores tell of their fault points.
async fn watched(at: impl Fn(&'static str) + Send + Sync + 'static) -> Arc<Place> {
    let options = DriverOptions {
        fault_points: FaultPoints::new(at),
        ..DriverOptions::default()
    };
    let stores = Stores::builder(options).build().unwrap();
    Arc::new(place_over(&borrowed(&agent(&json!({}), "")), stores).await)
}

/// Two turns of one conversation; the first.
async fn two_turns(place: &Place) -> String {
    let first = turn_of(&ask(place, request("hello", CANARY)).await);
    ask(place, request("hello", "and now?")).await;
    first
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g167_no_turn_begins_while_a_turn_is_erased() {
    let (tell, told) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let place = watched(move |point| {
        if point == "erase.held" {
            tell.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    })
    .await;
    let id = turn_of(&ask(&place, request("hello", CANARY)).await);
    let erasing = {
        let place = place.clone();
        tokio::spawn(async move { place.runtime.erase_turn(&ann(), &id).await })
    };
    tokio::task::spawn_blocking(move || told.recv().unwrap())
        .await
        .unwrap();
    let refused = place.runtime.start(request("hello", "and now?")).await;
    assert_eq!(refused.err().unwrap().code, ErrorCode::ChatBusy);
    go_on.send(()).unwrap();
    erasing.await.unwrap().unwrap();
    let left = remembered(&place, "hello").await.join("\n");
    assert!(!left.contains(CANARY), "{left}");
    // The conversation is given back.
    let frames = ask(&place, request("hello", "and now?")).await;
    assert_eq!(end(&frames)["status"], "completed");
}

#[tokio::test]
async fn g167_an_erased_message_reaches_neither_models_nor_hooks() {
    let hooks = "export function Create(ctx, messages) { ctx.memory.user.Set('seen', messages); }";
    let rules = json!([
        {"match": {"last_user": "^one"}, "reply": "first"},
        {"reply": "{{request}}"},
    ]);
    let mut files = agent(&json!({"connector": "mirror"}), hooks);
    files.push(model("mirror", &rules));
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "one")).await;
    let stored = history(&place, "hello").await;
    let session = session(&place, "hello").await;
    session.history().erase(&[&stored[0].id]).await.unwrap();
    let frames = ask(&place, request("hello", "two")).await;
    let expected = ["assistant: first", "user: two"];
    assert_eq!(said(&left(&place, "seen").await), expected);
    let told = said(&mirrored(&frames)["messages"]);
    assert_eq!(told[1..], expected);
}

#[tokio::test]
async fn g167_a_turn_is_erased_from_copies_of_copies_whatever_was_removed_in_between() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    let first = two_turns(&place).await;
    let copy = turn_of(&ask(&place, behind(&first)).await);
    ask(&place, behind(&copy)).await;
    let next = turn_of(&ask(&place, behind(&copy)).await);
    let (copy, next) = (begun_by(&copy), begun_by(&next));
    for copied in [&copy, &next] {
        assert!(archive(&place, copied).await.contains(CANARY), "{copied}");
    }
    let ambit = place.runtime.contexts(&ann());
    chats::remove(&ambit, &ann(), chat(&copy)).await.unwrap();
    place.runtime.erase_turn(&ann(), &first).await.unwrap();
    for name in ["chat-1", next.as_str()] {
        let left = archive(&place, name).await;
        assert!(!left.contains(CANARY), "{left}");
        assert!(left.contains("and "), "{left}");
    }
}

#[tokio::test]
async fn g167_a_copy_that_whoever_erases_cannot_see_goes_too() {
    let script = "export const HistoryIdentity = base => ({ chat_name: base.chat_name });";
    let mut files = agent(&json!({}), "");
    let file = "assistants/hello/src/context.ts".to_owned();
    files.push((file, script.to_owned()));
    let place = place(&borrowed(&files)).await;
    let member = |user: &str| Authorized {
        user_id: Some(user.to_owned()),
        team_id: Some("red".to_owned()),
        ..ann()
    };
    let of = |authorized: Authorized, request: TurnRequest| TurnRequest {
        authorized,
        ..request
    };
    let asked = of(member("ann"), request("hello", CANARY));
    let first = turn_of(&ask(&place, asked).await);
    ask(&place, of(member("ann"), request("hello", "and now?"))).await;
    let (bob, ann_too) = (member("bob"), member("ann"));
    let forked = ask(&place, of(bob.clone(), behind(&first))).await;
    let copy = begun_by(&turn_of(&forked));
    assert!(archive_of(&place, &bob, &copy).await.contains(CANARY));
    place.runtime.erase_turn(&ann(), &first).await.unwrap();
    assert!(!archive_of(&place, &bob, &copy).await.contains(CANARY));
    let left = archive_of(&place, &ann_too, "chat-1").await;
    assert!(!left.contains(CANARY), "{left}");
}

#[tokio::test]
async fn g167_what_is_erased_of_a_copy_stays_where_it_was_said() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    let first = two_turns(&place).await;
    let copy = begun_by(&turn_of(&ask(&place, behind(&first)).await));
    let asked = history(&place, "hello").await.remove(0).id;
    let ambit = place.runtime.contexts(&ann());
    let erase = async |name: &str| {
        let row = chats::get(&ambit, &ann(), chat(name))
            .await
            .unwrap()
            .context;
        let message = EntrySelection::Message(&asked);
        chats::erase(&ambit, &ann(), &row, message).await.unwrap();
    };
    let question = format!("\"text\": String(\"{CANARY}\")");
    erase(&copy).await;
    assert!(!archive(&place, &copy).await.contains(&question));
    let kept = archive(&place, "chat-1").await;
    assert!(kept.contains(&question), "{kept}");
    // What is erased already is no obstacle.
    erase("chat-1").await;
    assert!(!archive(&place, "chat-1").await.contains(&question));
}

#[tokio::test]
async fn g167_what_a_dead_node_has_left_goes_when_the_turn_is_erased_again() {
    let is_dying = Arc::new(AtomicBool::new(true));
    let place = watched(move |point| {
        let dies = point == "erase.copies" && is_dying.swap(false, Ordering::SeqCst);
        assert!(!dies, "the node dies");
    })
    .await;
    let first = two_turns(&place).await;
    let copy = begun_by(&turn_of(&ask(&place, behind(&first)).await));
    let dead = {
        let (place, first) = (place.clone(), first.clone());
        tokio::spawn(async move { place.runtime.erase_turn(&ann(), &first).await })
    };
    assert!(dead.await.is_err());
    assert!(!archive(&place, &copy).await.contains(CANARY));
    assert!(archive(&place, "chat-1").await.contains(CANARY));
    // Until it has gone, no more copies are made of it.
    let refused = place.runtime.start(behind(&first)).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::ChatBusy, "{refused}");
    let clock = &place.runtime.stores().options().clock;
    clock.advance(2 * LEASE_LIFE);
    place.runtime.erase_turn(&ann(), &first).await.unwrap();
    assert!(!archive(&place, "chat-1").await.contains(CANARY));
    let again = place.runtime.erase_turn(&ann(), &first).await;
    assert_eq!(again.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g167_a_copy_that_is_in_the_making_while_its_turn_is_erased_is_refused() {
    let (tell, told) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let is_watching = Arc::new(AtomicBool::new(false));
    let watching = is_watching.clone();
    let place = watched(move |point| {
        if point == "turn.opened" && watching.load(Ordering::SeqCst) {
            tell.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    })
    .await;
    let first = two_turns(&place).await;
    is_watching.store(true, Ordering::SeqCst);
    let copying = {
        let (place, first) = (place.clone(), first.clone());
        tokio::spawn(async move { place.runtime.start(behind(&first)).await.err() })
    };
    tokio::task::spawn_blocking(move || told.recv().unwrap())
        .await
        .unwrap();
    place.runtime.erase_turn(&ann(), &first).await.unwrap();
    go_on.send(()).unwrap();
    let refused = copying.await.unwrap().unwrap();
    assert_eq!(refused.code, ErrorCode::Conflict, "{refused}");
    assert!(refused.message.contains("changed meanwhile"), "{refused}");
}
