//! Questions to the index. The text of a query is put together from the constants of this file and nothing else; what
//! was asked for is bound. Which index leads to the rows is said here, because without statistics SQLite guesses.

use super::database_file::{SqliteResult, signed, unsigned};
use super::log;
use super::rows::{COLUMNS, ITEMS_LOG, read_row};
use crate::directory::{IndexRow, PageRequest, RowFilter, RowOrder, Viewer};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::BTreeMap;

/// A way to the rows. The first that fits is taken; the conditions then keep what is asked for.
struct AccessPath {
    is_open: fn(&RowFilter) -> bool,
    /// Where the rows are found in the order of their ordinals.
    by_ordinal: &'static str,
    /// Where they are found in the order of activity, or at least without a walk over others.
    by_activity: &'static str,
    /// The ordinal, where the way itself has it in order.
    ordinal: &'static str,
}

/// Rows of an agent come in the order of its touches.
const BY_AGENT: &str = "t.ordinal";

/// An agent or a person with so many rows is busy: to sort them by activity, or to look at each, would take milliseconds.
const BUSY: i64 = 2_000;

const fn access_path(is_open: fn(&RowFilter) -> bool, from: &'static str) -> AccessPath {
    AccessPath {
        is_open,
        by_ordinal: from,
        by_activity: from,
        ordinal: "i.ordinal",
    }
}

/// Stands for the walks that lead together to what a person may see.
const VISIBLE: &str = "";

/// A walk to rows that a person may see. Each row is on one of them, and each leads to its rows in order, so that a page is
/// merged of their beginnings.
struct VisibleWalk {
    from: &'static str,
    by_activity: &'static str,
    condition: &'static str,
}

const VISIBLE_WALKS: &[VisibleWalk] = &[
    VisibleWalk {
        from: "identity i INDEXED BY identity_user",
        by_activity: "identity i INDEXED BY identity_user_activity",
        condition: "i.user_id = ?14",
    },
    VisibleWalk {
        from: "identity i INDEXED BY identity_creator",
        by_activity: "identity i INDEXED BY identity_creator",
        condition: "i.user_id IS NULL AND i.created_by = ?14",
    },
    VisibleWalk {
        from: "identity i INDEXED BY identity_team",
        by_activity: "identity i INDEXED BY identity_team",
        condition: "i.user_id IS NULL AND i.team = ?15 AND (?14 IS NULL OR i.created_by IS NOT ?14)",
    },
];

/// The narrowest first.
const ACCESS_PATHS: &[AccessPath] = &[
    access_path(
        |f| f.tenant.is_some() && f.storage_key.is_some(),
        "identity i INDEXED BY identity_storage",
    ),
    access_path(|f| f.id.is_some(), "identity i INDEXED BY identity_id"),
    access_path(
        |f| f.tenant.is_some() && f.key.is_some(),
        "identity i INDEXED BY identity_key",
    ),
    AccessPath {
        by_activity: "identity i INDEXED BY identity_user_activity",
        ..access_path(
            |f| f.tenant.is_some() && f.user.is_some(),
            "identity i INDEXED BY identity_user",
        )
    },
    access_path(
        |f| f.tenant.is_some() && f.chat.is_some(),
        "identity i INDEXED BY identity_chat",
    ),
    access_path(
        |f| f.tenant.is_some() && f.group.is_some(),
        "identity i INDEXED BY identity_group",
    ),
    access_path(|f| f.tenant.is_some() && f.visible_to.is_some(), VISIBLE),
    access_path(
        |f| f.tenant.is_some() && f.chat_prefix.is_some(),
        "identity i INDEXED BY identity_chat",
    ),
    AccessPath {
        ordinal: BY_AGENT,
        ..access_path(
            |f| f.tenant.is_some() && f.agent.is_some(),
            "touch t CROSS JOIN identity i ON t.tenant = ?1 AND t.agent = ?5 AND i.ordinal = t.ordinal",
        )
    },
    access_path(
        |f| f.tenant.is_some() && (f.active_before.is_some() || f.active_after.is_some()),
        "identity i INDEXED BY identity_activity",
    ),
    access_path(
        |f| f.tenant.is_some() && (f.created_before.is_some() || f.created_after.is_some()),
        "identity i INDEXED BY identity_created",
    ),
    AccessPath {
        by_activity: "identity i INDEXED BY identity_activity",
        ..access_path(
            |f| f.tenant.is_some() && f.scope.is_some(),
            "identity i INDEXED BY identity_scope",
        )
    },
    AccessPath {
        by_activity: "identity i INDEXED BY identity_activity",
        ..access_path(
            |f| f.tenant.is_some(),
            "identity i INDEXED BY identity_tenant",
        )
    },
    access_path(|_| true, "identity i NOT INDEXED"),
];

