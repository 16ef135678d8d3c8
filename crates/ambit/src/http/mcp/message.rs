//! Messages of JSON-RPC as they come in and go out.

use super::protocol::ProtocolEra;
use super::rpc_error::{RpcError, RpcErrorKind, RpcErrorObject};
use crate::http::input::check_size;
use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::{Map, Value};

/// What every message says.
const VERSION: &str = "2.0";

/// A message of a client's.
pub enum IncomingMessage {
    /// It wants an answer.
    Request(RpcRequest),
    /// It wants none.
    Notification(RpcNotification),
    /// It is an answer, and nothing was asked.
    Answer,
}

/// A request.
pub struct RpcRequest {
    /// By which the client knows the answer: a text or a whole number.
    pub id: Value,
    /// What is asked for.
    pub method: String,
    /// With what.
    pub params: Map<String, Value>,
}

/// A notification.
pub struct RpcNotification {
    /// What has happened.
    pub method: String,
    /// To what.
    pub params: Map<String, Value>,
}

/// A message with the fields that any of them may have.
#[derive(Deserialize)]
struct MessageFields {
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "given")]
    id: Option<Value>,
    method: Option<String>,
    params: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "given")]
    result: Option<Value>,
    error: Option<Value>,
}

/// `null` is a value too.
fn given<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(reader).map(Some)
}

impl IncomingMessage {
    /// Reads a body.
    pub fn read(body: &[u8]) -> Result<Self, RpcError> {
        let invalid = |message: &str| RpcError::new(RpcErrorKind::InvalidRequest, message);
        if body.trim_ascii_start().first() == Some(&b'[') {
            return Err(invalid("batches are not taken: send one message at a time"));
        }
        let size = str::from_utf8(body).map_or(Ok(()), check_size);
        size.map_err(|error| invalid(&error.message))?;
        let read = serde_json::from_slice::<MessageFields>(body);
        let fields = read.map_err(|error| match error.classify() {
            Category::Data => invalid(&format!("the body is no message of JSON-RPC: {error}")),
            Category::Io | Category::Syntax | Category::Eof => {
                let message = format!("the body is not JSON: {error}");
                RpcError::new(RpcErrorKind::Parse, message)
            }
        })?;
        if fields.jsonrpc.as_deref() != Some(VERSION) {
            return Err(invalid("jsonrpc must be \"2.0\""));
        }
        let params = fields.params.unwrap_or_default();
        match (fields.method, fields.id) {
            (Some(method), None) => Ok(Self::Notification(RpcNotification { method, params })),
            (Some(method), Some(id)) if is_id(&id) => {
                Ok(Self::Request(RpcRequest { id, method, params }))
            }
            (Some(_), Some(_)) => Err(invalid("id must be a string or a whole number")),
            (None, _) if fields.result.is_some() || fields.error.is_some() => Ok(Self::Answer),
            (None, _) => Err(invalid("method is required")),
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// The answer to a request.
#[derive(Serialize)]
pub struct RpcAnswer {
    jsonrpc: &'static str,
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcErrorObject>,
}

impl RpcAnswer {
    /// What came of a request.
    pub fn of(id: Value, era: ProtocolEra, outcome: Result<Value, RpcError>) -> Self {
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error.object(era))),
        };
        Self {
            jsonrpc: VERSION,
            id,
            result,
            error,
        }
    }
}

/// An answer that is sent at once.
pub fn respond(id: Value, era: ProtocolEra, outcome: Result<Value, RpcError>) -> Response {
    let kind = outcome.as_ref().err().map(|error| error.kind);
    let answer = Json(RpcAnswer::of(id, era, outcome));
    let Some(kind) = kind else {
        return answer.into_response();
    };
    let mut response = (kind.status(era), answer).into_response();
    if kind == RpcErrorKind::TooManyCalls {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// That a call gets on.
#[derive(Serialize)]
pub struct ProgressNotification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: ProgressParams<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a Value,
    progress: u64,
}

impl<'a> ProgressNotification<'a> {
    /// That so many steps are done.
    pub fn of(progress_token: &'a Value, progress: u64) -> Self {
        Self {
            jsonrpc: VERSION,
            method: "notifications/progress",
            params: ProgressParams {
                progress_token,
                progress,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IncomingMessage, RpcErrorKind};

    fn kind(body: &str) -> Option<RpcErrorKind> {
        IncomingMessage::read(body.as_bytes())
            .err()
            .map(|error| error.kind)
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (body, expected) in [
            ("{", RpcErrorKind::Parse),
            (" [{}]", RpcErrorKind::InvalidRequest),
            ("7", RpcErrorKind::InvalidRequest),
            (r#"{"id":1,"method":"ping"}"#, RpcErrorKind::InvalidRequest),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                RpcErrorKind::InvalidRequest,
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                RpcErrorKind::InvalidRequest,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
                RpcErrorKind::InvalidRequest,
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, RpcErrorKind::InvalidRequest),
        ] {
            assert_eq!(kind(body), Some(expected), "{body}");
        }
        for body in [
            r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(kind(body), None, "{body}");
        }
    }
}
