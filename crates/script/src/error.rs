//! The one error of this crate, and the error that a host gives to a script.

use std::fmt;

/// What went wrong, by meaning.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A program cannot be loaded: a file is missing, does not compile, or imports what is not there.
    #[error("{0}")]
    Load(LoadError),
    /// The function threw, or its promise was rejected.
    #[error("{0}")]
    Thrown(Box<ScriptException>),
    /// The run passed a limit and was ended, or was not begun because it would be nested too deeply.
    #[error("{message}")]
    Limited {
        /// `script_cpu_limit`, `script_timeout`, `script_out_of_memory` or `limit_exceeded`.
        code: &'static str,
        /// Which file, which function, which limit; of a run that was not begun, only the limit.
        message: String,
    },
    /// The function returned a promise that nothing is left to settle.
    #[error("{0} returned a promise that never settles")]
    NeverSettles(String),
    /// The program has something of that name, but it cannot be called.
    #[error("{0} is not a function")]
    NotAFunction(String),
    /// The program has nothing of that name.
    #[error("{file} has no function {function}")]
    NoFunction {
        /// The file that was asked.
        file: String,
        /// The function it lacks.
        function: String,
    },
    /// The returned value is larger than it may be.
    #[error("{function} returned more than {limit} bytes")]
    ReturnedTooMuch {
        /// The function that returned it.
        function: String,
        /// What it may return.
        limit: usize,
    },
    /// Whoever started the run no longer waits for it.
    #[error("the run was cancelled")]
    Cancelled,
    /// The engine or the machine failed; the script is not to blame.
    #[error("script engine: {0}")]
    Internal(String),
}

/// A place in a source file; lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, as the program names it.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The column in that line.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why a program cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// Where; without it, the program as a whole.
    pub at: Option<SourceLocation>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(out, "{at}: {}", self.message),
            None => out.write_str(&self.message),
        }
    }
}

/// One line of a stack, in terms of the source that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    /// The function, if it has a name.
    pub function: Option<String>,
    /// Where it was.
    pub at: SourceLocation,
}

impl fmt::Display for StackFrame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => write!(out, "at {function} ({})", self.at),
            None => write!(out, "at {}", self.at),
        }
    }
}

/// What a script threw.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptException {
    /// `TypeError`, `Exception`, …; empty if it was no error.
    pub name: String,
    /// Its text.
    pub message: String,
    /// Its `code`, if that is a string.
    pub code: Option<String>,
    /// Its `status`, or a `code` that is a number.
    pub status: Option<f64>,
    /// Where it was made, innermost first.
    pub stack: Vec<StackFrame>,
    /// Where something was called that is no function, what stands at that place of the source, such as `ctx.Sned`. It may also be
    /// a function that was given something else in the place of a function.
    pub called: Option<String>,
}

impl fmt::Display for ScriptException {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(out, "{}: ", self.name)?;
        }
        out.write_str(&self.message)?;
        match self.stack.first() {
            Some(frame) => write!(out, " ({})", frame.at),
            None => Ok(()),
        }
    }
}

/// What a host call throws in the script: an `Error` with this message, code and status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostError {
    /// The text of the error.
    pub message: String,
    /// Its `code`.
    pub code: Option<String>,
    /// Its `status`, like one of HTTP; where there is no code, it is that too.
    pub status: Option<f64>,
    /// Its class, or its name where the engine has no such class; `Error` if none is given.
    pub name: Option<&'static str>,
    /// A callback threw and the call gives up because of it: the script gets what the callback threw, itself.
    pub from_callback: bool,
}

impl HostError {
    /// An error with a message and a code.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: Some(code.to_owned()),
            ..Self::default()
        }
    }

    /// What a script sees of a host call that panicked.
    pub(crate) fn panicked() -> Self {
        let message = "the host call failed; the log of the host says why";
        Self::new("internal", message)
    }
}

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
