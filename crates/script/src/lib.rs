//! Runs a function of a TypeScript or JavaScript module: values in and out, calls to the host on the way, limits on time and
//! memory.
//!
//! This is the only crate that may name the JavaScript engine or the TypeScript transpiler. It must not know agents, storage
//! or HTTP.
//!
//! An [`Engine`] is made once, with a [`Surface`] that says what scripts can call. It loads a file and its imports into a
//! [`Program`] and runs functions of it, each [`Run`] in a fresh runtime. What a script calls arrives at the run's [`Host`];
//! the script waits without holding a thread.

mod bare;
mod clock;
mod engine;
mod error;
mod host;
mod instance;
mod limits;
mod pool;
mod prelude;
mod program;
mod run;
mod task;
mod value;
mod warm;

pub use engine::{Engine, Run, Settings};
pub use error::{Error, Frame, HostError, LoadError, Location, Result, Thrown};
pub use host::{
    Call, Callback, Caller, Class, Host, Method, NoHost, Object, Returns, Surface, Value,
};
pub use instance::Instance;
pub use limits::Limits;
pub use program::{Files, Folder, Program, Source};
pub use task::Outcome;
