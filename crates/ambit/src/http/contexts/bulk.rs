//! Clearing and removing many contexts.

use super::super::input::{BodyFields, Id, JsonBody, NoQuery, Time, filter};
use super::super::routes::{Routes, routes};
use super::super::{ApiCaller, ErrorBody, HttpError, ServerState};
use super::LabelText;
use ambit_runtime::inspect::contexts::{
    ContextAction, ContextActionReport, ContextActionRows, ContextBulk, ContextRowFilter,
};
use ambit_runtime::{Authorized, Error, Result};
use ambit_storage::directory::{RowOrder, RowState};
use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Ids of one request at most.
const MAX_IDS: usize = 1_000;

/// The routes.
pub fn routes() -> Routes {
    routes![clear_contexts, remove_contexts]
}

/// Which contexts. A condition is needed, or `all`; but not for a dry run.
#[derive(Deserialize, ToSchema)]
struct RowSelection {
    /// Those that this agent touched.
    #[schema(inline)]
    agent: Option<Id>,
    /// The user's.
    #[schema(inline)]
    user: Option<Id>,
    /// The chat's.
    #[schema(inline)]
    chat: Option<Id>,
    /// The group's.
    #[schema(inline)]
    group: Option<Id>,
    /// Storages of this scope.
    #[schema(inline)]
    scope: Option<Id>,
    /// Those with this label, written `name:value`.
    #[schema(value_type = Option<String>)]
    label: Option<LabelText>,
    /// Those that hold something, or those that were cleared.
    state: Option<RowState>,
    /// Those last active before.
    #[schema(inline)]
    active_before: Option<Time>,
    /// Those last active then or later.
    #[schema(inline)]
    active_after: Option<Time>,
    /// Those made before.
    #[schema(inline)]
    created_before: Option<Time>,
    /// Those made then or later.
    #[schema(inline)]
    created_after: Option<Time>,
    /// Those with these ids, at most 1,000.
    #[schema(value_type = Option<Vec<String>>)]
    ids: Option<Vec<Id>>,
    /// Without any condition, all that the caller may change.
    all: Option<bool>,
    /// Nothing is changed, and the answer says what would be.
    dry_run: Option<bool>,
    /// The answer names rows instead of keys.
    rows: Option<bool>,
}

impl BodyFields for RowSelection {
    fn check(&self) -> Result<()> {
        let count = self.ids.as_ref().map_or(0, Vec::len);
        if count <= MAX_IDS {
            return Ok(());
        }
        let message =
            format!("ids has {count} items, and a request takes {MAX_IDS}; send them in several");
        Err(Error::invalid("ids", message))
    }
}

/// What was done, by keys or by rows.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in super::super) enum ContextActionAnswer {
    /// By keys.
    Keys(ContextActionReport),
    /// With `rows`.
    Rows(ContextActionRows),
}

/// Empties all contexts that match.
#[utoipa::path(post, path = "/contexts/clear", tag = "contexts", request_body = RowSelection,
    responses((status = 200, description = "What was done", body = ContextActionAnswer), (status = 400, body = ErrorBody)))]
async fn clear_contexts(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    body: JsonBody<RowSelection>,
) -> Result<Json<ContextActionAnswer>, HttpError> {
    act_on_all(&server, &who, body.value, ContextAction::Clear).await
}

/// Removes all contexts that match.
#[utoipa::path(post, path = "/contexts/remove", tag = "contexts", request_body = RowSelection,
    responses((status = 200, description = "What was done", body = ContextActionAnswer), (status = 400, body = ErrorBody)))]
async fn remove_contexts(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    body: JsonBody<RowSelection>,
) -> Result<Json<ContextActionAnswer>, HttpError> {
    act_on_all(&server, &who, body.value, ContextAction::Remove).await
}

async fn act_on_all(
    server: &ServerState,
    who: &Authorized,
    selection: RowSelection,
    action: ContextAction,
) -> Result<Json<ContextActionAnswer>, HttpError> {
    let is_dry = selection.dry_run.unwrap_or(false);
    let has_rows = selection.rows.unwrap_or(false);
    let may_be_all = selection.all.unwrap_or(false) || is_dry || selection.ids.is_some();
    let ids = selection.ids;
    let filter = filter!(ContextRowFilter from selection:
        agent user chat group scope label active_before active_after created_before created_after;
        state: selection.state,
        order: RowOrder::default());
    check_selection(&filter, may_be_all)?;
    let bulk = ContextBulk {
        action,
        is_dry,
        ids: ids.map(|ids| ids.into_iter().map(|id| id.0).collect()),
    };
    let ambit = server.runtime.contexts(who);
    let rows = filter.act(&ambit, who, &bulk).await?;
    Ok(Json(match has_rows {
        true => ContextActionAnswer::Rows(rows),
        false => ContextActionAnswer::Keys(rows.into()),
    }))
}

/// Refuses to act on everything where nobody says so: a condition may have been forgotten.
fn check_selection(filter: &ContextRowFilter, may_be_all: bool) -> Result<()> {
    if may_be_all || *filter != ContextRowFilter::default() {
        return Ok(());
    }
    Err(Error::invalid(
        "all",
        "without a condition all contexts are meant: name a condition (agent, user, chat, group, scope, label, state, active_before, \
         active_after, created_before, created_after, ids), or send \"all\": true",
    ))
}
