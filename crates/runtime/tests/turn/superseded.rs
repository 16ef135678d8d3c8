//! Requests that take the place of what was said before: edits, and the same answered again.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, history, mirror, mirrored, model, place, remembered,
    request, said, session, until,
};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::chats::{self, ChatName, MessageFilter};
use ambit_runtime::inspect::contexts::{self, ContextItemFilter, ContextRowFilter};
use ambit_runtime::{ErrorCode, Frame, StartedTurn, Supersede, TurnRequest};
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::lease::OnBusy;
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::Message;
use futures::future::join_all;
use serde_json::{Value, json};

/// An agent that answers with what it was asked, and says how each turn came about.
async fn mirroring() -> Place {
    let hooks = "export function Next(ctx, payload, options) { return { data: options.trigger }; }";
    let mut files = agent(&json!({"connector": "short"}), hooks);
    files.push(model("short", &json!([{"reply": "to {{last_user}}"}])));
    place(&borrowed(&files)).await
}

fn supersede(supersede: Supersede, text: &str) -> TurnRequest {
    let messages = [text].into_iter().filter(|text| !text.is_empty());
    TurnRequest {
        messages: messages.map(ChatMessage::user).collect(),
        supersede: Some(supersede),
        ..request("hello", "")
    }
}

fn from(id: impl Into<String>, text: &str) -> TurnRequest {
    supersede(Supersede::From(id.into()), text)
}

/// Runs a request to its end; the answer is its id and how it came about.
async fn run(place: &Place, asked: TurnRequest) -> (String, Value) {
    let ended = end(&ask(place, asked).await);
    assert_eq!(ended["status"], "completed", "{ended}");
    (
        ended["request_id"].as_str().unwrap().to_owned(),
        ended["next"].clone(),
    )
}

/// Two turns: `one` and `two`.
async fn talk(place: &Place) -> (String, String) {
    let first = run(place, request("hello", "one")).await;
    let second = run(place, request("hello", "two")).await;
    assert_eq!(first.1, "submit");
    (first.0, second.0)
}

async fn archive(place: &Place) -> Vec<Message> {
    let session = session(place, "hello").await;
    session.history().archive(1, 200).await.unwrap()
}

async fn refused(place: &Place, asked: TurnRequest) -> ErrorCode {
    let before = (history(place, "hello").await, archive(place).await);
    let error = place.runtime.start(asked).await.err().unwrap();
    let after = (history(place, "hello").await, archive(place).await);
    assert_eq!(after, before, "{error}");
    error.code
}

#[tokio::test]
async fn g158_an_edit_hides_exactly_the_tail_that_it_names_and_lifting_it_gives_the_old_view_back()
{
    let place = mirroring().await;
    let (_, second) = talk(&place).await;
    let (old, kept) = (history(&place, "hello").await, archive(&place).await);
    let (third, trigger) = run(&place, from(format!("{second}.U1"), "three")).await;
    assert_eq!(trigger, "edit");
    let now = remembered(&place, "hello").await;
    let said = [
        "user: one",
        "assistant: to one",
        "user: three",
        "assistant: to three",
    ];
    assert_eq!(now, said);
    let all = archive(&place).await;
    assert_eq!(all[..kept.len()], kept);
    let session = session(&place, "hello").await;
    let overlay = session.history().overlay_id().await.unwrap().unwrap();
    session.history().restore(&overlay).await.unwrap();
    let view = history(&place, "hello").await;
    assert_eq!(view[..old.len()], old);
    assert!(
        view[old.len()..]
            .iter()
            .all(|it| it.turn_id.as_ref() == Some(&third))
    );
    assert_eq!(archive(&place).await, all);
}

#[tokio::test]
async fn every_id_of_an_answer_names_the_whole_of_it() {
    for name in ["{}", "{}.M1", "{}.M1.c1", "{}.M1.r2", "call_{}_M1"] {
        let place = mirroring().await;
        let (_, second) = talk(&place).await;
        let (_, trigger) = run(&place, from(name.replace("{}", &second), "")).await;
        assert_eq!(trigger, "regenerate");
        let now = remembered(&place, "hello").await;
        let said = [
            "user: one",
            "assistant: to one",
            "user: two",
            "assistant: to two",
        ];
        assert_eq!(now, said, "{name}");
        assert_eq!(archive(&place).await.len(), 5);
    }
}

