//! `console` and `log`: lines of scripts in the log of the server.

use super::printf::format;
use crate::ctx::{ScriptCall, ScriptContext, ScriptMethod, rows};
use crate::error::{Error, ErrorCode, Result};
use crate::value_text::value_text;
use ambit_script::HostValue;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const FORMAT: Option<(usize, &str)> = Some((1, "a format argument"));

/// `log`, with formats as of `printf`.
pub const LOG: &[ScriptMethod] = rows! {
    "log.Trace(format: any, ...args: any[]): void", FORMAT, write: "Writes a line for whoever looks for a defect.",
    "log.Debug(format: any, ...args: any[]): void", FORMAT, write: "Writes a line for whoever looks for a defect.",
    "log.Info(format: any, ...args: any[]): void", FORMAT, write: "Writes a line.",
    "log.Warn(format: any, ...args: any[]): void", FORMAT, write: "Writes a warning.",
    "log.Error(format: any, ...args: any[]): void", FORMAT, write: "Writes an error.",
    "log.Fatal(format: any, ...args: any[]): never", FORMAT, write: "Writes an error, and throws it.",
    "log.Panic(format: any, ...args: any[]): never", FORMAT, write: "Writes an error, and throws it.",
};

async fn write(call: &ScriptCall<'_>) -> Result<HostValue> {
    let rest = call.arguments.get(1..).unwrap_or_default();
    let text = format(&value_text(&call.value(0)), rest);
    let level = call.method.name().trim_start_matches("log.");
    let (line, throws) = match level {
        "Trace" | "Debug" => (ScriptLogLevel::Debug, false),
        "Info" => (ScriptLogLevel::Info, false),
        "Warn" => (ScriptLogLevel::Warn, false),
        "Error" => (ScriptLogLevel::Error, false),
        _ => (ScriptLogLevel::Error, true),
    };
    call.run.log().write(line, &text);
    if throws {
        return Err(Error::new(ErrorCode::HookError, text));
    }
    Ok(HostValue::Undefined)
}

/// How important a line is.
#[derive(Clone, Copy)]
enum ScriptLogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// The lines of one run. Processes within it write lines under their own name.
#[derive(Clone)]
pub struct ScriptLog {
    scope: Arc<ScriptContext>,
    function: String,
    room: Arc<ScriptLogBudget>,
}

/// What may still be written.
struct ScriptLogBudget {
    rest: AtomicUsize,
    is_full: AtomicBool,
}

impl ScriptLog {
    /// The log of one run of this function.
    pub fn new(scope: &Arc<ScriptContext>, function: &str) -> Self {
        Self {
            scope: Arc::clone(scope),
            function: function.to_owned(),
            room: Arc::new(ScriptLogBudget {
                rest: AtomicUsize::new(scope.limits.log),
                is_full: AtomicBool::new(false),
            }),
        }
    }

    /// The lines of a process within it.
    pub fn of(&self, process: &str) -> Self {
        Self {
            function: process.to_owned(),
            ..self.clone()
        }
    }

    /// One line of `console`.
    pub fn console(&self, level: &str, arguments: &[Value]) {
        let parts: Vec<String> = arguments.iter().map(value_text).collect();
        let line = match level {
            "debug" => ScriptLogLevel::Debug,
            "warn" => ScriptLogLevel::Warn,
            "error" => ScriptLogLevel::Error,
            _ => ScriptLogLevel::Info,
        };
        self.write(line, &parts.join(" "));
    }

    /// A warning of the host's own.
    pub fn warn(&self, text: &str) {
        self.write(ScriptLogLevel::Warn, text);
    }

    fn write(&self, line: ScriptLogLevel, text: &str) {
        let size = text.len();
        let taken = self
            .room
            .rest
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |rest| {
                rest.checked_sub(size)
            });
        if taken.is_ok() {
            return self.emit(line, text);
        }
        if !self.room.is_full.swap(true, Ordering::AcqRel) {
            let limit = self.scope.limits.log;
            self.emit(
                ScriptLogLevel::Warn,
                &format!("a run writes at most {limit} bytes of log; more is left out"),
            );
        }
    }

    fn emit(&self, line: ScriptLogLevel, text: &str) {
        let shown = &self.scope.properties;
        let (request, agent) = (&shown.request_id, &shown.assistant_id);
        let function = &self.function;
        macro_rules! emit {
            ($level:ident) => {
                tracing::$level!(
                    request.id = request,
                    agent.id = agent,
                    hook = function,
                    "{text}"
                )
            };
        }
        match line {
            ScriptLogLevel::Debug => emit!(debug),
            ScriptLogLevel::Info => emit!(info),
            ScriptLogLevel::Warn => emit!(warn),
            ScriptLogLevel::Error => emit!(error),
        }
    }
}

/// One line of `console` of a script that runs beside the turns.
pub fn write_line(agent: &str, function: &str, level: &str, arguments: &[Value]) {
    let parts: Vec<String> = arguments.iter().map(value_text).collect();
    let text = parts.join(" ");
    match level {
        "debug" => tracing::debug!(agent.id = agent, hook = function, "{text}"),
        "warn" => tracing::warn!(agent.id = agent, hook = function, "{text}"),
        "error" => tracing::error!(agent.id = agent, hook = function, "{text}"),
        _ => tracing::info!(agent.id = agent, hook = function, "{text}"),
    }
}
