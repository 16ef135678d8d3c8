//! A body as a request of a turn, and as what its Response says again.

use super::body::ResponseBody;
use super::named_items::NamedItems;
use super::tools::RequestTools;
use crate::format::responses::{
    ConversationName, ResponseRecord, ResponseSettings, echoed_fields, echoed_tool,
};
use crate::format::{self, FormatOptions};
use crate::http::chat::{
    AgentSelection, AnswerView, Between, BodyOrigin, ChatRequest, RequestParameters,
    client_metadata, find_agent, role_refused,
};
use crate::http::input::JsonBody;
use crate::http::response_items::InputItem;
use crate::http::{HttpError, ServerState};
use ambit_runtime::app::AppAgent;
use ambit_runtime::chat::{ChatMessage, GenerationOptions, ToolChoice};
use ambit_runtime::chats;
use ambit_runtime::public_id::{conversation_row, response_turn};
use ambit_runtime::{
    Authorized, CallOptions, ConversationSource, Error, ErrorCode, Result, SearchChoice,
    TurnRequest, TurnStorage,
};
use ambit_storage::Json;
use ambit_storage::lease::OnBusy;
use serde_json::{Map, Number, Value, json};

/// The format of answers.
pub const FORMAT: &str = "responses";
/// What `include` may ask for.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Reads a request.
pub async fn read(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: JsonBody<ResponseBody>,
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
    let tools = RequestTools::read(body.tools.as_deref().unwrap_or_default())?;
    let choice = tools.choice(body.tool_choice.as_ref())?;
    check_instructions(&body, &agent)?;
    let is_stored = body.store != Some(false);
    let source = source(server, &who, &mut body).await?;
    let stored = NamedItems {
        server,
        who: &who,
        source: &source.conversation,
    };
    let messages = messages(&stored, &agent, &mut body).await?;
    let supersede = stored.supersede(body.supersede.take()).await?;
    let metadata = client_metadata(body.metadata.take().unwrap_or_default())?;
    let searches_web = tools.has_web_search && server.runtime.searches_web(&who, &agent);
    let warnings = warnings(&tools, searches_web);
    let generation = generation(&mut body, choice)?;
    let wants_reasoning = body.include.iter().flatten().any(|name| name == ENCRYPTED);
    let record = ResponseRecord {
        client_tools: tools.client_tools,
        settings: settings(&mut body, &source, &metadata),
        has_encrypted_reasoning: wants_reasoning,
    };
    let request = TurnRequest {
        agent: agent.id.clone(),
        source: is_stored.then_some(source.conversation),
        storage: storage(is_stored),
        instructions: body.instructions.take(),
        messages,
        has_items: true,
        tells_reasoning_parts: wants_reasoning,
        warnings,
        supersede,
        on_busy: body.on_busy.map_or_else(OnBusy::default, OnBusy::from),
        protocol_record: is_stored.then(|| Json::of(&record)).transpose()?,
        call: CallOptions {
            connector,
            generation,
            search: searches_web.then_some(SearchChoice::Flag(true)),
            tools: tools.definitions,
            ..CallOptions::default()
        },
        origin: given.origin(FORMAT, &metadata, BodyOrigin::default())?,
        metadata,
        authorized: who,
        ..TurnRequest::default()
    };
    let view = answer_view(&body, &agent, record)?;
    let key = given.idempotency_key()?;
    Ok(ChatRequest::new(request, view, key, &text))
}

fn storage(is_stored: bool) -> TurnStorage {
    match is_stored {
        true => TurnStorage::Conversation,
        false => TurnStorage::None,
    }
}

/// How the answer is wanted.
fn answer_view(
    body: &ResponseBody,
    agent: &AppAgent,
    record: ResponseRecord,
) -> Result<AnswerView> {
    Ok(AnswerView {
        is_streaming: body.stream == Some(true),
        is_background: body.background == Some(true),
        format: format::find(FORMAT)?,
        options: FormatOptions {
            model: agent.id.clone(),
            response: record,
            ..FormatOptions::default()
        },
    })
}

/// What is said of tools that are left out.
fn warnings(tools: &RequestTools, searches_web: bool) -> Vec<String> {
    let web = (tools.has_web_search && !searches_web).then_some("web_search");
    let left_out = tools.left_out.iter().map(String::as_str).chain(web);
    let warning = |kind: &str| {
        format!("a tool of type \"{kind}\" is left out: nothing here does what it does")
    };
    left_out.map(warning).collect()
}

/// Which conversation, and how the request names it.
struct RequestSource {
    conversation: ConversationSource,
    conversation_id: Option<String>,
    previous_response_id: Option<String>,
}

