//! A run as a request to an agent.

use super::body::RunAgentBody;
use super::message;
use crate::format::{self, FormatOptions};
use crate::http::chat::{
    AgentSelection, AnswerView, BodyOrigin, ChatRequest, RequestParameters, client_metadata,
    find_agent, supersede,
};
use crate::http::idempotency::IdempotencyKey;
use crate::http::input::JsonBody;
use crate::http::{HttpError, ServerState};
use crate::id::check_id;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::ToolDefinition;
use ambit_runtime::{Authorized, CallOptions, Error, Result, TurnRequest};
use ambit_storage::address;
use ambit_storage::lease::OnBusy;
use serde_json::{Map, Value, json};

/// The format of the answer.
const FORMAT: &str = "ag-ui";

/// Reads a run.
pub fn read(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: JsonBody<RunAgentBody>,
) -> Result<ChatRequest, HttpError> {
    let JsonBody {
        value: mut body,
        text,
    } = body;
    let (agent, _) = find_agent(server, &who, given, AgentSelection::default())?;
    let messages = message::read_all(std::mem::take(&mut body.messages), &agent)?;
    if messages.is_empty() {
        let message = "messages must hold at least one message to the agent";
        return Err(Error::invalid("messages", message).into());
    }
    check_id("threadId", &body.thread_id)?;
    let supersede = supersede(body.supersede.take())?;
    let metadata = metadata(given, &mut body, &agent)?;
    let tools = body.tools.take().unwrap_or_default();
    let tools: Vec<ToolDefinition> = tools.into_iter().map(ToolDefinition::from).collect();
    let view = answer_view(&agent, &tools, &body.run_id)?;
    let own_key = given.idempotency_key()?;
    let run = json!([agent.id, body.thread_id, body.run_id]).to_string();
    let request = TurnRequest {
        authorized: who,
        agent: agent.id.clone(),
        chat: Some(body.thread_id),
        messages,
        has_message_ids: true,
        supersede,
        on_busy: body.on_busy.map_or(OnBusy::Interrupt, OnBusy::from),
        cancel_on_disconnect: body.cancel_on_disconnect.unwrap_or(false),
        call: CallOptions {
            tools,
            ..CallOptions::default()
        },
        origin: given.origin(FORMAT, &metadata, BodyOrigin::default())?,
        metadata,
        state: body
            .state
            .filter(|state| is_shared(&agent) && !is_empty(state)),
        ..TurnRequest::default()
    };
    let mut asked = ChatRequest::new(request, view, own_key, &text);
    if asked.key.is_none() {
        // A client that lost its stream sends the run again with what it has of the answer by now.
        asked.fingerprint = address::digest(&[&run]);
        asked.key = Some(IdempotencyKey::Derived {
            protocol: FORMAT,
            name: run,
        });
    }
    Ok(asked)
}

/// How the answer is wanted. A client that declares no tools has those of the package.
fn answer_view(agent: &AppAgent, tools: &[ToolDefinition], run_id: &str) -> Result<AnswerView> {
    let tools = match tools {
        [] => &agent.package.options.tools,
        tools => tools,
    };
    Ok(AnswerView {
        is_streaming: true,
        is_background: false,
        format: format::find(FORMAT)?,
        options: FormatOptions {
            model: agent.id.clone(),
            client_tools: tools.iter().map(|tool| tool.name.clone()).collect(),
            run_id: Some(run_id.to_owned()),
            ..FormatOptions::default()
        },
    })
}

/// What hooks find as `ctx.metadata`: what the client gives along, under its own names; of equal names the header's count.
fn metadata(
    given: &RequestParameters,
    body: &mut RunAgentBody,
    agent: &AppAgent,
) -> Result<Map<String, Value>> {
    let context = body.context.take().map(Value::from);
    let state = body.state.clone().filter(|_| !is_shared(agent));
    let fields = [
        ("context", context),
        ("forwardedProps", body.forwarded_props.take()),
        ("state", state),
    ];
    let fields = fields.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !is_empty(value))?;
        Some((name.to_owned(), value))
    });
    let mut metadata: Map<String, Value> = fields.collect();
    metadata.extend(given.metadata()?);
    client_metadata(metadata)
}

/// Whether the agent shares a part of its memory with the client.
fn is_shared(agent: &AppAgent) -> bool {
    agent.package.client.state.is_some()
}

/// Whether a value says as much as none.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
