//! The routes of the AI SDK: `useChat` talks to an agent, takes a stream up again, and shows what was said.

mod body;
mod request;
mod resume;
mod stored_chat;
mod tool_results;
mod turn_chunks;
mod ui_messages;
mod user_message;

use super::chat::{
    self, AgentRequest, BusyChoice, ChatCompletionBody, CompletionQuery, RequestParameters,
};
use super::chats;
use super::input::{Id, JsonBody, Path, Query, Text, Whole};
use super::routes::{Routes, routes};
use super::sse::StreamCaller;
use super::{ApiCaller, ErrorBody, HttpError, SharedState};
use crate::format::ai_sdk::{NAME, UiMessage, UiMessageChunk};
use ambit_runtime::chats::{ChatName, NAMELESS};
use ambit_runtime::{Authorized, Error};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{AppendHeaders, IntoResponse, Response};
use body::UiChatBody;
use request::{ChatAction, ChatRequestReader};
use resume::MessageReader;
use serde::Deserialize;
use stored_chat::StoredChat;
use ui_messages::{UiMessageList, UiMessageWindow};
use utoipa::IntoParams;

/// Messages of a list, where nobody says.
const LIMIT: u64 = 50;
/// Tells where older messages are.
const NEXT: &str = "x-ambit-next";

/// The routes.
pub fn routes() -> Routes {
    routes![
        send,
        send_to,
        resume_stream,
        stop_stream,
        resume_stream_of,
        stop_stream_of,
        list_messages,
        list_messages_of
    ]
}

/// The agent that the path names.
#[derive(Deserialize, IntoParams)]
struct AgentPath {
    /// The agent.
    assistant_id: Id,
}

/// The chat that the path names.
#[derive(Deserialize, IntoParams)]
struct ChatPath {
    /// The chat.
    chat_id: Id,
}

/// The chat of an agent that the path names.
#[derive(Deserialize, IntoParams)]
struct AgentChatPath {
    /// The agent.
    assistant_id: Id,
    /// The chat.
    chat_id: Id,
}

