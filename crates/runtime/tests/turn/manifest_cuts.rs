//! What was taken out of messages that a model is told.

use crate::manifests::manifests;
use crate::place::{agent, ask, borrowed, place, place_of_tools, request};
use crate::toolbox::{Tools, outcome};
use crate::tools::calling;
use crate::uses::{app, picture, reader, with, words};
use ambit_runtime::chat::{BlockCut, BlockKind};
use ambit_runtime::manifest::ModelCallManifest;
use ambit_runtime::tool::ToolOutcome;
use futures::FutureExt;
use serde_json::json;

/// The kinds of blocks of which something was taken out, and what.
fn cuts(call: &ModelCallManifest) -> Vec<(BlockKind, BlockCut)> {
    let blocks = call.blocks.iter();
    let cuts = blocks.flat_map(|block| block.cut.iter().map(|cut| (block.kind, cut.clone())));
    cuts.collect()
}

#[tokio::test]
async fn g190_a_result_that_is_too_long_says_how_much_is_cut() {
    let calls = json!([{"id": "c1", "name": "s__show", "arguments": {"a": 1}}]);
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let mut files = agent(&package, "");
    files.push(calling(&calls));
    let tools = Tools::new(&["show"], |_, arguments| {
        let outcome = ToolOutcome {
            cut: 7,
            ..outcome(arguments)
        };
        async move { Ok(outcome) }.boxed()
    });
    let place = place_of_tools(&borrowed(&files), tools).await;
    let cut = BlockCut {
        reason: "tool_result_limit".to_owned(),
        part: None,
        bytes: 7,
    };
    let frames = ask(&place, request("hello", "hi")).await;
    let found = manifests(&place, &frames).await;
    assert_eq!(cuts(&found[1]), [(BlockKind::ToolResult, cut.clone())]);
    // Later turns know it of the stored result.
    let frames = ask(&place, request("hello", "again")).await;
    let found = manifests(&place, &frames).await;
    assert_eq!(cuts(&found[0]), [(BlockKind::History, cut)]);
}

#[tokio::test]
async fn g190_a_part_that_was_put_in_words_says_by_whom() {
    let mut more = reader("eyes", "return { data: 'a cat' };");
    more.push(words());
    let files = app(&json!({"uses": {"vision": "eyes"}}), "", more);
    let place = place(&borrowed(&files)).await;
    let cut = BlockCut {
        reason: "worded:agent:eyes".to_owned(),
        part: Some(1),
        bytes: "data:image/png;base64,AAAA".len(),
    };
    let frames = ask(&place, with(&picture())).await;
    let found = manifests(&place, &frames).await;
    assert_eq!(cuts(&found[1]), [(BlockKind::Request, cut.clone())]);
    let frames = ask(&place, request("hello", "And now?")).await;
    let found = manifests(&place, &frames).await;
    assert_eq!(cuts(&found[0]), [(BlockKind::History, cut)]);
}
