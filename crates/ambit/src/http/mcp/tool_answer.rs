//! What a tool answers: a value, or a failure that the host's model is told.

use crate::http::HttpError;
use ambit_runtime::mcp::cut;
use ambit_runtime::{Error, StorageError};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Bytes of one result.
const RESULT_LIMIT: usize = 256 << 10;

/// What a tool gives back.
pub type ToolAnswer = Result<Value, ToolFailure>;

/// Why a tool gives nothing back.
#[derive(Debug)]
pub enum ToolFailure {
    /// There is no such tool for this caller.
    Unknown,
    /// It failed.
    Failed(Error),
}

impl From<Error> for ToolFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StorageError> for ToolFailure {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<HttpError> for ToolFailure {
    fn from(error: HttpError) -> Self {
        Self::Failed(*error.0)
    }
}

/// A value that a tool gives back.
pub fn value(of: &impl Serialize) -> ToolAnswer {
    serde_json::to_value(of).map_err(|error| {
        let message = format!("the result is no JSON: {error}");
        ToolFailure::Failed(Error::internal(message))
    })
}

/// The result of a call that has given this.
pub fn success(value: Value) -> Map<String, Value> {
    result(value, false)
}

/// The result of a call that has failed.
pub fn failure(error: &Error) -> Map<String, Value> {
    let told = json!({"error": {"code": error.code.to_string(), "message": error.message}});
    result(told, true)
}

/// What is too long is cut, and then no value any more.
fn result(value: Value, is_error: bool) -> Map<String, Value> {
    let text = value.to_string();
    let mut result = Map::new();
    if text.len() <= RESULT_LIMIT {
        result.insert("structuredContent".to_owned(), value);
    }
    let content = json!([{"type": "text", "text": cut(text)}]);
    result.insert("content".to_owned(), content);
    result.insert("isError".to_owned(), is_error.into());
    result
}
