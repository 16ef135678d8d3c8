//! What servers are asked, wherever they are.

use crate::error::Result;
use crate::tool::Caller;
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A list that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Its tools.
    Tools,
    /// Its resources.
    Resources,
    /// Its prompts.
    Prompts,
}

impl Listed {
    /// Its key in what scripts get.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Runs a tool.
    Call {
        /// Its name.
        tool: String,
        /// What it gets.
        arguments: Map<String, Value>,
    },
    /// Reads a resource.
    Read {
        /// Its address.
        uri: String,
    },
    /// Fills in a prompt.
    Prompt {
        /// Its name.
        name: String,
        /// What it is filled with.
        arguments: Map<String, Value>,
    },
}

/// Whoever answers: a server outside, or the app's own processes. Lists and answers are as the protocol writes them.
#[async_trait]
pub trait Answering: Send + Sync {
    /// A whole list.
    async fn list(&self, what: Listed, caller: &Caller) -> Result<Arc<Vec<Value>>>;

    /// An answer. Dropping the future cancels the work.
    async fn ask(&self, request: Request, caller: &Caller) -> Result<Value>;
}
