//! The one error of this crate. Its code is what scripts, streams and clients are told; each outer layer chooses its own
//! status for it in one match.

mod disclosure;
mod server_failure;

pub use ambit_storage::Error as StorageError;
pub use disclosure::Disclosure;
pub use server_failure::ServerFailure;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use utoipa::ToSchema;

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}{}", because(cause))]
pub struct Error {
    /// By meaning.
    pub code: ErrorCode,
    /// What failed, for which input, and what would make it work. Never a stack, a secret, a place in a store or somebody
    /// else's data.
    pub message: String,
    /// The store's own error, which says where it was. The program and its log find it behind the message, where the error is
    /// displayed; clients and scripts are told the message alone.
    pub cause: Option<Arc<StorageError>>,
    /// The field of the request that is to blame, as a path.
    pub param: Option<String>,
    /// The status a script asked for.
    pub status: Option<u16>,
    /// What else may be told.
    pub details: Option<Box<Value>>,
    /// How a tool server has failed; for the call's result only.
    pub server_failure: Option<ServerFailure>,
    /// Where in the scripts, innermost first; for traces, logs and development only.
    pub stack: Box<[String]>,
    /// Its cause is in the log already; whoever handles it does not write it once more.
    pub is_logged: bool,
}

/// A row of the table of codes.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCodeRow {
    /// The code as it is written in JSON.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What went wrong, by meaning.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $name,)+
            /// A code that a script gave to its own exception.
            Own(Cow<'static, str>),
        }

        /// Every code that Ambit gives, and what it means.
        pub const ERROR_CODES: &[ErrorCodeRow] = &[
            $(ErrorCodeRow { name: $text, about: concat!($($doc),+) },)+
        ];

        impl ErrorCode {
            /// The code as it is written in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)+
                    Self::Own(text) => text,
                }
            }
        }

        impl From<&str> for ErrorCode {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$name,)+
                    other => Self::Own(Cow::Owned(other.to_owned())),
                }
            }
        }
    };
}

codes! {
    /// The caller's input breaks a rule.
    InvalidArgument = "invalid_argument",
    /// The request names a connector that it may not choose.
    ConnectorNotAllowed = "connector_not_allowed",
    /// Nobody valid is calling.
    Unauthenticated = "unauthenticated",
    /// The caller has no right to do this.
    PermissionDenied = "permission_denied",
    /// A listener stopped it.
    Vetoed = "vetoed",
    /// It does not exist, or the caller may not know that it does.
    NotFound = "not_found",
    /// It changed meanwhile, or was asked for in another way before.
    Conflict = "conflict",
    /// Another turn is running.
    ChatBusy = "chat_busy",
    /// The turn is past the point where this could be done.
    TooLate = "too_late",
    /// The stream is no longer kept.
    StreamExpired = "stream_expired",
    /// Too large, too many, too long.
    LimitExceeded = "limit_exceeded",
    /// The lease has passed on.
    Fenced = "fenced",
    /// Some stores have the write and some have not.
    Partial = "partial",
    /// Something cannot be reached; repeating later is safe.
    Unavailable = "unavailable",
    /// Stored bytes are damaged.
    Corrupt = "corrupt",
    /// A hook failed.
    HookError = "hook_error",
    /// The app is not set up right.
    ConfigError = "config_error",
    /// A script used too much processor time.
    ScriptCpuLimit = "script_cpu_limit",
    /// A script ran too long.
    ScriptTimeout = "script_timeout",
    /// A script used too much memory.
    ScriptOutOfMemory = "script_out_of_memory",
    /// A turn said too much.
    OutputLimit = "output_limit",
    /// Agents called each other too deeply.
    DelegateDepth = "delegate_depth",
    /// A model failed.
    LlmError = "llm_error",
    /// A model's provider wants fewer requests.
    LlmRateLimited = "llm_rate_limited",
    /// A model's provider refused the content.
    LlmContentFilter = "llm_content_filter",
    /// A tool server failed.
    McpError = "mcp_error",
    /// A tool failed.
    ToolError = "tool_error",
    /// A search failed.
    SearchError = "search_error",
    /// It was stopped.
    Cancelled = "cancelled",
    /// It took too long.
    Timeout = "timeout",
    /// Ambit does not do this.
    Unsupported = "unsupported",
    /// A defect of Ambit.
    Internal = "internal",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl Error {
    /// An error of this meaning.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            cause: None,
            param: None,
            status: None,
            details: None,
            server_failure: None,
            stack: Box::default(),
            is_logged: false,
        }
    }

    /// Input that breaks a rule.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message).with_param(param)
    }

    /// Something that Ambit does not do, asked for by a field.
    pub fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unsupported, message).with_param(param)
    }

    /// Something that is not there, or not for this caller.
    pub fn not_found(what: &str, name: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("{what} \"{name}\" not found"))
    }

    /// The same, for which this field of the request is to blame.
    pub fn with_param(self, param: impl Into<String>) -> Self {
        let param = Some(param.into());
        Self { param, ..self }
    }

    /// The same where something else failed; what was not found is called as whoever asked has named it.
    pub fn naming(self, what: &str, name: &str) -> Self {
        match self.code {
            ErrorCode::NotFound => Self::not_found(what, name),
            _ => self,
        }
    }

    /// A defect.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, what)
    }
}

