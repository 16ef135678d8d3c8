//! What turns have used.

use crate::place::{agent, ask, borrowed, end, model, place_of_tools, request, session};
use crate::toolbox::Tools;
use ambit_storage::Usage;
use serde_json::{Value, json};

#[tokio::test]
async fn g089_the_sum_is_that_of_the_records_with_tool_rounds_failures_and_turns_at_once() {
    let rules = json!([
        {"match": {"last_user": "bad"}, "reply": "one two", "error": {"status": 400, "message": "no"}},
        {"match": {"has_tool_result": false}, "tool_calls": [{"name": "s__show"}]},
        {"match": {"round": 1}, "reply": "more ", "tool_calls": [{"name": "s__show"}]},
        {"reply": "done"},
    ]);
    let mut files = agent(
        &json!({"connector": "calling", "mcp": {"servers": ["s"]}}),
        "",
    );
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 3});
    let mut connector = model("calling", &rules);
    let mut text: Value = serde_json::from_str(&connector.1).unwrap();
    text["options"]["usage"] = usage;
    connector.1 = text.to_string();
    files.push(connector);
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let turns = (0..8).map(|at| {
        let mut asked = request("hello", if at % 4 == 3 { "bad" } else { "good" });
        asked.chat = Some(format!("chat-{at}"));
        ask(&place, asked)
    });
    let ended = futures::future::join_all(turns).await;
    for (at, frames) in ended.iter().enumerate() {
        let expected = if at % 4 == 3 { 0 } else { 3 * 13 };
        assert_eq!(end(frames)["usage"]["total_tokens"], expected);
    }
    let ambit = place.runtime.contexts(&crate::place::ann());
    let totals = Usage::of(&ambit, "hello")
        .aggregate()
        .await
        .unwrap()
        .unwrap();
    let calls = 6 * 3;
    assert_eq!(
        (totals.prompt_tokens, totals.completion_tokens),
        (calls * 10, calls * 3)
    );
    let of_one = session(&place, "hello")
        .await
        .context()
        .usage()
        .records()
        .await
        .unwrap();
    assert_eq!(of_one.len(), 3);
    assert!(
        of_one
            .iter()
            .all(|record| record.provider_name.as_deref() == Some("scripted"))
    );
}
