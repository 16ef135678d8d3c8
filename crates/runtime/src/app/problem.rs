//! What is wrong with an app's files.

use super::read::node::{FilePosition, SyntaxError};
use crate::error::{Error, ErrorCode};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use utoipa::ToSchema;

/// Something wrong with a file, or something in it that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FileProblem {
    /// How bad it is.
    pub severity: Severity,
    /// The file, below the app's folder.
    pub file: String,
    /// The line, counted from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// The column, counted from 1.
    #[schema(required)]
    pub column: Option<u32>,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Parts of an app by id; a broken one is what is wrong with it.
pub type ItemsById<T> = BTreeMap<String, Result<T, FileProblem>>;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is accepted and has no effect.
    Notice,
    /// Something is not known, missing or of no use, and all else works without it.
    Warning,
    /// The item cannot be used.
    Error,
}

impl Severity {
    /// As people and programs read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl FileProblem {
    /// A problem of a file as a whole.
    pub fn new(severity: Severity, file: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            file: file.to_owned(),
            line: None,
            column: None,
            message: message.into(),
        }
    }

    /// A problem at a place of a file.
    pub fn at(
        severity: Severity,
        file: &str,
        at: FilePosition,
        message: impl Into<String>,
    ) -> Self {
        Self {
            line: Some(at.line),
            column: Some(at.column),
            ..Self::new(severity, file, message)
        }
    }

    /// True if the item cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// What whoever needs the item is told.
    pub fn for_user(&self, what: &str, id: &str) -> Error {
        let message = format!("{what} \"{id}\" cannot be used: {self}");
        Error::new(ErrorCode::ConfigError, message)
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        if let Some(column) = self.column.filter(|_| self.line.is_some()) {
            write!(out, ":{column}")?;
        }
        write!(out, ": {}", self.message)
    }
}

/// The problems of one file.
pub struct ProblemReport {
    file: String,
    /// In the order in which they were found.
    pub problems: Vec<FileProblem>,
}

impl ProblemReport {
    /// Nothing wrong yet.
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            problems: Vec::new(),
        }
    }

    /// An error at a place.
    pub fn error(&mut self, at: FilePosition, message: impl Into<String>) {
        self.push(Severity::Error, at, message);
    }

    /// A problem at a place.
    pub fn push(&mut self, severity: Severity, at: FilePosition, message: impl Into<String>) {
        self.problems
            .push(FileProblem::at(severity, &self.file, at, message));
    }

    /// A text that cannot be read.
    pub fn fault(&mut self, fault: SyntaxError) {
        self.problems.push(FileProblem {
            line: fault.at.map(|at| at.line),
            column: fault.at.map(|at| at.column),
            ..FileProblem::new(Severity::Error, &self.file, fault.message)
        });
    }

    /// The first error, which is why the item cannot be used.
    pub fn first(&self) -> Option<&FileProblem> {
        self.problems.iter().find(|problem| problem.is_error())
    }
}
