//! What was spent.

use super::{AuthorizedCaller, ErrorBody, HttpError, QueryParameters, SharedState};
use ambit_runtime::Result;
use ambit_runtime::inspect::usage::{self, UsageFilter, UsageSums};
use ambit_storage::{UsageField, UsageTotals};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new().routes(routes!(sums))
}

/// Sums, as they are sent.
#[derive(Serialize)]
#[serde(untagged)]
enum UsageAnswer {
    All {
        /// Nothing where usage is not counted.
        total: Option<UsageTotals>,
    },
    Groups {
        group_by: String,
        items: Vec<UsageGroup>,
    },
}

/// The sums of one value.
#[derive(Serialize)]
struct UsageGroup {
    value: String,
    #[serde(flatten)]
    totals: UsageTotals,
}

/// Sums of the caller's usage; for callers without constraints of the whole tenant's.
#[utoipa::path(get, path = "/usage", tag = "usage",
    params(("agent" = Option<String>, Query), ("user" = Option<String>, Query), ("group" = Option<String>, Query),
        ("chat" = Option<String>, Query), ("model" = Option<String>, Query), ("provider" = Option<String>, Query),
        ("context" = Option<String>, Query), ("date" = Option<String>, Query), ("date_from" = Option<String>, Query),
        ("date_to" = Option<String>, Query), ("time_zone" = Option<String>, Query), ("from_instant" = Option<String>, Query),
        ("to_instant" = Option<String>, Query), ("group_by" = Option<String>, Query)),
    responses((status = 200, description = "{total}, or {group_by, items} with one item for each value", body = Object), (status = 400, body = ErrorBody)))]
async fn sums(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    mut conditions: QueryParameters,
) -> Result<Json<UsageAnswer>, HttpError> {
    let filter = UsageFilter {
        agent: conditions.id("agent")?,
        user: conditions.id("user")?,
        group: conditions.id("group")?,
        chat: conditions.id("chat")?,
        model: conditions.id("model")?,
        provider: conditions.id("provider")?,
        context: conditions.id("context")?,
        date: conditions.text("date")?,
        date_from: conditions.text("date_from")?,
        date_to: conditions.text("date_to")?,
        time_zone: conditions.text("time_zone")?,
        from_instant: conditions.time("from_instant")?,
        to_instant: conditions.time("to_instant")?,
    };
    let group_by = conditions.text("group_by")?;
    let field = group_by.as_deref().map(UsageField::parse).transpose()?;
    conditions.finish()?;
    let ambit = server.runtime.contexts(&who);
    let sums = usage::sums(&ambit, &who, &filter, field).await?;
    Ok(Json(match sums {
        UsageSums::Untracked => UsageAnswer::All { total: None },
        UsageSums::All(total) => UsageAnswer::All { total: Some(total) },
        UsageSums::Groups(groups) => {
            let groups = groups.into_iter();
            let items = groups.map(|(value, totals)| UsageGroup { value, totals });
            UsageAnswer::Groups {
                group_by: group_by.unwrap_or_default(),
                items: items.collect(),
            }
        }
    }))
}
