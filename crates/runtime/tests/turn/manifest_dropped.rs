//! What would have been part of a model's call, and why it was not.

use crate::fitting::{rules_with_tools, windowed};
use crate::manifests::manifests;
use crate::place::{Place, agent, ask, borrowed, history, place, place_of_tools, request, session};
use crate::toolbox::Tools;
use crate::tools::calling;
use ambit_runtime::chat::{BlockKind, ChatMessage, DroppedParts};
use ambit_runtime::manifest::ModelCallManifest;
use ambit_runtime::{Supersede, TurnRequest};
use serde_json::json;
use std::slice;

/// The calls of a turn.
async fn calls(place: &Place, asked: TurnRequest) -> Vec<ModelCallManifest> {
    let frames = ask(place, asked).await;
    manifests(place, &frames).await
}

fn history_part(reason: &str, count: Option<u64>) -> DroppedParts {
    DroppedParts::messages(BlockKind::History, reason, count)
}

#[tokio::test]
async fn g190_old_messages_are_told_as_left_out() {
    let package = json!({"options": {"history_size": 2}});
    let place = place(&borrowed(&agent(&package, ""))).await;
    for text in ["one", "two"] {
        let calls = calls(&place, request("hello", text)).await;
        assert_eq!(calls[0].dropped, []);
    }
    let calls = calls(&place, request("hello", "three")).await;
    let expected = history_part("history_size", Some(2));
    assert_eq!(calls[0].dropped, [expected]);
}

#[tokio::test]
async fn g190_what_create_leaves_out_is_told_with_its_ids() {
    let hooks = "export function Create(ctx, messages) {
        return { messages: messages.slice(-1), disable_global_prompts: true };
    }";
    let mut files = agent(&json!({}), hooks);
    files.push((
        "agent/prompts.yml".to_owned(),
        "- role: system\n  content: Global.\n".to_owned(),
    ));
    let place = place(&borrowed(&files)).await;
    calls(&place, request("hello", "one")).await;
    let stored = history(&place, "hello").await;
    let calls = calls(&place, request("hello", "two")).await;
    let [global, hook] = &calls[0].dropped[..] else {
        panic!("{:?}", calls[0].dropped);
    };
    let expected = DroppedParts::messages(BlockKind::Global, "global_disabled", Some(1));
    assert_eq!(*global, expected);
    assert_eq!((hook.reason.as_str(), hook.count), ("hook", Some(2)));
    let ids = [hook.first.clone(), hook.last.clone()];
    let expected = [&stored[0], &stored[1]].map(|message| Some(message.id.clone()));
    assert_eq!(ids, expected);
    assert!(hook.tokens.is_some_and(|tokens| tokens > 0));
}

#[tokio::test]
async fn g190_what_was_sent_again_superseded_or_skipped_is_told() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    calls(&place, request("hello", "one")).await;
    let again = TurnRequest {
        messages: vec![
            ChatMessage::user("one"),
            ChatMessage::assistant("echo: one"),
            ChatMessage::user("two"),
        ],
        ..request("hello", "")
    };
    let found = calls(&place, again).await;
    let expected = DroppedParts::messages(BlockKind::Request, "repeated", Some(2));
    assert_eq!(found[0].dropped, [expected]);
    let another = TurnRequest {
        messages: Vec::new(),
        supersede: Some(Supersede::LastAnswer),
        ..request("hello", "")
    };
    let superseded = history_part("superseded", Some(1));
    let found = calls(&place, another).await;
    assert_eq!(found[0].dropped, slice::from_ref(&superseded));
    // And later on, too.
    let found = calls(&place, request("hello", "three")).await;
    assert_eq!(found[0].dropped, [superseded]);
    let mut alone = request("hello", "four");
    alone.skip.history = true;
    let found = calls(&place, alone).await;
    assert_eq!(found[0].dropped, [history_part("skip.history", None)]);
}

#[tokio::test]
async fn g190_tools_of_the_last_round_are_told_as_left_out() {
    let asked = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let options = json!({"max_turn": 1});
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"], "options": options}});
    let mut files = agent(&package, "");
    files.push(calling(&asked));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let found = calls(&place, request("hello", "hi")).await;
    assert_eq!(found[0].dropped, []);
    let names = found[0].tools.iter().map(|tool| tool.name.as_str());
    assert_eq!(found[1].dropped, [DroppedParts::tools(names, "max_turn")]);
    assert_eq!(found[1].tools, []);
}

#[tokio::test]
async fn g190_what_a_model_cannot_do_and_what_is_not_sent_is_told() {
    let connector = json!({"type": "scripted", "options": {
        "model": "plain", "rules": [], "capabilities": {"tool_calls": true},
    }});
    let package = json!({"connector": "plain", "options": {"reasoning_effort": "low"}});
    let mut files = agent(&package, "");
    files.push((
        "connectors/plain.conn.yao".to_owned(),
        connector.to_string(),
    ));
    let place = place(&borrowed(&files)).await;
    let found = calls(&place, request("hello", "hi")).await;
    let expected = DroppedParts::option("reasoning_effort", "no_capability:reasoning");
    assert_eq!(found[0].dropped, [expected]);
    assert!(found[0].options.is_empty());
}

#[tokio::test]
async fn g190_truncated_messages_are_told_with_the_strategy() {
    let truncation = json!({"strategy": "simple", "threshold": 150, "buffer": 0});
    let (place, _) = windowed(200, &truncation, &rules_with_tools()).await;
    let mut last = Vec::new();
    for turn in 0..6 {
        let text = format!("look {turn} {}", "a ".repeat(20));
        last = calls(&place, request("hello", &text)).await;
    }
    let dropped = &last[0].dropped;
    let mut reasons = dropped.iter().map(|part| part.reason.as_str());
    assert!(reasons.any(|it| it == "truncation:simple"), "{dropped:?}");
    // What was said before is in the call or told as left out.
    let own = Some(last[0].request_id.clone());
    let session = session(&place, "hello").await;
    let archive = session.history().archive(1, 200).await.unwrap();
    let before = archive.iter().filter(|message| message.turn_id != own);
    let told = last[0].blocks.iter();
    let told = told.filter(|block| block.kind == BlockKind::History);
    let left_out = dropped.iter().map(|part| part.count.unwrap()).sum::<u64>();
    assert_eq!(left_out + told.count() as u64, before.count() as u64);
}