#[tokio::test]
async fn the_last_answer_and_what_stands_behind_a_question_are_given_again() {
    let place = mirroring().await;
    let (first, _) = talk(&place).await;
    run(&place, supersede(Supersede::LastAnswer, "")).await;
    assert_eq!(remembered(&place, "hello").await.len(), 4);
    run(
        &place,
        supersede(Supersede::Behind(format!("{first}.U1")), ""),
    )
    .await;
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: one", "assistant: to one"]
    );
    // Where nobody has answered yet, nothing is hidden.
    let session = session(&place, "hello").await;
    let asked = Message::user("still there?");
    session.history().add_message(asked).await.unwrap();
    session.context().save().await.unwrap();
    let overlay = session.history().overlay_id().await.unwrap();
    let (_, trigger) = run(&place, supersede(Supersede::LastAnswer, "")).await;
    assert_eq!(trigger, "regenerate");
    assert_eq!(session.history().overlay_id().await.unwrap(), overlay);
    let now = remembered(&place, "hello").await;
    assert_eq!(
        now[2..],
        ["user: still there?", "assistant: to still there?"]
    );
}

#[tokio::test]
async fn an_id_that_a_client_gave_means_the_newest_message_that_carries_it() {
    let place = mirroring().await;
    let session = session(&place, "hello").await;
    for text in ["one", "two", "three"] {
        let mut message = Message::user(text);
        if text != "three" {
            message
                .extras
                .insert("client".to_owned(), json!({"id": "mine"}));
        }
        session.history().add_message(message).await.unwrap();
    }
    session.context().save().await.unwrap();
    run(&place, from("mine", "two again")).await;
    let left = remembered(&place, "hello").await;
    assert_eq!(left[..2], ["user: one", "user: two again"]);
    run(&place, from("mine", "one again")).await;
    assert_eq!(
        remembered(&place, "hello").await,
        ["user: one again", "assistant: to one again"]
    );
}

#[tokio::test]
async fn what_is_unknown_hidden_or_no_question_is_refused_and_changes_nothing() {
    let place = mirroring().await;
    let (_, second) = talk(&place).await;
    let id = format!("{second}.U1");
    run(&place, from(id.clone(), "three")).await;
    for unknown in [
        id.as_str(),
        &second,
        "nobody",
        "nobody.M1",
        "call_nobody_M1",
    ] {
        let code = refused(&place, from(unknown, "four")).await;
        assert_eq!(code, ErrorCode::NotFound, "{unknown}");
    }
    let (other, _) = run(
        &place,
        TurnRequest {
            chat: Some("chat-2".to_owned()),
            ..request("hello", "apart")
        },
    )
    .await;
    let foreign = refused(&place, from(format!("{other}.U1"), "four")).await;
    assert_eq!(foreign, ErrorCode::NotFound);
    let first = history(&place, "hello").await[0].turn_id.clone().unwrap();
    let code = refused(&place, from(format!("{first}.U1"), "")).await;
    assert_eq!(code, ErrorCode::InvalidArgument);
    let mut blind = from(first, "four");
    blind.skip.history = true;
    assert_eq!(refused(&place, blind).await, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn hidden_messages_are_in_no_view_and_no_list_unless_they_are_asked_for() {
    let mut files = agent(&json!({"connector": "mirror"}), "");
    files.push(mirror());
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "canary")).await;
    let first = history(&place, "hello").await[0].turn_id.clone().unwrap();
    let frames = ask(&place, from(format!("{first}.U1"), "instead")).await;
    let got = mirrored(&frames);
    assert_eq!(
        said(&got["messages"]),
        ["system: Be kind.", "user: instead"]
    );
    let second = end(&frames)["request_id"].clone();
    let ambit = place.runtime.contexts(&ann());
    let name = ChatName {
        chat_id: "chat-1",
        assistant_id: None,
        context: None,
    };
    let listed = async |superseded: bool| {
        let filter = MessageFilter {
            limit: 50,
            superseded,
            ..MessageFilter::default()
        };
        let found = chats::messages(&ambit, &ann(), name, &filter).await;
        let found = found.unwrap().items.into_iter();
        found.map(|it| json!(it.superseded_by)).collect::<Vec<_>>()
    };
    assert_eq!(listed(false).await, [Value::Null, Value::Null]);
    let by = [second.clone(), second.clone(), Value::Null, Value::Null];
    assert_eq!(listed(true).await, by);
    let rows = ContextRowFilter {
        scope: Some("chatHistory".to_owned()),
        ..ContextRowFilter::default()
    };
    let rows = rows.list(&ambit, &ann(), None, 10).await.unwrap();
    for (archive, expected) in [(false, by[2..].to_vec()), (true, by.to_vec())] {
        let filter = ContextItemFilter {
            limit: 50,
            archive,
            ..ContextItemFilter::default()
        };
        let items = contexts::items(&ambit, &ann(), &rows.items[0].id, filter).await;
        let items = items.unwrap().items.into_iter();
        let found: Vec<Value> = items.map(|item| json!(item.superseded_by)).collect();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_turn_that_fails_leaves_the_tail_hidden() {
    let mut files = agent(&json!({"connector": "fails"}), "");
    let rules = json!([
        {"match": {"last_user": "^bad"}, "error": {"status": 400, "message": "no"}},
        {"reply": "fine"},
    ]);
    files.push(model("fails", &rules));
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "good")).await;
    let first = history(&place, "hello").await[0].turn_id.clone().unwrap();
    let ended = end(&ask(&place, from(first, "bad")).await);
    assert_eq!(ended["status"], "error");
    let left = remembered(&place, "hello").await;
    assert_eq!(left[..2], ["user: good", "user: bad"]);
    assert!(!left.contains(&"assistant: fine".to_owned()));
}

