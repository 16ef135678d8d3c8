//! The messaging methods as scripts call them; what they mean is proved with the outbox.

use crate::support::Stage;
use serde_json::{Value, json};

fn shown(stage: &Stage) -> Vec<Value> {
    let messages = stage.outbox.messages();
    messages
        .iter()
        .map(|message| json!([message.message_id, message.kind, message.props]))
        .collect()
}

#[tokio::test]
async fn the_examples_of_the_reference_are_shown_as_they_say() {
    let stage = Stage::new();
    let ids = stage
        .value(
            "(() => {
               const ids = [ctx.Send({ type: 'text', props: { content: 'Hello!' } })];
               const block_id = ctx.BlockID();
               ids.push(ctx.Send('Step 1', block_id), ctx.Send('Step 2', block_id), ctx.EndBlock(block_id));
               const msg_id = ctx.SendStream('Processing...');
               ids.push(ctx.Append(msg_id, ' done!'), ctx.End(msg_id));
               const loading_id = ctx.SendStream({ type: 'loading', props: { message: 'Loading...' } });
               ctx.Replace(loading_id, { type: 'text', props: { content: 'Complete!' } });
               ctx.Merge(loading_id, { a: { b: 1 } }); ctx.Set(loading_id, [1], 'a.c');
               ctx.End(loading_id);
               return [...ids, block_id, ctx.MessageID(), ctx.ThreadID()].map(id => id === undefined ? 'undefined' : id); })()",
        )
        .await;
    assert_eq!(
        ids,
        json!(["M1", "M2", "M3", "undefined", "M4", "M4", "B1", "M6", "T1"])
    );
    let expected = [
        json!(["M1", "text", {"content": "Hello!"}]),
        json!(["M2", "text", {"content": "Step 1"}]),
        json!(["M3", "text", {"content": "Step 2"}]),
        json!(["M4", "text", {"content": "Processing... done!"}]),
        json!(["M5", "text", {"content": "Complete!", "a": {"b": 1, "c": [1]}}]),
    ];
    assert_eq!(shown(&stage), expected);
}

#[tokio::test]
async fn every_refusal_is_an_error_with_a_code() {
    let stage = Stage::new();
    for (call, message) in [
        ("ctx.Send()", "Send requires a message argument"),
        ("ctx.SendStream()", "SendStream requires a message argument"),
        (
            "ctx.Append('M1')",
            "Append requires messageId and content arguments",
        ),
        (
            "ctx.Replace('M1')",
            "Replace requires messageId and message arguments",
        ),
        (
            "ctx.Merge('M1')",
            "Merge requires messageId and data arguments",
        ),
        (
            "ctx.Set('M1', 1)",
            "Set requires messageId, data, and path arguments",
        ),
        ("ctx.End()", "End requires a messageId argument"),
        ("ctx.EndBlock()", "EndBlock requires block_id argument"),
        (
            "ctx.Send(5)",
            "invalid message: expected a string or an object",
        ),
        (
            "ctx.Send({})",
            "invalid message: message.type is required and must be a string",
        ),
        ("ctx.Append(5, 'x')", "messageId must be a string"),
        ("ctx.Append('M9', 'x')", "Append: unknown message \"M9\""),
        (
            "ctx.Send({type: 'event', props: {event: 'stream_end'}})",
            "event \"stream_end\" is reserved",
        ),
    ] {
        assert_eq!(
            stage.attempt(call).await,
            json!(["invalid_argument", message]),
            "{call}"
        );
    }
    assert_eq!(shown(&stage), Vec::<Value>::new());
}

#[tokio::test]
async fn a_change_after_the_end_is_a_warning_in_the_trace() {
    let stage = Stage::new();
    stage.value("ctx.Append(ctx.Send('a'), 'b')").await;
    assert_eq!(shown(&stage), [json!(["M1", "text", {"content": "ab"}])]);
    let logs = stage.tree().logs;
    assert_eq!(logs.len(), 1);
    assert_eq!(
        (logs[0].node_id.as_str(), logs[0].level),
        ("n2", ambit_runtime::trace::LogLevel::Warn)
    );
}
