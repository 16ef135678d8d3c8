//! What was spent.

use super::input::{Id, Query, Text, Time};
use super::{ApiCaller, ErrorBody, HttpError, SharedState};
use ambit_runtime::inspect::usage;
use ambit_storage::{Usage, UsageField, UsageTotals};
use axum::Json;
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

fn id(id: &Option<Id>) -> Option<&str> {
    id.as_ref().map(|id| id.0.as_str())
}

fn text(text: &Option<Text>) -> Option<&str> {
    text.as_ref().map(|text| text.0.as_str())
}

/// Leaves the usage of which a value holds.
type UsageNarrowing = fn(Usage, &str) -> Usage;

impl UsageQuery {
    /// The usage that all conditions leave.
    fn narrow(&self, mut usage: Usage) -> Usage {
        let conditions: [(Option<&str>, UsageNarrowing); 10] = [
            (id(&self.agent), Usage::for_agent),
            (id(&self.user), Usage::for_user),
            (id(&self.group), Usage::for_group),
            (id(&self.chat), Usage::for_chat),
            (id(&self.model), Usage::for_model),
            (id(&self.provider), Usage::for_provider),
            (text(&self.date), Usage::date),
            (text(&self.date_from), Usage::date_from),
            (text(&self.date_to), Usage::date_to),
            (text(&self.time_zone), Usage::time_zone),
        ];
        for (value, narrow) in conditions {
            if let Some(value) = value {
                usage = narrow(usage, value);
            }
        }
        if let Some(at) = &self.from_instant {
            usage = usage.from_instant(at.0);
        }
        if let Some(at) = &self.to_instant {
            usage = usage.to_instant(at.0);
        }
        usage
    }
}

/// Sums of the caller's usage; for callers without constraints of the whole tenant's.
#[utoipa::path(get, path = "/usage", tag = "usage", params(UsageQuery),
    responses((status = 200, description = "The sum, or one for each value of a field", body = UsageAnswer), (status = 400, body = ErrorBody)))]
async fn sum_usage(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<UsageQuery>,
) -> Result<Json<UsageAnswer>, HttpError> {
    let group_by = text(&query.group_by);
    let field = group_by.map(UsageField::parse).transpose()?;
    let ambit = server.runtime.contexts(&who);
    let usage = usage::visible(&ambit, &who, id(&query.context)).await?;
    let usage = query.narrow(usage);
    let (Some(field), Some(group_by)) = (field, group_by) else {
        let total = usage.aggregate().await?;
        return Ok(Json(UsageAnswer::All { total }));
    };
    let Some(groups) = usage.group_by(field).await? else {
        return Ok(Json(UsageAnswer::All { total: None }));
    };
    let groups = groups.into_iter();
    let items = groups.map(|(value, totals)| UsageGroup { value, totals });
    Ok(Json(UsageAnswer::Groups {
        group_by: group_by.to_owned(),
        items: items.collect(),
    }))
}
