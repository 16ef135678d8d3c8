//! What was spent.

mod csv;

use super::input::{Id, Query, Text, Time};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use ambit_runtime::Error;
use ambit_runtime::inspect::usage;
use ambit_storage::{Usage, UsageField, UsageTotals};
use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// Sums by two fields that one answer has.
const MOST: usize = 10_000;

/// The routes.
pub fn routes() -> Routes {
    routes![sum_usage]
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
    /// One sum for each value of a field, or for each stretch of time and value.
    Groups {
        /// The field, or the stretch and the field: `day,agent`.
        group_by: String,
        /// The sums.
        items: Vec<UsageItem>,
    },
}

/// The sums of a group.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum UsageItem {
    /// By one field.
    Group(UsageGroup),
    /// By a stretch of time and a field.
    Split(UsageSplit),
}

/// The sums of one value.
#[derive(Serialize, ToSchema)]
struct UsageGroup {
    /// The value.
    value: String,
    #[serde(flatten)]
    totals: UsageTotals,
}

/// The sums of one value in one stretch of time.
#[derive(Serialize, ToSchema)]
struct UsageSplit {
    /// The day, or the hour as in `2026-11-21T13`; then the value.
    values: Vec<String>,
    #[serde(flatten)]
    totals: UsageTotals,
}

/// As what sums are sent.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum UsageFormat {
    #[default]
    Json,
    Csv,
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
    /// One sum for each value of `agent`, `user`, `group`, `chat`, `model`, `provider`, `day` or `hour`; `day,agent` and the
    /// like: for each day or hour and value.
    group_by: Option<Text>,
    /// `json`, or `csv` for a table with a header line.
    #[param(value_type = Option<String>)]
    format: Option<UsageFormat>,
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

/// The fields of a `group_by`.
fn fields_of(group_by: &str) -> Result<Vec<UsageField>, Error> {
    let Some((time, field)) = group_by.split_once(',') else {
        return Ok(vec![UsageField::parse(group_by)?]);
    };
    let (time, field) = (UsageField::parse(time)?, UsageField::parse(field)?);
    if !time.is_time() || field.is_time() {
        let message = format!(
            "group_by \"{group_by}\" is no grouping; write day or hour, a comma and a field, as in day,agent"
        );
        return Err(Error::invalid("group_by", message));
    }
    Ok(vec![time, field])
}

/// Sums of the caller's usage; for callers without constraints of the whole tenant's.
#[utoipa::path(get, path = "/usage", tag = "usage", params(UsageQuery),
    responses((status = 200, description = "The sum, or one for each value of a field",
            content((UsageAnswer = "application/json"), (String = "text/csv"))),
        (status = 400, body = ErrorBody)))]
async fn sum_usage(
    ApiCaller { server, who }: ApiCaller,
    Query(query): Query<UsageQuery>,
) -> Result<Response, HttpError> {
    let group_by = text(&query.group_by);
    let fields = group_by.map_or_else(|| Ok(Vec::new()), fields_of)?;
    let ambit = server.runtime.contexts(&who);
    let usage = usage::visible(&ambit, &who, id(&query.context)).await?;
    let groups = query.narrow(usage).group_by_all(&fields).await?;
    if let (Some(groups), [_, _]) = (&groups, &fields[..])
        && groups.len() > MOST
    {
        let message = format!(
            "group_by gives {} sums, and an answer has at most {MOST}; ask for less time or narrow what is asked for",
            groups.len()
        );
        return Err(Error::invalid("group_by", message).into());
    }
    Ok(match query.format.unwrap_or_default() {
        UsageFormat::Csv => {
            let table = csv::table(group_by, &groups.unwrap_or_default());
            ([(CONTENT_TYPE, "text/csv; charset=utf-8")], table).into_response()
        }
        UsageFormat::Json => Json(answer(group_by, groups)).into_response(),
    })
}

/// Sums by the values that they are told apart by; without any all are one.
type UsageGroups = BTreeMap<Vec<String>, UsageTotals>;

fn answer(group_by: Option<&str>, groups: Option<UsageGroups>) -> UsageAnswer {
    let Some(groups) = groups else {
        return UsageAnswer::All { total: None };
    };
    let Some(group_by) = group_by.map(str::to_owned) else {
        let total = Some(groups.into_values().next().unwrap_or_default());
        return UsageAnswer::All { total };
    };
    let is_split = group_by.contains(',');
    let items = groups.into_iter().map(|(values, totals)| match is_split {
        true => UsageItem::Split(UsageSplit { values, totals }),
        false => UsageItem::Group(UsageGroup {
            value: values.concat(),
            totals,
        }),
    });
    let items = items.collect();
    UsageAnswer::Groups { group_by, items }
}
