//! Everything that scripts can call, as tables: what the engine offers, what a call does, the TypeScript declarations and
//! the reference page all come from here. A method is one row; a class is one file.

/// Rows of a table of methods: each signature with what it needs, the async function that does it with what it is given
/// beside the call, and a line about it.
macro_rules! rows {
    ($($signature:literal, $needs:expr, $($does:ident)::+ $(($($with:expr),+))?: $doc:literal,)*) => {
        &[$($crate::ctx::ScriptMethod {
            signature: $signature,
            doc: $doc,
            needs: $needs,
            call: |call| {
                let done = $($does)::+(call $($(, $with)+)?);
                futures::FutureExt::boxed(futures::TryFutureExt::err_into(done))
            },
        },)*]
    };
}
pub(crate) use rows;

mod agent_calls;
mod arguments;
mod context;
mod generate;
mod mcp;
mod memory;
mod memory_use;
mod message;
mod run_host;
mod script_context;
mod search;
mod store;
mod trace;
mod turn_host;

pub use context::object;
pub use generate::{declarations, reference};
pub use memory_use::MemoryChange;
pub use run_host::{ContextHandle, RunHost};
pub use script_context::{ContextProperties, MemoryNamespaces, ScriptContext};
pub use store::{STORE, methods as store_methods};
pub use turn_host::{
    CalleeKind, ChunkCallback, DetachedContextOptions, NestedCall, NoTurnHost, TurnHost,
};

use crate::error::{Error, ErrorCode, Result};
use crate::globals;
use ambit_script::{Callback, HostApi, HostError, HostValue, ParentRun};
use ambit_storage::suggestion;
use futures::future::BoxFuture;
use memory_use::CallTimes;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A class of objects, such as `ctx` itself.
pub struct ScriptClass {
    /// Its name in the declarations.
    pub name: &'static str,
    /// Where scripts find it, such as `ctx.memory.user`.
    pub place: &'static str,
    /// What it is for, in one line.
    pub doc: &'static str,
    /// Its properties as TypeScript, each with one line about it.
    pub members: &'static [(&'static str, &'static str)],
    pub methods: &'static [&'static [ScriptMethod]],
    /// No call of it throws, whatever it is given.
    pub is_lenient: bool,
}

/// Something that scripts can call.
pub struct ScriptMethod {
    /// Its TypeScript signature, which begins with its name.
    pub signature: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// How many arguments it must have, and how the error says so: `<name> requires <…>`.
    pub needs: Option<(usize, &'static str)>,
    /// Does it.
    pub call: MethodHandler,
}

/// Does what was called.
pub type MethodHandler =
    for<'a> fn(&'a ScriptCall<'a>) -> BoxFuture<'a, Result<HostValue, HostError>>;

impl From<Error> for HostError {
    fn from(error: Error) -> Self {
        // Only exceptions of scripts have codes of their own, or a number in the place of one.
        let is_number = error.code == ErrorCode::HookError && error.status.is_some();
        let is_own = is_number || matches!(error.code, ErrorCode::Own(_));
        Self {
            message: error.message,
            code: (!is_number).then(|| error.code.as_str().to_owned()),
            status: error.status.map(f64::from),
            name: is_own.then_some("Exception"),
            from_callback: false,
        }
    }
}

/// One call, with what it may reach.
pub struct ScriptCall<'a> {
    /// The run that called.
    pub run: &'a RunHost,
    /// The context it was called on; for a global, the hook's own.
    pub reach: Arc<ContextHandle>,
    /// The class it was called on; empty for a global.
    pub class: &'static str,
    /// What was called.
    pub method: &'static ScriptMethod,
    /// Which object it was called on.
    pub handle: Value,
    pub arguments: Vec<Value>,
    /// The numbers of those that were `undefined`.
    pub undefined: Vec<usize>,
    /// The functions among the arguments.
    pub callbacks: Vec<Callback>,
    /// The run, to start others within it; none where no script has called.
    pub caller: Option<ParentRun>,
}

