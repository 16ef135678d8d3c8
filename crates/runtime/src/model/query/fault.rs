//! What is wrong with a query, and where in it.

use crate::error::Error;
use ambit_storage::suggestion;
use serde_json::{Value, json};

/// What a part of parsing gives.
pub type QueryResult<T> = Result<T, QueryFault>;

/// One thing that is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFault {
    /// What kind of fault it is, in one word.
    pub code: &'static str,
    /// Where it is in the query, such as `wheres[0].op`; empty for the query as a whole.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The column that it is about, where the path does not say.
    pub subject: Option<String>,
    /// What would have been known, in brackets behind all else.
    pub hint: String,
}

impl QueryFault {
    /// A fault at this place.
    pub fn new(code: &'static str, path: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            path: path.to_owned(),
            message: message.into(),
            subject: None,
            hint: String::new(),
        }
    }

    /// A value that has not the right form.
    pub fn form(path: &str, what: &str, rule: &str) -> Self {
        Self::new("invalid", path, format!("{what} {rule}"))
    }

    /// A name that is not known, with the nearest one that is.
    pub fn unknown<'k>(
        what: &'static str,
        name: &str,
        path: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Self {
        let hint = suggestion::aside(name, known);
        let code = match what {
            "operator" => "unknown_operator",
            "column" => "unknown_column",
            "method" => "unknown_method",
            "relation" => "unknown_relation",
            "table" => "unknown_table",
            "function" => "unknown_function",
            _ => "unknown_key",
        };
        Self {
            hint,
            ..Self::new(code, path, format!("unknown {what} \"{name}\""))
        }
    }

    /// The same with all known names where none is near.
    pub fn unknown_of(what: &'static str, name: &str, path: &str, known: &[&str]) -> Self {
        let mut fault = Self::unknown(what, name, path, known.iter().copied());
        if fault.hint.is_empty() {
            fault.hint = format!(" (there are {})", known.join(", "));
        }
        fault
    }

    /// A condition without the value that it needs.
    pub fn missing(path: &str, column: &str) -> Self {
        Self {
            subject: Some(column.to_owned()),
            ..Self::new("missing_value", path, "value is missing")
        }
    }

    /// A value that a condition cannot compare with.
    pub fn value(subject: &str, rule: &str) -> Self {
        Self {
            subject: Some(subject.to_owned()),
            ..Self::new("invalid_value", "", format!("value {rule}"))
        }
    }

    /// A hashed column, which rows never have.
    pub fn secret(column: &str) -> Self {
        let text = format!("column \"{column}\" is hashed and never returned");
        Self::new("secret_column", "", text)
    }

    /// A column or a field that rows cannot be ordered by.
    pub fn unordered(name: &str) -> Self {
        let text = format!("rows cannot be ordered by {name}: its values have no order");
        Self::new("unfit_column", "", text)
    }

    /// The same, further out in the query.
    pub fn within(mut self, outer: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => outer.to_owned(),
            path if path.starts_with('[') => format!("{outer}{path}"),
            path => format!("{outer}.{path}"),
        };
        self
    }

    /// As it is thrown: `of` says whose query it is.
    pub fn error(&self, of: &str) -> Error {
        let place = match self.place() {
            "" => String::new(),
            place => format!(" in {place}"),
        };
        let message = format!("{of}: {}{place}{}", self.message, self.aside());
        Error::invalid(self.path.as_str(), message)
    }

    /// As `Lint` tells it.
    pub fn diagnostic(&self) -> Value {
        json!({
            "code": self.code,
            "path": self.path,
            "message": format!("{}{}", self.message, self.aside()),
        })
    }

    /// The path without an unknown key, which the message names.
    fn place(&self) -> &str {
        match self.code {
            "unknown_key" => self.path.rsplit_once('.').map_or("", |(outer, _)| outer),
            _ => &self.path,
        }
    }

    /// The column that it is about, and what would have been known.
    fn aside(&self) -> String {
        let subject = self.subject.as_ref();
        let subject = subject.map_or_else(String::new, |column| format!(" ({column})"));
        subject + &self.hint
    }
}
