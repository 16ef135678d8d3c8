//! A body of OpenAI's shape with Ambit's further fields, as a request.

use super::agent::{AgentSelection, find_agent};
use super::body::ChatCompletionBody;
use super::parameters::BodyOrigin;
use super::response::{AnswerView, ChatRequest};
use super::{RequestParameters, options};
use crate::format;
use crate::http::input::{Id, JsonBody};
use crate::http::{HttpError, ServerState};
use crate::id::check_id;
use ambit_runtime::app::AppAgent;
use ambit_runtime::chats::{ChatName, NAMELESS};
use ambit_runtime::{Authorized, Error, ErrorCode, Result, Supersede, TurnRequest};
use ambit_runtime::{CallOptions, ConversationSource, SkipChanges, SkipOptions};
use ambit_storage::lease::OnBusy;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Bytes of metadata.
const METADATA: usize = 16 << 10;

/// What a body says but for its messages, and the agent that is asked.
pub struct AgentRequest {
    /// The agent.
    pub agent: Arc<AppAgent>,
    /// What is asked of it.
    pub asked: ChatRequest,
}

/// Reads a call.
pub fn read(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: JsonBody<ChatCompletionBody>,
) -> Result<ChatRequest, HttpError> {
    let mut body = body;
    let supersede = supersede(body.value.supersede.take())?;
    let messages = body.value.messages.take();
    if messages.is_none()
        && supersede.is_none()
        && let Some(misspelt) = body.misspelt("messages")
    {
        return Err(misspelt.into());
    }
    let messages = messages.unwrap_or_default();
    let AgentRequest { agent, mut asked } = read_agent(server, who, given, body)?;
    asked.request.messages = messages.for_agent(&agent, supersede.is_some())?;
    asked.request.supersede = supersede;
    Ok(asked)
}

/// Reads all of a call but its messages.
pub fn read_agent(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: JsonBody<ChatCompletionBody>,
) -> Result<AgentRequest, HttpError> {
    let JsonBody {
        value: mut body,
        text,
    } = body;
    let mut call = body.options.take().unwrap_or_default();
    let named = AgentSelection {
        assistant: body.assistant_id.take(),
        model: body.model.take(),
        connector: call.connector.take(),
    };
    let (agent, connector) = find_agent(server, &who, given, named)?;
    let metadata = metadata(given, call.metadata.take(), body.metadata.take())?;
    let accept = accept(given, body.accept.take())?;
    let own = BodyOrigin {
        locale: body.locale.take(),
        theme: body.theme.take(),
        route: body.route.take(),
    };
    let origin = given.origin(accept, &metadata, own)?;
    let view = answer_view(given, &body, &agent, &origin.accept)?;
    let request = TurnRequest {
        authorized: who,
        agent: agent.id.clone(),
        chat: chat(given, body.chat_id.take())?,
        source: source(given),
        skip: skip(body.skip.or(call.skip), body.store),
        on_busy: body.on_busy.map_or_else(OnBusy::default, OnBusy::from),
        cancel_on_disconnect: body.cancel_on_disconnect.unwrap_or(false),
        call: CallOptions {
            connector,
            mode: mode(given, body.mode.take().or(call.mode), &agent)?,
            generation: options::of(&mut body),
            tools: body.tools.unwrap_or_default(),
            search: body.search.or(call.search),
            ..CallOptions::default()
        },
        origin,
        metadata,
        further: further(call.further),
        ..TurnRequest::default()
    };
    Ok(AgentRequest {
        agent,
        asked: ChatRequest::new(request, view, given.idempotency_key()?, &text),
    })
}

/// How the answer is wanted. A client that declares no tools has those of the package.
fn answer_view(
    given: &RequestParameters,
    body: &ChatCompletionBody,
    agent: &AppAgent,
    accept: &str,
) -> Result<AnswerView> {
    let format = format::find(accept)?;
    let own_tools = &agent.package.options.tools;
    let client_tools = body.tools.as_ref().filter(|tools| !tools.is_empty());
    let options = body.stream_options;
    Ok(AnswerView {
        is_streaming: body.stream.unwrap_or(format.name != format::DEFAULT),
        is_background: false,
        format,
        options: format::FormatOptions {
            model: agent.id.clone(),
            include_usage: options.is_some_and(|options| options.include_usage()),
            client_tools: options::names(client_tools.unwrap_or(own_tools)),
            ai_sdk: given.ai_sdk(given.query.v.as_ref())?,
            ..format::FormatOptions::default()
        },
    })
}

