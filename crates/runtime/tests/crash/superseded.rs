//! A node is killed while a request takes the place of what was said before.

use crate::app::{peer, request};
use crate::points::{LATER, later};
use crate::store::Fresh;
use crate::turns::{ask, asked, driver, end, history, open_turns, stream};
use crate::worker::{self, Job, Order};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{Runtime, Supersede, TurnRequest};
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::Message;
use std::time::Duration;

crate::cases![
    g159_killed_while_the_conversation_of_an_edit_is_held,
    g159_killed_when_an_edit_has_begun,
    g159_killed_in_the_middle_of_an_edit,
    g159_killed_before_the_end_of_an_edit,
    g159_killed_behind_an_edit,
    g159_killed_when_the_same_is_to_be_answered_again,
];

/// A conversation of two turns. The answer is the id of the second one.
async fn conversation(node: &Runtime) -> String {
    ask(node, request("chat", "recall")).await;
    let second = ask(node, request("chat", "recall more")).await;
    let id = end(&second)["request_id"].as_str().unwrap().to_owned();
    assert_eq!(
        asked(&history(node, "chat").await),
        ["recall", "recall more"]
    );
    id
}

/// A worker is killed in the turn of this request. The answer is what the conversation shows then.
async fn killed(fresh: &Fresh, node: &Runtime, asked: TurnRequest, point: &str) -> Vec<Message> {
    let order = Order::new(fresh, Job::Ask(Box::new(asked)));
    worker::killed(order.dying_at(point, 1)).await;
    history(node, "chat").await
}

/// An edit of the second question is killed at this point, and goes on elsewhere if it has begun.
async fn edited(fresh: Fresh, point: &str, has_begun: bool) {
    let node = peer(&fresh, Duration::ZERO).await.runtime;
    let second = conversation(&node).await;
    let old = history(&node, "chat").await;
    let edit = TurnRequest {
        supersede: Some(Supersede::From(format!("{second}.U1"))),
        ..request("chat", "once more")
    };
    let left = killed(&fresh, &node, edit.clone(), point).await;
    match has_begun {
        false => assert_eq!(left, old),
        true => assert_eq!(asked(&left), ["recall", "once more"]),
    }
    let node = later(&fresh).await;
    if has_begun {
        for open in open_turns(&driver(&node)).await {
            let entries = stream(&node, &open.request_id, 0).await;
            assert_eq!(end(&entries)["status"], "completed");
        }
    } else {
        let entries = ask(&node, edit).await;
        assert_eq!(end(&entries)["status"], "completed");
    }
    let stored = history(&node, "chat").await;
    assert_eq!(asked(&stored), ["recall", "once more"]);
    assert_eq!(stored.last().unwrap().text(), "The only answer.");
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
}

async fn g159_killed_while_the_conversation_of_an_edit_is_held(fresh: Fresh) {
    edited(fresh, "turn.held", false).await;
}

async fn g159_killed_when_an_edit_has_begun(fresh: Fresh) {
    edited(fresh, "turn.begun", true).await;
}

async fn g159_killed_in_the_middle_of_an_edit(fresh: Fresh) {
    edited(fresh, "turn.created", true).await;
}

async fn g159_killed_before_the_end_of_an_edit(fresh: Fresh) {
    edited(fresh, "turn.before_close", true).await;
}

async fn g159_killed_behind_an_edit(fresh: Fresh) {
    edited(fresh, "turn.closed", true).await;
}

/// What comes next ends the turn that was killed, and takes its place.
async fn g159_killed_when_the_same_is_to_be_answered_again(fresh: Fresh) {
    let node = peer(&fresh, Duration::ZERO).await.runtime;
    conversation(&node).await;
    let again = TurnRequest {
        supersede: Some(Supersede::LastAnswer),
        messages: Vec::new(),
        ..request("chat", "")
    };
    let left = killed(&fresh, &node, again.clone(), "turn.begun").await;
    assert_eq!(asked(&left), ["recall", "recall more"]);
    assert_eq!(left.last().unwrap().text(), "recall more");
    let node = peer(&fresh, LATER).await.runtime;
    let second = left.last().unwrap().turn_id.as_deref().unwrap();
    let again = TurnRequest {
        messages: vec![ChatMessage::user("once")],
        supersede: Some(Supersede::From(format!("{second}.U1"))),
        on_busy: OnBusy::Interrupt,
        ..again
    };
    let entries = ask(&node, again).await;
    assert_eq!(end(&entries)["status"], "completed");
    let stored = history(&node, "chat").await;
    assert_eq!(asked(&stored), ["recall", "once"]);
}
