//! What a failing script means for its turn.

use crate::ctx::ScriptContext;
use crate::error::{Error, ErrorCode};
use crate::trace::{FieldTruncator, LogLevel, TraceNode};
use ambit_script::{LoadError, ScriptException};
use serde_json::Value;

/// Bytes of what a script says of its failure: it goes into answers, streams, traces and the log.
const MESSAGE: usize = 4096;
/// Bytes of a code that a script gives to its own failure.
const CODE: usize = 100;

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
        ambit_script::Error::NotAFunction(_) => Error::new(ErrorCode::HookError, error.to_string()),
        ambit_script::Error::NeverSettles(_) | ambit_script::Error::NoFunction { .. } => {
            Error::new(ErrorCode::HookError, format!("{file}: {error}"))
        }
        ambit_script::Error::Cancelled => {
            Error::new(ErrorCode::Cancelled, format!("{hook} was cancelled"))
        }
        ambit_script::Error::Internal(_) => Error::internal(error.to_string()),
    }
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
    let is_defect = matches!(
        thrown.name.as_str(),
        "TypeError" | "ReferenceError" | "RangeError" | "SyntaxError"
    );
    let message = match thrown.message.as_str() {
        _ if is_defect => thrown.to_string(),
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

/// Tells the trace and the log, which see where it happened.
pub fn record(error: &Error, scope: &ScriptContext, hook: &str, node: &TraceNode) {
    let stack = error.stack.join("\n");
    if !stack.is_empty() {
        node.log(LogLevel::Error, &error.message, Value::from(stack.as_str()));
    }
    node.fail(&error.message);
    let shown = &scope.properties;
    tracing::warn!(
        request.id = shown.request_id,
        agent.id = shown.assistant_id,
        hook,
        error.code = error.code.as_str(),
        error.message = error.message,
        error.stack = stack,
        "a hook failed"
    );
}
