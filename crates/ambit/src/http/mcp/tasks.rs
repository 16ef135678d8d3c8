//! Calls that have become tasks: turns that are looked at and stopped by their ids, on every node.

use super::agent_answer::AgentAnswer;
use super::context::{McpContext, path_part};
use super::protocol::{ProtocolRequest, TASKS};
use super::rpc_error::{RpcError, RpcErrorKind};
use super::{results, tool_answer};
use ambit_runtime::{Authorized, Error, ErrorCode, Result, StartedTurn, TurnInfo, TurnStatus};
use ambit_storage::clock::Millis;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// How often a client had better look.
const POLL_INTERVAL_MS: u64 = 1_000;

/// A task as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    task_id: String,
    status: TaskStatus,
    created_at: String,
    last_updated_at: String,
    ttl_ms: u64,
    poll_interval_ms: u64,
}

/// How far a task is.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    Working,
    Completed,
    Cancelled,
}

impl Task {
    /// The task of a turn that has just begun.
    pub fn running(context: &McpContext, turn: &StartedTurn) -> Self {
        Self::new(context, &turn.request_id, turn.started_at)
    }

    fn of(context: &McpContext, turn: &TurnInfo) -> Self {
        let ended_at = turn.ended_at.unwrap_or(turn.started_at);
        Self {
            status: match turn.status {
                TurnStatus::Running => TaskStatus::Working,
                TurnStatus::Completed | TurnStatus::Error => TaskStatus::Completed,
                TurnStatus::Cancelled => TaskStatus::Cancelled,
            },
            last_updated_at: instant(ended_at),
            ..Self::new(context, &turn.request_id, turn.started_at)
        }
    }

    fn new(context: &McpContext, request_id: &str, started_at: Millis) -> Self {
        let retention = context.app.settings.stream.retention;
        Self {
            task_id: request_id.to_owned(),
            status: TaskStatus::Working,
            created_at: instant(started_at),
            last_updated_at: instant(started_at),
            ttl_ms: u64::try_from(retention.as_millis()).unwrap_or(u64::MAX),
            poll_interval_ms: POLL_INTERVAL_MS,
        }
    }

    /// The result of a call that has become this task.
    pub fn created(&self) -> Map<String, Value> {
        let mut result = self.fields();
        result.insert("resultType".to_owned(), "task".into());
        result
    }

    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}

fn instant(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.to_string()
}

/// `tasks/get`: how far a task is, and its result once it is there.
pub async fn get(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let named = NamedTask::of(context, request, |path| ("GET", path))?;
    let turn = named.found(context).await?;
    let mut fields = Task::of(context, &turn).fields();
    if matches!(turn.status, TurnStatus::Completed | TurnStatus::Error) {
        let result = named.result(context).await?;
        fields.insert("result".to_owned(), result.into());
    }
    Ok(results::complete(request.era, fields))
}

/// `tasks/cancel`: stops a task; one that has ended stays as it is.
pub async fn cancel(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let named = NamedTask::of(context, request, |path| ("POST", path + "/cancel"))?;
    let stopped = context.server.runtime.cancel(&named.who, &named.id);
    stopped.await.map_err(|error| named.unknown_or(error))?;
    Ok(results::complete(request.era, Map::new()))
}

/// `tasks/update`: no task asks its client for anything.
pub async fn update(context: &McpContext, request: &ProtocolRequest) -> Result<Value, RpcError> {
    let named = NamedTask::of(context, request, |path| ("GET", path))?;
    named.found(context).await?;
    let message = "the task asks for nothing, so that there is nothing to answer";
    Err(RpcError::new(RpcErrorKind::InvalidParams, message)
        .with_data(json!({"code": ErrorCode::Unsupported.to_string()})))
}

/// The task that a request names.
struct NamedTask {
    id: String,
    who: Authorized,
}

impl NamedTask {
    /// For a client that knows tasks, and a caller who may call the turn's route.
    fn of<T: AsRef<str>>(
        context: &McpContext,
        request: &ProtocolRequest,
        route: impl Fn(String) -> (&'static str, T),
    ) -> Result<Self, RpcError> {
        if !request.knows_tasks {
            let message = format!("the client has not declared the extension {TASKS}");
            let needed = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
            let kind = RpcErrorKind::MissingCapability;
            return Err(RpcError::new(kind, message).with_data(needed));
        }
        let id = request.text("taskId")?.to_owned();
        let (method, path) = route(format!("/chat/requests/{}", path_part(&id)));
        match context.caller_of(method, path.as_ref()) {
            Some(who) => Ok(Self { id, who }),
            None => Err(unknown(&id)),
        }
    }

    async fn found(&self, context: &McpContext) -> Result<TurnInfo, RpcError> {
        let found = context.server.runtime.turn(&self.who, &self.id).await;
        found.map_err(|error| self.unknown_or(error))
    }

    /// What came of the call, as the call itself would have answered.
    async fn result(&self, context: &McpContext) -> Result<Map<String, Value>, RpcError> {
        let stream = context.server.runtime.stream(&self.who, &self.id, 0);
        let read = async { AgentAnswer::read(&self.id, stream.await?).await };
        let answer = read.await.map_err(|error| self.unknown_or(error))?;
        let result = answer.result();
        Ok(result.unwrap_or_else(|error| tool_answer::failure(&error)))
    }

    /// A task whose time is over is one that is not there.
    fn unknown_or(&self, error: Error) -> RpcError {
        match error.code {
            ErrorCode::NotFound | ErrorCode::StreamExpired => unknown(&self.id),
            _ => error.into(),
        }
    }
}

fn unknown(id: &str) -> RpcError {
    let message = format!("there is no task \"{id}\"");
    RpcError::new(RpcErrorKind::InvalidParams, message)
}
