//! What was spent.

use super::input::{Id, Query, Text, Time};
use super::{AuthorizedCaller, ErrorBody, HttpError, SharedState};
use ambit_runtime::inspect::usage::{self, UsageFilter, UsageSums};
use ambit_storage::{UsageField, UsageTotals};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<SharedState> {
    OpenApiRouter::new().routes(routes!(sum_usage))
}

/// Sums, as they are sent.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum UsageAnswer {
    /// The sum of all.
    All {
        /// Nothing where usage is not counted.
        #[schema(required)]
        total: Option<UsageTotals>,
    },
    /// One sum for each value of a field.
    Groups {
        /// The field.
        group_by: String,
        /// The sums.
        items: Vec<UsageGroup>,
    },
}

/// The sums of one value.
#[derive(Serialize, ToSchema)]
struct UsageGroup {
    /// The value.
    value: String,
    #[serde(flatten)]
    totals: UsageTotals,
}

/// Whose usage, and of what.
#[derive(Deserialize, IntoParams)]
struct UsageQuery {
    /// The agent.
    agent: Option<Id>,
    /// The user.
    user: Option<Id>,
    /// The group.
    group: Option<Id>,
    /// The chat.
    chat: Option<Id>,
    /// The model.
    model: Option<Id>,
    /// The provider.
    provider: Option<Id>,
    /// What is booked under the identity of this row of the index.
    context: Option<Id>,
    /// One day.
    date: Option<Text>,
    /// From this day on.
    date_from: Option<Text>,
    /// Up to this day.
    date_to: Option<Text>,
    /// The zone of days.
    time_zone: Option<Text>,
    /// From this instant on.
    from_instant: Option<Time>,
    /// Before this instant.
    to_instant: Option<Time>,
    /// One sum for each value of `agent`, `user`, `group`, `chat`, `model`, `provider` or `day`.
    group_by: Option<Text>,
}

/// Sums of the caller's usage; for callers without constraints of the whole tenant's.
#[utoipa::path(get, path = "/usage", tag = "usage", params(UsageQuery),
    responses((status = 200, description = "The sum, or one for each value of a field", body = UsageAnswer), (status = 400, body = ErrorBody)))]
async fn sum_usage(
    State(server): State<SharedState>,
    AuthorizedCaller(who): AuthorizedCaller,
    Query(query): Query<UsageQuery>,
) -> Result<Json<UsageAnswer>, HttpError> {
    let filter = UsageFilter {
        agent: query.agent.map(|id| id.0),
        user: query.user.map(|id| id.0),
        group: query.group.map(|id| id.0),
        chat: query.chat.map(|id| id.0),
        model: query.model.map(|id| id.0),
        provider: query.provider.map(|id| id.0),
        context: query.context.map(|id| id.0),
        date: query.date.map(|day| day.0),
        date_from: query.date_from.map(|day| day.0),
        date_to: query.date_to.map(|day| day.0),
        time_zone: query.time_zone.map(|zone| zone.0),
        from_instant: query.from_instant.map(|time| time.0),
        to_instant: query.to_instant.map(|time| time.0),
    };
    let group_by = query.group_by.map(|name| name.0);
    let field = group_by.as_deref().map(UsageField::parse).transpose()?;
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
