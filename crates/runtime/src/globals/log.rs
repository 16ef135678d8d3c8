//! `console` and `log`: lines of scripts in the log of the server.

use super::printf::format;
use crate::ctx::{Call, Method, Scope, done};
use crate::error::{Code, Error, Result};
use crate::plain::plain;
use ambit_script::Value;
use serde_json::Value as Json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

macro_rules! row {
    ($signature:literal, $doc:literal) => {
        Method {
            signature: $signature,
            doc: $doc,
            needs: Some((1, "a format argument")),
            call: |call| done(std::future::ready(write(call))),
        }
    };
}

/// `log`, with formats as of `printf`.
pub const LOG: &[Method] = &[
    row!(
        "log.Trace(format: any, ...args: any[]): void",
        "Writes a line for whoever looks for a defect."
    ),
    row!(
        "log.Debug(format: any, ...args: any[]): void",
        "Writes a line for whoever looks for a defect."
    ),
    row!(
        "log.Info(format: any, ...args: any[]): void",
        "Writes a line."
    ),
    row!(
        "log.Warn(format: any, ...args: any[]): void",
        "Writes a warning."
    ),
    row!(
        "log.Error(format: any, ...args: any[]): void",
        "Writes an error."
    ),
    row!(
        "log.Fatal(format: any, ...args: any[]): never",
        "Writes an error, and throws it."
    ),
    row!(
        "log.Panic(format: any, ...args: any[]): never",
        "Writes an error, and throws it."
    ),
];

fn write(call: &Call<'_>) -> Result<Value> {
    let rest = call.arguments.get(1..).unwrap_or_default();
    let text = format(&plain(&call.value(0)), rest);
    let level = call.method.name().trim_start_matches("log.");
    let (line, throws) = match level {
        "Trace" | "Debug" => (Line::Debug, false),
        "Info" => (Line::Info, false),
        "Warn" => (Line::Warn, false),
        "Error" => (Line::Error, false),
        _ => (Line::Error, true),
    };
    call.run.log().write(line, &text);
    if throws {
        return Err(Error::new(Code::HookError, text));
    }
    Ok(Value::Undefined)
}

/// How important a line is.
#[derive(Clone, Copy)]
enum Line {
    Debug,
    Info,
    Warn,
    Error,
}

/// The lines of one run. Processes within it write lines under their own name.
#[derive(Clone)]
pub struct Log {
    scope: Arc<Scope>,
    function: String,
    room: Arc<Room>,
}

/// What may still be written.
struct Room {
    rest: AtomicUsize,
    is_full: AtomicBool,
}

impl Log {
    /// The log of one run of this function.
    pub fn new(scope: &Arc<Scope>, function: &str) -> Self {
        Self {
            scope: Arc::clone(scope),
            function: function.to_owned(),
            room: Arc::new(Room {
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
    pub fn console(&self, level: &str, arguments: &[Json]) {
        let parts: Vec<String> = arguments.iter().map(plain).collect();
        let line = match level {
            "debug" => Line::Debug,
            "warn" => Line::Warn,
            "error" => Line::Error,
            _ => Line::Info,
        };
        self.write(line, &parts.join(" "));
    }

    /// A warning of the host's own.
    pub fn warn(&self, text: &str) {
        self.write(Line::Warn, text);
    }

    fn write(&self, line: Line, text: &str) {
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
                Line::Warn,
                &format!("a run writes at most {limit} bytes of log; more is left out"),
            );
        }
    }

    fn emit(&self, line: Line, text: &str) {
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
            Line::Debug => emit!(debug),
            Line::Info => emit!(info),
            Line::Warn => emit!(warn),
            Line::Error => emit!(error),
        }
    }
}

/// One line of `console` of a script that runs beside the turns.
pub fn write_line(agent: &str, function: &str, level: &str, arguments: &[Json]) {
    let parts: Vec<String> = arguments.iter().map(plain).collect();
    let text = parts.join(" ");
    match level {
        "debug" => tracing::debug!(agent.id = agent, hook = function, "{text}"),
        "warn" => tracing::warn!(agent.id = agent, hook = function, "{text}"),
        "error" => tracing::error!(agent.id = agent, hook = function, "{text}"),
        _ => tracing::info!(agent.id = agent, hook = function, "{text}"),
    }
}
