//! What was used by calls of models that were stopped.

use crate::place::{
    Place, agent, ann, ask, borrowed, end, frames, model, named, place, request, session, shown,
    until,
};
use ambit_storage::storage::UsageRecord;
use serde_json::{Value, json};

/// A model that has much to say and takes its time.
fn talkative() -> (String, String) {
    let rules = json!([{"reply": "word ".repeat(10_000), "delay": "100ms"}]);
    model("talkative", &rules)
}

/// What is booked, by model.
async fn booked(place: &Place, model: &str) -> Vec<UsageRecord> {
    let session = session(place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    let of_model = |record: &UsageRecord| record.model_name.as_deref() == Some(model);
    records.into_iter().filter(of_model).collect()
}

#[tokio::test]
async fn g133_the_tokens_of_calls_that_any_and_race_cancel_are_counted() {
    for method in ["Any", "Race"] {
        let hooks = format!(
            "export function Next(ctx) {{
                const messages = [{{ role: 'user', content: 'one two three four' }}];
                const heard = (agent, index, chunk) => {{
                    if (agent === 'slow' && chunk.type === 'text') ctx.memory.chat.Set('spoken', true);
                }};
                const got = ctx.agent.{method}([{{ agent: 'slow', messages }}, {{ agent: 'quick', messages }}], {{ onChunk: heard }});
                return {{ data: got.map(it => it && it.agent_id) }};
            }}"
        );
        // It answers when the other one is at its answer.
        let waits =
            "export function Create(ctx) { while (!ctx.memory.chat.Get('spoken')) time.Sleep(5); }";
        let mut files = agent(&json!({}), &hooks);
        files.extend(named("slow", &json!({"connector": "talkative"}), ""));
        files.extend(named("quick", &json!({}), waits));
        files.push(talkative());
        let place = place(&borrowed(&files)).await;
        let frames = ask(&place, request("hello", "hi")).await;
        assert_eq!(end(&frames)["next"], json!([null, "quick"]), "{method}");
        let cancelled = booked(&place, "talkative").await;
        let [cancelled] = cancelled.as_slice() else {
            panic!("{cancelled:?} is not one record");
        };
        let words = 10_000;
        assert!(
            cancelled.prompt_tokens > 4
                && cancelled.completion_tokens > 0
                && cancelled.completion_tokens < words,
            "{cancelled:?}"
        );
        // The turn tells what is booked.
        let all = booked(&place, "echo").await;
        let all = all.iter().chain([cancelled]);
        let total: i64 = all.map(|record| record.total_tokens.unwrap()).sum();
        assert_eq!(end(&frames)["usage"]["total_tokens"], total, "{method}");
    }
}

#[tokio::test]
async fn the_tokens_of_an_answer_that_was_stopped_are_counted() {
    let mut files = agent(&json!({"connector": "talkative"}), "");
    files.push(talkative());
    let place = place(&borrowed(&files)).await;
    let mut started = place.runtime.start(request("hello", "hi")).await.unwrap();
    let id = started.request_id.clone();
    until(&mut started, |frame| frame.kind == "text").await;
    place.runtime.cancel(&ann(), &id).await.unwrap();
    started.stream = place.runtime.stream(&ann(), &id, 0).await.unwrap();
    let all = frames(started).await;
    assert_eq!(end(&all)["status"], "cancelled");
    assert_ne!(shown(&all)[0].1, Value::Null);
    let records = booked(&place, "talkative").await;
    assert_eq!(records.len(), 1);
    let usage = &end(&all)["usage"];
    assert_eq!(usage["completion_tokens"], records[0].completion_tokens);
    assert!(records[0].completion_tokens > 0 && records[0].prompt_tokens > 0);
}
