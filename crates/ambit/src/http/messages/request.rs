//! A body of Anthropic's shape as a request that stores nothing.

use super::body::MessagesBody;
use super::{conversation, tools};
use crate::format::{self, FormatOptions};
use crate::http::chat::{
    AgentSelection, AnswerView, Between, ChatRequest, RequestParameters, check_metadata,
    find_agent, tool_names,
};
use crate::http::input::JsonBody;
use crate::http::{HttpError, ServerState};
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{GenerationOptions, StopSequences};
use ambit_runtime::{
    Authorized, CallOptions, Error, RequestOrigin, Result, SkipOptions, TurnRequest, TurnStorage,
};
use serde_json::{Map, Number, Value};

/// The format of the answer, as hooks see it too.
const ACCEPT: &str = "messages";

/// Reads a request.
pub fn read(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: JsonBody<MessagesBody>,
) -> Result<ChatRequest, HttpError> {
    let JsonBody {
        value: mut body,
        text,
    } = body;
    let named = AgentSelection {
        assistant: None,
        model: body.model.take(),
        connector: None,
    };
    let (agent, connector) = find_agent(server, &who, given, named)?;
    check_agent(&agent)?;
    let messages = conversation::read(&mut body, &agent)?;
    let mut metadata = given.metadata()?;
    metadata.retain(|name, _| !name.starts_with("__"));
    check_metadata(&metadata)?;
    let client_tools = tools::definitions(body.tools.take().unwrap_or_default())?;
    let view = AnswerView {
        is_streaming: body.stream.unwrap_or(false),
        is_background: false,
        format: format::find(ACCEPT)?,
        options: FormatOptions {
            model: agent.id.clone(),
            client_tools: tool_names(match client_tools.as_slice() {
                [] => agent.package.options.tools.as_slice(),
                own => own,
            }),
            omits_thinking: body
                .thinking
                .as_ref()
                .is_some_and(|it| it.kind == "disabled"),
            ..FormatOptions::default()
        },
    };
    let request = TurnRequest {
        authorized: who,
        agent: agent.id.clone(),
        messages,
        skip: SkipOptions {
            search: true,
            ..SkipOptions::default()
        },
        storage: TurnStorage::None,
        tells_reasoning_parts: true,
        call: CallOptions {
            connector,
            generation: generation(&mut body)?,
            tools: client_tools,
            ..CallOptions::default()
        },
        origin: origin(given, &metadata)?,
        metadata,
        ..TurnRequest::default()
    };
    Ok(ChatRequest::new(
        request,
        view,
        given.idempotency_key()?,
        &text,
    ))
}

/// Refuses an agent that does more than its client expects of a model, unless its package says that it may be asked like one.
fn check_agent(agent: &AppAgent) -> Result<()> {
    let package = &agent.package;
    let is_plain = agent.hooks.is_none() && package.mcp.servers.is_empty();
    if is_plain || package.client.messages {
        return Ok(());
    }
    let message = format!(
        "agent \"{}\" has hooks or tool servers, of which clients of this protocol see nothing; client.messages: true in its package lets them ask it",
        agent.id
    );
    Err(Error::unsupported("model", message))
}

fn origin(given: &RequestParameters, metadata: &Map<String, Value>) -> Result<RequestOrigin> {
    let query = &given.query;
    let theme = given.told(&query.theme, "theme", None)?;
    let route = given.told(&query.route, "route", None)?;
    Ok(RequestOrigin {
        locale: given.locale(query.locale.as_ref(), None, metadata)?,
        theme: theme.unwrap_or_default(),
        route: route.unwrap_or_default(),
        accept: ACCEPT.to_owned(),
        referer: given.referer()?,
        client: given.client(),
        trace_context: given.trace_context(),
    })
}

/// How the answer is to be generated.
fn generation(body: &mut MessagesBody) -> Result<GenerationOptions> {
    let choice = body.tool_choice.take();
    let is_sequential = choice
        .as_ref()
        .is_some_and(|choice| choice.disable_parallel_tool_use == Some(true));
    let config = body.output_config.take();
    let effort = config.and_then(|config| config.effort);
    Ok(GenerationOptions {
        max_tokens: body.max_tokens.map(Number::from),
        temperature: body.temperature.and_then(Between::number),
        top_p: body.top_p.and_then(Between::number),
        stop: body.stop_sequences.take().map(StopSequences::Many),
        tool_choice: choice.as_ref().map(tools::choice).transpose()?,
        parallel_tool_calls: is_sequential.then_some(false),
        // The highest that other providers know.
        reasoning_effort: effort.map(|effort| match effort.as_str() {
            "max" => "xhigh".to_owned(),
            _ => effort,
        }),
        ..GenerationOptions::default()
    })
}
