//! What users, teams and chats remember.

use super::chats::{AgentQuery, text};
use super::input::{BodyFields, Id, JsonBody, NumberOrText, PagedQuery, Path, Query, Text, Whole};
use super::paging::{PageParameters, PageResponse};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use ambit_runtime::inspect::memory::{MemoryKeyInfo, MemorySelector, OpenMemory};
use ambit_runtime::{Error, ErrorCode};
use ambit_storage::memory::{ExpectedVersion, MemoryWrite, Ttl, ValueLife};
use axum::Json;
use axum::http::header::ETAG;
use axum::http::{HeaderName, StatusCode};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// What stands for the life that a value has already.
const KEEP: &str = "keep";

/// A value was written: its version is the `ETag`.
type VersionAnswer = (StatusCode, [(HeaderName, String); 1]);

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_own_values,
        list_owned_values,
        get_own_value,
        put_own_value,
        delete_own_value,
        get_owned_value,
        put_owned_value,
        delete_owned_value
    ]
}

/// A value.
#[derive(Serialize, ToSchema)]
struct MemoryValue {
    /// Its name.
    key: String,
    /// What it is.
    #[schema(value_type = Value)]
    value: ambit_storage::Json,
    /// `string`, `number`, `boolean`, `list`, `object` or `null`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Its size as JSON.
    bytes: usize,
    /// Another one after each write; what a write may expect.
    version: u64,
    /// When it ends in milliseconds since 1970, if it does.
    expires_at: Option<i64>,
}

/// A value to be put.
#[derive(Deserialize, ToSchema)]
pub(super) struct NewValue {
    /// The value; `null` is one too.
    pub value: Value,
    /// How long it lives: seconds, or a text such as `30s`, `5m`, `2h` or `7d`; `keep`: as long as the value that it replaces.
    #[schema(value_type = Option<NumberOrText>)]
    pub ttl: Option<Value>,
    /// The version that the value has to have, `null` where there may be none. Left out, whatever is there is replaced.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u64>)]
    pub expect: Option<Option<u64>>,
}

impl BodyFields for NewValue {}

/// A field that is there, be it `null`.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(reader).map(Some)
}

/// Which value is deleted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RemovalQuery {
    /// The agent, where several have a chat of this name.
    assistant_id: Option<Id>,
    /// The id of the index row of exactly this conversation's history; the chat is named `-` then.
    context: Option<Id>,
    /// The version that the value has to have.
    expect: Option<Whole<0, { u64::MAX }>>,
}

impl RemovalQuery {
    fn expected(&self) -> ExpectedVersion {
        self.expect.map_or(ExpectedVersion::Any, |version| {
            ExpectedVersion::Exactly(version.0)
        })
    }

    fn agent(self) -> AgentQuery {
        AgentQuery {
            assistant_id: self.assistant_id,
            context: self.context,
        }
    }
}

/// The caller's own memory, or their team's.
#[derive(Deserialize, IntoParams)]
pub(super) struct OwnSpace {
    /// `user` or `team`.
    pub space: String,
}

/// Somebody's memory.
#[derive(Deserialize, IntoParams)]
pub(super) struct OwnedSpace {
    /// `user`, `team` or `chat`.
    pub space: String,
    /// The user, the team or the chat.
    pub owner: Id,
}

/// A value of the caller's own memory.
#[derive(Deserialize, IntoParams)]
struct OwnKey {
    /// `user` or `team`.
    space: String,
    /// The value's name.
    key: String,
}

/// A value of somebody's memory.
#[derive(Deserialize, IntoParams)]
struct OwnedKey {
    /// `user`, `team` or `chat`.
    space: String,
    /// The user, the team or the chat.
    owner: Id,
    /// The value's name.
    key: String,
}

impl OwnKey {
    fn which<'a>(&'a self, query: &'a AgentQuery) -> MemorySelector<'a> {
        MemorySelector {
            space: &self.space,
            owner: None,
            assistant_id: text(query.assistant_id.as_ref()),
            context: text(query.context.as_ref()),
        }
    }
}

