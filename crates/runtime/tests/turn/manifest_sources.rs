//! What the blocks of a model's call were made of.

use crate::fitting::{windowed, windowed_with};
use crate::manifests::manifests;
use crate::place::{
    agent, ann, ask, borrowed, history, model, named, place, place_of_tools, place_with, request,
    tree,
};
use crate::retention::id;
use crate::toolbox::Tools;
use crate::tools::calling;
use crate::uses::{app, picture, with};
use ambit_runtime::chat::{BlockKind, BlockSource, BlockVia, ChatMessage};
use ambit_runtime::event::BeforeResponse;
use ambit_runtime::inspect::calls;
use ambit_runtime::manifest::{ModelCallManifest, ModelCallStatus};
use ambit_storage::ModelPrice;
use ambit_storage::event::{ListenerOptions, Verdict};
use futures::FutureExt;
use serde_json::json;
use std::collections::BTreeMap;

/// What the first block of a kind was made of.
fn source(call: &ModelCallManifest, kind: BlockKind) -> BlockSource {
    let mut blocks = call.blocks.iter();
    let found = blocks.find(|block| block.kind == kind);
    found.unwrap_or_else(|| panic!("{call:?}")).source.clone()
}

#[tokio::test]
async fn g190_a_prompt_names_its_file_and_the_variables_in_it() {
    let mut files = agent(&json!({}), "");
    let prompts =
        "- role: system\n  content: It is $SYS.YEAR for {{ $CTX.LOCALE }} in $SYS.YEAR.\n";
    files.retain(|(name, _)| !name.ends_with("prompts.yml"));
    files.push((
        "assistants/hello/prompts.yml".to_owned(),
        prompts.to_owned(),
    ));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let prompt = source(&calls[0], BlockKind::Prompt);
    assert_eq!(prompt.variables, ["SYS.YEAR", "CTX.LOCALE"]);
    assert_eq!(prompt.version.map(|version| version.len()), Some(22));
}

#[tokio::test]
async fn g190_what_hooks_make_and_hand_on_names_their_node() {
    let hooks = "export function Create(ctx, messages) {
        ctx.llm.Stream('echo', [{ role: 'user', content: 'aside' }]);
        return { messages: [...messages, { role: 'user', content: 'mine' }] };
    }
    export function Next(ctx, payload) {
        return { delegate: { agent_id: 'other', messages: [{ role: 'user', content: 'over' }] } };
    }";
    let mut files = agent(&json!({}), hooks);
    files.extend(named("other", &json!({}), ""));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let nodes = tree(&place, &frames).await.nodes;
    let kind = |id: Option<String>| {
        let node = nodes.iter().find(|node| Some(&node.id) == id.as_ref());
        node.map(|node| (node.kind.as_str(), node.label.as_str()))
    };
    let aside = source(&calls[0], BlockKind::Hook);
    assert_eq!(aside.function.as_deref(), Some("ctx.llm"));
    assert_eq!(kind(aside.node_id), Some(("step", "echo")));
    let mine = source(&calls[1], BlockKind::Hook);
    assert_eq!(mine.file.as_deref(), Some("assistants/hello/src/index.ts"));
    assert_eq!(mine.version.map(|version| version.len()), Some(22));
    assert_eq!(kind(mine.node_id), Some(("hook", "Create")));
    let via: Vec<Option<BlockVia>> = calls[1].blocks.iter().map(|block| block.via).collect();
    assert_eq!(via, [None, Some(BlockVia::Create), None]);
    let over = source(&calls[2], BlockKind::Delegate);
    assert_eq!(kind(over.node_id).map(|(kind, _)| kind), Some("turn"));
}

#[tokio::test]
async fn g190_answers_and_results_name_the_call_and_the_tool() {
    let asked = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling(&asked));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let answer = BlockSource {
        call_id: Some(calls[0].call_id.clone()),
        ..BlockSource::default()
    };
    assert_eq!(source(&calls[1], BlockKind::Answer), answer);
    let result = BlockSource {
        tool_call_id: Some("c1".to_owned()),
        server: Some("s".to_owned()),
        tool: Some("show".to_owned()),
        ..BlockSource::default()
    };
    assert_eq!(source(&calls[1], BlockKind::ToolResult), result);
}

#[tokio::test]
async fn blocks_of_a_running_turn_are_named_by_the_messages_that_they_became() {
    let asked = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling(&asked));
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let (ann, id) = (ann(), id(&frames));
    let ambit = place.runtime.contexts(&ann);
    let mut calls = calls::of_request(&ambit, &ann, &id).await.unwrap();
    let call_id = calls.manifests[1].call_id.clone();
    calls.name_messages(&ambit, &ann, &call_id).await.unwrap();
    let blocks = calls.manifests[1].blocks.iter();
    let named = blocks.filter_map(|block| block.source.message_id.clone());
    let stored = history(&place, "hello").await.into_iter();
    // What was said, the call and its result; the last answer came of this call.
    let stored = stored.map(|message| message.id).take(3);
    assert_eq!(named.collect::<Vec<_>>(), stored.collect::<Vec<_>>());
    let unnamed = calls.find(&format!("{id}.call-0")).unwrap();
    assert_eq!(source(unnamed, BlockKind::Request).message_id, None);
}

