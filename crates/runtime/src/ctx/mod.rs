//! Everything that scripts can call, as tables: what the engine offers, what a call does, the TypeScript declarations and
//! the reference page all come from here. A method is one row; a class is one file.

/// Rows of a table of methods: each signature with what it needs, the function that does it, and a line about it.
macro_rules! rows {
    ($($signature:literal, $needs:expr, $does:ident: $doc:literal,)*) => {
        &[$($crate::ctx::Method {
            signature: $signature,
            doc: $doc,
            needs: $needs,
            call: |call| futures::FutureExt::boxed(futures::TryFutureExt::err_into($does(call))),
        },)*]
    };
}

mod arguments;
mod context;
mod generate;
mod later;
mod mcp;
mod memory;
mod message;
mod nested;
mod run;
mod scope;
mod store;
mod trace;

pub use context::object;
pub use generate::{declarations, reference};
pub use run::{Reach, Run};
pub use scope::{Memories, Properties, Scope};
pub use store::{STORE, methods as store_methods};

use crate::error::{Code, Error, Result};
use crate::globals;
use ambit_script::{Callback, Caller, HostError, Surface, Value};
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use serde_json::Value as Json;
use std::sync::Arc;

/// A class of objects, such as `ctx` itself.
pub struct Class {
    /// Its name in the declarations.
    pub name: &'static str,
    /// Where scripts find it, such as `ctx.memory.user`.
    pub place: &'static str,
    /// What it is for, in one line.
    pub doc: &'static str,
    /// Its properties as TypeScript, each with one line about it.
    pub members: &'static [(&'static str, &'static str)],
    /// Its methods.
    pub methods: &'static [&'static [Method]],
    /// No call of it throws, whatever it is given.
    pub is_lenient: bool,
}

/// Something that scripts can call.
pub struct Method {
    /// Its TypeScript signature, which begins with its name.
    pub signature: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// How many arguments it must have, and how the error says so: `<name> requires <…>`.
    pub needs: Option<(usize, &'static str)>,
    /// Does it.
    pub call: Do,
}

/// Does what was called.
pub type Do = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Result<Value, HostError>>;

/// What a row's function answers, as the engine takes it.
pub fn done<'a>(
    answer: impl Future<Output = Result<Value>> + Send + 'a,
) -> BoxFuture<'a, Result<Value, HostError>> {
    answer.err_into().boxed()
}

impl From<Error> for HostError {
    fn from(error: Error) -> Self {
        // Only exceptions of scripts have codes of their own, or a number in the place of one.
        let is_number = error.code == Code::HookError && error.status.is_some();
        let is_own = is_number || matches!(error.code, Code::Own(_));
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
pub struct Call<'a> {
    /// The run that called.
    pub run: &'a Run,
    /// The context it was called on; for a global, the hook's own.
    pub reach: Arc<Reach>,
    /// The class it was called on; empty for a global.
    pub class: &'static str,
    /// What was called.
    pub method: &'static Method,
    /// Which object it was called on.
    pub handle: Json,
    /// The arguments.
    pub arguments: Vec<Json>,
    /// The numbers of those that were `undefined`.
    pub undefined: Vec<usize>,
    /// The functions among the arguments.
    pub callbacks: Vec<Callback>,
    /// The run, to start others within it; none where no script has called.
    pub caller: Option<Caller>,
}

impl Call<'_> {
    /// Does it, unless arguments are missing.
    pub async fn answer(&self) -> Result<Value, HostError> {
        if let Some((count, what)) = self.method.needs
            && self.arguments.len() < count
        {
            let text = format!("{} requires {what}", self.method.name());
            return Err(Error::new(Code::InvalidArgument, text).into());
        }
        (self.method.call)(self).await
    }
}

/// The classes, in the order of the reference page.
pub const CLASSES: &[&Class] = &[
    &context::CONTEXT,
    &memory::NAMESPACE,
    &memory::SPACE,
    &store::STORE,
    &trace::TRACE,
    &trace::NODE,
    &trace::BOARD,
    &mcp::MCP,
    &later::SEARCH,
    &nested::AGENTS,
    &nested::MODELS,
];

/// The global functions. A name like `log.Info` is a member of a global object.
pub const GLOBALS: &[&[Method]] = &[
    globals::METHODS,
    globals::PROCESSES,
    store::GLOBALS,
    globals::LOG,
    globals::WEB,
    context::GLOBALS,
    later::GLOBALS,
];

/// Names that only say that they are not available.
pub const UNAVAILABLE: &[&str] = &["FS", "WebSocket", "Use", "Eval", "Plan", "Job", "Studio"];

impl Method {
    /// Its name.
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
pub fn surface() -> Surface {
    let classes = CLASSES.iter().map(|class| {
        let methods = class.methods.iter().flat_map(|methods| methods.iter());
        let methods = methods.map(|method| {
            let named = ambit_script::Method::new(method.name());
            if class.is_lenient {
                named.lenient()
            } else {
                named
            }
        });
        ambit_script::Class {
            name: class.name.to_owned(),
            methods: methods.collect(),
        }
    });
    let globals = GLOBALS.iter().flat_map(|methods| methods.iter());
    Surface {
        classes: classes.collect(),
        globals: globals
            .map(|method| match method.is_promise() {
                true => ambit_script::Method::promise(method.name()),
                false => ambit_script::Method::new(method.name()),
            })
            .collect(),
        unavailable: UNAVAILABLE.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// The row of a method, and its class's name; the class is empty for a global.
pub fn find(class: &str, name: &str) -> Option<(&'static str, &'static Method)> {
    let (class, groups) = match CLASSES.iter().find(|row| row.name == class) {
        Some(row) => (row.name, row.methods),
        None if class.is_empty() => ("", GLOBALS),
        None => return None,
    };
    let mut methods = groups.iter().flat_map(|methods| methods.iter());
    let method = methods.find(|method| method.name() == name)?;
    Some((class, method))
}
