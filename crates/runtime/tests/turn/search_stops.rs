//! Steps of a search before the model's call that are left out, and searches whose turn is stopped.

use crate::automatic_search::{announced, app, ids};
use crate::place::{
    ann, ask, borrowed, end, frames, model, place_of_tools, place_with, request, session, traced,
    tree,
};
use crate::search_steps::{STEPS, by_tools, good};
use crate::stopwatch::Stopwatch;
use crate::toolbox::{Tools, outcome};
use ambit_runtime::TurnInterrupt;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::event::BeforeResponse;
use ambit_storage::event::Verdict;
use futures::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tools of which one never answers when it is asked first.
fn hanging(hung: &'static str) -> Tools {
    let is_first = Arc::new(AtomicBool::new(true));
    Tools::new(&STEPS, move |step, _| {
        let hangs = step == hung && is_first.swap(false, Ordering::SeqCst);
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(outcome(good(&step)))
        })
    })
}

/// Waits until a step is asked for.
async fn until_asked(tools: &Tools, step: &str) {
    while !tools.names().iter().any(|name| name == step) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_ends_whatever_step_its_search_is_at() {
    for step in STEPS {
        let tools = hanging(step);
        let place = place_of_tools(&borrowed(&by_tools("15s")), tools.clone()).await;
        let asked = request("hello", "What is Rust?");
        let started = place.runtime.start(asked).await.unwrap();
        until_asked(&tools, step).await;
        let begun = Stopwatch::start(&[]);
        let id = started.request_id.clone();
        place.runtime.cancel(&ann(), &id).await.unwrap();
        let frames = frames(started).await;
        // A step alone may take five seconds.
        assert!(begun.elapsed().as_secs() < 4, "{step}");
        assert_eq!(end(&frames)["status"], "cancelled", "{step}");
        assert_eq!(announced(&frames), Vec::<Value>::new(), "{step}");
        let tree = tree(&place, &frames).await;
        let node = tree.nodes.iter().find(|node| node.kind == "search");
        let status = json!(node.unwrap().status);
        assert_eq!(status, "cancelled", "{step}");
    }
}

#[tokio::test]
async fn a_forced_interrupt_ends_a_search_and_what_came_in_is_searched_for() {
    let tools = hanging("web_search");
    let place = place_of_tools(&borrowed(&by_tools("15s")), tools.clone()).await;
    let asked = request("hello", "What is the first?");
    let started = place.runtime.start(asked).await.unwrap();
    until_asked(&tools, "web_search").await;
    let begun = Stopwatch::start(&[]);
    let interrupt = TurnInterrupt {
        messages: vec![ChatMessage::user("What is the second?")],
        is_forced: true,
        ..TurnInterrupt::default()
    };
    let id = started.request_id.clone();
    place
        .runtime
        .interrupt(&ann(), &id, interrupt)
        .await
        .unwrap();
    let frames = frames(started).await;
    assert!(begun.elapsed().as_secs() < 4);
    assert_eq!(end(&frames)["status"], "completed");
    let questions: Vec<Value> = tools
        .called
        .lock()
        .unwrap()
        .iter()
        .filter(|(name, _)| name == "search")
        .map(|(_, arguments)| arguments["query"].clone())
        .collect();
    assert_eq!(
        questions,
        [json!("What is the first?"), json!("What is the second?")]
    );
}

#[tokio::test]
async fn keywords_that_are_skipped_leave_the_query_as_it_is() {
    let tools = hanging("nothing");
    let place = place_of_tools(&borrowed(&by_tools("15s")), tools.clone()).await;
    let mut asked = request("hello", "What is Rust?");
    asked.skip.keyword = true;
    let frames = ask(&place, asked).await;
    assert_eq!(ids(&announced(&frames), "title"), ["b", "a"]);
    assert_eq!(tools.names(), ["search", "web_search", "rerank"]);
    let called = tools.called.lock().unwrap();
    assert_eq!(called[1].1["query"], "What is Rust?");
}

#[tokio::test]
async fn a_budget_that_refuses_a_call_of_a_search_fails_that_step_alone() {
    let answer = "{\"need_search\": true, \"search_types\": [\"web\"], \"query\": \"crabs\"}";
    let more = vec![
        model("small", &json!([{"reply": answer}])),
        (
            "agent/agent.yml".to_owned(),
            "system:\n  light: small\n".to_owned(),
        ),
    ];
    let place = place_with(&borrowed(&app(&json!({}), "", more)), |settings| {
        let is_first = AtomicBool::new(true);
        settings.listeners.before(move |_: &mut BeforeResponse| {
            let verdict = match is_first.swap(false, Ordering::SeqCst) {
                true => Verdict::veto("the budget is spent"),
                false => Verdict::Continue,
            };
            async move { Ok(verdict) }.boxed()
        });
    })
    .await;
    let frames = ask(&place, request("hello", "What is Rust?")).await;
    assert_eq!(
        (&end(&frames)["status"], &end(&frames)["error"]),
        (&json!("completed"), &Value::Null)
    );
    // Where nobody tells whether it is needed, all is searched that may be.
    assert_eq!(ids(&announced(&frames), "id"), ["1", "2"]);
    let trace = traced(&place, &frames).await;
    assert!(trace.contains("the budget is spent"), "{trace}");
    let session = session(&place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    let mut purposes = records.iter().map(|record| record.purpose.as_deref());
    assert!(!purposes.any(|purpose| purpose == Some("search")));
}