/// A condition, and whether a filter sets it. The numbers of the parameters are those of `values`.
type FilterCondition = (fn(&RowFilter) -> bool, &'static str);

const CONDITIONS: &[FilterCondition] = &[
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
    (
        |f| f.chat_prefix.is_some(),
        "i.chat_name >= ?16 AND i.chat_name < ?17",
    ),
];

/// What is bound, by number. The last is always used, so that every query has the same parameters.
fn values(filter: &RowFilter, page: &PageRequest) -> [Value; 20] {
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
        text(&filter.chat_prefix),
        behind(filter.chat_prefix.as_deref().unwrap_or_default()),
        time(page.after.map(|after| after.at)),
        time(page.after.map(|after| signed(after.ordinal))),
        Value::Integer(limit),
    ]
}

/// What comes behind every text that begins so. No text does behind the last letters: blobs do.
fn behind(prefix: &str) -> Value {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            letters.push(next);
            return Value::Text(letters.into_iter().collect());
        }
    }
    Value::Blob(Vec::new())
}

/// What a query shows.
struct QueryShape {
    columns: &'static str,
    join: &'static str,
    /// The agent has so many rows that the last active ones are found faster among all rows.
    is_busy_agent: bool,
    /// The person has so many rows that chats of a prefix are found faster among everybody's.
    is_busy_person: bool,
    /// Rows are counted, in whatever order.
    is_count: bool,
}

/// The query's text: columns, way, conditions and order.
fn text(filter: &RowFilter, page: &PageRequest, shape: &QueryShape) -> String {
    let any = &ACCESS_PATHS[ACCESS_PATHS.len() - 1];
    let is_fit = |way: &&AccessPath| {
        let is_slow = shape.is_busy_agent && way.ordinal == BY_AGENT
            || shape.is_busy_person && way.by_ordinal == VISIBLE;
        (way.is_open)(filter) && !is_slow
    };
    let way = ACCESS_PATHS.iter().find(is_fit).unwrap_or(any);
    let QueryShape { columns, join, .. } = shape;
    let wanted = CONDITIONS.iter().filter(|(is_set, _)| is_set(filter));
    let mut conditions: Vec<&str> = wanted.map(|(_, condition)| *condition).collect();
    let ordinal = way.ordinal;
    let behind = match page.order {
        RowOrder::Oldest => format!("{ordinal} > ?19"),
        RowOrder::Newest => format!("{ordinal} < ?19"),
        RowOrder::Recent => "(i.last_activity_at, i.ordinal) < (?18, ?19)".to_owned(),
    };
    if page.after.is_some() {
        conditions.push(&behind);
    }
    if conditions.is_empty() {
        conditions.push("1");
    }
    let conditions = conditions.join(" AND ");
    let is_recent = page.order == RowOrder::Recent;
    let walks: Vec<String> = if way.by_ordinal == VISIBLE {
        let walk = |walk: &VisibleWalk| {
            let from = if is_recent {
                walk.by_activity
            } else {
                walk.from
            };
            let condition = walk.condition;
            format!("SELECT {columns} FROM {from} {join} WHERE {condition} AND {conditions}")
        };
        VISIBLE_WALKS.iter().map(walk).collect()
    } else {
        let from = if is_recent {
            way.by_activity
        } else {
            way.by_ordinal
        };
        vec![format!(
            "SELECT {columns} FROM {from} {join} WHERE {conditions}"
        )]
    };
    let walks = walks.join(" UNION ALL ");
    if shape.is_count {
        return format!("{walks} LIMIT ?20");
    }
    let order = match page.order {
        RowOrder::Oldest => ordinal.to_owned(),
        RowOrder::Newest => format!("{ordinal} DESC"),
        RowOrder::Recent => "i.last_activity_at DESC, i.ordinal DESC".to_owned(),
    };
    format!("{walks} ORDER BY {order} LIMIT ?20")
}

