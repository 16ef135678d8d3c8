//! An agent as a tool: a call is a turn, as over `POST /agents/:assistant_id/chat/completions`.

use super::agent_answer::AgentAnswer;
use super::answer::CallEvent;
use super::arguments;
use super::call_limit::CallPermit;
use super::context::{McpContext, path_part};
use super::open_calls::OpenCall;
use super::protocol::{ProtocolEra, ProtocolRequest};
use super::tasks::Task;
use super::tool_answer::{self, ToolFailure};
use super::tools::AgentTool;
use crate::http::chat::{self, client_metadata};
use crate::http::input::{BodyFields, Id};
use crate::http::sse::CancelOnDisconnect;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::stream::{StreamEntry, StreamReader};
use ambit_runtime::{Error, RequestOrigin, Result, TurnRequest};
use ambit_storage::ids;
use ambit_storage::lease::OnBusy;
use futures::StreamExt;
use futures::stream::{BoxStream, unfold};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

/// What an agent is told.
#[derive(Deserialize, ToSchema)]
pub struct AgentArguments {
    /// What is said to the agent.
    message: String,
    /// The chat to go on with, as an earlier result names it; without it a new one begins.
    #[schema(value_type = Option<String>)]
    chat_id: Option<Id>,
    /// Data for the agent's program, at most 16 KiB; its model does not see it.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

impl BodyFields for AgentArguments {
    fn check(&self) -> Result<()> {
        match self.message.is_empty() {
            true => Err(Error::invalid("message", "message is required")),
            false => Ok(()),
        }
    }
}

/// Asks an agent; gives what happens to the call until it has ended.
pub async fn call(
    context: Arc<McpContext>,
    tool: AgentTool,
    request: &ProtocolRequest,
    given: Map<String, Value>,
    permit: Arc<CallPermit>,
) -> Result<BoxStream<'static, CallEvent>, ToolFailure> {
    let text = Value::from(given.clone()).to_string();
    let mut turn = turn_request(&context, &tool, arguments::read(&given)?)?;
    let key = context.given.idempotency_key()?;
    let of_header = || context.given.trace_context();
    turn.origin.trace_context = request.trace_context().or_else(of_header);
    let who = tool.who;
    let of_request = context.given.request_id.clone();
    let id = of_request
        .unwrap_or_else(|| ids::ordered(&context.server.runtime.stores().options().clock));
    let is_stopped_by_id = request.era == ProtocolEra::Handshake;
    let open = OpenCall::of(&who, &request.session, &request.id).filter(|_| is_stopped_by_id);
    if let Some(open) = &open {
        // Who stops the call may do so as soon as it has begun.
        open.remember(&context.server, &id).await?;
    }
    let repeatable = key.map(|key| chat::repeatable(&key, &turn, text.as_bytes()));
    turn.id = Some(id.clone());
    turn.cancel_on_disconnect = !is_stopped_by_id;
    let begun = chat::start(&context.server, turn, repeatable).await?;
    let (started, leaving) = (begun.started, begun.leaving);
    if let Some(open) = open.filter(|_| started.request_id != id) {
        // Another request with this idempotency key has begun the turn.
        open.remember(&context.server, &started.request_id).await?;
    }
    let path = format!("/chat/requests/{}", path_part(&started.request_id));
    let may_be_task = request.knows_tasks && context.caller_of("GET", &path).is_some();
    let becomes_task = may_be_task.then(|| Instant::now() + context.settings().task_after);
    let call = AgentCall {
        task: Task::running(&context, &started),
        answer: AgentAnswer::new(&started.request_id),
        turn: CountedTurn {
            stream: Some(started.stream),
            permit: Some(permit),
        },
        leaving,
        becomes_task,
        has_ended: false,
    };
    Ok(events(call))
}

fn turn_request(
    context: &McpContext,
    tool: &AgentTool,
    asked: AgentArguments,
) -> Result<TurnRequest> {
    let metadata = client_metadata(asked.metadata.unwrap_or_default())?;
    Ok(TurnRequest {
        authorized: tool.who.clone(),
        agent: tool.agent.id.clone(),
        chat: asked.chat_id.map(|id| id.0),
        messages: vec![ChatMessage::user(asked.message)],
        origin: RequestOrigin {
            locale: context.locale()?,
            accept: "standard".to_owned(),
            referer: "mcp".to_owned(),
            client: context.given.client(),
            ..RequestOrigin::default()
        },
        metadata,
        omits_client_tools: true,
        on_busy: OnBusy::Reject,
        ..TurnRequest::default()
    })
}

/// A call that runs.
struct AgentCall {
    turn: CountedTurn,
    answer: AgentAnswer,
    task: Task,
    /// In the era in which closing the stream stops the call.
    leaving: Option<CancelOnDisconnect>,
    /// When the call becomes a task, where it may.
    becomes_task: Option<Instant>,
    has_ended: bool,
}

/// A turn that counts as a call until it has ended, also where its client knows it as a task or has gone.
struct CountedTurn {
    stream: Option<StreamReader>,
    permit: Option<Arc<CallPermit>>,
}

impl CountedTurn {
    /// What happens next; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<StreamEntry>>> {
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        let entries = stream.next().await;
        if !matches!(entries, Ok(Some(_))) {
            self.stream = None;
        }
        entries
    }
}

impl Drop for CountedTurn {
    fn drop(&mut self) {
        let (Some(mut stream), Some(permit)) = (self.stream.take(), self.permit.take()) else {
            return;
        };
        // It ends with the turn, or with the server.
        tokio::spawn(async move {
            while let Ok(Some(_)) = stream.next().await {}
            drop(permit);
        });
    }
}

fn events(call: AgentCall) -> BoxStream<'static, CallEvent> {
    let events = unfold(call, |mut call| async {
        if call.has_ended {
            return None;
        }
        let event = call.next().await;
        Some((event, call))
    });
    events.boxed()
}

impl AgentCall {
    async fn next(&mut self) -> CallEvent {
        loop {
            let next = self.turn.next();
            let entries = match self.becomes_task {
                None => next.await,
                Some(at) => match timeout_at(at, next).await {
                    Ok(entries) => entries,
                    Err(_late) => return self.end(Ok(self.task.created())),
                },
            };
            let entries = match entries {
                Err(error) => return self.end(Err(error)),
                Ok(None) => {
                    let answer = std::mem::take(&mut self.answer);
                    return self.end(answer.result());
                }
                Ok(Some(entries)) => entries,
            };
            let steps: usize = entries.iter().map(|entry| self.answer.push(entry)).sum();
            if steps > 0 {
                return CallEvent::Progress(steps);
            }
        }
    }

    /// The call needs nobody any more.
    fn end(&mut self, result: Result<Map<String, Value>>) -> CallEvent {
        self.has_ended = true;
        self.leaving
            .take()
            .into_iter()
            .for_each(CancelOnDisconnect::disarm);
        CallEvent::Ended(Ok(
            result.unwrap_or_else(|error| tool_answer::failure(&error))
        ))
    }
}
