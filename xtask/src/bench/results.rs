//! The file of a run's lines.

use crate::process::{Result, each_line};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A result that this command has measured itself.
pub struct ResultRow<'a> {
    pub backend: &'a str,
    pub work: &'a str,
    pub value: f64,
    pub unit: &'a str,
    pub note: &'a str,
}

/// The lines that all programs printed, each with its round and place.
pub struct Results {
    pub path: PathBuf,
    /// What goes before the fields of each line.
    pub prefix: String,
    file: File,
    since: Instant,
}

impl Results {
    pub fn create(path: PathBuf) -> Result<Self> {
        let failed = |error| format!("cannot write {}: {error}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        let file = File::create(&path).map_err(failed)?;
        Ok(Self {
            path,
            prefix: String::new(),
            file,
            since: Instant::now(),
        })
    }

    /// How long the run has taken so far.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Says what is done now, and how long the run has taken so far.
    pub fn progress(&self, what: &str) {
        let seconds = self.elapsed().as_secs();
        eprintln!("[{:2}:{:02}] {what}", seconds / 60, seconds % 60);
    }

    /// Runs a program and keeps the lines of JSON that it prints; true where it succeeded.
    pub fn collect(&mut self, name: &str, command: &mut Command) -> Result<bool> {
        self.progress(name);
        let mut written = Ok(());
        let mut has_said = false;
        let succeeded = each_line(command, |line| match line.strip_prefix('{') {
            Some(rest) if written.is_ok() => {
                has_said |= rest.starts_with("\"failed\"");
                written = writeln!(self.file, "{{{}{rest}", self.prefix);
            }
            Some(_) => {}
            None => eprintln!("{line}"),
        })?;
        written.map_err(|error| self.cannot_write(&error))?;
        if !succeeded && !has_said {
            self.failure(name, "it ended early; the terminal said why")?;
        }
        Ok(succeeded)
    }

    /// Keeps a result.
    pub fn result(&mut self, row: &ResultRow<'_>) -> Result<()> {
        let line = json!({
            "peer": "ambit", "backend": row.backend, "work": row.work, "p": 1,
            "v": row.value, "unit": row.unit, "note": row.note,
        });
        self.line(line.to_string().trim_start_matches('{'))
    }

    /// Keeps that something was not measured.
    pub fn failure(&mut self, failed: &str, why: &str) -> Result<()> {
        self.line(&object([("failed", failed), ("why", why)]))
    }

    /// Keeps something that is known of the run.
    pub fn fact(&mut self, fact: &str, value: &str) -> Result<()> {
        self.line(&object([("fact", fact), ("value", value)]))
    }

    fn line(&mut self, rest: &str) -> Result<()> {
        let written = writeln!(self.file, "{{{}{rest}", self.prefix);
        written.map_err(|error| self.cannot_write(&error))
    }

    fn cannot_write(&self, error: &std::io::Error) -> String {
        format!("cannot write {}: {error}", self.path.display())
    }
}

/// Two fields as JSON, without the brace at the start.
fn object(fields: [(&str, &str); 2]) -> String {
    let mut text = String::new();
    for (index, (name, value)) in fields.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let value = serde_json::Value::from(value);
        let _ = write!(text, "{comma}\"{name}\": {value}");
    }
    text + "}"
}
