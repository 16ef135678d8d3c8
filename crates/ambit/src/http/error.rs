//! What a failure looks like over HTTP.

use crate::format::FailureDetails;
use crate::status::status;
use ambit_knowledge::KnowledgeError;
use ambit_runtime::{Error, ErrorCode};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

/// What a client waits that was told to come again, where nobody knows better.
const WAIT: u64 = 1;

/// A failed request. Its text is written when the answer leaves, where the request's id is known.
#[derive(Debug)]
pub struct HttpError(pub Box<Error>);

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        Self(Box::new(error))
    }
}

impl From<ambit_storage::Error> for HttpError {
    fn from(error: ambit_storage::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<KnowledgeError> for HttpError {
    fn from(error: KnowledgeError) -> Self {
        Error::from(error).into()
    }
}

/// A failure on its way out, beside its answer.
#[derive(Clone)]
pub(super) struct ErrorExtension(pub Box<Error>);

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let status = status(&self.0);
        let mut response = status.into_response();
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, retry_after(&self.0).into());
            }
            _ => {}
        }
        response.extensions_mut().insert(ErrorExtension(self.0));
        response
    }
}

/// A request's body that is too large.
pub(super) fn too_large(limit: usize) -> Error {
    let message = format!("the body is larger than {limit} bytes");
    let mut error = Error::new(ErrorCode::LimitExceeded, message);
    error.details = Some(Box::new(serde_json::json!({ "limit": limit })));
    error
}

/// Seconds, from `details.retry_after` if it is there.
fn retry_after(error: &Error) -> u64 {
    let told = error
        .details
        .as_ref()
        .and_then(|details| details.get("retry_after"));
    told.and_then(Value::as_f64)
        .map_or(WAIT, |seconds| seconds.clamp(1.0, 86_400.0).ceil() as u64)
}

/// The body of every failure.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    error: ErrorDetails,
}

/// What went wrong.
#[derive(Serialize, utoipa::ToSchema)]
struct ErrorDetails {
    #[serde(flatten)]
    failure: FailureDetails,
    /// The field of the request that is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    /// The request.
    request_id: String,
    /// What else is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

impl ErrorBody {
    /// The body for this failure. Stacks are for development alone.
    pub(super) fn of(error: Error, request_id: &str, is_development: bool) -> Self {
        let failure = FailureDetails::from(&error);
        let mut details = error.details.map(|details| *details);
        if is_development && !error.stack.is_empty() {
            let mut object = match details {
                Some(Value::Object(object)) => object,
                _ => serde_json::Map::new(),
            };
            object.insert("stack".to_owned(), error.stack.into_vec().into());
            details = Some(object.into());
        }
        Self {
            error: ErrorDetails {
                failure,
                param: error.param,
                request_id: request_id.to_owned(),
                details,
            },
        }
    }
}
