//! What every script finds in its runtime, compiled once for an engine.

use crate::bare::{Bytecode, EngineWordOffsets};
use crate::error::{Error, Result};
use crate::host::{HostApi, ReturnKind};
use ambit_quickjs_heap::HeapTemplate;
use rquickjs::{Array, Context, Ctx, Function, Module, Object, Runtime};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

/// The parts and whether they are made at once or when a script first touches one of their names.
const PARTS: &[(&str, &str)] = &[
    ("core", include_str!("prelude/core.js")),
    ("guards", include_str!("prelude/guards.js")),
    ("texts", include_str!("prelude/texts.js")),
    ("sets", include_str!("prelude/sets.js")),
    ("web", include_str!("prelude/web.js")),
    ("url", include_str!("prelude/url.js")),
    ("fetch", include_str!("prelude/fetch.js")),
];

/// The global names that the prelude makes itself and that may be imported from the built-in modules.
const NAMES: &[&str] = &[
    "Exception",
    "URL",
    "URLSearchParams",
    "TextEncoder",
    "TextDecoder",
    "structuredClone",
    "atob",
    "btoa",
    "crypto",
    "console",
    "setTimeout",
    "clearTimeout",
    "setInterval",
    "clearInterval",
    "queueMicrotask",
];

/// What comes with a host that answers `fetch`.
const FETCH: &[&str] = &[
    "Headers",
    "Request",
    "Response",
    "AbortController",
    "AbortSignal",
];

/// Something that can be called, by its number.
pub struct CallTarget {
    pub class: String,
    pub method: String,
    /// What the script gets.
    pub returns: ReturnKind,
    /// No argument is an error in the script.
    pub is_lenient: bool,
}

/// The compiled prelude and the surface it offers.
pub struct Prelude {
    parts: Vec<(&'static str, Bytecode)>,
    surface: HostApi,
    /// What can be called; scripts call by number.
    pub targets: Vec<CallTarget>,
    /// The memory of the first runtime that was made with it.
    pub template: OnceLock<Arc<HeapTemplate>>,
    /// Where the engine has the words by which it is reached; `None` inside if it cannot be told.
    pub engine_words: OnceLock<Option<EngineWordOffsets>>,
    /// Places for runs that wait and keep their memory.
    pub waiting: Semaphore,
}

/// So many runs keep their memory while they wait, beside those whose runtimes are kept ready: some 25 MB. To put it aside and
/// take it up again takes as long as a short run.
const MAX_WAITING: usize = 64;

impl Prelude {
    pub fn new(surface: HostApi) -> Result<Self> {
        let failed = |error: rquickjs::Error| {
            Error::Internal(format!("the prelude does not compile: {error}"))
        };
        let runtime = Runtime::new().map_err(failed)?;
        let context = Context::full(&runtime).map_err(failed)?;
        let compile = |name: &'static str, text: &str| {
            context.with(|ctx| {
                let module = Module::declare(ctx.clone(), format!("ambit:{name}"), text).map_err(
                    |error| Error::Internal(format!("prelude {name}: {error}: {:?}", ctx.catch())),
                )?;
                Ok((name, Bytecode::without_lines(&module).map_err(failed)?))
            })
        };
        let parts = PARTS
            .iter()
            .map(|(name, text)| compile(name, text))
            .collect::<Result<_>>()?;
        let targets = targets(&surface);
        Ok(Self {
            parts,
            surface,
            targets,
            template: OnceLock::new(),
            engine_words: OnceLock::new(),
            waiting: Semaphore::new(MAX_WAITING),
        })
    }

    /// The value names that the built-in modules export.
    pub fn names(&self) -> BTreeSet<String> {
        let globals = self.surface.globals.iter().map(|method| root(&method.name));
        let own = NAMES
            .iter()
            .copied()
            .chain(self.surface.unavailable.iter().map(String::as_str));
        let fetch = self
            .surface
            .globals
            .iter()
            .any(|method| method.name == "fetch");
        let fetched = FETCH.iter().copied().filter(|_| fetch);
        globals
            .chain(own)
            .chain(fetched)
            .map(str::to_owned)
            .collect()
    }

    /// Evaluates a part and returns what its `install` made of `native`.
    pub fn install<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        native: &Object<'js>,
    ) -> rquickjs::Result<Object<'js>> {
        let Some((_, code)) = self.parts.iter().find(|(part, _)| *part == name) else {
            return Err(rquickjs::Error::new_loading(name));
        };
        let (module, done) = code.load(ctx)?.eval()?;
        done.finish::<()>()?;
        let install: Function<'js> = module.get("install")?;
        install.call((native.clone(),))
    }

    /// A method of a class, as the prelude reads it: twice its number, and one more if it returns a promise.
    pub fn method(&self, class: &str, name: &str) -> Option<usize> {
        let is_it = |target: &CallTarget| target.method == name && target.class == class;
        let number = self.targets.iter().position(is_it)?;
        let is_promise = self.targets[number].returns == ReturnKind::Promise;
        Some(2 * number + usize::from(is_promise))
    }

    /// The methods of all classes: class, name, class, name, and so on.
    pub fn methods(&self) -> Vec<String> {
        let methods = self.targets.iter().skip(self.surface.globals.len());
        let both = |target: &CallTarget| [target.class.clone(), target.method.clone()];
        methods.flat_map(both).collect()
    }

    /// What can be called globally: name, the name within that if it is an object's, number, whether it returns a promise, and
    /// so on.
    pub fn globals<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Array<'js>> {
        let list = Array::new(ctx.clone())?;
        // The targets begin with them.
        let globals = self.targets.iter().take(self.surface.globals.len());
        for (number, target) in globals.enumerate() {
            let (root, last) = target
                .method
                .split_once('.')
                .unwrap_or((&target.method, ""));
            list.set(number * 4, root)?;
            list.set(number * 4 + 1, last)?;
            list.set(number * 4 + 2, number)?;
            list.set(number * 4 + 3, target.returns == ReturnKind::Promise)?;
        }
        Ok(list)
    }

    /// The names that only say that they are not available.
    pub fn unavailable(&self) -> Vec<String> {
        self.surface.unavailable.clone()
    }
}

fn targets(surface: &HostApi) -> Vec<CallTarget> {
    let globals = surface.globals.iter().map(|method| ("", method));
    let classes = surface.classes.iter().flat_map(|class| {
        class
            .methods
            .iter()
            .map(|method| (class.name.as_str(), method))
    });
    globals
        .chain(classes)
        .map(|(class, method)| CallTarget {
            class: class.to_owned(),
            method: method.name.clone(),
            returns: method.returns,
            is_lenient: method.is_lenient,
        })
        .collect()
}

/// The global that a name like `http.Get` begins with.
fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