async fn source(
    server: &ServerState,
    who: &Authorized,
    body: &mut ResponseBody,
) -> Result<RequestSource> {
    let conversation_id = body.conversation.take().map(|named| named.id());
    let previous_response_id = body.previous_response_id.take();
    let conversation = match (&conversation_id, &previous_response_id) {
        (Some(id), _) => {
            let unknown = || Error::not_found("conversation", id).with_param("conversation");
            let row = conversation_row(id).ok_or_else(unknown)?;
            let ambit = server.runtime.contexts(who);
            let found = chats::row_for(&ambit, who, row).await;
            found.map_err(|error| match error.code {
                ErrorCode::NotFound => unknown(),
                _ => error,
            })?;
            ConversationSource::Row(row.to_owned())
        }
        (None, Some(id)) => {
            let unknown = || Error::not_found("response", id).with_param("previous_response_id");
            ConversationSource::Behind(response_turn(id).ok_or_else(unknown)?.to_owned())
        }
        (None, None) => ConversationSource::New,
    };
    Ok(RequestSource {
        conversation,
        conversation_id,
        previous_response_id,
    })
}

/// Instructions are for agents that take some from clients.
fn check_instructions(body: &ResponseBody, agent: &AppAgent) -> Result<()> {
    let takes_some = |role: &String| role == "system" || role == "developer";
    if body.instructions.is_none() || agent.package.client.roles.iter().any(takes_some) {
        return Ok(());
    }
    Err(role_refused(
        "system",
        "instructions",
        agent,
        "instructions",
    ))
}

/// The messages of the input. None are needed where `supersede` leaves a message of a person at the conversation's end.
async fn messages(
    stored: &NamedItems<'_>,
    agent: &AppAgent,
    body: &mut ResponseBody,
) -> Result<Vec<ChatMessage>> {
    let items = body.input.take().unwrap_or_default().0;
    if items.is_empty() && body.supersede.is_none() {
        let message = "input must be a text or hold at least one item";
        return Err(Error::invalid("input", message));
    }
    let mut items = InputItem::read_all("input", items)?;
    stored.resolve(&mut items).await?;
    items.iter().try_for_each(|item| item.check_role(agent))?;
    Ok(items.into_iter().flat_map(InputItem::messages).collect())
}

/// How the answer is to be generated.
fn generation(body: &mut ResponseBody, choice: Option<ToolChoice>) -> Result<GenerationOptions> {
    let mut options = GenerationOptions {
        tool_choice: choice,
        temperature: body.temperature.and_then(Between::number),
        top_p: body.top_p.and_then(Between::number),
        max_completion_tokens: body.max_output_tokens.map(Number::from),
        ..GenerationOptions::default()
    };
    let text =
        |fields: &Option<Map<String, Value>>, name: &str| fields.as_ref()?.get(name).cloned();
    if let Some(effort) = text(&body.reasoning, "effort") {
        options.set("reasoning_effort", effort);
    }
    if let Some(user) = body.further.get("user") {
        options.set("user", user.clone());
    }
    if let Some(form) = text(&body.text, "format").and_then(response_format) {
        options.set("response_format", form);
    }
    Ok(options)
}

/// The form of the answer in the words of chat completions; nothing where it is just text.
fn response_format(form: Value) -> Option<Value> {
    let Value::Object(mut form) = form else {
        return None;
    };
    let kind = form.shift_remove("type")?;
    match kind.as_str()? {
        "text" => None,
        "json_schema" => Some(json!({"type": kind, "json_schema": form})),
        _ => Some(json!({"type": kind})),
    }
}

/// What the Response says again.
fn settings(
    body: &mut ResponseBody,
    source: &RequestSource,
    metadata: &Map<String, Value>,
) -> ResponseSettings {
    let usual = ResponseSettings::default();
    let with = |mut usual: Map<String, Value>, given: Option<Map<String, Value>>| {
        usual.extend(given.unwrap_or_default());
        usual
    };
    let id = source.conversation_id.clone();
    ResponseSettings {
        background: body.background.unwrap_or(false),
        conversation: id.map(|id| ConversationName { id }),
        instructions: body.instructions.clone(),
        max_output_tokens: body.max_output_tokens,
        metadata: metadata.clone(),
        parallel_tool_calls: body.parallel_tool_calls.unwrap_or(true),
        previous_response_id: source.previous_response_id.clone(),
        reasoning: with(usual.reasoning, body.reasoning.take()),
        store: body.store.unwrap_or(true),
        temperature: body
            .temperature
            .and_then(Between::number)
            .or(usual.temperature),
        text: with(usual.text, body.text.take()),
        tool_choice: body.tool_choice.take().unwrap_or(usual.tool_choice),
        tools: body
            .tools
            .take()
            .into_iter()
            .flatten()
            .map(echoed_tool)
            .collect(),
        top_p: body.top_p.and_then(Between::number).or(usual.top_p),
        further: echoed_fields(&body.further),
    }
}
