//! How a tool server has failed, where its tool has said nothing.

use super::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How a tool server has failed. It is stored with a call's result and told where the call is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerFailure {
    /// Over HTTP.
    HttpError {
        /// The status; 0 where nothing was answered.
        code: u16,
    },
    /// The server has refused the request, has said what is no answer, or the connection to it has ended.
    McpProtocolError {
        /// The server's own code, or that of JSON-RPC and its SDKs for what happened.
        code: i32,
    },
}

impl ServerFailure {
    /// The property of a call's message and of its stored result.
    pub const PROPERTY: &'static str = "server_failure";
    /// The connection has ended, as official SDKs call that.
    pub const CLOSED: Self = Self::McpProtocolError { code: -32_000 };
    /// The answer cannot be read, as JSON-RPC calls that.
    pub const UNREADABLE: Self = Self::McpProtocolError { code: -32_700 };

    /// What the properties of a call's message say.
    pub fn read(properties: &Map<String, Value>) -> Option<Self> {
        let failure = properties.get(Self::PROPERTY)?;
        Self::deserialize(failure).ok()
    }

    /// The property.
    pub(crate) fn property(self) -> (String, Value) {
        (Self::PROPERTY.to_owned(), json!(self))
    }

    /// An error of the server, which tells this too.
    pub(crate) fn because(self, error: Error) -> Error {
        Error {
            server_failure: Some(self),
            ..error
        }
    }
}
