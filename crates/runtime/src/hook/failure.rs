//! What a failing script means for its turn.

use crate::ctx::{self, RunHost, ScriptContext};
use crate::error::{Disclosure, Error, ErrorCode};
use crate::process::ProcessCall;
use crate::trace::{FieldTruncator, LogLevel, TraceNode};
use ambit_script::{LoadError, ScriptException};
use ambit_storage::quotes::without_quotes;
use serde_json::Value;

/// Bytes of what a script says of its failure: it goes into answers, streams, traces and the log.
const MESSAGE: usize = 4096;
/// Bytes of a code that a script gives to its own failure.
const CODE: usize = 100;

/// What is told of a script where its places are withheld.
const FAILED: &str = "a script of the app failed; the server's log says why";
/// The same of a script that passed a limit.
const LIMITED: &str = "a script of the app passed a limit; the server's log says which";
/// The same of a script that cannot be loaded.
const NOT_LOADED: &str = "a script of the app cannot be loaded; the server's log says why";

/// A script that cannot be loaded.
pub fn load(error: &LoadError) -> Error {
    Error::new(ErrorCode::ConfigError, error.to_string())
}

/// A run that failed.
pub fn of(error: &ambit_script::Error, file: &str, hook: &str) -> Error {
    match error {
        ambit_script::Error::Load(error) => load(error),
        ambit_script::Error::Thrown(thrown) => of_thrown(thrown),
        ambit_script::Error::Limited { code, message } => {
            Error::new(ErrorCode::from(*code), message.clone())
        }
        ambit_script::Error::ReturnedTooMuch { .. } => {
            Error::new(ErrorCode::HookError, format!("{file} {hook}: {error}"))
        }
        ambit_script::Error::NotAFunction(_) | ambit_script::Error::NeverSettles(_) => {
            Error::new(ErrorCode::HookError, error.to_string())
        }
        ambit_script::Error::NoFunction { .. } => {
            Error::new(ErrorCode::HookError, format!("{file}: {error}"))
        }
        ambit_script::Error::Cancelled => {
            Error::new(ErrorCode::Cancelled, format!("{hook} was cancelled"))
        }
        ambit_script::Error::Internal(_) => Error::internal(error.to_string()),
    }
}

/// The failure of a run as it is passed on. What a script says of its failure is the app's to tell.
pub fn told(error: &ambit_script::Error, failure: Error, disclosure: Disclosure) -> Error {
    let public = match error {
        ambit_script::Error::Thrown(thrown) if is_defect(thrown) => FAILED,
        ambit_script::Error::Thrown(_)
        | ambit_script::Error::NotAFunction(_)
        | ambit_script::Error::NeverSettles(_)
        | ambit_script::Error::Cancelled => return failure,
        ambit_script::Error::ReturnedTooMuch { .. }
        | ambit_script::Error::NoFunction { .. }
        | ambit_script::Error::Internal(_) => FAILED,
        ambit_script::Error::Limited { .. } => LIMITED,
        ambit_script::Error::Load(_) => NOT_LOADED,
    };
    disclosure.of(failure, public)
}

/// A process that cannot be loaded, as it is passed on.
pub fn not_loaded(failure: Error, disclosure: Disclosure) -> Error {
    disclosure.of(failure, NOT_LOADED)
}

/// A process that failed: whoever called it gets the code too, whatever threw it.
pub fn of_process(error: &ambit_script::Error, file: &str, name: &str) -> Error {
    match error {
        ambit_script::Error::Thrown(thrown) => Error {
            code: code(thrown).unwrap_or(ErrorCode::HookError),
            ..of_thrown(thrown)
        },
        other => of(other, file, name),
    }
}

fn code(thrown: &ScriptException) -> Option<ErrorCode> {
    let code = thrown.code.as_deref().filter(|code| code.len() <= CODE);
    code.map(ErrorCode::from)
}

/// What a script threw. Its own words are passed on; what the engine threw is said with its place, because nobody wrote it.
fn of_thrown(thrown: &ScriptException) -> Error {
    let message = match thrown.message.as_str() {
        _ if is_defect(thrown) => described(thrown),
        "" => "a script threw an error without a message".to_owned(),
        message => message.to_owned(),
    };
    let message = FieldTruncator::new(MESSAGE).text(message);
    let code = code(thrown).filter(|code| thrown.name == "Exception" || is_of_a_store(code));
    Error {
        status: thrown.status.and_then(status),
        stack: thrown.stack.iter().map(ToString::to_string).collect(),
        ..Error::new(code.unwrap_or(ErrorCode::HookError), message)
    }
}

