//! The events of a turn: their order, vetoes, failing listeners, and listeners that are scripts.

use crate::place::{Place, agent, ask, borrowed, end, model, place_with, remembered, request};
use crate::toolbox::Tools;
use ambit_runtime::event::{
    AfterResponse, AfterSend, AfterToolExecution, BeforeReinjectingInstructions, BeforeResponse,
    BeforeSaveHistory, BeforeSend, BeforeStructuredOutput, BeforeToolExecution, ConversationEnded,
    ConversationStarted,
};
use ambit_storage::Error;
use ambit_storage::event::{
    After, Before, ChatHistoryLoaded, ChatHistorySaving, ContextSaving, EngineError, EventBus,
    MessageAdded, MessageAdding, UsageRecorded, Verdict,
};
use futures::FutureExt;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// What listeners have heard, in order.
type Heard = Arc<Mutex<Vec<String>>>;

/// Registers listeners.
type Listen = fn(&EventBus);

fn note_before<E: Before>(bus: &EventBus, heard: &Heard) {
    let heard = heard.clone();
    bus.before(move |_: &mut E| {
        heard.lock().unwrap().push(E::NAME.to_owned());
        async { Ok(Verdict::Continue) }.boxed()
    });
}

fn note_after<E: After>(bus: &EventBus, heard: &Heard) {
    let heard = heard.clone();
    bus.after(move |_: Arc<E>| {
        heard.lock().unwrap().push(E::NAME.to_owned());
        async { Ok(()) }.boxed()
    });
}

fn note_all(bus: &EventBus, heard: &Heard) {
    note_after::<ConversationStarted>(bus, heard);
    note_after::<ChatHistoryLoaded>(bus, heard);
    note_before::<BeforeReinjectingInstructions>(bus, heard);
    note_before::<BeforeSend>(bus, heard);
    note_before::<MessageAdding>(bus, heard);
    note_after::<MessageAdded>(bus, heard);
    note_before::<BeforeResponse>(bus, heard);
    note_after::<AfterResponse>(bus, heard);
    note_after::<EngineError>(bus, heard);
    note_after::<UsageRecorded>(bus, heard);
    note_after::<AfterSend>(bus, heard);
    note_before::<BeforeToolExecution>(bus, heard);
    note_after::<AfterToolExecution>(bus, heard);
    note_before::<BeforeStructuredOutput>(bus, heard);
    note_before::<BeforeSaveHistory>(bus, heard);
    let ended = heard.clone();
    bus.after(move |event: Arc<ConversationEnded>| {
        ended
            .lock()
            .unwrap()
            .push(format!("ConversationEnded {}", event.status));
        async { Ok(()) }.boxed()
    });
}

/// An agent with a tool, a form for its answer and these listeners.
pub async fn listened(listen: impl Fn(&EventBus) + Send + Sync + 'static) -> Place {
    let package = json!({
        "connector": "calling", "mcp": {"servers": ["s"]}, "options": {"response_format": {"type": "json_object"}},
    });
    let rules = json!([
        {"match": {"last_user": "plain"}, "reply": "plain"},
        {"match": {"last_user": "bad"}, "error": {"status": 400, "message": "no"}},
        {"match": {"has_tool_result": false}, "tool_calls": [{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]},
        {"json": {"answer": 1}},
    ]);
    let mut files = agent(&package, "");
    files.push(model("calling", &rules));
    place_with(&borrowed(&files), |settings| {
        settings.tools = Some(Arc::new(Tools::usual()));
        listen(&settings.listeners);
    })
    .await
}

const FIRST: [&str; 5] = [
    "ConversationStarted",
    "ChatHistoryLoaded",
    "BeforeSend",
    "MessageAdding",
    "MessageAdded",
];
const CALL: [&str; 6] = [
    "BeforeResponse",
    "AfterResponse",
    "UsageRecorded",
    "MessageAdding",
    "MessageAdded",
    "AfterSend",
];
const TOOL: [&str; 4] = [
    "BeforeToolExecution",
    "AfterToolExecution",
    "MessageAdding",
    "MessageAdded",
];

#[tokio::test]
async fn g123_the_events_of_a_turn_come_in_order_read_or_not() {
    let heard = Heard::default();
    let own = heard.clone();
    let place = listened(move |bus| note_all(bus, &own)).await;
    let last = ["BeforeStructuredOutput"];
    let end_of_turn = ["BeforeSaveHistory", "ConversationEnded completed"];
    let whole: Vec<&str> = [
        &FIRST[..],
        &CALL,
        &TOOL,
        &CALL[..3],
        &last,
        &CALL[3..],
        &end_of_turn,
    ]
    .concat();
    let mut again = whole.clone();
    again.insert(2, "BeforeReinjectingInstructions");
    ask(&place, request("hello", "hi")).await;
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), whole);
    let started = place.runtime.start(request("hello", "hi")).await.unwrap();
    let id = started.request_id.clone();
    drop(started);
    let mut reader = place
        .runtime
        .stream(&crate::place::ann(), &id, 0)
        .await
        .unwrap();
    while reader.next().await.unwrap().is_some() {}
    place
        .runtime
        .close(std::time::Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), again);
}

#[tokio::test]
async fn g123_a_failing_turn_ends_its_events_too() {
    let heard = Heard::default();
    let own = heard.clone();
    let place = listened(move |bus| note_all(bus, &own)).await;
    ask(&place, request("hello", "bad")).await;
    place
        .runtime
        .close(std::time::Duration::from_secs(5))
        .await
        .unwrap();
    let rest = [
        "BeforeResponse",
        "EngineError",
        "BeforeSaveHistory",
        "ConversationEnded failed",
    ];
    assert_eq!(*heard.lock().unwrap(), [&FIRST[..], &rest].concat());
}