#[tokio::test]
async fn g190_what_a_listener_adds_and_hands_on_is_told() {
    let place = place_with(&borrowed(&agent(&json!({}), "")), |settings| {
        let options = ListenerOptions {
            name: "guard".to_owned(),
            ..ListenerOptions::default()
        };
        settings
            .listeners
            .before_with(options, |event: &mut BeforeResponse| {
                event.request.messages.push(ChatMessage::user("mine"));
                async { Ok(Verdict::Continue) }.boxed()
            });
    })
    .await;
    let frames = ask(&place, request("hello", "hi")).await;
    let calls = manifests(&place, &frames).await;
    let added = BlockSource {
        event: Some("BeforeResponse".to_owned()),
        listener: Some("guard".to_owned()),
        ..BlockSource::default()
    };
    assert_eq!(source(&calls[0], BlockKind::Listener), added);
    let via: Vec<Option<BlockVia>> = calls[0].blocks.iter().map(|block| block.via).collect();
    let handed_on = Some(BlockVia::Listener);
    assert_eq!(via, [handed_on, handed_on, None]);
}

#[tokio::test]
async fn g190_summaries_are_calls_of_the_turn_that_needs_them() {
    let truncation =
        json!({"strategy": "summarise", "threshold": 120, "buffer": 0, "keep_messages": 4});
    let rules =
        json!([{"match": {"system": "keep the memory"}, "reply": "s"}, {"reply": "c c c c c"}]);
    let (place, _) = windowed(1_000, &truncation, &rules).await;
    let mut summaries = 0;
    for turn in 0..6 {
        let text = format!("{turn} {}", "a ".repeat(40));
        let frames = ask(&place, request("hello", &text)).await;
        let calls = manifests(&place, &frames).await;
        let Some((told, made)) = calls.split_last() else {
            panic!("no call");
        };
        for call in made {
            summaries += 1;
            let kinds = call.blocks.iter().map(|block| block.kind);
            assert_eq!(kinds.collect::<Vec<_>>(), [BlockKind::Builtin; 2]);
            let own = source(call, BlockKind::Builtin);
            assert_eq!(own.name.as_deref(), Some("summary"));
            assert_eq!(call.end.status, ModelCallStatus::Completed);
            assert!(call.end.usage.is_some());
            let summary = source(told, BlockKind::Summary);
            assert_eq!(summary.strategy.as_deref(), Some("summarise"));
            let (first, last) = (summary.first.unwrap(), summary.last.unwrap());
            assert!((first..=last).count() as u64 >= summary.count.unwrap());
        }
    }
    assert!(summaries > 0);
}

#[tokio::test]
async fn a_summary_says_what_it_has_cost() {
    let truncation =
        json!({"strategy": "summarise", "threshold": 120, "buffer": 0, "keep_messages": 4});
    let rules =
        json!([{"match": {"system": "keep the memory"}, "reply": "s"}, {"reply": "c c c c c"}]);
    // So many millionths a token.
    let price = ModelPrice {
        prompt: 3_000_000,
        completion: 5_000_000,
        currency: "USD".to_owned(),
    };
    let (place, _) = windowed_with(1_000, &truncation, &rules, |settings| {
        let prices = &mut settings.storage.usage.prices;
        prices.insert("small".to_owned(), price);
    })
    .await;
    let mut summaries = 0;
    for turn in 0..6 {
        let text = format!("{turn} {}", "a ".repeat(40));
        let frames = ask(&place, request("hello", &text)).await;
        let calls = manifests(&place, &frames).await;
        summaries += calls.len() - 1;
        for call in calls {
            let used = call.end.usage.unwrap();
            let cost = 3 * used.prompt_tokens + 5 * used.completion_tokens;
            assert_eq!(call.end.cost, BTreeMap::from([("USD".to_owned(), cost)]));
        }
    }
    assert!(summaries > 0);
}

#[tokio::test]
async fn a_price_of_a_connector_stands_over_that_of_the_application() {
    let connector = json!({"type": "scripted", "options": {
        "model": "small", "price": {"input": 1.5, "output": 6},
    }});
    let mut files = agent(&json!({"connector": "small"}), "");
    files.push((
        "connectors/small.conn.yao".to_owned(),
        connector.to_string(),
    ));
    // So many millionths a token.
    let price = ModelPrice {
        prompt: 7_000_000,
        completion: 7_000_000,
        currency: "EUR".to_owned(),
    };
    for (is_tracked, expected) in [(true, &["USD"][..]), (false, &[])] {
        let place = place_with(&borrowed(&files), |settings| {
            let usage = &mut settings.storage.usage;
            usage.is_tracked = is_tracked;
            usage.prices.insert("small".to_owned(), price.clone());
        })
        .await;
        let frames = ask(&place, request("hello", "what does it cost?")).await;
        let calls = manifests(&place, &frames).await;
        let used = calls[0].end.usage.as_ref().unwrap();
        let micros = used.prompt_tokens * 3 / 2 + used.completion_tokens * 6;
        let expected = expected.iter().map(|name| ((*name).to_owned(), micros));
        let expected: BTreeMap<String, i64> = expected.collect();
        assert_eq!(calls[0].end.cost, expected, "tracked: {is_tracked}");
    }
}

#[tokio::test]
async fn g190_a_step_that_is_built_in_is_ambits_own() {
    let eye = model("eye", &json!([{"reply": "a cat"}]));
    let roles = json!({"system": {"vision": "eye"}}).to_string();
    let more = vec![eye, ("agent/agent.yml".to_owned(), roles)];
    let files = app(&json!({"uses": {"vision": "builtin"}}), "", more);
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, with(&picture())).await;
    let calls = manifests(&place, &frames).await;
    let kinds = calls[0].blocks.iter().map(|block| block.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [BlockKind::Builtin; 2]);
    let own = source(&calls[0], BlockKind::Builtin);
    assert_eq!(own.name.as_deref(), Some("vision"));
}