pub fn identities(
    connection: &Connection,
    filter: &RowFilter,
    page: &PageRequest,
) -> SqliteResult<Vec<IndexRow>> {
    let shape = QueryShape {
        columns: COLUMNS,
        join: ITEMS_LOG,
        is_busy_agent: page.order == RowOrder::Recent && is_busy_agent(connection, filter)?,
        is_busy_person: is_busy_person(connection, filter)?,
        is_count: false,
    };
    let sql = text(filter, page, &shape);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values(filter, page)))?;
    let mut found = Vec::new();
    while found.len() < page.limit
        && let Some(row) = rows.next()?
    {
        let row = read_row(row)?;
        if has_labels(filter, &row.labels) {
            found.push(row);
        }
    }
    Ok(found)
}

pub fn count(connection: &Connection, filter: &RowFilter) -> SqliteResult<u64> {
    if is_tallied(filter) {
        return Ok(tally(connection, filter)?);
    }
    let all = PageRequest::first(usize::MAX);
    let is_sum = filter.labels.is_empty();
    let shape = QueryShape {
        columns: if is_sum { "count(*)" } else { "i.labels" },
        join: "",
        is_busy_agent: false,
        is_busy_person: is_busy_person(connection, filter)?,
        is_count: true,
    };
    let sql = text(filter, &all, &shape);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values(filter, &all)))?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        if is_sum {
            count += unsigned(row.get(0)?);
        } else if has_labels(filter, &log::text(row, 0)?.to()?) {
            count += 1;
        }
    }
    Ok(count)
}

/// True where nothing is asked but the scope and who may see it: how many rows that are is known without a look at each.
fn is_tallied(filter: &RowFilter) -> bool {
    let plain = RowFilter {
        tenant: filter.tenant.clone(),
        scope: filter.scope.clone(),
        visible_to: filter.visible_to.clone(),
        ..RowFilter::default()
    };
    filter.tenant.is_some() && filter.scope.is_some() && *filter == plain
}

/// The rows of all, or those of a person and those of nobody's that they may see, which are counted: there are few.
fn tally(connection: &Connection, filter: &RowFilter) -> rusqlite::Result<u64> {
    let (tenant, scope) = (&filter.tenant, &filter.scope);
    let all = "SELECT coalesce(sum(rows), 0) FROM tally WHERE tenant = ?1 AND person = '*' AND scope = ?2";
    let seen = "SELECT (SELECT coalesce(sum(rows), 0) FROM tally WHERE tenant = ?1 AND person = '=' || ?3 AND scope = ?2)
        + (SELECT count(*) FROM identity INDEXED BY identity_creator
            WHERE tenant = ?1 AND user_id IS NULL AND created_by = ?3 AND scope = ?2)
        + (SELECT count(*) FROM identity INDEXED BY identity_team
            WHERE tenant = ?1 AND user_id IS NULL AND team = ?4 AND (?3 IS NULL OR created_by IS NOT ?3) AND scope = ?2)";
    let first = |row: &rusqlite::Row<'_>| Ok(unsigned(row.get(0)?));
    match &filter.visible_to {
        None => connection
            .prepare_cached(all)?
            .query_row((tenant, scope), first),
        Some(viewer) => connection
            .prepare_cached(seen)?
            .query_row((tenant, scope, &viewer.user, &viewer.team), first),
    }
}

