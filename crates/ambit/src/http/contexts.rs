//! Rows of the index and what they stand for.

mod bulk;

pub(super) use bulk::ContextActionAnswer;

use super::input::{Id, NoQuery, PathId, Query, Text, Time, filter};
use super::paging::{ItemPosition, PageSize};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError, ServerState, paging, rate_limits};
use crate::auth::rate_limits::PageBuild;
use ambit_runtime::Authorized;
use ambit_runtime::inspect::contexts::{
    self, ContextAction, ContextField, ContextItemFilter, ContextItemPage, ContextLabel,
    ContextRow, ContextRowFilter, ContextValueFilter, ContextValueList,
};
use ambit_storage::Page;
use ambit_storage::directory::{RowOrder, RowState};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

/// The routes.
pub fn routes() -> Routes {
    routes![
        list_contexts,
        list_context_values,
        show_context,
        remove_context,
        list_context_items,
        clear_context
    ]
    .merge(bulk::routes())
}

/// Which rows.
#[derive(Deserialize, IntoParams)]
struct RowQuery {
    /// Those that this agent touched.
    agent: Option<Id>,
    /// The user's.
    user: Option<Id>,
    /// The chat's.
    chat: Option<Id>,
    /// The group's.
    group: Option<Id>,
    /// Storages of this scope.
    scope: Option<Id>,
    /// Those with this label, written `name:value`.
    #[param(value_type = Option<String>)]
    label: Option<LabelText>,
    /// Those that hold something, or those that were cleared.
    #[param(inline)]
    state: Option<RowState>,
    /// Those last active before.
    active_before: Option<Time>,
    /// Those last active then or later.
    active_after: Option<Time>,
    /// Those made before.
    created_before: Option<Time>,
    /// Those made then or later.
    created_after: Option<Time>,
    /// What comes first; the oldest where nobody says.
    #[param(inline)]
    order: Option<RowOrder>,
    /// `next` of the page before, in the same order.
    cursor: Option<Text>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
}

/// A label and its value, `plan:free`. The name ends at the first colon.
struct LabelText(ContextLabel);

impl<'de> Deserialize<'de> for LabelText {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let text = String::deserialize(reader)?;
        let parts = text.split_once(':').filter(|(name, _)| !name.is_empty());
        let (name, value) = parts.ok_or_else(|| {
            D::Error::custom(format_args!(
                "\"{text}\" is no label; write name:value, as in plan:free"
            ))
        })?;
        Ok(Self(ContextLabel {
            name: name.to_owned(),
            value: value.to_owned(),
        }))
    }
}

/// Rows that the caller may see.
#[utoipa::path(get, path = "/contexts", tag = "contexts", params(RowQuery),
    responses((status = 200, description = "A page of rows", body = Page<ContextRow>), (status = 400, body = ErrorBody)))]
async fn list_contexts(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<RowQuery>,
) -> Result<Json<Page<ContextRow>>, HttpError> {
    let filter = filter!(ContextRowFilter from query:
        agent user chat group scope label active_before active_after created_before created_after;
        state: query.state,
        order: query.order.unwrap_or_default());
    let cursor = query.cursor.as_ref().map(|cursor| cursor.0.as_str());
    let limit = paging::limit(query.limit);
    let ambit = server.runtime.contexts(&who);
    let page = filter.list(&ambit, &who, cursor, limit).await?;
    Ok(Json(page))
}

/// Which values.
#[derive(Deserialize, IntoParams)]
struct ContextValueQuery {
    /// Of which field.
    #[param(inline)]
    field: ContextField,
    /// Those that begin so.
    prefix: Option<Text>,
    /// At most so many; 20 where nobody says.
    limit: Option<PageSize>,
}

/// Values of a field in all rows that the caller may see, those of the most rows first.
#[utoipa::path(get, path = "/contexts/values", tag = "contexts", params(ContextValueQuery),
    responses((status = 200, description = "The values", body = ContextValueList), (status = 400, body = ErrorBody)))]
async fn list_context_values(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<ContextValueQuery>,
) -> Result<Json<ContextValueList>, HttpError> {
    let prefix = query.prefix.map(|prefix| prefix.0).unwrap_or_default();
    let limit = paging::limit(query.limit);
    let ambit = server.runtime.contexts(&who);
    let filter = ContextValueFilter {
        field: query.field,
        prefix: &prefix,
    };
    let values = contexts::values(&ambit, &who, filter, limit).await?;
    Ok(Json(values))
}

/// One row.
#[utoipa::path(get, path = "/contexts/{id}", tag = "contexts", params(("id" = Id, Path)),
    responses((status = 200, description = "The row", body = ContextRow), (status = 404, body = ErrorBody)))]
async fn show_context(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<Json<ContextRow>, HttpError> {
    let ambit = server.runtime.contexts(&who);
    Ok(Json(contexts::get(&ambit, &who, &id.0).await?))
}

/// Which items of a row.
#[derive(Deserialize, IntoParams)]
struct ItemQuery {
    /// Only those before this position.
    before: Option<ItemPosition>,
    /// At most so many, the last ones; 20 where nobody says.
    limit: Option<PageSize>,
    /// Those too that are no longer part of the conversation.
    archive: Option<bool>,
}

/// What a row holds: messages, usage records, or items of an app's own storage.
#[utoipa::path(get, path = "/contexts/{id}/items", tag = "contexts", params(("id" = Id, Path), ItemQuery),
    responses((status = 200, description = "The items, and where those before them are", body = ContextItemPage), (status = 404, body = ErrorBody)))]
async fn list_context_items(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    Query(query): Query<ItemQuery>,
) -> Result<(Extension<PageBuild>, Json<ContextItemPage>), HttpError> {
    let build = rate_limits::page_build(&server, &who).await;
    let filter = ContextItemFilter {
        before: query.before.map(|before| before.0),
        limit: paging::limit(query.limit),
        archive: query.archive.unwrap_or(false),
    };
    let ambit = server.runtime.contexts(&who);
    let found = contexts::items(&ambit, &who, &id.0, filter).await?;
    Ok((build, Json(found)))
}

/// Empties one context; it stays tracked.
#[utoipa::path(post, path = "/contexts/{id}/clear", tag = "contexts", params(("id" = Id, Path)),
    responses((status = 204, description = "It is empty"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn clear_context(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<StatusCode, HttpError> {
    act(&server, &who, &id, ContextAction::Clear).await
}

/// Removes the data and the row of one context.
#[utoipa::path(delete, path = "/contexts/{id}", tag = "contexts", params(("id" = Id, Path)),
    responses((status = 204, description = "It is gone"), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
async fn remove_context(
    ApiCaller { server, who }: ApiCaller,
    PathId(id): PathId,
    _: NoQuery,
) -> Result<StatusCode, HttpError> {
    act(&server, &who, &id, ContextAction::Remove).await
}

async fn act(
    server: &ServerState,
    who: &Authorized,
    id: &Id,
    action: ContextAction,
) -> Result<StatusCode, HttpError> {
    let ambit = server.runtime.contexts(who);
    contexts::act(&ambit, who, &id.0, action).await?;
    Ok(StatusCode::NO_CONTENT)
}