impl ScriptCall<'_> {
    /// Does it, unless arguments are missing.
    pub async fn answer(&self) -> Result<HostValue, HostError> {
        if let Some((count, what)) = self.method.needs
            && self.arguments.len() < count
        {
            let text = format!("{} requires {what}", self.method.name());
            return Err(Error::new(ErrorCode::InvalidArgument, text).into());
        }
        let trace = self.run.own().cursor.base().trace();
        let Some(start_at) = trace.now() else {
            return (self.method.call)(self).await;
        };
        let answer = (self.method.call)(self).await;
        let end_at = trace.now().unwrap_or(start_at);
        let times = CallTimes { start_at, end_at };
        self.run.note_call(self, times, answer.as_ref().ok());
        answer
    }

    /// What was called, as scripts write it.
    pub fn place(&self) -> String {
        let (class, method) = (self.class, self.method.name());
        if class == memory::NAMESPACE.name {
            let space = memory::memory(self).space();
            return format!("ctx.memory.{space}.{method}");
        }
        let row = CLASSES.iter().find(|row| row.name == class);
        let place = row
            .map(|row| row.place)
            .filter(|place| !place.contains(' '));
        match (place, class) {
            (Some(place), _) => format!("{place}.{method}"),
            (None, "") => method.to_owned(),
            (None, class) => format!("{class}.{method}"),
        }
    }

    /// Names options that do nothing in the trace. `object` is what of `ctx` was called, and `path` stands before their names.
    pub fn warn_of_unknown(
        &self,
        object: &str,
        path: &str,
        options: &Map<String, Value>,
        known: &[&str],
    ) {
        let method = self.method.name();
        let names = options.keys().map(String::as_str);
        for option in names.filter(|option| !known.contains(option)) {
            let hint = suggestion::hint(option, known.iter().copied());
            let text = format!("ctx.{object}.{method}: unknown option \"{path}{option}\"{hint}");
            self.reach.cursor.warn(&text);
        }
    }
}

/// The classes, in the order of the reference page.
pub const CLASSES: &[&ScriptClass] = &[
    &context::CONTEXT,
    &memory::NAMESPACE,
    &memory::SPACE,
    &store::STORE,
    &trace::TRACE,
    &trace::NODE,
    &trace::BOARD,
    &mcp::MCP,
    &search::SEARCH,
    &agent_calls::AGENTS,
    &agent_calls::MODELS,
    &globals::QUERY,
];

/// The global functions. A name like `log.Info` is a member of a global object.
pub const GLOBALS: &[&[ScriptMethod]] = &[
    globals::METHODS,
    globals::PROCESSES,
    store::GLOBALS,
    globals::LOG,
    globals::WEB,
    context::GLOBALS,
    globals::QUERIES,
];

/// Names that only say that they are not available.
pub const UNAVAILABLE: &[&str] = &["FS", "WebSocket", "Use", "Eval", "Plan", "Job", "Studio"];

/// What is wrong with a call such as `ctx.Sned`, where the object is there and has no such method.
pub fn missing_method(called: &str) -> Option<String> {
    let (object, name) = called.rsplit_once('.')?;
    let is_memory = object.starts_with("ctx.memory.");
    let row = CLASSES.iter().find(|row| match is_memory {
        true => row.name == memory::NAMESPACE.name,
        false => row.place == object,
    })?;
    let methods = row.methods.iter().flat_map(|methods| methods.iter());
    let names: Vec<&str> = methods.map(ScriptMethod::name).collect();
    let hint = suggestion::hint(name, names.iter().copied());
    (!names.contains(&name)).then(|| format!("{called} is not a function{hint}"))
}

impl ScriptMethod {
    pub fn name(&self) -> &'static str {
        let end = self.signature.find(['(', '<']);
        &self.signature[..end.unwrap_or(self.signature.len())]
    }

    /// Whether the script goes on while it is done.
    fn is_promise(&self) -> bool {
        self.signature.contains("): Promise<")
    }
}

/// What the engine offers to scripts.
pub fn surface() -> HostApi {
    let classes = CLASSES.iter().map(|class| {
        let methods = class.methods.iter().flat_map(|methods| methods.iter());
        let methods = methods.map(|method| {
            let named = ambit_script::HostMethod::new(method.name());
            if class.is_lenient {
                named.lenient()
            } else {
                named
            }
        });
        ambit_script::HostClass {
            name: class.name.to_owned(),
            methods: methods.collect(),
        }
    });
    let globals = GLOBALS.iter().flat_map(|methods| methods.iter());
    HostApi {
        classes: classes.collect(),
        globals: globals
            .map(|method| match method.is_promise() {
                true => ambit_script::HostMethod::promise(method.name()),
                false => ambit_script::HostMethod::new(method.name()),
            })
            .collect(),
        unavailable: UNAVAILABLE.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// The row of a method, and its class's name; the class is empty for a global.
pub fn find(class: &str, name: &str) -> Option<(&'static str, &'static ScriptMethod)> {
    let (class, groups) = match CLASSES.iter().find(|row| row.name == class) {
        Some(row) => (row.name, row.methods),
        None if class.is_empty() => ("", GLOBALS),
        None => return None,
    };
    let mut methods = groups.iter().flat_map(|methods| methods.iter());
    let method = methods.find(|method| method.name() == name)?;
    Some((class, method))
}
