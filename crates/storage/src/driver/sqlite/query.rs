//! Questions to the index. The text of a query is put together from the constants of this file and nothing else; what
//! was asked for is bound. Which index leads to the rows is said here, because without statistics SQLite guesses.

use super::place::{Done, signed};
use super::rows::{COLUMNS, ITEMS_LOG, read_row};
use crate::directory::{Filter, Order, PageRequest, Tracked, Viewer};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// A way to the rows. The first that fits is taken; the conditions then keep what is asked for.
struct Way {
    is_open: fn(&Filter) -> bool,
    /// Where the rows are found in the order of their ordinals.
    by_ordinal: &'static str,
    /// Where they are found in the order of activity, or at least without a walk over others.
    by_activity: &'static str,
    /// The ordinal, where the way itself has it in order.
    ordinal: &'static str,
}

const fn way(is_open: fn(&Filter) -> bool, from: &'static str) -> Way {
    Way {
        is_open,
        by_ordinal: from,
        by_activity: from,
        ordinal: "i.ordinal",
    }
}

/// The narrowest first.
const WAYS: &[Way] = &[
    way(
        |f| f.tenant.is_some() && f.storage_key.is_some(),
        "identity i INDEXED BY identity_storage",
    ),
    way(|f| f.id.is_some(), "identity i INDEXED BY identity_id"),
    way(
        |f| f.tenant.is_some() && f.key.is_some(),
        "identity i INDEXED BY identity_key",
    ),
    Way {
        by_activity: "identity i INDEXED BY identity_user_activity",
        ..way(
            |f| f.tenant.is_some() && f.user.is_some(),
            "identity i INDEXED BY identity_user",
        )
    },
    way(
        |f| f.tenant.is_some() && f.chat.is_some(),
        "identity i INDEXED BY identity_chat",
    ),
    way(
        |f| f.tenant.is_some() && f.group.is_some(),
        "identity i INDEXED BY identity_group",
    ),
    way(
        |f| f.tenant.is_some() && f.visible_to.is_some(),
        "(SELECT ordinal FROM identity INDEXED BY identity_user WHERE tenant = ?1 AND user_id = ?14
          UNION SELECT ordinal FROM identity INDEXED BY identity_creator WHERE tenant = ?1 AND user_id IS NULL AND created_by = ?14
          UNION SELECT ordinal FROM identity INDEXED BY identity_team WHERE tenant = ?1 AND user_id IS NULL AND team = ?15) v
         CROSS JOIN identity i ON i.ordinal = v.ordinal",
    ),
    Way {
        ordinal: "t.ordinal",
        ..way(
            |f| f.tenant.is_some() && f.agent.is_some(),
            "touch t CROSS JOIN identity i ON t.tenant = ?1 AND t.agent = ?5 AND i.ordinal = t.ordinal",
        )
    },
    way(
        |f| f.tenant.is_some() && (f.active_before.is_some() || f.active_after.is_some()),
        "identity i INDEXED BY identity_activity",
    ),
    way(
        |f| f.tenant.is_some() && (f.created_before.is_some() || f.created_after.is_some()),
        "identity i INDEXED BY identity_created",
    ),
    Way {
        by_activity: "identity i INDEXED BY identity_activity",
        ..way(
            |f| f.tenant.is_some() && f.scope.is_some(),
            "identity i INDEXED BY identity_scope",
        )
    },
    Way {
        by_activity: "identity i INDEXED BY identity_activity",
        ..way(
            |f| f.tenant.is_some(),
            "identity i INDEXED BY identity_tenant",
        )
    },
    way(|_| true, "identity i NOT INDEXED"),
];

