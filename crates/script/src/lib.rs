//! Runs a function of a TypeScript or JavaScript module: values in and out, calls to the host on the way, limits on time and
//! memory.
//!
//! This is the only crate that may name the JavaScript engine or the TypeScript transpiler. It must not know agents, storage
//! or HTTP.
//!
//! An [`Engine`] is made once, with a [`HostApi`] that says what scripts can call. It loads a file and its imports into a
//! [`Program`] and runs functions of it, each [`ScriptRun`] in a fresh runtime. What a script calls arrives at the run's [`Host`];
//! the script waits without holding a thread.

mod bare;
mod clock;
mod engine;
mod error;
mod handed_memory;
mod host;
mod limits;
mod prelude;
mod program;
mod run;
mod task;
mod value;

pub use engine::{Engine, EngineSettings, MeasuredRun, ProgramInstance, RunCounts, ScriptRun};
pub use error::{Error, HostError, LoadError, Result, ScriptException, SourceLocation, StackFrame};
pub use host::{
    Callback, Host, HostApi, HostCall, HostClass, HostMethod, HostObject, HostValue, NoHost,
    ParentRun, ReturnKind,
};
pub use limits::RunLimits;
pub use program::{Program, ProgramSource, SourceFiles, SourceFolder};
pub use task::RunOutcome;