#[tokio::test]
async fn g160_of_many_edits_of_one_message_one_wins_and_the_others_are_refused() {
    for round in 0..8 {
        let place = mirroring().await;
        let (_, second) = talk(&place).await;
        let before = archive(&place).await;
        let edits = (0..6).map(|number| {
            let mut edit = from(format!("{second}.U1"), &format!("edit {number}"));
            edit.on_busy = OnBusy::Queue;
            place.runtime.start(edit)
        });
        let mut won = Vec::new();
        for begun in join_all(edits).await {
            match begun {
                Ok(started) => won.push(end(&crate::place::frames(started).await)),
                Err(error) => assert!(
                    matches!(error.code, ErrorCode::Conflict | ErrorCode::NotFound),
                    "{round}: {error}"
                ),
            }
        }
        assert_eq!(won.len(), 1, "{round}");
        let now = archive(&place).await;
        assert_eq!(now[..before.len()], before);
        assert_eq!(now.len(), before.len() + 2);
        let view = history(&place, "hello").await;
        assert_eq!(view.len(), 4);
        assert_eq!(view[2].turn_id.as_deref(), won[0]["request_id"].as_str());
    }
}

/// A conversation in which the turn of the last question hangs.
async fn hanging() -> (Place, StartedTurn) {
    let rules = json!([
        {"match": {"last_user": "^wait"}, "delay": "60s", "reply": "never and never"},
        {"reply": "to {{last_user}}"},
    ]);
    let mut files = agent(&json!({"connector": "waits"}), "");
    files.push(model("waits", &rules));
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "one")).await;
    let mut running = place.runtime.start(request("hello", "wait")).await.unwrap();
    let is_called = |frame: &Frame| frame.event_name() == Some("step_start");
    until(&mut running, is_called).await;
    (place, running)
}

fn editing(running: &StartedTurn, on_busy: OnBusy) -> TurnRequest {
    TurnRequest {
        on_busy,
        ..from(format!("{}.U1", running.request_id), "two")
    }
}

#[tokio::test]
async fn an_edit_takes_the_place_of_the_turn_that_it_interrupts() {
    let (place, running) = hanging().await;
    run(&place, editing(&running, OnBusy::Interrupt)).await;
    let said = [
        "user: one",
        "assistant: to one",
        "user: two",
        "assistant: to two",
    ];
    assert_eq!(remembered(&place, "hello").await, said);
}

#[tokio::test]
async fn g160_an_edit_that_waits_hides_nothing_that_was_said_meanwhile() {
    let (place, running) = hanging().await;
    let session = session(&place, "hello").await;
    let (space, driver) = session.context().place();
    let scan = ValueScan::first(Pattern::parse("ticket/*"), 8, ValuePart::Nothing);
    let other = async {
        while driver
            .scan(&space.lease().space, &scan)
            .await
            .unwrap()
            .is_empty()
        {
            tokio::task::yield_now().await;
        }
        let word = Message::user("a later word");
        session.history().add_message(word).await.unwrap();
        session.context().save().await.unwrap();
        let id = running.request_id.as_str();
        place.runtime.cancel(&ann(), id).await.unwrap();
    };
    let waiting = place.runtime.start(editing(&running, OnBusy::Queue));
    let (refused, ()) = futures::join!(waiting, other);
    assert_eq!(refused.err().unwrap().code, ErrorCode::Conflict);
    let left = remembered(&place, "hello").await;
    assert!(left.contains(&"user: a later word".to_owned()), "{left:?}");
}

#[tokio::test]
async fn g161_a_stale_copy_of_the_history_changes_nothing_that_is_stored() {
    let place = mirroring().await;
    let (first, _) = talk(&place).await;
    run(&place, from(format!("{first}.U1"), "instead")).await;
    let before = archive(&place).await;
    let view = history(&place, "hello").await;
    // As the client had it before the edit, and with other words in it.
    let stale = json!([
        {"role": "user", "content": "one"}, {"role": "assistant", "content": "forged"},
        {"role": "user", "content": "two"}, {"role": "assistant", "content": "to two"},
        {"role": "user", "content": "next"},
    ]);
    let asked = TurnRequest {
        messages: serde_json::from_value(stale).unwrap(),
        ..request("hello", "")
    };
    run(&place, asked).await;
    assert_eq!(archive(&place).await[..before.len()], before);
    assert_eq!(history(&place, "hello").await[..view.len()], view);
}
