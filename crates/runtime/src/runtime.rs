//! The runtime: one app over its stores, and every way into it.

use crate::access::Authorized;
use crate::app::{App, Problem};
use crate::error::{Error, Result};
use crate::request::Request;
use crate::stream::Reader;
use ambit_storage::{Ambit, Stores};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a runtime is made of.
pub struct Settings {
    /// The app's folder.
    pub app: PathBuf,
    /// Where everything is kept.
    pub stores: Stores,
    /// What storage may be set to.
    pub storage: ambit_storage::Settings,
    /// The variables that `$ENV.NAME` stands for; `.env` of the app counts before them.
    pub environment: BTreeMap<String, String>,
    /// Changed files take effect at once, and errors show stacks.
    pub is_development: bool,
}

/// An app over its stores. Cheap to clone; the clones are the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Core>);

struct Core {
    app: Arc<App>,
}

/// A request that was taken on.
pub struct Started {
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The trace.
    pub trace_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// The turn's stream from its beginning.
    pub stream: Reader,
}

/// What is known of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnInfo {
    /// The turn.
    pub request_id: String,
    /// The run context.
    pub context_id: String,
    /// The chat's name.
    pub chat_id: String,
    /// The agent that was asked.
    pub assistant_id: String,
    /// How far it is.
    pub status: Status,
    /// The number of the stream's last entry.
    pub last_event: u64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// The failure, if it failed: `{message, code}`.
    pub error: Option<Value>,
    /// The response, once it is there.
    pub response: Option<Value>,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Under way, on some node.
    Running,
    /// It ended as it should.
    Completed,
    /// It failed.
    Error,
    /// It was stopped.
    Cancelled,
}

/// What a person adds to a turn that is running.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interrupt {
    /// At once instead of at the next safe point.
    pub is_forced: bool,
    /// New messages.
    pub messages: Vec<Value>,
    /// More metadata.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// What becomes of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// After the current model call or tool round.
    NextStep,
    /// The model is called again at once.
    Restart,
    /// The turn ends.
    Cancel,
}

impl Runtime {
    /// Loads the app and takes up what other nodes left behind.
    pub async fn open(settings: Settings) -> Result<Self> {
        let _ = settings;
        Err(Error::internal("not there yet"))
    }

    /// The app as it is loaded now.
    pub fn app(&self) -> Arc<App> {
        self.0.app.clone()
    }

    /// Loads the app's files again: all of them or, if one is broken, none. The answer is what is wrong or not used.
    pub async fn reload(&self) -> Result<Vec<Problem>> {
        Err(Error::internal("not there yet"))
    }

    /// Takes a request on: its conversation is held and its input is durable when this returns. The turn goes on by itself.
    pub async fn start(&self, request: Request) -> Result<Started> {
        let _ = request;
        Err(Error::internal("not there yet"))
    }

    /// What is known of a turn.
    pub async fn turn(&self, who: &Authorized, request_id: &str) -> Result<TurnInfo> {
        let _ = (who, request_id);
        Err(Error::internal("not there yet"))
    }

    /// A turn's stream behind this entry, wherever it runs or ran.
    pub async fn stream(&self, who: &Authorized, request_id: &str, after: u64) -> Result<Reader> {
        let _ = (who, request_id, after);
        Err(Error::internal("not there yet"))
    }

    /// Stops a turn, wherever it runs. One that has ended stays as it is.
    pub async fn cancel(&self, who: &Authorized, request_id: &str) -> Result<()> {
        let _ = (who, request_id);
        Err(Error::internal("not there yet"))
    }

    /// Adds to a running turn, or stops it.
    pub async fn interrupt(
        &self,
        who: &Authorized,
        context_id: &str,
        interrupt: Interrupt,
    ) -> Result<Applied> {
        let _ = (who, context_id, interrupt);
        Err(Error::internal("not there yet"))
    }

    /// The stored contexts as this caller may see them.
    pub fn contexts(&self, who: &Authorized) -> Ambit {
        let _ = who;
        unreachable!("not there yet")
    }

    /// Takes no more requests, gives running turns this long, and leaves the rest to be taken up later.
    pub async fn close(&self, grace: Duration) -> Result<()> {
        let _ = grace;
        Ok(())
    }
}
