//! A body of OpenAI's shape with Ambit's further fields, as a request.

use super::agent::{self, AgentSelection};
use super::response::ChatRequest;
use super::{RequestParameters, messages, options};
use crate::format;
use crate::http::{HttpError, JsonFields, ServerState};
use crate::id::check_id;
use ambit_runtime::app::AppAgent;
use ambit_runtime::request::{RequestOrigin, SkipOptions};
use ambit_runtime::{Authorized, Error, ErrorCode, Result, TurnRequest};
use ambit_storage::lease::OnBusy;
use serde_json::{Map, Value};

/// Bytes of metadata.
const METADATA: usize = 16 << 10;

/// The body, for the document: what is read is read field by field.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub struct ChatCompletionBody {
    /// An agent's id; or a connector, if the agent is named otherwise.
    model: Option<String>,
    /// The new messages, or the whole conversation with new ones at its end.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// Whether the answer is a stream: by default in every format but `standard`.
    stream: Option<bool>,
    /// `include_usage`.
    #[schema(value_type = Object)]
    stream_options: Option<Value>,
    /// The agent.
    assistant_id: Option<String>,
    /// The chat's name; without one a new chat begins.
    chat_id: Option<String>,
    /// The format of the answer: `standard`, `cui-web` …
    accept: Option<String>,
    /// The language.
    locale: Option<String>,
    /// The mode.
    mode: Option<String>,
    /// What a second request to a busy chat does: `reject`, `queue` or `interrupt`.
    on_busy: Option<String>,
    /// The turn ends when nobody reads its stream any more.
    cancel_on_disconnect: Option<bool>,
    /// Client-supplied data, at most 16 KiB.
    #[schema(value_type = Object)]
    metadata: Option<Value>,
    /// `history`, `trace`, `output`, `search`, `keyword`, `content_parsing`.
    #[schema(value_type = Object)]
    skip: Option<Value>,
    /// Whether and what is searched automatically.
    #[schema(value_type = Object)]
    search: Option<Value>,
    /// Tools that the client runs itself.
    #[schema(value_type = Vec<Object>)]
    tools: Option<Vec<Value>>,
}

/// Reads a request. Fields that it does not know are ignored, as OpenAI's clients expect.
pub fn read(
    server: &ServerState,
    who: Authorized,
    given: &RequestParameters,
    body: &[u8],
) -> Result<ChatRequest, HttpError> {
    let mut fields = JsonFields::of(body)?;
    let mut call = RequestOptions::read(&mut fields)?;
    let named = AgentSelection {
        assistant: fields.text("assistant_id")?,
        model: fields.text("model")?,
        connector: call.connector.take(),
    };
    let (agent, connector) = agent::find(server, &who, given, named)?;
    let messages = messages::read(&mut fields, &agent)?;
    let metadata = metadata(given, &mut fields, call.metadata)?;
    let origin = origin(given, &mut fields, &metadata)?;
    let mode = given
        .query_or_header("mode", "mode")?
        .or(fields.text("mode")?)
        .or(call.mode);
    let tools = options::tools(&mut fields)?;
    let client_tools = match tools.as_slice() {
        [] => &agent.package.options.tools,
        requested => requested,
    };
    let format = format::find(&origin.accept);
    let is_streaming = fields
        .flag("stream")?
        .unwrap_or(format.name != format::DEFAULT);
    let view = format::FormatOptions {
        model: agent.id.clone(),
        include_usage: include_usage(&mut fields)?,
        client_tools: options::names(client_tools),
        ..format::FormatOptions::default()
    };
    let mut skip = skip(&mut fields)?.unwrap_or(call.skip);
    skip.history |= fields.flag("store")? == Some(false);
    let request = TurnRequest {
        id: None,
        authorized: who,
        agent: agent.id.clone(),
        chat: chat(given, &mut fields)?,
        messages,
        options: options::read(&mut fields)?,
        tools,
        connector,
        mode: check_mode(mode, &agent)?,
        origin,
        metadata,
        skip,
        search: search("search", fields.value("search")?)?.or(call.search),
        disable_global_prompts: false,
        further: call.further,
        on_busy: on_busy(&mut fields)?,
        cancel_on_disconnect: fields.flag("cancel_on_disconnect")?.unwrap_or(false),
        idempotency_key: given.idempotency_key()?,
    };
    Ok(ChatRequest::new(request, is_streaming, format, view, body))
}

