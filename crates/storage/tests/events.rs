//! The event bus: two phases, vetoes, errors and deadlines.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use ambit_storage::event::{
    AgentInitialized, EventBus, EventMetadata, IdentityAdded, IdentityAdding, ListenerOptions,
    ListenerSwitch, OnError, Verdict,
};
use ambit_storage::{Error, Result, SessionIdentity};
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn identity() -> SessionIdentity {
    let builder = SessionIdentity::builder("SupportAgent").user_id("ann");
    builder.scope("chatHistory").build().unwrap()
}

fn about() -> EventMetadata {
    EventMetadata::new("default", identity(), 0)
}

fn adding() -> IdentityAdding {
    IdentityAdding {
        about: about(),
        storage: "chatHistory".to_owned(),
        identity: identity(),
        labels: BTreeMap::new(),
    }
}

fn added() -> IdentityAdded {
    IdentityAdded {
        about: about(),
        identity: identity(),
        id: "row-1".to_owned(),
    }
}

fn denied() -> Error {
    Error::Denied {
        reason: "the moon is full".to_owned(),
    }
}

fn named(name: &str) -> ListenerOptions {
    ListenerOptions {
        name: name.to_owned(),
        ..ListenerOptions::default()
    }
}

fn ignored(name: &str) -> ListenerOptions {
    ListenerOptions {
        on_error: OnError::Ignore,
        ..named(name)
    }
}

/// A listener that adds its name to the labels.
fn label(bus: &EventBus, name: &'static str) {
    bus.before_with(named(name), move |event: &mut IdentityAdding| {
        Box::pin(async move {
            let place = event.labels.len().to_string();
            event.labels.insert(name.to_owned(), place);
            Ok(Verdict::Continue)
        })
    });
}

fn labels(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, place): &(&str, &str)| ((*name).to_owned(), (*place).to_owned());
    expected.iter().map(owned).collect()
}