fn veto<E: Before>(bus: &EventBus) {
    bus.before(|_: &mut E| async { Ok(Verdict::veto("house rules")) }.boxed());
}

fn fail<E: Before>(bus: &EventBus) {
    bus.before(|_: &mut E| async { Err(broken("listener broke")) }.boxed());
}

fn broken(what: &str) -> Error {
    Error::Internal {
        what: what.to_owned(),
    }
}

fn veto_answers(bus: &EventBus) {
    bus.before(|event: &mut MessageAdding| {
        let is_answer = event.message.as_str().contains("{\\\"answer");
        async move {
            Ok(match is_answer {
                true => Verdict::veto("house rules"),
                false => Verdict::Continue,
            })
        }
        .boxed()
    });
}

#[tokio::test]
async fn g124_a_veto_before_the_turn_is_durable_stores_nothing() {
    let cases: [(&str, Listen); 4] = [
        ("BeforeSend", veto::<BeforeSend>),
        ("MessageAdding", veto::<MessageAdding>),
        ("ContextSaving", veto::<ContextSaving>),
        ("ChatHistorySaving", veto::<ChatHistorySaving>),
    ];
    for (name, listen) in cases {
        let heard = Heard::default();
        let own = heard.clone();
        let place = listened(move |bus| {
            listen(bus);
            note_all(bus, &own);
        })
        .await;
        let Err(error) = place.runtime.start(request("hello", "hi")).await else {
            panic!("{name} let it pass");
        };
        assert_eq!(error.code.as_str(), "vetoed", "{name}");
        assert!(error.message.ends_with("house rules"), "{error}");
        assert_eq!(remembered(&place, "hello").await, [""; 0], "{name}");
        let heard = heard.lock().unwrap().clone();
        assert!(!heard.contains(&"MessageAdded".to_owned()), "{heard:?}");
        assert_eq!(heard.last().unwrap(), "ConversationEnded vetoed");
        // The conversation is free again.
        let again = place
            .runtime
            .start(request("hello", "hi"))
            .await
            .err()
            .unwrap();
        assert_eq!(again.code.as_str(), "vetoed");
    }
}

#[tokio::test]
async fn g038_g124_a_veto_within_the_turn_ends_it_and_finished_pairs_stay() {
    let pair = ["user: hi", "assistant: ", "tool: {\"a\":1}"];
    let cases: [(&str, Listen, usize); 4] = [
        ("BeforeResponse", veto::<BeforeResponse>, 1),
        ("MessageAdding", veto_answers, 3),
        ("BeforeSaveHistory", veto::<BeforeSaveHistory>, 3),
        ("BeforeStructuredOutput", veto::<BeforeStructuredOutput>, 3),
    ];
    for (name, listen, kept) in cases {
        let heard = Heard::default();
        let own = heard.clone();
        let place = listened(move |bus| {
            listen(bus);
            note_all(bus, &own);
        })
        .await;
        let ended = end(&ask(&place, request("hello", "hi")).await);
        assert_eq!(
            (&ended["status"], &ended["code"]),
            (&json!("error"), &json!("vetoed")),
            "{name}"
        );
        place
            .runtime
            .close(std::time::Duration::from_secs(5))
            .await
            .unwrap();
        assert_eq!(
            heard.lock().unwrap().last().unwrap(),
            "ConversationEnded vetoed",
            "{name}"
        );
        let stored = remembered(&place, "hello").await;
        assert_eq!(stored[..kept], pair[..kept], "{name}");
        let note = stored.last().unwrap();
        assert!(
            note.starts_with("assistant: [no answer:") && note.ends_with("house rules]"),
            "{name} {note}"
        );
        let is_answered = stored.iter().any(|text| text.contains("{\"answer\""));
        assert_eq!(
            is_answered,
            name == "BeforeStructuredOutput",
            "{name} {stored:?}"
        );
    }
}

#[tokio::test]
async fn g124_a_veto_of_the_last_save_ends_the_turn_as_vetoed() {
    let place = listened(|bus| {
        bus.before(|event: &mut ChatHistorySaving| {
            let is_answer = event
                .messages
                .iter()
                .any(|message| message.as_str().contains("{\\\"answer"));
            async move {
                Ok(match is_answer {
                    true => Verdict::veto("house rules"),
                    false => Verdict::Continue,
                })
            }
            .boxed()
        });
    })
    .await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("vetoed"))
    );
    let stored = remembered(&place, "hello").await;
    assert_eq!(stored[..3], ["user: hi", "assistant: ", "tool: {\"a\":1}"]);
    assert!(
        stored[3].starts_with("assistant: [no answer:"),
        "{stored:?}"
    );
    assert_eq!(
        end(&ask(&place, request("hello", "plain")).await)["status"],
        "completed"
    );
}

#[tokio::test]
async fn g124_an_error_in_a_before_listener_fails_the_operation_and_after_listeners_stop_nobody() {
    let place = listened(fail::<BeforeSend>).await;
    let error = place
        .runtime
        .start(request("hello", "hi"))
        .await
        .err()
        .unwrap();
    assert!(error.message.contains("listener broke"), "{error}");
    assert_eq!(remembered(&place, "hello").await, [""; 0]);
    let place = listened(fail::<BeforeToolExecution>).await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("internal"))
    );
    let heard = Heard::default();
    let own = heard.clone();
    let place = listened(move |bus| {
        bus.after(|_: Arc<AfterResponse>| async { Err(broken("after broke")) }.boxed());
        note_after::<AfterResponse>(bus, &own);
    })
    .await;
    let ended = end(&ask(&place, request("hello", "hi")).await);
    assert_eq!(
        (&ended["status"], heard.lock().unwrap().len()),
        (&json!("completed"), 2)
    );
}
