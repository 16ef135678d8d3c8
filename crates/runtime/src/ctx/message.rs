//! The messaging methods of `ctx`. What they mean, and their errors, is the outbox's.

use super::{ScriptCall, ScriptMethod, done};
use crate::error::Result;
use crate::outbox::AgentOutbox;
use ambit_script::HostValue;
use serde_json::Value as Json;

macro_rules! row {
    ($signature:literal, $doc:literal, $call:expr) => {
        ScriptMethod {
            signature: $signature,
            doc: $doc,
            needs: None,
            call: |call| done(std::future::ready(say(call, $call))),
        }
    };
}

/// The methods.
pub const METHODS: &[ScriptMethod] = &[
    row!(
        "Send(message: Message | string, block_id?: string): string",
        "Sends a whole message and returns its id.",
        AgentOutbox::send
    ),
    row!(
        "SendStream(message: Message | string, block_id?: string): string",
        "Begins a message that goes on until `End`, and returns its id.",
        AgentOutbox::send_stream
    ),
    row!(
        "Append(message_id: string, content: any, path?: string): string",
        "Adds to a text or a list of a message; without a path, to its content.",
        AgentOutbox::append
    ),
    row!(
        "Replace(message_id: string, message: Message | string | Record<string, any>): string",
        "Replaces all of a message, its type too if it differs.",
        AgentOutbox::replace
    ),
    row!(
        "Merge(message_id: string, data: any, path?: string): string",
        "Merges an object deeply into a message.",
        AgentOutbox::merge
    ),
    row!(
        "Set(message_id: string, data: any, path: string): string",
        "Puts a value at a path of a message.",
        AgentOutbox::set
    ),
    row!(
        "End(message_id: string, final_content?: string): string",
        "Ends a message, after adding a text if there is one.",
        AgentOutbox::end
    ),
    row!(
        "EndBlock(block_id: string): void",
        "Ends a block.",
        |speaker, arguments| speaker.end_block(arguments)
    ),
    row!(
        "MessageID(): string",
        "A new id for a message.",
        |speaker, _| Ok(speaker.message_id().into())
    ),
    row!(
        "BlockID(): string",
        "A new id for a block.",
        |speaker, _| Ok(speaker.block_id().into())
    ),
    row!(
        "ThreadID(): string",
        "A new id for a thread.",
        |speaker, _| Ok(speaker.thread_id().into())
    ),
];

type MessageMethod = fn(&AgentOutbox, &[Json]) -> Result<Json>;

/// Says something; what the outbox warns of goes to the trace.
fn say(call: &ScriptCall<'_>, what: MessageMethod) -> Result<HostValue> {
    let speaker = &call.reach.scope.speaker;
    let said = what(speaker, &call.arguments);
    for warning in speaker.outbox().take_warnings() {
        call.reach.cursor.warn(&warning);
    }
    Ok(match said? {
        Json::Null => HostValue::Undefined,
        id => id.into(),
    })
}