/// A condition, and whether a filter sets it. The numbers of the parameters are those of `values`.
type Condition = (fn(&Filter) -> bool, &'static str);

const CONDITIONS: &[Condition] = &[
    (|f| f.tenant.is_some(), "i.tenant = ?1"),
    (|f| f.id.is_some(), "i.id = ?2"),
    (|f| f.storage_key.is_some(), "i.storage_key = ?3"),
    (|f| f.key.is_some(), "i.key = ?4"),
    (
        |f| f.agent.is_some(),
        "EXISTS (SELECT 1 FROM touch x WHERE x.tenant = i.tenant AND x.agent = ?5 AND x.ordinal = i.ordinal)",
    ),
    (|f| f.user.is_some(), "i.user_id = ?6"),
    (|f| f.chat.is_some(), "i.chat_name = ?7"),
    (|f| f.group.is_some(), "i.group_name = ?8"),
    (|f| f.scope.is_some(), "i.scope = ?9"),
    (|f| f.active_before.is_some(), "i.last_activity_at < ?10"),
    (|f| f.active_after.is_some(), "i.last_activity_at >= ?11"),
    (|f| f.created_before.is_some(), "i.created_at < ?12"),
    (|f| f.created_after.is_some(), "i.created_at >= ?13"),
    (
        |f| f.visible_to.is_some(),
        "(i.user_id = ?14 OR (i.user_id IS NULL AND (i.created_by = ?14 OR i.team = ?15)))",
    ),
];

/// What is bound, by number. The last is always used, so that every query has the same parameters.
fn values(filter: &Filter, page: &PageRequest) -> [Value; 18] {
    let text = |field: &Option<String>| field.clone().map_or(Value::Null, Value::Text);
    let time = |field: Option<i64>| field.map_or(Value::Null, Value::Integer);
    let person = |of: fn(&Viewer) -> &Option<String>| {
        filter
            .visible_to
            .as_ref()
            .map_or(Value::Null, |viewer| text(of(viewer)))
    };
    // Rows are left out after they were read where labels are asked for, so the limit cannot be SQL's.
    let limit = if filter.labels.is_empty() {
        signed(page.limit as u64)
    } else {
        i64::MAX
    };
    [
        text(&filter.tenant),
        text(&filter.id),
        text(&filter.storage_key),
        text(&filter.key),
        text(&filter.agent),
        text(&filter.user),
        text(&filter.chat),
        text(&filter.group),
        text(&filter.scope),
        time(filter.active_before),
        time(filter.active_after),
        time(filter.created_before),
        time(filter.created_after),
        person(|viewer| &viewer.user),
        person(|viewer| &viewer.team),
        time(page.after.map(|after| after.at)),
        time(page.after.map(|after| signed(after.ordinal))),
        Value::Integer(limit),
    ]
}

/// The query's text: columns, way, conditions and order.
fn text(filter: &Filter, page: &PageRequest, columns: &str, join: &str) -> String {
    let any = &WAYS[WAYS.len() - 1];
    let way = WAYS.iter().find(|way| (way.is_open)(filter)).unwrap_or(any);
    let from = match page.order {
        Order::Oldest | Order::Newest => way.by_ordinal,
        Order::Recent => way.by_activity,
    };
    let wanted = CONDITIONS.iter().filter(|(is_set, _)| is_set(filter));
    let mut conditions: Vec<&str> = wanted.map(|(_, condition)| *condition).collect();
    let ordinal = way.ordinal;
    let behind = match page.order {
        Order::Oldest => format!("{ordinal} > ?17"),
        Order::Newest => format!("{ordinal} < ?17"),
        Order::Recent => "(i.last_activity_at, i.ordinal) < (?16, ?17)".to_owned(),
    };
    if page.after.is_some() {
        conditions.push(&behind);
    }
    if conditions.is_empty() {
        conditions.push("1");
    }
    let order = match page.order {
        Order::Oldest => ordinal.to_owned(),
        Order::Newest => format!("{ordinal} DESC"),
        Order::Recent => "i.last_activity_at DESC, i.ordinal DESC".to_owned(),
    };
    format!(
        "SELECT {columns} FROM {from} {join} WHERE {} ORDER BY {order} LIMIT ?18",
        conditions.join(" AND ")
    )
}

/// One page of rows.
pub fn identities(
    connection: &Connection,
    filter: &Filter,
    page: &PageRequest,
) -> Done<Vec<Tracked>> {
    let sql = text(filter, page, COLUMNS, ITEMS_LOG);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values(filter, page)))?;
    let mut found = Vec::new();
    while found.len() < page.limit
        && let Some(row) = rows.next()?
    {
        let row = read_row(row)?;
        if has_labels(filter, &row) {
            found.push(row);
        }
    }
    Ok(found)
}

/// How many rows are asked for.
pub fn count(connection: &Connection, filter: &Filter) -> Done<u64> {
    let all = PageRequest {
        order: Order::Oldest,
        after: None,
        limit: usize::MAX,
    };
    let columns = if filter.labels.is_empty() {
        "1"
    } else {
        "i.labels"
    };
    let sql = text(filter, &all, columns, "");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values(filter, &all)))?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        if filter.labels.is_empty() || has_all(filter, &row.get::<_, String>(0)?)? {
            count += 1;
        }
    }
    Ok(count)
}

fn has_labels(filter: &Filter, row: &Tracked) -> bool {
    filter
        .labels
        .iter()
        .all(|(name, value)| row.labels.get(name) == Some(value))
}

fn has_all(filter: &Filter, labels: &str) -> crate::Result<bool> {
    let labels: std::collections::BTreeMap<String, String> = crate::Json::stored(labels).to()?;
    Ok(filter
        .labels
        .iter()
        .all(|(name, value)| labels.get(name) == Some(value)))
}
