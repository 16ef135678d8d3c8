//! What a field of the rows holds, to choose from.

use super::in_time;
use crate::access::{Authorized, DataAccess};
use crate::error::Result;
use ambit_storage::directory::IndexRow;
use ambit_storage::{Ambit, SessionQuery};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use utoipa::ToSchema;

/// A field of rows whose values can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextField {
    /// Agents that worked on them.
    Agent,
    /// Users.
    User,
    /// Groups.
    Group,
    /// Which storages of conversations they are.
    Scope,
    /// Teams that they were made in, for callers without constraints.
    Team,
}

/// Which values are meant.
#[derive(Clone, Copy, Debug)]
pub struct ContextValueFilter<'a> {
    /// Those of this field.
    pub field: ContextField,
    /// Those that begin so.
    pub prefix: &'a str,
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ContextValue {
    /// The value.
    pub value: String,
    /// How many rows have it.
    pub count: u64,
}

/// Values of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ContextValueList {
    /// Those of the most rows first.
    pub items: Vec<ContextValue>,
}

impl ContextField {
    fn of(self, row: &IndexRow) -> Vec<&str> {
        let identity = &row.identity;
        let value = match self {
            Self::Agent => {
                let touches = row.touches.iter();
                return touches.map(|touch| touch.agent.as_str()).collect();
            }
            Self::User => identity.user_id(),
            Self::Group => identity.group(),
            Self::Scope => identity.scope(),
            Self::Team => row.team.as_deref(),
        };
        value.into_iter().collect()
    }
}

/// The values in the rows that the caller may see, at most so many.
pub async fn values(
    ambit: &Ambit,
    who: &Authorized,
    filter: ContextValueFilter<'_>,
    limit: usize,
) -> Result<ContextValueList> {
    let access = DataAccess::of(who);
    if filter.field == ContextField::Team && !access.is_whole() {
        // No row tells them its team either.
        return Ok(ContextValueList::default());
    }
    let query = SessionQuery::every(access.ambit(ambit));
    let counts = counts(&query, filter);
    let help = "there are too many contexts to choose from: name the value";
    let counts = in_time("counting values of contexts", help, counts).await?;
    let counts = counts.into_iter();
    let mut items: Vec<_> = counts
        .map(|(value, count)| ContextValue { value, count })
        .collect();
    items.sort_unstable_by(|one, other| {
        let by_count = other.count.cmp(&one.count);
        by_count.then_with(|| one.value.cmp(&other.value))
    });
    items.truncate(limit);
    Ok(ContextValueList { items })
}

/// The values, and how many rows have each.
async fn counts(
    query: &SessionQuery,
    filter: ContextValueFilter<'_>,
) -> Result<HashMap<String, u64>> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut rows = query.rows();
    while let Some(page) = rows.next().await? {
        for row in &page {
            let found = filter.field.of(row).into_iter();
            for value in found.filter(|value| value.starts_with(filter.prefix)) {
                *counts.entry(value.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(counts)
}
