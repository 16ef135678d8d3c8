//! The messaging methods of `ctx`. What they mean, and their errors, is the outbox's.

use super::{ScriptCall, ScriptMethod};
use crate::error::Result;
use crate::outbox::AgentOutbox;
use ambit_script::HostValue;
use serde_json::Value;

pub const METHODS: &[ScriptMethod] = rows! {
    "Send(message: Message | string, block_id?: string): string", None, say(AgentOutbox::send):
        "Sends a whole message and returns its id.",
    "SendStream(message: Message | string, block_id?: string): string", None, say(AgentOutbox::send_stream):
        "Begins a message that goes on until `End`, and returns its id.",
    "Append(message_id: string, content: any, path?: string): string", None, say(AgentOutbox::append):
        "Adds to a text or a list of a message; without a path, to its content.",
    "Replace(message_id: string, message: Message | string | Record<string, any>): string", None, say(AgentOutbox::replace):
        "Replaces all of a message, its type too if it differs.",
    "Merge(message_id: string, data: any, path?: string): string", None, say(AgentOutbox::merge):
        "Merges an object deeply into a message.",
    "Set(message_id: string, data: any, path: string): string", None, say(AgentOutbox::set): "Puts a value at a path of a message.",
    "End(message_id: string, final_content?: string): string", None, say(AgentOutbox::end):
        "Ends a message, after adding a text if there is one.",
    "EndBlock(block_id: string): void", None, say(|outbox, arguments| outbox.end_block(arguments)): "Ends a block.",
    "MessageID(): string", None, say(|outbox, _| Ok(outbox.message_id().into())): "A new id for a message.",
    "BlockID(): string", None, say(|outbox, _| Ok(outbox.block_id().into())): "A new id for a block.",
    "ThreadID(): string", None, say(|outbox, _| Ok(outbox.thread_id().into())): "A new id for a thread.",
};

type MessageMethod = fn(&AgentOutbox, &[Value]) -> Result<Value>;

/// Says something; what the outbox warns of goes to the trace.
async fn say(call: &ScriptCall<'_>, method: MessageMethod) -> Result<HostValue> {
    let outbox = &call.reach.scope.outbox;
    let returned = method(outbox, &call.arguments);
    for warning in outbox.outbox().take_warnings() {
        call.reach.cursor.warn(&warning);
    }
    Ok(match returned? {
        Value::Null => HostValue::Undefined,
        id => id.into(),
    })
}
