//! `ctx.trace`: nothing here throws. What is given wrongly becomes a warning in the trace.

mod boards;
mod cursor;
mod nodes;

pub use cursor::TraceCursor;

use super::{ContextHandle, ScriptClass, ScriptMethod, done};
use ambit_script::{HostObject, HostValue};
use serde_json::{Value as Json, json};

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

macro_rules! row {
    ($signature:literal, $doc:literal, $module:ident::$call:ident) => {
        ScriptMethod {
            signature: $signature,
            doc: $doc,
            needs: None,
            call: |call| done(std::future::ready(Ok($module::$call(call)))),
        }
    };
}

const NODES: &[ScriptMethod] = &[
    row!(
        "Add(input: any, option: TraceNodeOption | string): TraceNode",
        "Begins a step below the current ones, which it completes; it becomes the current one.",
        nodes::add
    ),
    row!(
        "Parallel(inputs: { input: any; option: TraceNodeOption | string }[]): TraceNode[]",
        "Begins steps beside each other; together they are the current ones.",
        nodes::parallel
    ),
    row!(
        "Info(message: string, data?: any): this",
        "Writes a line.",
        nodes::log
    ),
    row!(
        "Debug(message: string, data?: any): this",
        "Writes a line for whoever looks for a defect.",
        nodes::log
    ),
    row!(
        "Warn(message: string, data?: any): this",
        "Writes a warning.",
        nodes::log
    ),
    row!(
        "Error(message: string, data?: any): this",
        "Writes an error; the step goes on.",
        nodes::log
    ),
    row!(
        "SetOutput(output: any): this",
        "Says what came out.",
        nodes::set_output
    ),
    row!(
        "SetMetadata(key: string, value: any): this",
        "Says more about the step.",
        nodes::set_metadata
    ),
    row!(
        "Complete(output?: any): this",
        "Ends the step as it should end.",
        nodes::complete
    ),
    row!(
        "Fail(error: string | Error): this",
        "Ends the step as failed.",
        nodes::fail
    ),
];

const SPACES: &[ScriptMethod] = &[
    row!(
        "CreateSpace(option: TraceNodeOption | string): TraceSpace",
        "Makes a board.",
        boards::create_space
    ),
    row!(
        "GetSpace(id: string): TraceSpace | null",
        "The board with this id.",
        boards::get_space
    ),
];

const FLAGS: &[ScriptMethod] = &[
    row!(
        "MarkComplete(): this",
        "Sets the flag that `IsComplete` reads; the trace itself ends with the turn.",
        nodes::mark_complete
    ),
    row!(
        "IsComplete(): boolean",
        "Whether `MarkComplete` was called in this run.",
        nodes::is_complete
    ),
    row!(
        "Release(): void",
        "Silences all methods for the rest of the run.",
        nodes::release
    ),
];

const BOARDS: &[ScriptMethod] = &[
    row!(
        "Set(key: string, value: any): void",
        "Puts a value.",
        boards::board
    ),
    row!(
        "Get(key: string): any",
        "The value; `null` if there is none.",
        boards::board
    ),
    row!(
        "Has(key: string): boolean",
        "Whether there is a value.",
        boards::board
    ),
    row!(
        "Delete(key: string): void",
        "Takes a value away.",
        boards::board
    ),
    row!("Clear(): void", "Takes all values away.", boards::board),
    row!("Keys(): string[]", "The keys, sorted.", boards::board),
];

/// The `ctx.trace` object.
pub fn object(reach: &ContextHandle) -> HostValue {
    let id = reach.cursor.base().trace().id().to_owned();
    with_id(&TRACE, json!({"context": reach.number}), id)
}

fn with_id(class: &ScriptClass, handle: Json, id: String) -> HostValue {
    HostValue::Object(HostObject {
        class: class.name.to_owned(),
        handle,
        members: vec![("id".to_owned(), Json::String(id).into())],
    })
}