/// Asks an agent, as the AI SDK does.
#[utoipa::path(post, path = "/ai-sdk/chat", tag = "ai-sdk", params(CompletionQuery), request_body = UiChatBody,
    responses((status = 200, description = "The UI message stream; the schema is that of the `data` of its events", body = UiMessageChunk, content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
async fn send(
    ApiCaller { server, who }: ApiCaller,
    given: RequestParameters,
    body: JsonBody<UiChatBody>,
) -> Result<Response, HttpError> {
    ask(server, who, given, body).await
}

/// Asks the agent that the path names.
#[utoipa::path(post, path = "/ai-sdk/{assistant_id}/chat", tag = "ai-sdk", params(AgentPath, CompletionQuery), request_body = UiChatBody,
    responses((status = 200, description = "The UI message stream; the schema is that of the `data` of its events", body = UiMessageChunk, content_type = "text/event-stream"),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
async fn send_to(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<AgentPath>,
    mut given: RequestParameters,
    body: JsonBody<UiChatBody>,
) -> Result<Response, HttpError> {
    given.assistant = Some(path.assistant_id.0);
    ask(server, who, given, body).await
}

async fn ask(
    server: SharedState,
    who: Authorized,
    mut given: RequestParameters,
    body: JsonBody<UiChatBody>,
) -> Result<Response, HttpError> {
    let mut fields: ChatCompletionBody = body.read_again()?;
    let JsonBody { value: body, text } = body;
    fields.messages = None;
    let supersede = chat::supersede(fields.supersede.take())?;
    let is_named = supersede.is_some();
    fields.chat_id = body.id.as_ref().map(|id| id.0.clone()).or(fields.chat_id);
    fields.on_busy = fields.on_busy.or(Some(BusyChoice::Interrupt));
    given.query.accept = Some(NAME.to_owned());
    let fields = JsonBody {
        value: fields,
        text,
    };
    let AgentRequest { agent, mut asked } = chat::read_agent(&server, who.clone(), &given, fields)?;
    let chat_id = asked.request.chat.clone().unwrap_or_default();
    let name = ChatName {
        chat_id: match &given.query.context {
            Some(_) => NAMELESS,
            None => &chat_id,
        },
        assistant_id: Some(&agent.id),
        context: chats::text(given.query.context.as_ref()),
    };
    let reader = ChatRequestReader {
        runtime: &server.runtime,
        who: &who,
        agent: &agent,
        chat_id: &chat_id,
        chat: StoredChat::open(&server.runtime, &who, name).await?,
        supersede,
    };
    let new = match reader.read(body).await? {
        ChatAction::Join(turn) => return chat::answer_joined(&server, asked, &turn, &given).await,
        ChatAction::Start(new) => new,
    };
    let request = &mut asked.request;
    request.messages = new.messages;
    request.supersede = new.supersede;
    if let (None, Some(repetition)) = (&asked.key, new.repetition) {
        asked.key = Some(repetition.key);
        asked.fingerprint = repetition.fingerprint;
    }
    let answered = chat::answer(&server, asked, &given).await;
    answered.map_err(|error| match is_named {
        true => error,
        false => naming_message_id(error),
    })
}

/// What is superseded is named by this field here, where the body does not name it by `supersede`.
fn naming_message_id(mut error: HttpError) -> HttpError {
    if error.0.param.as_deref() == Some("supersede") {
        error.0.param = Some("messageId".to_owned());
    }
    error
}

/// The running message of a chat from its beginning, and on as it grows.
#[utoipa::path(get, path = "/ai-sdk/chat/{chat_id}/stream", tag = "ai-sdk", params(ChatPath, CompletionQuery),
    responses((status = 200, description = "The UI message stream; the schema is that of the `data` of its events", body = UiMessageChunk, content_type = "text/event-stream"),
        (status = 204, description = "Nothing is running"), (status = 409, body = ErrorBody)))]
async fn resume_stream(
    caller: StreamCaller,
    Path(path): Path<ChatPath>,
    given: RequestParameters,
) -> Result<Response, HttpError> {
    take_up(caller, &path.chat_id, given).await
}

/// The same of a chat with the agent that the path names.
#[utoipa::path(get, path = "/ai-sdk/{assistant_id}/chat/{chat_id}/stream", tag = "ai-sdk", params(AgentChatPath, CompletionQuery),
    responses((status = 200, description = "The UI message stream; the schema is that of the `data` of its events", body = UiMessageChunk, content_type = "text/event-stream"),
        (status = 204, description = "Nothing is running"), (status = 409, body = ErrorBody)))]
async fn resume_stream_of(
    caller: StreamCaller,
    Path(path): Path<AgentChatPath>,
    mut given: RequestParameters,
) -> Result<Response, HttpError> {
    given.assistant = Some(path.assistant_id.0);
    take_up(caller, &path.chat_id, given).await
}

async fn take_up(
    caller: StreamCaller,
    chat_id: &Id,
    given: RequestParameters,
) -> Result<Response, HttpError> {
    let (server, who) = (&caller.server, &caller.who);
    let agent = agent(&given)?;
    let name = name(chat_id, agent.as_ref(), given.query.context.as_ref());
    let chat = StoredChat::open(&server.runtime, who, name).await?;
    let Some(running) = chat.running().await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let reader = MessageReader {
        server,
        who,
        given: &given,
    };
    let stream = reader.resume(chat, &running).await?;
    Ok(caller.guard_by(stream, move |server, who| {
        let turn = running.clone();
        async move { server.runtime.turn(&who, &turn).await.map(drop) }
    }))
}

/// Stops the turn that a chat is busy with.
#[utoipa::path(delete, path = "/ai-sdk/chat/{chat_id}/stream", tag = "ai-sdk", params(ChatPath, ContextQuery),
    responses((status = 202, description = "The turn ends within a second"), (status = 204, description = "Nothing is running"), (status = 409, body = ErrorBody)))]
async fn stop_stream(
    caller: ApiCaller,
    Path(path): Path<ChatPath>,
    Query(query): Query<ContextQuery>,
) -> Result<StatusCode, HttpError> {
    end(caller, name(&path.chat_id, None, query.context.as_ref())).await
}

/// The same of a chat with the agent that the path names.
#[utoipa::path(delete, path = "/ai-sdk/{assistant_id}/chat/{chat_id}/stream", tag = "ai-sdk", params(AgentChatPath, ContextQuery),
    responses((status = 202, description = "The turn ends within a second"), (status = 204, description = "Nothing is running"), (status = 409, body = ErrorBody)))]