/// `options`: what one agent may tell another when it calls it, as far as clients may say it.
#[derive(Default)]
struct RequestOptions {
    connector: Option<String>,
    mode: Option<String>,
    search: Option<Value>,
    skip: SkipOptions,
    metadata: Map<String, Value>,
    further: Map<String, Value>,
}

impl RequestOptions {
    fn read(body: &mut JsonFields<'_>) -> Result<Self> {
        let Some(mut fields) = body.fields("options")? else {
            return Ok(Self::default());
        };
        let mut call = Self {
            connector: fields.text("connector")?,
            mode: fields.text("mode")?,
            search: search("options.search", fields.value("search")?)?,
            skip: skip(&mut fields)?.unwrap_or_default(),
            metadata: fields.object("metadata")?.unwrap_or_default(),
            further: Map::new(),
        };
        // Prompts are not the client's to leave out.
        fields.value("disable_global_prompts")?;
        call.further = fields.rest()?;
        call.further.retain(|name, _| !name.starts_with("__"));
        Ok(call)
    }
}

fn skip(fields: &mut JsonFields<'_>) -> Result<Option<SkipOptions>> {
    let Some(mut skip) = fields.fields("skip")? else {
        return Ok(None);
    };
    let mut flag = |name| Ok::<_, Error>(skip.flag(name)?.unwrap_or(false));
    Ok(Some(SkipOptions {
        history: flag("history")?,
        trace: flag("trace")?,
        output: flag("output")?,
        search: flag("search")?,
        keyword: flag("keyword")?,
        content_parsing: flag("content_parsing")?,
    }))
}

fn search(place: &str, value: Option<Value>) -> Result<Option<Value>> {
    let is_right = matches!(value, None | Some(Value::Bool(_) | Value::Object(_)));
    let refused = || Error::invalid(place, format!("{place} must be true, false or an object"));
    is_right.then_some(value).ok_or_else(refused)
}

/// Metadata of body, options and header; of equal names the header's counts.
fn metadata(
    given: &RequestParameters,
    fields: &mut JsonFields<'_>,
    call: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let mut metadata = call;
    metadata.extend(fields.object("metadata")?.unwrap_or_default());
    metadata.extend(given.metadata()?);
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
    let mut error = Error::new(ErrorCode::LimitExceeded, message);
    error.param = Some("metadata".to_owned());
    error.status = Some(413);
    Err(error)
}

fn origin(
    given: &RequestParameters,
    fields: &mut JsonFields<'_>,
    metadata: &Map<String, Value>,
) -> Result<RequestOrigin> {
    let mut pick = |name| Ok::<_, Error>(given.query_or_header(name, name)?.or(fields.text(name)?));
    let (theme, route, accept) = (pick("theme")?, pick("route")?, pick("accept")?);
    let locale = fields.text("locale")?;
    Ok(RequestOrigin {
        locale: given.locale(locale, metadata)?,
        theme: theme.unwrap_or_default(),
        route: route.unwrap_or_default(),
        accept: format::find(&accept.unwrap_or_default()).name.to_owned(),
        referer: given.referer()?,
        client: given.client(),
    })
}

fn chat(given: &RequestParameters, fields: &mut JsonFields<'_>) -> Result<Option<String>> {
    let from_body = fields.text("chat_id")?;
    let chat = given.query_or_header("chat_id", "chat")?.or(from_body);
    chat.iter().try_for_each(|chat| check_id("chat_id", chat))?;
    Ok(chat)
}

fn check_mode(mode: Option<String>, agent: &AppAgent) -> Result<Option<String>> {
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

fn on_busy(fields: &mut JsonFields<'_>) -> Result<OnBusy> {
    match fields.text("on_busy")?.as_deref() {
        None | Some("reject") => Ok(OnBusy::Reject),
        Some("queue") => Ok(OnBusy::Queue),
        Some("interrupt") => Ok(OnBusy::Interrupt),
        Some(_) => Err(Error::invalid(
            "on_busy",
            "on_busy must be reject, queue or interrupt",
        )),
    }
}

fn include_usage(fields: &mut JsonFields<'_>) -> Result<bool> {
    let Some(mut options) = fields.fields("stream_options")? else {
        return Ok(false);
    };
    Ok(options.flag("include_usage")?.unwrap_or(false))
}