impl OwnedKey {
    fn which<'a>(&'a self, query: &'a AgentQuery) -> MemorySelector<'a> {
        MemorySelector {
            space: &self.space,
            owner: Some(&self.owner.0),
            assistant_id: text(query.assistant_id.as_ref()),
            context: text(query.context.as_ref()),
        }
    }
}

/// Which names.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NameQuery {
    /// The agent, where several have a chat of this name.
    assistant_id: Option<Id>,
    /// The id of the index row of exactly this conversation's history; the chat is named `-` then.
    context: Option<Id>,
    /// What the names look like; `*` stands for any text.
    pattern: Option<Text>,
}

/// The caller's own memory, or their team's.
#[utoipa::path(get, path = "/memory/{space}", tag = "memory", params(OwnSpace, NameQuery, PageParameters),
    responses((status = 200, description = "A page of names", body = PageResponse<MemoryKeyInfo>), (status = 400, body = ErrorBody)))]
async fn list_own_values(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnSpace>,
    listed: PagedQuery<NameQuery>,
) -> Result<Json<PageResponse<MemoryKeyInfo>>, HttpError> {
    let which = MemorySelector {
        space: &path.space,
        owner: None,
        assistant_id: text(listed.query.assistant_id.as_ref()),
        context: text(listed.query.context.as_ref()),
    };
    let open = server.runtime.memory(&who, which).await?;
    names(&open, &listed).await
}

/// The memory of a chat, or for callers without constraints that of a user or team.
#[utoipa::path(get, path = "/memory/{space}/{owner}", tag = "memory", params(OwnedSpace, NameQuery, PageParameters),
    responses((status = 200, description = "A page of names", body = PageResponse<MemoryKeyInfo>), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
async fn list_owned_values(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnedSpace>,
    listed: PagedQuery<NameQuery>,
) -> Result<Json<PageResponse<MemoryKeyInfo>>, HttpError> {
    let which = MemorySelector {
        space: &path.space,
        owner: Some(&path.owner.0),
        assistant_id: text(listed.query.assistant_id.as_ref()),
        context: text(listed.query.context.as_ref()),
    };
    let open = server.runtime.memory(&who, which).await?;
    names(&open, &listed).await
}

async fn names(
    open: &OpenMemory,
    listed: &PagedQuery<NameQuery>,
) -> Result<Json<PageResponse<MemoryKeyInfo>>, HttpError> {
    let pattern = listed.query.pattern.as_ref();
    let pattern = pattern.map(|pattern| pattern.0.as_str());
    let part = open.list(pattern, listed.paging.window()).await?;
    Ok(Json(listed.paging.listing(part)))
}

/// A value of the caller's own memory.
#[utoipa::path(get, path = "/memory/{space}/keys/{key}", tag = "memory", params(OwnKey, AgentQuery),
    responses((status = 200, description = "The value", body = MemoryValue), (status = 404, body = ErrorBody)))]
async fn get_own_value(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnKey>,
    Query(query): Query<AgentQuery>,
) -> Result<Json<MemoryValue>, HttpError> {
    let open = server.runtime.memory(&who, path.which(&query)).await?;
    held(&open, path.key).await
}

/// Puts a value into the caller's own memory.
#[utoipa::path(put, path = "/memory/{space}/keys/{key}", tag = "memory", params(OwnKey, AgentQuery), request_body = NewValue,
    responses((status = 204, description = "It is kept", headers(("ETag" = String, description = "Its version"))), (status = 400, body = ErrorBody), (status = 409, description = "Another write came between", body = ErrorBody)))]
async fn put_own_value(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnKey>,
    Query(query): Query<AgentQuery>,
    body: JsonBody<NewValue>,
) -> Result<VersionAnswer, HttpError> {
    let open = server.runtime.memory(&who, path.which(&query)).await?;
    let version = set(&open, &path.key, &body.value).await?;
    Ok(written(version))
}