/// What listeners told, in order.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, word: &str) {
        self.0.lock().unwrap().push(word.to_owned());
    }

    fn words(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn without_listeners_an_event_comes_back_as_it_was() {
    let bus = EventBus::default();
    let event = bus.ask(adding()).await.unwrap();
    assert_eq!(event.identity, identity());
    bus.notify(added()).await;
    assert!(!bus.has_listeners::<IdentityAdding>());
}

#[tokio::test]
async fn listeners_are_asked_in_order_and_their_changes_are_kept() {
    let bus = EventBus::default();
    label(&bus, "b");
    label(&bus.clone(), "a");
    let event = bus.ask(adding()).await.unwrap();
    assert_eq!(event.labels, labels(&[("a", "1"), ("b", "0")]));
    assert!(bus.has_listeners::<IdentityAdding>() && !bus.has_listeners::<IdentityAdded>());
}

#[tokio::test]
async fn g124_a_veto_ends_the_round_with_its_reason() {
    let (bus, heard) = (EventBus::default(), Heard::default());
    let listener = heard.clone();
    bus.before_with(named("bans"), |_: &mut IdentityAdding| {
        Box::pin(async { Ok(Verdict::veto("banned")) })
    });
    bus.before(move |_: &mut IdentityAdding| {
        listener.note("asked");
        Box::pin(async { Ok(Verdict::Continue) })
    });
    let vetoed = bus.ask(adding()).await.unwrap_err();
    let Error::Vetoed {
        event,
        listener,
        reason,
    } = &vetoed
    else {
        panic!("{vetoed}");
    };
    assert_eq!(
        (*event, listener.as_str(), reason.as_str()),
        ("IdentityAdding", "bans", "banned")
    );
    assert_eq!(
        vetoed.to_string(),
        "IdentityAdding was vetoed by bans: banned"
    );
    assert_eq!(heard.words(), [""; 0]);
}

#[tokio::test]
async fn g124_an_error_in_a_before_listener_fails_the_operation() {
    let bus = EventBus::default();
    bus.before(|_: &mut IdentityAdding| Box::pin(async { Err(denied()) }));
    label(&bus, "later");
    let error = bus.ask(adding()).await.unwrap_err();
    assert_eq!(error.to_string(), "denied: the moon is full");
    assert_eq!(bus.failures(), 0);
}

#[tokio::test]
async fn g124_an_ignored_error_undoes_what_its_listener_changed() {
    let bus = EventBus::default();
    label(&bus, "first");
    bus.before_with(ignored("broken"), |event: &mut IdentityAdding| {
        Box::pin(async {
            event.labels.clear();
            Err(denied())
        })
    });
    label(&bus, "last");
    let event = bus.ask(adding()).await.unwrap();
    assert_eq!(event.labels, labels(&[("first", "0"), ("last", "1")]));
    assert_eq!(bus.failures(), 1);
}

#[tokio::test]
async fn g124_a_veto_of_a_listener_whose_errors_are_ignored_still_counts() {
    let bus = EventBus::default();
    bus.before_with(ignored("bans"), |_: &mut IdentityAdding| {
        Box::pin(async { Ok(Verdict::veto("banned")) })
    });
    let vetoed = bus.ask(adding()).await.unwrap_err();
    assert!(matches!(vetoed, Error::Vetoed { .. }));
}

#[tokio::test]
async fn g124_an_error_in_an_after_listener_is_counted_and_the_others_are_told() {
    let (bus, heard) = (EventBus::default(), Heard::default());
    for (name, fails) in [("one", false), ("two", true), ("three", false)] {
        let listener = heard.clone();
        bus.after(move |event: Arc<IdentityAdded>| {
            listener.note(&format!("{name} {}", event.id));
            let answer = if fails { Err(denied()) } else { Ok(()) };
            Box::pin(std::future::ready(answer))
        });
    }
    bus.notify(added()).await;
    assert_eq!(heard.words(), ["one row-1", "two row-1", "three row-1"]);
    assert_eq!(bus.failures(), 1);
}

#[tokio::test]
async fn g124_a_listener_that_never_answers_is_an_error_at_its_deadline() {
    let bus = EventBus::default();
    let slow = |on_error| ListenerOptions {
        name: "slow".to_owned(),
        on_error,
        deadline: Duration::from_millis(1),
        ..ListenerOptions::default()
    };
    bus.after_with(slow(OnError::Fail), |_: Arc<IdentityAdded>| {
        Box::pin(std::future::pending())
    });
    bus.notify(added()).await;
    assert_eq!(bus.failures(), 1);
    bus.before_with(slow(OnError::Ignore), |event: &mut IdentityAdding| {
        event.labels.insert("half".to_owned(), "done".to_owned());
        Box::pin(std::future::pending())
    });
    assert_eq!(bus.ask(adding()).await.unwrap().labels, labels(&[]));
    bus.before_with(slow(OnError::Fail), |_: &mut IdentityAdding| {
        Box::pin(std::future::pending())
    });
    let late = bus.ask(adding()).await.unwrap_err().to_string();
    let text = "listener \"slow\" of IdentityAdding (no answer within 1ms) is unavailable";
    assert_eq!(late, text);
}

#[tokio::test]
async fn a_listener_that_is_switched_off_is_as_if_it_were_not_there() {
    let (bus, heard, switch) = (
        EventBus::default(),
        Heard::default(),
        ListenerSwitch::default(),
    );
    let listener = heard.clone();
    let options = ListenerOptions {
        switch: Some(switch.clone()),
        ..ListenerOptions::default()
    };
    bus.after_with(options, move |event: Arc<IdentityAdded>| {
        listener.note(&event.id);
        Box::pin(async { Ok(()) })
    });
    for (is_on, expected) in [(false, 0), (true, 1), (false, 1)] {
        switch.set(is_on);
        assert_eq!(bus.has_listeners::<IdentityAdded>(), is_on);
        bus.notify(added()).await;
        assert_eq!(heard.words().len(), expected);
    }
}

#[tokio::test]
async fn g124_a_panic_of_a_listener_is_an_error_like_any_other() {
    let (bus, heard) = (EventBus::default(), Heard::default());
    let listener = heard.clone();
    bus.after(
        |_: Arc<AgentInitialized>| -> BoxFuture<'static, Result<()>> {
            panic!("a defect of the listener")
        },
    );
    bus.after(move |_: Arc<AgentInitialized>| {
        listener.note("told");
        Box::pin(async { Ok(()) })
    });
    bus.notify(AgentInitialized { about: about() }).await;
    assert_eq!(
        (bus.failures(), heard.words()),
        (1, vec!["told".to_owned()])
    );
    bus.before(|_: &mut IdentityAdding| panic!("a defect of the listener"));
    let error = bus.ask(adding()).await.unwrap_err().to_string();
    let text = "internal error: listener \"listener 1\" of IdentityAdding panicked";
    assert_eq!(error, text);
}

#[tokio::test]
async fn a_listener_may_add_listeners_for_the_next_time() {
    let (bus, heard) = (EventBus::default(), Heard::default());
    let (inner, listener) = (bus.clone(), heard.clone());
    bus.after(move |_: Arc<IdentityAdded>| {
        let listener = listener.clone();
        inner.after(move |_: Arc<IdentityAdded>| {
            listener.note("told");
            Box::pin(async { Ok(()) })
        });
        Box::pin(async { Ok(()) })
    });
    bus.notify(added()).await;
    assert_eq!(heard.words(), [""; 0]);
    bus.notify(added()).await;
    assert_eq!(heard.words(), ["told"]);
}

#[test]
fn each_event_has_an_id_of_its_own() {
    let first = about();
    let second = first.next(7);
    assert_ne!(first.event_id, second.event_id);
    assert_eq!((second.at, &second.tenant), (7, &first.tenant));
}
