//! Turns that are broken off while tools run: what has ended by then counts, and what has not begun does not begin.

use crate::finished::states;
use crate::place::{
    Place, agent, ann, borrowed, end, frames, history, model, node_with, request, shown,
};
use crate::toolbox::{Tools, outcome, patient};
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::{StartedTurn, TurnInterrupt};
use ambit_storage::driver::{self, Driver, DriverOptions};
use ambit_storage::event::EventBus;
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// Three calls: the result of `first` is being settled, `second` has ended meanwhile, and `third` hangs.
struct Held {
    tools: Tools,
    /// Calls of `second` and `third` that have begun.
    begun: Arc<Semaphore>,
    /// Lets `second` end.
    go: Arc<Notify>,
    /// The result of `first` is being settled, and stays so.
    settling: Arc<Notify>,
    /// Which calls listeners have heard of.
    heard: Arc<Mutex<Vec<String>>>,
}

impl Held {
    fn new() -> Self {
        let (begun, go) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let (all, may_go) = (begun.clone(), go.clone());
        let tools = Tools::new(&["first", "second", "third"], move |name, arguments| {
            let (begun, go) = (all.clone(), may_go.clone());
            async move {
                match name.as_str() {
                    "first" => begun.acquire_many(2).await.unwrap().forget(),
                    "second" => {
                        begun.add_permits(1);
                        go.notified().await;
                    }
                    _ => {
                        begun.add_permits(1);
                        std::future::pending::<()>().await;
                    }
                }
                Ok(outcome(arguments))
            }
            .boxed()
        });
        Self {
            tools,
            begun,
            go,
            settling: Arc::default(),
            heard: Arc::default(),
        }
    }

    /// A listener that holds the first result for good.
    fn holding(&self) -> impl Fn(&EventBus) + Send + Sync + 'static {
        let (settling, heard) = (self.settling.clone(), self.heard.clone());
        patient(move |event| {
            heard.lock().unwrap().push(event.call_id.clone());
            if event.call_id != "c1" {
                return async { Ok(()) }.boxed();
            }
            settling.notify_one();
            std::future::pending().boxed()
        })
    }

    /// A node over this store.
    async fn node(&self, store: &Arc<dyn Driver>, is_held: bool) -> Place {
        let call = |id: &str, name: &str| json!({"id": id, "name": format!("s__{name}"), "arguments": {"n": id}});
        let calls = [
            call("c1", "first"),
            call("c2", "second"),
            call("c3", "third"),
        ];
        let rules = json!([
            {"match": {"has_tool_result": false, "times": 1}, "tool_calls": calls},
            {"reply": "told: {{request}}"},
        ]);
        let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
        let mut list = agent(&package, "");
        list.push(model("calling", &rules));
        // Shorter than a tool may take.
        let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"limits": {"turn": "50s"}}});
        list.push(("app.yao".to_owned(), app.to_string()));
        node_with(&borrowed(&list), store, |settings| {
            settings.tools = Some(Arc::new(self.tools.clone()));
            if is_held {
                self.holding()(&settings.listeners);
            }
        })
        .await
    }

    /// A turn at the point where all is as said.
    async fn turn(&self, place: &Place) -> StartedTurn {
        let started = place.runtime.start(request("hello", "hi")).await.unwrap();
        self.settling.notified().await;
        self.go.notify_one();
        started
    }
}

async fn store() -> Arc<dyn Driver> {
    driver::open("memory://", DriverOptions::default())
        .await
        .unwrap()
}

/// The results in the history: `(call, text, failed)`.
async fn results(place: &Place) -> Vec<(String, String, bool)> {
    let stored = history(place, "hello").await;
    let results = stored.into_iter().filter_map(|message| message.tool_result);
    let mut results: Vec<_> = results
        .map(|result| {
            let text = result.content.as_str().unwrap().to_owned();
            (result.call_id, text, result.is_error)
        })
        .collect();
    results.sort();
    results
}

/// What the three calls came to.
fn expected(third: &str) -> Vec<(String, String, bool)> {
    let good = |id: &str| (id.to_owned(), json!({"n": id}).to_string(), false);
    vec![
        good("c1"),
        good("c2"),
        ("c3".to_owned(), third.to_owned(), true),
    ]
}

