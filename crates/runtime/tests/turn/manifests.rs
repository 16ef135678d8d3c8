//! Of what calls of models were made, and their requests made again.

use crate::fallback::{failing, saying, set_up};
use crate::fitting::{rules_with_tools, windowed};
use crate::place::{
    Place, agent, ann, ask, borrowed, history, model, named, place, place_of_tools, place_with,
    request, session,
};
use crate::retention::id;
use crate::toolbox::Tools;
use crate::tools::calling;
use crate::uses::{app, picture, reader, with, words};
use ambit_runtime::chat::{BlockKind, BlockVia, ChatMessage};
use ambit_runtime::event::BeforeResponse;
use ambit_runtime::inspect::calls::{self, GoneReason};
use ambit_runtime::manifest::{ModelCallManifest, ModelCallStatus};
use ambit_runtime::{Frame, RequestPlace};
use ambit_storage::event::Verdict;
use futures::FutureExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The manifests of a turn's calls, each of which is encoded again in the bytes that were sent.
pub async fn manifests(place: &Place, frames: &[Frame]) -> Vec<ModelCallManifest> {
    let (ann, id) = (ann(), id(frames));
    let ambit = place.runtime.contexts(&ann);
    let calls = calls::of_request(&ambit, &ann, &id).await.unwrap();
    for (at, call) in calls.manifests.iter().enumerate() {
        assert_eq!(call.call_id, format!("{id}.call-{at}"));
        let again = place.runtime.model_call_request(&ann, &call.call_id);
        let again = again.await.unwrap();
        assert!(again.exact, "{again:?} is not {call:?}");
        assert_eq!(again.sha256, call.body.sha256);
        assert_eq!(again.places.len(), call.blocks.len() + call.tools.len());
        let is_there = |place: &RequestPlace| !place.at.is_empty();
        assert!(again.places.iter().all(is_there), "{again:?}");
    }
    calls.manifests
}

fn kinds(call: &ModelCallManifest) -> Vec<BlockKind> {
    call.blocks.iter().map(|block| block.kind).collect()
}

#[tokio::test]
async fn g190_each_message_of_a_round_of_tools_comes_from_a_block() {
    let calls = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling(&calls));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let first = ask(&place, request("hello", "hi")).await;
    let first = manifests(&place, &first).await;
    let [asked, told] = &first[..] else {
        panic!("two calls");
    };
    let begun = [BlockKind::Prompt, BlockKind::Request];
    assert_eq!(kinds(asked), begun);
    let round = [BlockKind::Answer, BlockKind::ToolResult];
    assert_eq!(kinds(told), [begun, round].concat());
    let called = told.blocks[3].source.tool_call_id.as_deref();
    assert_eq!(called, Some("c1"));
    let tool = asked.tools.iter().find(|tool| tool.name == "s__show");
    let from = tool.map(|tool| (tool.server.as_deref(), tool.tool.as_deref()));
    assert_eq!(from, Some((Some("s"), Some("show"))));
    assert_eq!(asked.end.status, ModelCallStatus::Completed);
    // The next turn finds what the first has stored.
    let second = ask(&place, request("hello", "again")).await;
    let calls = manifests(&place, &second).await;
    assert_eq!(
        kinds(&calls[0])[..2],
        [BlockKind::Prompt, BlockKind::History]
    );
}

#[tokio::test]
async fn g190_a_message_that_a_trace_has_no_room_for_is_read_from_the_conversation() {
    let calls = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling(&calls));
    // One that is too long, and one that leaves no room for the definitions of the tools.
    for length in [1 << 20, (1 << 20) - 300] {
        let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
        let text = "x".repeat(length);
        let frames = ask(&place, request("hello", &text)).await;
        assert_eq!(manifests(&place, &frames).await.len(), 2);
    }
}

#[tokio::test]
async fn g190_what_create_and_other_agents_hand_on_is_told_by_whom() {
    let hooks = "export function Create(ctx, messages) {
        return { messages: [{ role: 'user', content: 'mine' }, ...messages] };
    }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let expected = [BlockKind::Prompt, BlockKind::Hook, BlockKind::Request];
    assert_eq!(kinds(&calls[0]), expected);
    let [_, hook, kept] = &calls[0].blocks[..] else {
        panic!("three blocks");
    };
    assert_eq!(hook.source.function.as_deref(), Some("Create"));
    assert_eq!(hook.via, None);
    assert_eq!(kept.via, Some(BlockVia::Create));
}

