//! What turns have used.

use crate::events::listened;
use crate::place::{
    agent, ask, borrowed, end, model, place, place_of_tools, request, session, tree,
};
use crate::toolbox::Tools;
use ambit_storage::event::{ChatHistorySaving, EventBus, MessageAdding, Verdict};
use ambit_storage::{Json, Usage};
use futures::FutureExt;
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

/// Refuses what models say, and notes on it.
fn verdict<'a>(mut messages: impl Iterator<Item = &'a Json>) -> Verdict {
    match messages.any(|message| message.as_str().contains("\"assistant\"")) {
        true => Verdict::veto("house rules"),
        false => Verdict::Continue,
    }
}

#[tokio::test]
async fn what_a_turn_has_used_is_booked_though_its_history_is_refused() {
    let cases: [fn(&EventBus); 2] = [
        |bus| {
            bus.before(|event: &mut MessageAdding| {
                let verdict = verdict([&event.message].into_iter());
                async { Ok(verdict) }.boxed()
            });
        },
        |bus| {
            bus.before(|event: &mut ChatHistorySaving| {
                let verdict = verdict(event.messages.iter());
                async { Ok(verdict) }.boxed()
            });
        },
    ];
    for listen in cases {
        let place = listened(listen).await;
        let end = end(&ask(&place, request("hello", "plain")).await);
        assert_eq!(end["code"], "vetoed");
        let session = session(&place, "hello").await;
        let records = session.context().usage().records().await.unwrap();
        let totals: Vec<_> = records.iter().map(|it| it.total_tokens).collect();
        assert_eq!(totals, [end["usage"]["total_tokens"].as_i64()]);
    }
}

#[tokio::test]
async fn the_vector_of_a_query_counts_to_the_turn_that_searches() {
    let hooks = r#"export function Create(ctx) {
        Process("kb.collection.create", {id: "c", embedding: "vectors"});
        Process("kb.documents.addtext", {collection_id: "c", text: "Trains are preferred.", wait: true});
        const search = () => ctx.search.KB("which trains", {collections: ["c"]});
        return { metadata: { found: [search(), search()].map((it: any) => it.total) } };
    }
    export function Next(ctx) { return { data: ctx.metadata.found }; }"#;
    let mut files = agent(&json!({}), hooks);
    files.push(model("vectors", &json!([])));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(end(&frames)["next"], json!([1, 1]));
    let session = session(&place, "hello").await;
    let records = session.context().usage().records().await.unwrap();
    let of_search: Vec<_> = records
        .iter()
        .filter(|record| record.purpose.is_some())
        .map(|record| {
            let names = (record.purpose.as_deref(), record.provider_name.as_deref());
            (names, record.prompt_tokens, record.turn_id.is_some())
        })
        .collect();
    assert_eq!(of_search, [((Some("search"), Some("vectors")), 2, true)]);
    let totals = records.iter().filter_map(|record| record.total_tokens);
    assert_eq!(
        end(&frames)["usage"]["total_tokens"].as_i64(),
        Some(totals.sum())
    );
    // The second search has the vector of the first.
    let tree = tree(&place, &frames).await;
    let embedded = tree.nodes.iter().filter(|node| node.label == "embed");
    let outputs: Vec<&Value> = embedded.map(|node| &node.output).collect();
    let expected = json!({"count": 1, "usage": {"total_tokens": 2}});
    assert_eq!(outputs, [&expected]);
}