#[tokio::test]
async fn g017_results_that_were_there_when_a_turn_was_stopped_are_kept() {
    let held = Held::new();
    let place = held.node(&store().await, true).await;
    let started = held.turn(&place).await;
    let id = started.request_id.clone();
    place.runtime.cancel(&ann(), &id).await.unwrap();
    let all = frames(started).await;
    assert_eq!(end(&all)["status"], "cancelled");
    assert_eq!(results(&place).await, expected("cancelled"));
    // Nobody hears of one twice, and the client sees the same as the history has.
    assert_eq!(*held.heard.lock().unwrap(), ["c1", "c2"]);
    let statuses = states(&all);
    assert_eq!(statuses, ["completed", "completed", "error"]);
}

#[tokio::test]
async fn g017_results_that_were_there_at_a_forced_interrupt_are_what_the_model_is_told() {
    let held = Held::new();
    let place = held.node(&store().await, true).await;
    let started = held.turn(&place).await;
    let force = TurnInterrupt {
        messages: vec![ChatMessage::user("and be quick")],
        is_forced: true,
        ..TurnInterrupt::default()
    };
    let id = started.request_id.clone();
    place.runtime.interrupt(&ann(), &id, force).await.unwrap();
    let all = frames(started).await;
    assert_eq!(end(&all)["status"], "completed");
    assert_eq!(results(&place).await, expected("cancelled"));
    assert_eq!(held.tools.names(), ["first", "second", "third"]);
    let said = shown(&all).last().unwrap().1.as_str().unwrap().to_owned();
    let request: Value = serde_json::from_str(said.strip_prefix("told: ").unwrap()).unwrap();
    let told: Vec<&Value> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| &message["content"])
        .collect();
    assert_eq!(told, ["{\"n\":\"c1\"}", "{\"n\":\"c2\"}", "cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn g017_results_that_were_there_at_the_deadline_are_kept() {
    let held = Held::new();
    let place = held.node(&store().await, true).await;
    let ended = end(&frames(held.turn(&place).await).await);
    assert_eq!(
        (&ended["status"], &ended["code"]),
        (&json!("error"), &json!("timeout"))
    );
    let third = "no result: the turn ended before the call did";
    assert_eq!(results(&place).await, expected(third));
}

#[tokio::test]
async fn g016_a_node_that_is_closed_leaves_no_result_for_another_to_do_again() {
    let (held, store) = (Held::new(), store().await);
    let place = held.node(&store, true).await;
    let started = held.turn(&place).await;
    place.runtime.close(Duration::ZERO).await.unwrap();
    assert_eq!(held.tools.names(), ["first", "second", "third"]);
    let tools = Tools::new(&["first", "second", "third"], |_, arguments| {
        async { Ok(outcome(arguments)) }.boxed()
    });
    let other = Held {
        tools,
        ..Held::new()
    };
    let next = other.node(&store, false).await;
    let id = started.request_id.as_str();
    let mut stream = next.runtime.stream(&ann(), id, 0).await.unwrap();
    while stream.next().await.unwrap().is_some() {}
    assert_eq!(other.tools.names(), ["third"]);
    let good = |id: &str| (id.to_owned(), json!({"n": id}).to_string(), false);
    assert_eq!(results(&next).await, ["c1", "c2", "c3"].map(good));
}

#[tokio::test]
async fn calls_that_have_not_begun_do_not_begin_when_the_turn_is_stopped() {
    let held = Held::new();
    // The first is done at once, before the others had their turn.
    held.begun.add_permits(2);
    let place = held.node(&store().await, true).await;
    let started = place.runtime.start(request("hello", "hi")).await.unwrap();
    held.settling.notified().await;
    let id = started.request_id.clone();
    place.runtime.cancel(&ann(), &id).await.unwrap();
    assert_eq!(end(&frames(started).await)["status"], "cancelled");
    assert_eq!(held.tools.names(), ["first"]);
    let (first, second) = (("c1", "{\"n\":\"c1\"}", false), ("c2", "cancelled", true));
    let expected = [first, second, ("c3", "cancelled", true)];
    let expected = expected.map(|(id, text, failed)| (id.to_owned(), text.to_owned(), failed));
    assert_eq!(results(&place).await, expected);
}
