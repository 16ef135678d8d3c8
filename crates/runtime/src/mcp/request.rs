//! What servers are asked, wherever they are.

use crate::error::{Error, ErrorCode};
use crate::tool::ProgressListener;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A list that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpListKind {
    /// Its tools.
    Tools,
    /// Its resources.
    Resources,
    /// Its prompts.
    Prompts,
}

impl McpListKind {
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
#[derive(Clone, Debug)]
pub enum McpRequest {
    /// Runs a tool.
    Call {
        /// Its name.
        tool: String,
        /// What it gets.
        arguments: Map<String, Value>,
        /// What is said of the call: the trace that it is part of.
        meta: Map<String, Value>,
        /// Who is told how far it has come.
        progress: Option<ProgressListener>,
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

/// How long an answer may take, and until when.
#[derive(Clone, Copy, Debug)]
pub struct AnswerDeadline {
    /// As the settings say it.
    whole: Duration,
    until: Instant,
}

impl AnswerDeadline {
    /// From now on.
    pub fn new(whole: Duration) -> Self {
        Self {
            whole,
            until: Instant::now() + whole,
        }
    }

    /// What comes of this in time.
    pub async fn keep<T>(self, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.until, work).await.ok()
    }

    /// What is said of a server that did not keep it.
    pub fn missed(self, server: &str) -> Error {
        let message = format!("MCP server \"{server}\": no answer within {:?}", self.whole);
        Error::new(ErrorCode::Timeout, message)
    }
}