/// What is left out; `store: false` leaves out the history.
fn skip(fields: Option<SkipChanges>, store: Option<bool>) -> SkipOptions {
    let mut skip = SkipOptions::default().with(fields.unwrap_or_default());
    skip.history |= store == Some(false);
    skip
}

/// The keys of `options` that only hooks know; those that are the runtime's own are not the client's to set.
fn further(mut given: Map<String, Value>) -> Map<String, Value> {
    given.retain(|name, _| !name.starts_with("__") && name != "disable_global_prompts");
    given
}

/// Metadata of body, options and header; of equal names the header's counts.
fn metadata(
    given: &RequestParameters,
    call: Option<Map<String, Value>>,
    body: Option<Map<String, Value>>,
) -> Result<Map<String, Value>> {
    let mut metadata = call.unwrap_or_default();
    metadata.extend(body.unwrap_or_default());
    metadata.extend(given.metadata()?);
    client_metadata(metadata)
}

/// Metadata as a client may give it: without the names that are the runtime's own, and refused where it is too large.
pub fn client_metadata(mut metadata: Map<String, Value>) -> Result<Map<String, Value>> {
    metadata.retain(|name, _| !name.starts_with("__"));
    check_metadata(&metadata)?;
    Ok(metadata)
}

/// Refuses metadata that is too large to go along with every step of a turn.
pub fn check_metadata(metadata: &Map<String, Value>) -> Result<()> {
    let size = serde_json::to_string(metadata).map_or(0, |text| text.len());
    if size <= METADATA {
        return Ok(());
    }
    let message = format!("metadata is larger than {METADATA} bytes");
    Err(Error {
        status: Some(413),
        ..Error::new(ErrorCode::LimitExceeded, message).with_param("metadata")
    })
}

fn accept(given: &RequestParameters, body: Option<String>) -> Result<&'static str> {
    let accept = given.told(&given.query.accept, "accept", body)?;
    Ok(format::find(&accept.unwrap_or_default())?.name)
}

fn chat(given: &RequestParameters, body: Option<String>) -> Result<Option<String>> {
    let query = given.query.chat_id.as_ref();
    let chat = given
        .query_or_header(query.map(|id| &id.0), "chat")?
        .or(body);
    chat.iter().try_for_each(|chat| check_id("chat_id", chat))?;
    match &given.query.context {
        Some(Id(context)) => {
            let name = ChatName {
                chat_id: chat.as_deref().unwrap_or(NAMELESS),
                assistant_id: None,
                context: Some(context),
            };
            name.check().map(|()| None)
        }
        None => Ok(chat),
    }
}

/// The conversation that the request names by its row.
fn source(given: &RequestParameters) -> Option<ConversationSource> {
    let context = given.query.context.as_ref();
    context.map(|Id(row)| ConversationSource::Row(row.clone()))
}

/// What the body field `supersede` says.
pub fn supersede(id: Option<String>) -> Result<Option<Supersede>> {
    id.iter().try_for_each(|id| check_id("supersede", id))?;
    Ok(id.map(Supersede::From))
}

fn mode(
    given: &RequestParameters,
    body: Option<String>,
    agent: &AppAgent,
) -> Result<Option<String>> {
    let mode = given.told(&given.query.mode, "mode", body)?;
    let Some(mode) = mode.filter(|mode| !mode.is_empty()) else {
        return Ok(None);
    };
    if mode == agent.package.default_mode || agent.package.modes.contains(&mode) {
        return Ok(Some(mode));
    }
    let known = match agent.package.modes.is_empty() {
        true => "it has no modes".to_owned(),
        false => format!("it has {}", agent.package.modes.join(", ")),
    };
    let message = format!(
        "\"{mode}\" is not a mode of agent \"{}\"; {known}",
        agent.id
    );
    Err(Error::invalid("mode", message))
}
