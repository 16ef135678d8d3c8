//! A body of Anthropic's shape as a request that stores nothing.

use super::body::AnthropicBody;
use super::{conversation, tools};
use crate::format::{self, FormatOptions};
use crate::http::chat::{
    AgentSelection, AnswerView, Between, BodyOrigin, ChatRequest, RequestParameters,
    client_metadata, find_agent, tool_names,
};
use crate::http::input::JsonBody;
use crate::http::{HttpError, ServerState};
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{GenerationOptions, StopSequences, ToolDefinition};
use ambit_runtime::{
    Authorized, CallOptions, Error, Result, SkipOptions, TurnRequest, TurnStorage,
};
use serde_json::Number;

/// The format of the answer, as hooks see it too.
const ACCEPT: &str = "messages";

/// Reads a request.
pub fn read(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: JsonBody<AnthropicBody>,
) -> Result<ChatRequest, HttpError> {
    let JsonBody {
        value: mut body,
        text,
    } = body;
    let named = AgentSelection {
        model: body.model.take(),
        ..AgentSelection::default()
    };
    let (agent, connector) = find_agent(server, &who, given, named)?;
    check_agent(&agent)?;
    let messages = conversation::read(&mut body, &agent)?;
    let metadata = client_metadata(given.metadata()?)?;
    let client_tools = tools::definitions(body.tools.take().unwrap_or_default())?;
    let view = answer_view(&body, &agent, &client_tools)?;
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
        origin: given.origin(ACCEPT, &metadata, BodyOrigin::default())?,
        metadata,
        ..TurnRequest::default()
    };
    let key = given.idempotency_key()?;
    Ok(ChatRequest::new(request, view, key, &text))
}

/// How the answer is wanted. A client that declares no tools has those of the package.
fn answer_view(
    body: &AnthropicBody,
    agent: &AppAgent,
    client_tools: &[ToolDefinition],
) -> Result<AnswerView> {
    let client_tools = match client_tools {
        [] => agent.package.options.tools.as_slice(),
        own => own,
    };
    let thinking = body.thinking.as_ref();
    Ok(AnswerView {
        is_streaming: body.stream.unwrap_or(false),
        is_background: false,
        format: format::find(ACCEPT)?,
        options: FormatOptions {
            model: agent.id.clone(),
            client_tools: tool_names(client_tools),
            omits_thinking: thinking.is_some_and(|it| it.kind == "disabled"),
            ..FormatOptions::default()
        },
    })
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

/// How the answer is to be generated.
fn generation(body: &mut AnthropicBody) -> Result<GenerationOptions> {
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