#[tokio::test]
async fn g190_delegates_and_models_that_scripts_ask_are_calls_of_the_turn() {
    let hooks = "export function Create(ctx) {
        ctx.llm.Stream('echo', [{ role: 'user', content: 'aside' }]);
        return { delegate: { agent_id: 'other', messages: [{ role: 'user', content: 'over' }] } };
    }";
    let mut files = agent(&json!({}), hooks);
    files.extend(named("other", &json!({}), ""));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let expected = [
        vec![BlockKind::Hook],
        vec![BlockKind::Prompt, BlockKind::Delegate],
    ];
    let found: Vec<Vec<BlockKind>> = calls.iter().map(kinds).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn g190_stored_messages_that_are_handed_over_are_named_and_not_copied() {
    let hooks = "export function Create(ctx, messages) {
        return { delegate: { agent_id: 'other', messages } };
    }";
    let mut files = agent(&json!({}), hooks);
    files.extend(named("other", &json!({}), ""));
    let place = place(&borrowed(&files)).await;
    ask(&place, request("hello", "hi")).await;
    let frames = ask(&place, request("hello", "again")).await;
    let calls = manifests(&place, &frames).await;
    let [prompt, asked, .., new] = &calls[0].blocks[..] else {
        panic!("three blocks");
    };
    assert_eq!(prompt.kind, BlockKind::Prompt);
    assert_eq!([asked.kind, new.kind], [BlockKind::Delegate; 2]);
    let stored = history(&place, "hello").await;
    let first = stored.first().map(|message| message.id.clone());
    assert_eq!(asked.source.message_id, first);
    assert_eq!(new.source.message_id, None);
}

#[tokio::test]
async fn g190_a_listener_that_adds_a_message_has_no_stored_one_copied() {
    let place = place_with(&borrowed(&agent(&json!({}), "")), |settings| {
        settings.listeners.before(|event: &mut BeforeResponse| {
            event.request.messages.insert(0, ChatMessage::user("mine"));
            async { Ok(Verdict::Continue) }.boxed()
        });
    })
    .await;
    ask(&place, request("hello", "one")).await;
    let frames = ask(&place, request("hello", "two")).await;
    let found = manifests(&place, &frames).await;
    let expected = [
        BlockKind::Listener,
        BlockKind::Prompt,
        BlockKind::History,
        BlockKind::History,
        BlockKind::Request,
    ];
    assert_eq!(kinds(&found[0]), expected);
    let (ann, ambit) = (ann(), place.runtime.contexts(&ann()));
    let traced = calls::of_request(&ambit, &ann, &id(&frames)).await.unwrap();
    let is_copied = [0, 1, 2, 3, 4].map(|n| {
        let block = traced.block(&found[0], n).unwrap();
        block.content.is_some()
    });
    assert_eq!(is_copied, [true, true, false, false, true]);
}

#[tokio::test]
async fn g190_a_connector_that_stands_in_is_a_call_of_its_own() {
    let connectors = [("one", failing(401)), ("two", saying("fine"))];
    let (place, _) = set_up(&json!({}), &json!({}), &connectors).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let found: Vec<(&str, ModelCallStatus)> = calls
        .iter()
        .map(|call| (call.connector.as_str(), call.end.status))
        .collect();
    let expected = [
        ("one", ModelCallStatus::Error),
        ("two", ModelCallStatus::Completed),
    ];
    assert_eq!(found, expected);
    assert!(calls[0].end.attempts[0].error.is_some());
}

#[tokio::test]
async fn g190_a_shortened_conversation_is_told_as_it_was_sent() {
    let truncation = json!({"strategy": "simple", "threshold": 150, "buffer": 0});
    let (place, _) = windowed(200, &truncation, &rules_with_tools()).await;
    let mut most = 0;
    for turn in 0..6 {
        let text = format!("look {turn} {}", "a ".repeat(20));
        let frames = ask(&place, request("hello", &text)).await;
        let calls = manifests(&place, &frames).await;
        assert_eq!(calls.len(), 2);
        most = most.max(calls[0].blocks.len());
        let estimated = calls[0].tokens.estimated;
        assert!(estimated <= 200, "{estimated}");
    }
    assert!(most < 15, "{most} blocks, where six turns have more");
}

