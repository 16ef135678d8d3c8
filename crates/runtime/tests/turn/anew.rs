//! Turns that begin anew while an agent that a hook has called is at work.

use crate::place::{agent, ann, borrowed, end, frames, model, named, place_of_tools, request};
use crate::toolbox::{Tools, outcome};
use ambit_runtime::runtime::Interrupt;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

#[tokio::test]
async fn g017_a_forced_interrupt_does_not_run_tools_of_a_called_agent_again() {
    let hooks = "export function Create(ctx) {
        ctx.agent.Call('booker', [{ role: 'user', content: 'book' }], { skip: { output: true } });
    }";
    let tool = |round: u64, name: &str| json!({"match": {"round": round}, "tool_calls": [{"id": format!("c{round}"), "name": name}]});
    let rules = json!([tool(0, "s__show"), tool(1, "s__hang"), {"reply": "booked"}]);
    let mut files = agent(&json!({}), hooks);
    files.extend(named(
        "booker",
        &json!({"connector": "booking", "mcp": {"servers": ["s"]}}),
        "",
    ));
    files.push(model("booking", &rules));
    let (hung, is_second) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let reached = hung.clone();
    let tools = Tools::new(&["show", "hang"], move |name, arguments| {
        let hangs = name == "hang" && !is_second.swap(true, Ordering::SeqCst);
        let reached = reached.clone();
        Box::pin(async move {
            if hangs {
                reached.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(outcome(arguments))
        })
    });
    let place = place_of_tools(&borrowed(&files), tools.clone()).await;
    let started = place.runtime.start(request("hello", "hi")).await.unwrap();
    hung.notified().await;
    let force = Interrupt {
        messages: vec![json!({"role": "user", "content": "and be quick"})],
        is_forced: true,
        ..Interrupt::default()
    };
    let id = started.request_id.clone();
    place.runtime.interrupt(&ann(), &id, force).await.unwrap();
    assert_eq!(end(&frames(started).await)["status"], "completed");
    assert_eq!(tools.names(), ["show", "hang", "hang"]);
}