/// What the engine threw, with its place. A method of `ctx` that is not there is named, with the one that is meant.
fn described(thrown: &ScriptException) -> String {
    let called = thrown.called.as_deref();
    match called.and_then(ctx::missing_method) {
        None => thrown.to_string(),
        Some(message) => {
            let thrown = thrown.clone();
            ScriptException { message, ..thrown }.to_string()
        }
    }
}

/// Whether the engine threw it.
fn is_defect(thrown: &ScriptException) -> bool {
    matches!(
        thrown.name.as_str(),
        "TypeError" | "ReferenceError" | "RangeError" | "SyntaxError"
    )
}

/// A store failed below the script, which is not to blame: the same request may succeed later.
fn is_of_a_store(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Fenced
            | ErrorCode::Partial
            | ErrorCode::Unavailable
            | ErrorCode::Corrupt
            | ErrorCode::Internal
    )
}

/// A number like a status of HTTP.
fn status(number: f64) -> Option<u16> {
    let is_one = number.fract() == 0.0 && (100.0..=599.0).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and between 100 and 599"
    )]
    is_one.then_some(number as u16)
}

/// A run of a hook that failed.
pub struct FailedRun<'a> {
    pub scope: &'a ScriptContext,
    pub hook: &'a str,
    /// Where it is traced.
    pub node: &'a TraceNode,
    /// What it was called with.
    pub given: &'a [Value],
    pub run: &'a RunHost,
    /// Why it failed.
    pub error: &'a Error,
    /// The same as it is passed on.
    pub told: &'a Error,
}

impl FailedRun<'_> {
    /// Tells the trace and the log. The log sees where it happened, and nothing of what the hook was called with or has read.
    pub fn record(&self) {
        let stack = self.error.stack.join("\n");
        let (shown, told) = (&self.scope.properties, &self.told.message);
        if !stack.is_empty() && self.scope.disclosure == Disclosure::Full {
            let stack = Value::from(stack.as_str());
            self.node.log(LogLevel::Error, told, stack);
        }
        self.node.fail(told);
        let said = self.run.echo_filter(&Value::from(self.given));
        tracing::warn!(
            request.id = shown.request_id,
            agent.id = shown.assistant_id,
            hook = self.hook,
            host.method = self.run.failed_method(&self.error.message),
            error.code = self.error.code.as_str(),
            error.message = said.logged(&self.error.message, self.scope.disclosure),
            error.stack = stack,
            "a hook failed"
        );
    }
}

/// Has the log say that a hook returned what cannot be read.
pub fn record_unreadable(error: Error, scope: &ScriptContext, hook: &str) -> Error {
    let shown = &scope.properties;
    tracing::warn!(
        request.id = shown.request_id,
        agent.id = shown.assistant_id,
        hook,
        error.code = error.code.as_str(),
        error.message = without_quotes(&error.message),
        "a hook returned what cannot be read"
    );
    Error {
        is_logged: true,
        ..error
    }
}

/// The failure of a call as its script is told it. What has caused it is for the log and, where all is told, for the script too.
pub fn of_call(error: Error, scope: &ScriptContext, called: &str) -> Error {
    let Some(cause) = &error.cause else {
        return error;
    };
    let shown = &scope.properties;
    tracing::warn!(
        request.id = shown.request_id,
        agent.id = shown.assistant_id,
        host.method = called,
        error.code = error.code.as_str(),
        error.cause = cause.to_string(),
        "a call of a script failed"
    );
    match scope.disclosure {
        Disclosure::Withheld => error,
        Disclosure::Full => Error {
            message: error.to_string(),
            cause: None,
            ..error
        },
    }
}

/// Has the log say that a process failed, for whoever called it is not told where.
pub fn record_process(error: &Error, call: &ProcessCall<'_>) {
    let scope = &call.reach.scope;
    let shown = &scope.properties;
    let said = call
        .run
        .echo_filter(&Value::from(call.arguments.as_slice()));
    tracing::warn!(
        request.id = shown.request_id,
        agent.id = shown.assistant_id,
        process = call.name,
        error.code = error.code.as_str(),
        error.message = said.logged(&error.message, scope.disclosure),
        error.stack = error.stack.join("\n"),
        "a process failed"
    );
}