/// What whoever asked may know of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublicError {
    message: String,
    code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Box<Value>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

impl Error {
    /// What is kept of it for whoever asked; where in the scripts it was is for development.
    pub fn to_public(&self, is_development: bool) -> PublicError {
        PublicError {
            message: self.message.clone(),
            code: self.code.to_string(),
            param: self.param.clone(),
            status: self.status,
            details: self.details.clone(),
            stack: if is_development {
                self.stack.to_vec()
            } else {
                Vec::new()
            },
        }
    }
}

impl From<PublicError> for Error {
    fn from(public: PublicError) -> Self {
        Self {
            param: public.param,
            status: public.status,
            details: public.details,
            stack: public.stack.into(),
            ..Self::new(ErrorCode::from(public.code.as_str()), public.message)
        }
    }
}

/// Listeners and agents of a program answer with storage's error, and may call the app: the way back gives the same error.
impl From<Error> for StorageError {
    fn from(error: Error) -> Self {
        match error.cause {
            Some(cause) => (*cause).clone(),
            None => Self::unavailable("an answer of the app", error),
        }
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        if let StorageError::Unavailable { source, .. } = &error
            && let Some(own) = source.as_ref().and_then(|it| it.downcast_ref::<Self>())
        {
            return own.clone();
        }
        let code = match &error {
            StorageError::Invalid { .. } | StorageError::Refused { .. } => {
                ErrorCode::InvalidArgument
            }
            StorageError::NotFound { .. } => ErrorCode::NotFound,
            StorageError::Denied { .. } => ErrorCode::PermissionDenied,
            StorageError::Vetoed { .. } => ErrorCode::Vetoed,
            StorageError::Conflict { .. } => ErrorCode::Conflict,
            StorageError::Busy { .. } => ErrorCode::ChatBusy,
            StorageError::Fenced { .. } => ErrorCode::Fenced,
            StorageError::Limited { .. } => ErrorCode::LimitExceeded,
            StorageError::Partial { .. } => ErrorCode::Partial,
            StorageError::Unavailable { .. } => ErrorCode::Unavailable,
            StorageError::Corrupt { .. } => ErrorCode::Corrupt,
            StorageError::Internal { .. } => ErrorCode::Internal,
        };
        let Some(message) = public_message(&error) else {
            let message = error.to_string();
            let param = match error {
                StorageError::Invalid { field, .. } => Some(field),
                _ => None,
            };
            return Self {
                param,
                ..Self::new(code, message)
            };
        };
        Self {
            cause: Some(Arc::new(error)),
            ..Self::new(code, message)
        }
    }
}

