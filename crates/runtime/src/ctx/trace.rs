//! `ctx.trace`: nothing here throws. What is given wrongly becomes a warning in the trace.

mod boards;
mod cursor;
mod nodes;

pub use cursor::TraceCursor;

use super::{ContextHandle, ScriptCall, ScriptClass, ScriptMethod};
use crate::error::Result;
use ambit_script::{HostObject, HostValue};
use serde_json::{Value, json};

/// `ctx.trace`.
pub const TRACE: ScriptClass = ScriptClass {
    name: "Trace",
    place: "ctx.trace",
    doc: "What people are shown of a turn. No call throws, and none changes the turn.",
    members: &[("id: string", "The trace's id.")],
    methods: &[NODES, SPACES, FLAGS],
    is_lenient: true,
};

/// A node of the trace.
pub const NODE: ScriptClass = ScriptClass {
    name: "TraceNode",
    place: "what `ctx.trace.Add` returns",
    doc: "One step. Its methods are about this step, those of `ctx.trace` about the current one.",
    members: &[("id: string", "The node's id.")],
    methods: &[NODES],
    is_lenient: true,
};

/// A board beside the trace.
pub const BOARD: ScriptClass = ScriptClass {
    name: "TraceSpace",
    place: "what `ctx.trace.CreateSpace` returns",
    doc: "A small labelled board shown with the trace.",
    members: &[("id: string", "The board's id.")],
    methods: &[BOARDS],
    is_lenient: true,
};

const NODES: &[ScriptMethod] = rows! {
    "Add(input: any, option: TraceNodeOption | string): TraceNode", None, quiet(nodes::add):
        "Begins a step below the current ones, which it completes; it becomes the current one.",
    "Parallel(inputs: { input: any; option: TraceNodeOption | string }[]): TraceNode[]", None, quiet(nodes::parallel):
        "Begins steps beside each other; together they are the current ones.",
    "Info(message: string, data?: any): this", None, quiet(nodes::log): "Writes a line.",
    "Debug(message: string, data?: any): this", None, quiet(nodes::log): "Writes a line for whoever looks for a defect.",
    "Warn(message: string, data?: any): this", None, quiet(nodes::log): "Writes a warning.",
    "Error(message: string, data?: any): this", None, quiet(nodes::log): "Writes an error; the step goes on.",
    "SetOutput(output: any): this", None, quiet(nodes::set_output): "Says what came out.",
    "SetMetadata(key: string, value: any): this", None, quiet(nodes::set_metadata): "Says more about the step.",
    "Complete(output?: any): this", None, quiet(nodes::complete): "Ends the step as it should end.",
    "Fail(error: string | Error): this", None, quiet(nodes::fail): "Ends the step as failed.",
};

const SPACES: &[ScriptMethod] = rows! {
    "CreateSpace(option: TraceNodeOption | string): TraceSpace", None, quiet(boards::create_space): "Makes a board.",
    "GetSpace(id: string): TraceSpace | null", None, quiet(boards::get_space): "The board with this id.",
};

const FLAGS: &[ScriptMethod] = rows! {
    "MarkComplete(): this", None, quiet(nodes::mark_complete):
        "Sets the flag that `IsComplete` reads; the trace itself ends with the turn.",
    "IsComplete(): boolean", None, quiet(nodes::is_complete): "Whether `MarkComplete` was called in this run.",
    "Release(): void", None, quiet(nodes::release): "Silences all methods for the rest of the run.",
};

const BOARDS: &[ScriptMethod] = rows! {
    "Set(key: string, value: any): void", None, quiet(boards::board): "Puts a value.",
    "Get(key: string): any", None, quiet(boards::board): "The value; `null` if there is none.",
    "Has(key: string): boolean", None, quiet(boards::board): "Whether there is a value.",
    "Delete(key: string): void", None, quiet(boards::board): "Takes a value away.",
    "Clear(): void", None, quiet(boards::board): "Takes all values away.",
    "Keys(): string[]", None, quiet(boards::board): "The keys, sorted.",
};

/// Does what throws nothing.
async fn quiet(call: &ScriptCall<'_>, what: fn(&ScriptCall<'_>) -> HostValue) -> Result<HostValue> {
    Ok(what(call))
}

/// The `ctx.trace` object.
pub fn object(reach: &ContextHandle) -> HostValue {
    let id = reach.cursor.base().trace().id().to_owned();
    with_id(&TRACE, json!({"context": reach.number}), id)
}

fn with_id(class: &ScriptClass, handle: Value, id: String) -> HostValue {
    HostValue::Object(HostObject {
        class: class.name.to_owned(),
        handle,
        members: vec![("id".to_owned(), Value::String(id).into())],
    })
}
