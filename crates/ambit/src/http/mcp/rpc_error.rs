//! What a JSON-RPC request fails with. Only the protocol fails so: a tool that fails is a result that says it.

use super::protocol::ProtocolEra;
use crate::status::status;
use ambit_runtime::{Error, refusal, server_failure};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;

/// Why a request has no result.
#[derive(Debug)]
pub struct RpcError {
    /// The failure by meaning.
    pub kind: RpcErrorKind,
    /// What failed, for which input, and what would help.
    pub message: String,
    /// What else is known.
    pub data: Option<Value>,
}

/// The failures of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcErrorKind {
    /// The body is no JSON.
    Parse,
    /// The body is no message of JSON-RPC.
    InvalidRequest,
    /// The body is too large.
    TooLarge,
    /// There is no such method.
    MethodNotFound,
    /// The method's parameters are wrong, or name what is not there.
    InvalidParams,
    /// What every request says of itself in `_meta` is wrong or not there.
    InvalidMeta,
    /// There is no such resource.
    ResourceNotFound,
    /// The server failed.
    Internal,
    /// The caller has too many calls running, or streams open.
    TooManyCalls,
    /// A header says something else than the body.
    HeaderMismatch,
    /// The client has not declared what the method needs.
    MissingCapability,
    /// The version of the protocol is not spoken here.
    UnsupportedVersion,
}

impl RpcErrorKind {
    /// Its number in JSON-RPC.
    pub fn code(self, era: ProtocolEra) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest | Self::TooLarge => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams | Self::InvalidMeta => -32602,
            Self::ResourceNotFound => match era {
                ProtocolEra::Stateless => -32602,
                ProtocolEra::Handshake => -32002,
            },
            Self::Internal => -32603,
            Self::TooManyCalls => -32000,
            Self::HeaderMismatch => -32020,
            Self::MissingCapability => -32021,
            Self::UnsupportedVersion => -32022,
        }
    }

    /// The status of the answer.
    pub fn status(self, era: ProtocolEra) -> StatusCode {
        match self {
            Self::Parse
            | Self::InvalidRequest
            | Self::InvalidMeta
            | Self::HeaderMismatch
            | Self::MissingCapability
            | Self::UnsupportedVersion => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooManyCalls => StatusCode::TOO_MANY_REQUESTS,
            Self::MethodNotFound => match era {
                ProtocolEra::Stateless => StatusCode::NOT_FOUND,
                ProtocolEra::Handshake => StatusCode::OK,
            },
            Self::InvalidParams | Self::ResourceNotFound | Self::Internal => StatusCode::OK,
        }
    }
}

/// A failure as it is sent.
#[derive(Serialize)]
pub struct RpcErrorObject {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl RpcError {
    /// A failure about which no more is known.
    pub fn new(kind: RpcErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: None,
        }
    }

    /// The same with what else is known.
    pub fn with_data(self, data: Value) -> Self {
        let data = Some(data);
        Self { data, ..self }
    }

    /// A tool that is not there for the caller.
    pub fn unknown_tool(name: &str) -> Self {
        let message = format!("unknown tool \"{name}\"; tools/list names those there are");
        Self::new(RpcErrorKind::InvalidParams, message)
    }

    /// The failure as it is sent.
    pub fn object(self, era: ProtocolEra) -> RpcErrorObject {
        RpcErrorObject {
            code: self.kind.code(era),
            message: self.message,
            data: self.data,
        }
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        let kind = match status(&error).as_u16() {
            401 | 403 | 404 | 410 => RpcErrorKind::ResourceNotFound,
            429 => RpcErrorKind::TooManyCalls,
            400..=499 => RpcErrorKind::InvalidParams,
            _ => RpcErrorKind::Internal,
        };
        if kind == RpcErrorKind::Internal {
            let why = server_failure(&error);
            tracing::error!(error.code = %error.code, "a request of a tool's client failed: {why}");
        } else {
            tracing::debug!(
                error.code = %error.code,
                error.message = refusal(&error),
                "a request of a tool's client is refused"
            );
        }
        Self::new(kind, error.message)
    }
}