/// What is told of a failure whose own words name places in stores.
fn public_message(error: &StorageError) -> Option<&'static str> {
    match error {
        StorageError::Unavailable { .. } => {
            Some("the server cannot reach what it needs for this; repeat the request later")
        }
        StorageError::Partial { .. } => {
            Some("a part of this is done and another is not; repeat the request to finish it")
        }
        StorageError::Corrupt { .. } => Some(
            "what is stored of this is damaged; it is left as it is, and the server's log says where",
        ),
        StorageError::Busy { .. } => {
            Some("something else is at work on this; repeat the request when that has ended")
        }
        StorageError::Fenced { .. } => Some(
            "this was taken over by somebody else meanwhile; read what is there, then repeat the request",
        ),
        StorageError::Invalid { .. }
        | StorageError::Refused { .. }
        | StorageError::NotFound { .. }
        | StorageError::Denied { .. }
        | StorageError::Vetoed { .. }
        | StorageError::Conflict { .. }
        | StorageError::Limited { .. }
        | StorageError::Internal { .. } => None,
    }
}

fn because(cause: &Option<Arc<StorageError>>) -> String {
    cause
        .as_ref()
        .map_or_else(String::new, |cause| format!(": {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_tool_server_has_failed_is_no_part_of_what_people_are_told() {
        let error = Error::new(ErrorCode::McpError, "it is gone");
        let failed = ServerFailure::CLOSED.because(error.clone());
        assert_eq!(failed.server_failure, Some(ServerFailure::CLOSED));
        assert_eq!(failed.to_public(true), error.to_public(true));
    }

    #[test]
    fn an_error_that_goes_through_storage_comes_back_as_it_was() {
        let error = Error::not_found("agent", "support");
        let stored = StorageError::from(error.clone());
        assert!(stored.to_string().ends_with("agent \"support\" not found"));
        let back = Error::from(stored);
        assert_eq!((back.code, back.message), (error.code, error.message));
        let stored = StorageError::corrupt("/data/ambit.db row 7", "no JSON");
        assert_eq!(StorageError::from(Error::from(stored.clone())), stored);
    }

    #[test]
    fn what_a_store_says_of_itself_is_for_the_log_alone() {
        let away = std::io::Error::other("no space left on device");
        for (stored, full) in [
            (
                StorageError::unavailable("the store /data/ambit.db", away),
                "the store /data/ambit.db is unavailable: no space left on device",
            ),
            (
                StorageError::corrupt("/data/ambit.db row 7", "no JSON"),
                "/data/ambit.db row 7 is corrupt: no JSON",
            ),
            (
                StorageError::Busy {
                    what: "default/l:data/".to_owned(),
                    reason: "held by ykdr".to_owned(),
                },
                "default/l:data/ is busy: held by ykdr",
            ),
            (
                StorageError::Fenced {
                    lease: "default/l:data/".to_owned(),
                    epoch: 7,
                },
                "the lease default/l:data/ with epoch 7 is no longer held",
            ),
            (
                StorageError::Partial {
                    done: vec!["a".to_owned()],
                    failed: vec![("b".to_owned(), "/data is full".to_owned())],
                },
                "written to a, but not to b (/data is full); repeat the call to finish",
            ),
        ] {
            let error = Error::from(stored);
            assert!(!error.message.contains("data/"), "{}", error.message);
            assert_eq!(error.to_string(), format!("{}: {full}", error.message));
        }
        let error = Error::from(StorageError::invalid("limit", "must be positive"));
        let told = (
            error.to_string(),
            error.message.as_str(),
            error.cause.is_some(),
        );
        assert_eq!(
            told,
            (
                "limit must be positive".to_owned(),
                "limit must be positive",
                false
            )
        );
    }
}