/// Deletes a value of the caller's own memory; one that is not there is no error.
#[utoipa::path(delete, path = "/memory/{space}/keys/{key}", tag = "memory", params(OwnKey, RemovalQuery),
    responses((status = 204, description = "It is gone"), (status = 400, body = ErrorBody), (status = 409, description = "Another write came between", body = ErrorBody)))]
async fn delete_own_value(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnKey>,
    Query(query): Query<RemovalQuery>,
) -> Result<StatusCode, HttpError> {
    let (expect, query) = (query.expected(), query.agent());
    let open = server.runtime.memory(&who, path.which(&query)).await?;
    open.delete(&path.key, expect).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A value of an owner's memory.
#[utoipa::path(get, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory", params(OwnedKey, AgentQuery),
    responses((status = 200, description = "The value", body = MemoryValue), (status = 404, body = ErrorBody)))]
async fn get_owned_value(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnedKey>,
    Query(query): Query<AgentQuery>,
) -> Result<Json<MemoryValue>, HttpError> {
    let open = server.runtime.memory(&who, path.which(&query)).await?;
    held(&open, path.key).await
}

/// Puts a value into an owner's memory.
#[utoipa::path(put, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory", params(OwnedKey, AgentQuery), request_body = NewValue,
    responses((status = 204, description = "It is kept", headers(("ETag" = String, description = "Its version"))), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, description = "Another write came between", body = ErrorBody)))]
async fn put_owned_value(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnedKey>,
    Query(query): Query<AgentQuery>,
    body: JsonBody<NewValue>,
) -> Result<VersionAnswer, HttpError> {
    let open = server.runtime.memory(&who, path.which(&query)).await?;
    let version = set(&open, &path.key, &body.value).await?;
    Ok(written(version))
}

/// Deletes a value of an owner's memory; one that is not there is no error.
#[utoipa::path(delete, path = "/memory/{space}/{owner}/keys/{key}", tag = "memory", params(OwnedKey, RemovalQuery),
    responses((status = 204, description = "It is gone"), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, description = "Another write came between", body = ErrorBody)))]
async fn delete_owned_value(
    ApiCaller { server, who }: ApiCaller,
    Path(path): Path<OwnedKey>,
    Query(query): Query<RemovalQuery>,
) -> Result<StatusCode, HttpError> {
    let (expect, query) = (query.expected(), query.agent());
    let open = server.runtime.memory(&who, path.which(&query)).await?;
    open.delete(&path.key, expect).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn held(open: &OpenMemory, key: String) -> Result<Json<MemoryValue>, HttpError> {
    let entry = open.get(&key).await?;
    Ok(Json(MemoryValue {
        key,
        kind: entry.kind,
        bytes: entry.size(),
        version: entry.version,
        expires_at: entry.expires_at,
        value: entry.value,
    }))
}

fn written(version: u64) -> VersionAnswer {
    (StatusCode::NO_CONTENT, [(ETAG, format!("\"{version}\""))])
}

/// Puts a value and gives its version.
pub(super) async fn set(open: &OpenMemory, key: &str, new: &NewValue) -> Result<u64, HttpError> {
    let value = ambit_storage::Json::of(&new.value)?;
    let expect = match new.expect {
        None => ExpectedVersion::Any,
        Some(None) => ExpectedVersion::Absent,
        Some(Some(version)) => ExpectedVersion::Exactly(version),
    };
    let life = life(new.ttl.as_ref())?;
    let set = open.set(key, &value, MemoryWrite { expect, life }).await;
    Ok(set.map_err(|error| match error.code {
        ErrorCode::LimitExceeded => {
            let place = match error.message.starts_with("key ") {
                true => "key",
                false => "value",
            };
            let param = Some(place.to_owned());
            Error { param, ..error }
        }
        _ => error,
    })?)
}

fn life(ttl: Option<&Value>) -> Result<ValueLife, Error> {
    let ttl = ttl.unwrap_or(&Value::Null);
    if ttl.as_str() == Some(KEEP) {
        return Ok(ValueLife::Keep);
    }
    let ttl = Ttl::of(ttl).map_err(|error| Error::invalid("ttl", error.to_string()))?;
    Ok(ValueLife::Renew(ttl))
}
