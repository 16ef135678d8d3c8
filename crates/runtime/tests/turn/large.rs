//! What is more than a store takes in one entry.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, frames, model, named, place_with, request, session,
    traced, until,
};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::TurnInterrupt;
use ambit_runtime::chat::ChatMessage;
use ambit_storage::Stores;
use ambit_storage::batch::SizeLimits;
use ambit_storage::driver::DriverOptions;
use serde_json::{Value, json};
use std::sync::Arc;

/// The results of one of these agents' tools are together more than the store takes at once.
async fn place(files: &[(String, String)]) -> (Place, Tools) {
    let tools = Tools::new(&["read"], |_, _| {
        Box::pin(async { Ok(outcome(json!("x".repeat(900_000)))) })
    });
    let limits = SizeLimits {
        value: 2 << 20,
        ..SizeLimits::default()
    };
    let options = DriverOptions {
        limits,
        ..DriverOptions::default()
    };
    let stores = Stores::builder(options).build().unwrap();
    let of_place = Arc::new(tools.clone());
    let place = place_with(&borrowed(files), |settings| {
        settings.stores = Arc::new(stores);
        settings.tools = Some(of_place);
    })
    .await;
    (place, tools)
}

/// A model that reads three times, and then answers.
fn reading() -> (String, String) {
    let call = json!({"name": "s__read"});
    model(
        "reading",
        &json!([{"match": {"round": 0}, "tool_calls": [call, call, call]}, {"reply": "read"}]),
    )
}

fn package() -> Value {
    json!({"connector": "reading", "mcp": {"servers": ["s"]}})
}

#[tokio::test]
async fn a_called_agent_whose_end_is_not_kept_is_not_asked_again() {
    let hooks = "export function Create(ctx) {
        ctx.agent.Call('reader', [{ role: 'user', content: 'read' }], { skip: { output: true } });
        if (ctx.memory.chat.Get('tried')) return;
        ctx.memory.chat.Set('tried', true);
        ctx.Send('almost');
        time.Sleep(60000);
    }";
    let mut files = agent(&json!({}), hooks);
    files.extend(named("reader", &package(), ""));
    files.push(reading());
    let (place, tools) = place(&files).await;
    let mut started = place.runtime.start(request("hello", "hi")).await.unwrap();
    let id = started.request_id.clone();
    until(&mut started, |frame| frame.kind == "text").await;
    let force = TurnInterrupt {
        messages: vec![ChatMessage::user("and be quick")],
        is_forced: true,
        ..TurnInterrupt::default()
    };
    place.runtime.interrupt(&ann(), &id, force).await.unwrap();
    started.stream = place.runtime.stream(&ann(), &id, 0).await.unwrap();
    let frames = frames(started).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    assert_eq!(tools.names(), ["read", "read", "read"]);
    let session = session(&place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    let of_reader = records
        .iter()
        .filter(|it| it.model_name.as_deref() == Some("reading"));
    assert_eq!(of_reader.count(), 2);
    let trace = traced(&place, &frames).await;
    assert!(trace.contains("the end of a call is not kept"), "{trace}");
}

#[tokio::test]
async fn a_turn_with_many_large_results_ends() {
    let mut files = agent(&package(), "");
    files.push(reading());
    let (place, tools) = place(&files).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    assert_eq!(tools.names(), ["read", "read", "read"]);
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let response = place
        .runtime
        .turn(&ann(), &id)
        .await
        .unwrap()
        .response
        .unwrap();
    assert_eq!(
        (&response["completion"]["content"], response.get("tools")),
        (&json!("read"), None)
    );
}