async fn stop_stream_of(
    caller: ApiCaller,
    Path(path): Path<AgentChatPath>,
    Query(query): Query<ContextQuery>,
) -> Result<StatusCode, HttpError> {
    let agent = path.assistant_id.0;
    end(
        caller,
        name(&path.chat_id, Some(&agent), query.context.as_ref()),
    )
    .await
}

async fn end(
    ApiCaller { server, who }: ApiCaller,
    name: ChatName<'_>,
) -> Result<StatusCode, HttpError> {
    let chat = StoredChat::open(&server.runtime, &who, name).await?;
    let Some(running) = chat.running().await? else {
        return Ok(StatusCode::NO_CONTENT);
    };
    server.runtime.cancel(&who, &running).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Which conversation, where the path names none.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ContextQuery {
    /// The id of the index row of exactly this conversation's history; the path says `-` then.
    context: Option<Id>,
}

/// Which messages.
#[derive(Deserialize, IntoParams)]
struct UiMessageQuery {
    /// The id of the index row of exactly this conversation's history; the path says `-` then.
    context: Option<Id>,
    /// Only those in front of this place, which `X-Ambit-Next` tells.
    before: Option<u64>,
    /// At most so many; 50 where nobody says.
    #[param(inline)]
    limit: Option<Whole<1, 200>>,
    /// The client's version of the AI SDK, from 7 on: `7` for the newest, or a whole one, as `7.0.91`.
    v: Option<Text>,
}

/// The messages of a chat as clients of the AI SDK hold them, oldest first. The one that a turn works on is left out.
#[utoipa::path(get, path = "/ai-sdk/chat/{chat_id}/messages", tag = "ai-sdk", params(ChatPath, UiMessageQuery),
    responses((status = 200, description = "The messages", body = Vec<UiMessage>, headers(("X-Ambit-Next" = u64, description = "The place of older ones, if there are any, for `before`"))),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn list_messages(
    caller: ApiCaller,
    Path(path): Path<ChatPath>,
    given: RequestParameters,
    Query(query): Query<UiMessageQuery>,
) -> Result<Response, HttpError> {
    let name = name(&path.chat_id, None, query.context.as_ref());
    show(&caller, name, &given, &query).await
}

/// The same of a chat with the agent that the path names.
#[utoipa::path(get, path = "/ai-sdk/{assistant_id}/chat/{chat_id}/messages", tag = "ai-sdk", params(AgentChatPath, UiMessageQuery),
    responses((status = 200, description = "The messages", body = Vec<UiMessage>, headers(("X-Ambit-Next" = u64, description = "The place of older ones, if there are any, for `before`"))),
        (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn list_messages_of(
    caller: ApiCaller,
    Path(path): Path<AgentChatPath>,
    given: RequestParameters,
    Query(query): Query<UiMessageQuery>,
) -> Result<Response, HttpError> {
    let agent = path.assistant_id.0;
    let name = name(&path.chat_id, Some(&agent), query.context.as_ref());
    show(&caller, name, &given, &query).await
}

async fn show(
    caller: &ApiCaller,
    name: ChatName<'_>,
    given: &RequestParameters,
    query: &UiMessageQuery,
) -> Result<Response, HttpError> {
    let list = UiMessageList {
        server: &caller.server,
        who: &caller.who,
        version: given.ai_sdk(query.v.as_ref())?,
    };
    let limit = query.limit.map_or(LIMIT, |limit| limit.0);
    let window = UiMessageWindow {
        before: query.before,
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let page = list.page(name, &window).await?;
    let next = page.next.map(|next| (NEXT, next.to_string()));
    Ok((AppendHeaders(next), Json(page.messages)).into_response())
}

/// The agent of a chat, where the request names one.
fn agent(given: &RequestParameters) -> Result<Option<String>, Error> {
    if given.assistant.is_some() {
        return Ok(given.assistant.clone());
    }
    let query = given.query.assistant_id.as_ref();
    given.query_or_header(query.map(|id| &id.0), "assistant")
}

fn name<'a>(chat_id: &'a Id, agent: Option<&'a String>, context: Option<&'a Id>) -> ChatName<'a> {
    ChatName {
        chat_id: &chat_id.0,
        assistant_id: agent.map(String::as_str),
        context: chats::text(context),
    }
}