fn is_busy_agent(connection: &Connection, filter: &RowFilter) -> rusqlite::Result<bool> {
    let Some(agent) = &filter.agent else {
        return Ok(false);
    };
    let sql =
        "SELECT count(*) FROM (SELECT 1 FROM touch WHERE tenant = ?1 AND agent = ?2 LIMIT ?3)";
    let mut statement = connection.prepare_cached(sql)?;
    let count: i64 = statement.query_row((&filter.tenant, agent, BUSY), |row| row.get(0))?;
    Ok(count == BUSY)
}

fn is_busy_person(connection: &Connection, filter: &RowFilter) -> rusqlite::Result<bool> {
    let is_asked = filter.chat_prefix.is_some() && filter.visible_to.is_some();
    Ok(is_asked && tally(connection, filter)? > unsigned(BUSY))
}

fn has_labels(filter: &RowFilter, labels: &BTreeMap<String, String>) -> bool {
    let mut wanted = filter.labels.iter();
    wanted.all(|(name, value)| labels.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How SQLite goes about a question.
    fn plan(filter: &RowFilter, order: RowOrder) -> String {
        let connection = Connection::open_in_memory().unwrap();
        let schema = include_str!("schema.sql");
        connection.execute_batch(schema).unwrap();
        let page = PageRequest {
            order,
            after: None,
            limit: 10,
        };
        let shape = QueryShape {
            columns: "i.last_activity_at, i.ordinal",
            join: "",
            is_busy_agent: false,
            is_busy_person: false,
            is_count: false,
        };
        let sql = format!("EXPLAIN QUERY PLAN {}", text(filter, &page, &shape));
        let mut statement = connection.prepare(&sql).unwrap();
        let values = params_from_iter(values(filter, &page));
        let steps = statement
            .query_map(values, |row| row.get::<_, String>(3))
            .unwrap();
        steps.map(|step| step.unwrap() + "\n").collect()
    }

    #[test]
    fn a_page_is_read_from_an_index_in_its_order() {
        let tenant = RowFilter::tenant("t");
        let user = RowFilter {
            user: Some("u".to_owned()),
            ..tenant.clone()
        };
        let own = RowFilter {
            visible_to: Some(Viewer {
                user: Some("u".to_owned()),
                team: None,
            }),
            ..tenant.clone()
        };
        let agent = RowFilter {
            agent: Some("a".to_owned()),
            ..tenant.clone()
        };
        for (filter, order, index) in [
            (&user, RowOrder::Newest, "identity_user "),
            (&user, RowOrder::Recent, "identity_user_activity "),
            (&own, RowOrder::Newest, "identity_user "),
            (&own, RowOrder::Recent, "identity_user_activity "),
            (&tenant, RowOrder::Oldest, "identity_tenant "),
            (&tenant, RowOrder::Recent, "identity_activity "),
            (&agent, RowOrder::Oldest, "SEARCH t USING PRIMARY KEY"),
        ] {
            let plan = plan(filter, order);
            assert!(plan.contains(index), "{index}: {plan}");
            // Rows of nobody's are few, and have no order of activity.
            let plan = plan.split("identity_creator").next().unwrap();
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP"), "{plan}");
        }
    }

    #[test]
    fn chats_of_a_prefix_are_found_by_their_names() {
        let filter = RowFilter {
            chat_prefix: Some("resp_".to_owned()),
            ..RowFilter::tenant("t")
        };
        let plan = plan(&filter, RowOrder::Oldest);
        let way = "identity_chat (tenant=? AND chat_name>? AND chat_name<?)";
        assert!(plan.contains(way), "{plan}");
        for (prefix, end) in [
            ("resp_", "resp`"),
            ("a\u{d7ff}", "a\u{e000}"),
            ("a\u{10ffff}", "b"),
        ] {
            assert_eq!(behind(prefix), Value::Text(end.to_owned()));
        }
        assert_eq!(behind("\u{10ffff}"), Value::Blob(Vec::new()));
    }
}
