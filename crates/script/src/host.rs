//! The seam to whoever runs scripts: what they can call, and what arrives when they do.

use crate::error::{HostError, ScriptException};
use crate::limits::RunBudget;
use futures::future::BoxFuture;
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, Weak};
use tokio::sync::oneshot;

/// Answers the calls of one run. Its futures are boxes: decision 0078.
pub trait Host: Send + Sync {
    /// Does what a script called. The script waits without holding a thread; dropping the future cancels the call.
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>>;
}

/// A host that has nothing to call.
pub struct NoHost;

impl Host for NoHost {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            let what = format!("{} is not available here", call.method);
            Err(HostError::new("unsupported", what))
        })
    }
}

/// One call of a script to its host.
#[derive(Debug)]
pub struct HostCall {
    /// The class of the object it was called on; empty for a global function.
    pub class: String,
    /// The object's handle, as the host gave it; `null` for a global function.
    pub handle: Value,
    /// The method.
    pub method: String,
    /// The arguments; a function is `null` here and among `callbacks`.
    pub arguments: Vec<Value>,
    /// The numbers of the arguments that were `undefined`; they too are `null` among `arguments`.
    pub undefined: Vec<usize>,
    /// The functions among the arguments.
    pub callbacks: Vec<Callback>,
    /// The run that called.
    pub run: ParentRun,
}

/// A run, to start others within it: they share its limits and count to them.
#[derive(Clone)]
pub struct ParentRun(pub(crate) Arc<RunBudget>);

impl fmt::Debug for ParentRun {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ParentRun").finish_non_exhaustive()
    }
}

/// A function that a script gave to the host. It can be called until the call it was given to has ended.
#[derive(Clone)]
pub struct Callback {
    /// Where it stood: the number of the argument, or that and a member, as in `2.onChunk`.
    pub path: String,
    pub(crate) call: u64,
    pub(crate) number: usize,
    pub(crate) receiver: Weak<dyn CallbackReceiver>,
}

impl fmt::Debug for Callback {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Callback")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// One call of a callback, on its way into the script.
pub(crate) struct CallbackCall {
    pub call: u64,
    pub number: usize,
    pub arguments: Vec<Value>,
    pub reply: oneshot::Sender<Result<Value, ScriptException>>,
}

/// Takes the calls of callbacks into the run that gave them.
pub(crate) trait CallbackReceiver: Send + Sync {
    fn receive(self: Arc<Self>, call: CallbackCall);
}

impl Callback {
    /// Runs the function in the script and returns what it returned or threw. Calls run one at a time, in order.
    pub async fn call(&self, arguments: Vec<Value>) -> Result<Value, ScriptException> {
        let (reply, answer) = oneshot::channel();
        let call = CallbackCall {
            call: self.call,
            number: self.number,
            arguments,
            reply,
        };
        let gone = || ScriptException {
            message: "the call that this function was given to has ended".to_owned(),
            ..ScriptException::default()
        };
        self.receiver.upgrade().ok_or_else(gone)?.receive(call);
        answer.await.map_err(|_| gone())?
    }
}

/// A value given to a script.
#[derive(Debug, Clone, PartialEq)]
pub enum HostValue {
    /// Plain data.
    Json(Value),
    /// Plain data that whoever gives it keeps too.
    Shared(Arc<Value>),
    /// `undefined`.
    Undefined,
    /// The object that the method was called on, itself. Where there is none, and in a promise, it is `undefined`.
    Receiver,
    /// A list whose items may be objects with methods.
    List(Vec<Self>),
    /// An object whose members may be objects with methods.
    Map(Vec<(String, Self)>),
    /// An object with the methods of a class.
    Object(HostObject),
}

impl From<Value> for HostValue {
    fn from(json: Value) -> Self {
        Self::Json(json)
    }
}

/// An object with methods that are calls to the host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostObject {
    /// A class of the [`HostApi`].
    pub class: String,
    /// What the host knows it by. Scripts can neither see nor change it.
    pub handle: Value,
    /// Its properties.
    pub members: Vec<(String, HostValue)>,
}

/// Everything that scripts can call: one description for all runs of an engine.
#[derive(Debug, Clone, Default)]
pub struct HostApi {
    /// The classes of the objects that the host hands out.
    pub classes: Vec<HostClass>,
    /// Global functions and global objects with functions: a name like `Process` or `http.Get`.
    pub globals: Vec<HostMethod>,
    /// Names that scripts may import from the built-in modules but that only say that they are not available.
    pub unavailable: Vec<String>,
}

/// A class of objects that the host hands out.
#[derive(Debug, Clone)]
pub struct HostClass {
    /// Its name, unique in the surface.
    pub name: String,
    /// What can be called on its objects.
    pub methods: Vec<HostMethod>,
}

/// Something that a script can call.
#[derive(Debug, Clone)]
pub struct HostMethod {
    /// Its name.
    pub name: String,
    /// What the script gets.
    pub returns: ReturnKind,
    /// An argument that is not JSON arrives as the text that says so, instead of being an error in the script.
    pub is_lenient: bool,
}

/// What a script gets from a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnKind {
    /// The value: the script stands still until the host has answered.
    Value,
    /// A promise of the value.
    Promise,
}

impl HostMethod {
    /// Something that returns its value.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            returns: ReturnKind::Value,
            is_lenient: false,
        }
    }

    /// Something that returns a promise.
    pub fn promise(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            returns: ReturnKind::Promise,
            is_lenient: false,
        }
    }

    /// The same, but no argument of it is an error in the script.
    pub fn lenient(self) -> Self {
        Self {
            is_lenient: true,
            ..self
        }
    }
}