#[tokio::test]
async fn g190_a_picture_that_was_put_in_words_is_told_in_words() {
    let mut more = reader("eyes", "return { data: 'a cat' };");
    more.push(words());
    let files = app(&json!({"uses": {"vision": "eyes"}}), "", more);
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, with(&picture())).await;
    // The agent that was asked is a call too.
    assert_eq!(manifests(&place, &frames).await.len(), 2);
    let frames = ask(&place, request("hello", "And now?")).await;
    let calls = manifests(&place, &frames).await;
    let expected = [
        BlockKind::Prompt,
        BlockKind::History,
        BlockKind::History,
        BlockKind::Request,
    ];
    assert_eq!(kinds(&calls[0]), expected);
}

#[tokio::test]
async fn g191_every_stored_answer_has_a_manifest_with_a_number_of_its_own() {
    let rules =
        json!([{"match": {"last_user": "^fail"}, "error": {"status": 400, "message": "no"}}]);
    let mut files = agent(&json!({"connector": "model"}), "");
    files.push(model("model", &rules));
    let place = place(&borrowed(&files)).await;
    let mut ids = BTreeSet::new();
    for text in ["one", "fail", "two"] {
        let frames = ask(&place, request("hello", text)).await;
        let calls = manifests(&place, &frames).await;
        ids.extend(calls.into_iter().map(|call| call.call_id));
    }
    assert_eq!(ids.len(), 3);
    let stored = history(&place, "hello").await;
    let answers = stored.iter().filter(|it| it.text().starts_with("echo"));
    let answers: Vec<Value> = answers.map(|it| json!(it.turn_id)).collect();
    assert_eq!(answers.len(), 2);
    for turn in answers {
        let call = format!("{}.call-0", turn.as_str().unwrap());
        assert!(ids.contains(&call), "{call} of {ids:?}");
    }
}

#[tokio::test]
async fn g190_what_hooks_have_read_before_a_call_is_told() {
    let hooks = "export function Create(ctx) {
        ctx.memory.user.Get('name');
        ctx.memory.user.Set('seen', 1);
        ctx.llm.Stream('echo', [{ role: 'user', content: 'aside' }]);
        ctx.memory.chat.Has('topic');
    }
    export function Next(ctx) { ctx.memory.user.Get('late'); }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let keys = |call: &ModelCallManifest| -> Vec<String> {
        let reads = call.reads.iter();
        let keys = reads.map(|read| format!("{} {}", read.space, read.key));
        keys.collect()
    };
    assert_eq!(keys(&calls[0]), ["user name"]);
    assert_eq!(keys(&calls[1]), ["user name", "chat topic"]);
    let nodes: BTreeSet<&str> = calls[1]
        .reads
        .iter()
        .map(|read| read.node_id.as_str())
        .collect();
    assert_eq!(nodes.len(), 1, "both were read by one hook: {nodes:?}");
}

#[tokio::test]
async fn g190_a_content_that_is_gone_says_why() {
    let place = place(&borrowed(&agent(&json!({}), ""))).await;
    ask(&place, request("hello", "one")).await;
    let frames = ask(&place, request("hello", "two")).await;
    let stored = history(&place, "hello").await;
    let erased = session(&place, "hello").await;
    let erased = erased.history().erase(&[&stored[0].id]).await.unwrap();
    assert_eq!(erased, 1);
    let (ann, ambit) = (ann(), place.runtime.contexts(&ann()));
    let mut traced = calls::of_request(&ambit, &ann, &id(&frames)).await.unwrap();
    let call = traced.manifests[0].clone();
    let read = traced.read_messages(&ambit, &ann, &call.call_id, None);
    read.await.unwrap();
    let gone: Vec<Option<GoneReason>> = (0..4)
        .map(|n| traced.block(&call, n).unwrap().gone)
        .collect();
    assert_eq!(gone, [None, Some(GoneReason::Erased), None, None]);
}
