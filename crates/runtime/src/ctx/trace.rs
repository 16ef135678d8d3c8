//! `ctx.trace`: nothing here throws. What is given wrongly becomes a warning in the trace.

use super::{Call, Class, Method, Reach};
use crate::trace::{Board, Level, Node, Start};
use ambit_script::{Object, Value};
use futures::FutureExt;
use serde_json::{Map, Value as Json, json};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `ctx.trace`.
pub const TRACE: Class = Class {
    name: "Trace",
    place: "ctx.trace",
    doc: "What people are shown of a turn. No call throws, and none changes the turn.",
    members: &[("id: string", "The trace's id.")],
    methods: &[NODES, SPACES, FLAGS],
    is_lenient: true,
};

/// A node of the trace.
pub const NODE: Class = Class {
    name: "TraceNode",
    place: "what `ctx.trace.Add` returns",
    doc: "One step. Its methods are about this step, those of `ctx.trace` about the current one.",
    members: &[("id: string", "The node's id.")],
    methods: &[NODES],
    is_lenient: true,
};

/// A board beside the trace.
pub const BOARD: Class = Class {
    name: "TraceSpace",
    place: "what `ctx.trace.CreateSpace` returns",
    doc: "A small labelled board shown with the trace.",
    members: &[("id: string", "The board's id.")],
    methods: &[BOARDS],
    is_lenient: true,
};

macro_rules! row {
    ($signature:literal, $doc:literal, $call:ident) => {
        Method {
            signature: $signature,
            doc: $doc,
            needs: None,
            call: |call| std::future::ready(Ok($call(call))).boxed(),
        }
    };
}

const NODES: &[Method] = &[
    row!(
        "Add(input: any, option: TraceNodeOption | string): TraceNode",
        "Begins a step below the current ones, which it completes; it becomes the current one.",
        add
    ),
    row!(
        "Parallel(inputs: { input: any; option: TraceNodeOption | string }[]): TraceNode[]",
        "Begins steps beside each other; together they are the current ones.",
        parallel
    ),
    row!(
        "Info(message: string, data?: any): this",
        "Writes a line.",
        log
    ),
    row!(
        "Debug(message: string, data?: any): this",
        "Writes a line for whoever looks for a defect.",
        log
    ),
    row!(
        "Warn(message: string, data?: any): this",
        "Writes a warning.",
        log
    ),
    row!(
        "Error(message: string, data?: any): this",
        "Writes an error; the step goes on.",
        log
    ),
    row!(
        "SetOutput(output: any): this",
        "Says what came out.",
        set_output
    ),
    row!(
        "SetMetadata(key: string, value: any): this",
        "Says more about the step.",
        set_metadata
    ),
    row!(
        "Complete(output?: any): this",
        "Ends the step as it should end.",
        complete
    ),
    row!(
        "Fail(error: string | Error): this",
        "Ends the step as failed.",
        fail
    ),
];

const SPACES: &[Method] = &[
    row!(
        "CreateSpace(option: TraceNodeOption | string): TraceSpace",
        "Makes a board.",
        create_space
    ),
    row!(
        "GetSpace(id: string): TraceSpace | null",
        "The board with this id.",
        get_space
    ),
];

const FLAGS: &[Method] = &[
    row!(
        "MarkComplete(): this",
        "Sets the flag that `IsComplete` reads; the trace itself ends with the turn.",
        mark_complete
    ),
    row!(
        "IsComplete(): boolean",
        "Whether `MarkComplete` was called in this run.",
        is_complete
    ),
    row!(
        "Release(): void",
        "Silences all methods for the rest of the run.",
        release
    ),
];

const BOARDS: &[Method] = &[
    row!("Set(key: string, value: any): void", "Puts a value.", board),
    row!(
        "Get(key: string): any",
        "The value; `null` if there is none.",
        board
    ),
    row!(
        "Has(key: string): boolean",
        "Whether there is a value.",
        board
    ),
    row!("Delete(key: string): void", "Takes a value away.", board),
    row!("Clear(): void", "Takes all values away.", board),
    row!("Keys(): string[]", "The keys, sorted.", board),
];

/// Where a script is in its trace.
pub struct Cursor {
    base: Node,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Vec<Node>,
    made: Vec<Node>,
    is_marked: bool,
    is_silent: bool,
}

impl Cursor {
    /// At the node of a run.
    pub fn new(base: Node) -> Self {
        let state = Mutex::default();
        Self { base, state }
    }

    /// The node of the run.
    pub fn base(&self) -> &Node {
        &self.base
    }

    /// Writes a warning on the run's node.
    pub fn warn(&self, text: &str) {
        self.base.warn(text);
    }

    /// Ends the nodes that the script has left running.
    pub fn end(&self, error: Option<&str>) {
        for node in std::mem::take(&mut self.lock().made).into_iter().rev() {
            match error {
                Some(error) if node.is_running() => node.fail(error),
                _ => node.complete(None),
            }
        }
    }

    /// Makes all calls silent.
    pub fn release(&self) {
        self.end(None);
        self.lock().is_silent = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current nodes: the newest of the script, or that of the run.
    fn current(&self) -> Vec<Node> {
        let state = self.lock();
        if state.is_silent {
            return vec![self.silent()];
        }
        match state.current.as_slice() {
            [] => vec![self.base.clone()],
            current => current.to_vec(),
        }
    }

    /// New nodes below some; they become the current ones, and completed are those that the script began above them.
    fn begin(&self, parents: &[Node], starts: Vec<(Start, bool)>) -> Vec<Node> {
        let completes = starts.iter().all(|(_, completes)| *completes);
        let new: Vec<Node> = starts
            .into_iter()
            .map(|(start, _)| Node::join(parents, start))
            .collect();
        if completes {
            for parent in parents.iter().filter(|parent| self.is_made(parent)) {
                parent.complete(None);
            }
        }
        let mut state = self.lock();
        state.made.extend(new.iter().cloned());
        state.current.clone_from(&new);
        new
    }

    fn is_made(&self, node: &Node) -> bool {
        let state = self.lock();
        let mut made = state.made.iter();
        made.any(|own| own.number() == node.number())
    }

    fn silent(&self) -> Node {
        self.base.trace().node(0)
    }
}

/// The `ctx.trace` object.
pub fn object(reach: &Reach) -> Value {
    let id = reach.cursor.base().trace().id().to_owned();
    with_id(&TRACE, json!({"context": reach.number}), id)
}

fn node_object(call: &Call<'_>, node: &Node) -> Value {
    let handle = json!({"context": call.reach.number, "node": node.number().unwrap_or(0)});
    with_id(&NODE, handle, node.id())
}

fn board_object(call: &Call<'_>, board: &Board) -> Value {
    let handle = json!({"context": call.reach.number, "board": board.id()});
    with_id(&BOARD, handle, board.id())
}

fn with_id(class: &Class, handle: Json, id: String) -> Value {
    Value::Object(Object {
        class: class.name.to_owned(),
        handle,
        members: vec![("id".to_owned(), Json::String(id).into())],
    })
}

/// The nodes that a call is about: its own, or the current ones.
fn nodes(call: &Call<'_>) -> Vec<Node> {
    let cursor = &call.reach.cursor;
    let Some(number) = call.handle.get("node").and_then(Json::as_u64) else {
        return cursor.current();
    };
    if cursor.lock().is_silent {
        return vec![cursor.silent()];
    }
    let number = u32::try_from(number).unwrap_or(0);
    vec![cursor.base().trace().node(number)]
}

/// The object that a call was made on, for the next call.
fn this(call: &Call<'_>) -> Value {
    match call.class {
        class if class == NODE.name => nodes(call)
            .first()
            .map_or(Value::Undefined, |node| node_object(call, node)),
        _ => object(&call.reach),
    }
}

/// Records what was given wrongly.
fn warn(call: &Call<'_>, rule: &str) {
    for node in nodes(call) {
        node.warn(format!("{}.{}: {rule}", call.class, call.method.name()));
    }
}

/// How a node begins, and whether it completes those above it.
fn start(call: &Call<'_>, input: Json, option: &Json) -> (Start, bool) {
    let mut start = Start {
        input,
        ..Start::default()
    };
    let fields = match option {
        Json::String(label) => {
            start.label.clone_from(label);
            return (start, true);
        }
        Json::Object(fields) => fields,
        _ => {
            warn(
                call,
                "the option must be an object with a label, or the label",
            );
            return (start, true);
        }
    };
    let text = |name: &str| match fields.get(name) {
        Some(Json::String(text)) => text.clone(),
        None | Some(Json::Null) if name != "label" => String::new(),
        _ => {
            warn(call, &format!("option.{name} must be a string"));
            String::new()
        }
    };
    start.label = text("label");
    start.kind = text("type");
    start.icon = text("icon");
    start.description = text("description");
    start.metadata = match fields.get("metadata") {
        Some(Json::Object(metadata)) => metadata.clone(),
        None | Some(Json::Null) => Map::new(),
        Some(_) => {
            warn(call, "option.metadata must be an object");
            Map::new()
        }
    };
    let completes = fields.get("autoCompleteParent") != Some(&Json::Bool(false));
    (start, completes)
}

fn add(call: &Call<'_>) -> Value {
    let start = start(call, call.value(0), &call.value(1));
    let new = call.reach.cursor.begin(&nodes(call), vec![start]);
    new.first()
        .map_or(Value::Undefined, |node| node_object(call, node))
}

fn parallel(call: &Call<'_>) -> Value {
    let Json::Array(inputs) = call.value(0) else {
        warn(call, "the inputs must be a list");
        return Value::List(Vec::new());
    };
    if inputs.is_empty() {
        return Value::List(Vec::new());
    }
    let member = |item: &Json, name: &str| item.get(name).cloned().unwrap_or_default();
    let starts = inputs.iter();
    let starts = starts.map(|item| start(call, member(item, "input"), &member(item, "option")));
    let new = call.reach.cursor.begin(&nodes(call), starts.collect());
    Value::List(new.iter().map(|node| node_object(call, node)).collect())
}

fn log(call: &Call<'_>) -> Value {
    let level = match call.method.name() {
        "Debug" => Level::Debug,
        "Warn" => Level::Warn,
        "Error" => Level::Error,
        _ => Level::Info,
    };
    if call.given(0).is_none() {
        warn(call, "there is no message");
        return this(call);
    }
    let message = match call.value(0) {
        Json::String(text) => text,
        other => other.to_string(),
    };
    for node in nodes(call) {
        node.log(level, message.clone(), call.value(1));
    }
    this(call)
}

fn set_output(call: &Call<'_>) -> Value {
    for node in nodes(call) {
        node.set_output(call.value(0));
    }
    this(call)
}

fn set_metadata(call: &Call<'_>) -> Value {
    match call.value(0) {
        Json::String(key) => {
            for node in nodes(call) {
                node.set_metadata(&key, call.value(1));
            }
        }
        _ => warn(call, "the key must be a string"),
    }
    this(call)
}

fn complete(call: &Call<'_>) -> Value {
    for node in nodes(call) {
        node.complete(call.given(0).cloned());
    }
    this(call)
}

fn fail(call: &Call<'_>) -> Value {
    let error = match call.value(0) {
        Json::String(text) => text,
        Json::Null => "failed".to_owned(),
        // An error of the script, as JSON.
        other => match other.get("message").and_then(Json::as_str) {
            Some(message) => message.to_owned(),
            None => other.to_string(),
        },
    };
    for node in nodes(call) {
        node.fail(&error);
    }
    this(call)
}

fn create_space(call: &Call<'_>) -> Value {
    let (start, _) = start(call, Json::Null, &call.value(0));
    let nodes = nodes(call);
    let board = nodes.first().map(|node| node.add_board(start));
    board.map_or(Value::Undefined, |board| board_object(call, &board))
}

fn get_space(call: &Call<'_>) -> Value {
    let id = call.value(0);
    let board = id
        .as_str()
        .and_then(|id| call.reach.cursor.base().trace().board(id));
    board.map_or(Json::Null.into(), |board| board_object(call, &board))
}

fn board(call: &Call<'_>) -> Value {
    let trace = call.reach.cursor.base().trace();
    let id = call.handle.get("board").and_then(Json::as_str);
    let is_silent = call.reach.cursor.lock().is_silent;
    let board = id.filter(|_| !is_silent).and_then(|id| trace.board(id));
    let name = call.value(0);
    let key = name.as_str();
    if key.is_none() && !matches!(call.method.name(), "Clear" | "Keys") {
        warn(call, "the key must be a string");
    }
    let key = key.unwrap_or_default();
    match call.method.name() {
        "Get" => board
            .and_then(|board| board.get(key))
            .unwrap_or_default()
            .into(),
        "Has" => json!(board.and_then(|board| board.get(key)).is_some()).into(),
        "Keys" => json!(board.map(|board| board.keys()).unwrap_or_default()).into(),
        change => {
            if let Some(board) = board {
                match change {
                    "Set" => board.set(key, call.value(1)),
                    "Delete" => board.delete(key),
                    _ => board.clear(),
                }
            }
            Value::Undefined
        }
    }
}

fn mark_complete(call: &Call<'_>) -> Value {
    call.reach.cursor.lock().is_marked = true;
    this(call)
}

fn is_complete(call: &Call<'_>) -> Value {
    json!(call.reach.cursor.lock().is_marked).into()
}

fn release(call: &Call<'_>) -> Value {
    call.reach.cursor.release();
    Value::Undefined
}
