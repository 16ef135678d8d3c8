//! The index: rows are tracked, copied, deleted and found.

use super::locks;
use super::log::{conflict, one, signed, unsigned};
use super::sql_value::{SqlValue, bind};
use super::statement::QueuedStatement;
use super::store::PostgresStore;
use crate::address::{ITEMS, Space};
use crate::batch::WriteOutcome;
use crate::clock::Millis;
use crate::directory::{
    AgentTouch, IndexRow, PageRequest, RowFilter, RowMark, RowOrder, RowState, TrackRequest,
};
use crate::driver::state::{self, rows::ACTIVITY_STEP};
use crate::identity::{IdentityRecord, SessionIdentity};
use crate::json::Json;
use crate::{Error, Result};
use std::collections::BTreeMap;
use tokio_postgres::Row;

const SELECT: &str = "SELECT i.id, i.ordinal, i.tenant, i.agent_name, i.chat_name, i.user_id, i.group_name, i.scope, \
     i.created_at, i.last_activity_at, i.placement, i.created_by, i.team, i.labels, l.generation, l.last, \
     t.agents, t.bases, t.firsts, t.lasts FROM identity i LEFT JOIN log l ON l.space = i.space AND l.name = $1 \
     LEFT JOIN LATERAL (SELECT array_agg(agent ORDER BY place) AS agents, array_agg(base ORDER BY place) AS bases, \
     array_agg(first_at ORDER BY place) AS firsts, array_agg(last_at ORDER BY place) AS lasts \
     FROM touch WHERE row_id = i.row_id) t ON true";
const UNTRACK: &str = "WITH gone AS (DELETE FROM identity WHERE tenant = $1 AND id = $2 RETURNING row_id) SELECT count(*) FROM gone";
const TRACK: &str = "(SELECT ARRAY[o_id, o_is_new::text] \
     FROM track($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13))";

/// The condition that a row is as it was marked.
pub(super) fn check(space: &Space, mark: Option<&RowMark>) -> QueuedStatement {
    let values = bind![
        locks::space(space),
        mark.map(|mark| mark.id.clone()),
        mark.map(|mark| mark.touched_at),
        mark.map(|mark| mark.placement.clone()),
    ];
    let (space, mark) = (space.clone(), mark.cloned());
    QueuedStatement::check("check_row($1, $2, $3, $4)", values)
        .refused(move |found| conflict(state::expect_mark(&space, mark, found_mark(found))))
}

/// The condition that a row is the one with this id: whatever else its mark says, it has.
pub(super) fn check_id(space: &Space, id: &str) -> QueuedStatement {
    let values = bind![locks::space(space), id.to_owned()];
    let (space, id) = (space.clone(), id.to_owned());
    QueuedStatement::check("check_row_id($1, $2)", values).refused(move |found| {
        let found = found_mark(found).map(|mark| mark.id);
        conflict(state::expect_row_id(&space, &id, found))
    })
}

/// The mark that a refused condition has found, if there was a row.
fn found_mark(found: &str) -> Option<RowMark> {
    let found = Json::stored(found).to::<(String, Millis, Vec<String>)>();
    found.ok().map(|(id, touched_at, placement)| RowMark {
        id,
        touched_at,
        placement,
    })
}

/// Inserts a row, or adds the touch.
pub(super) fn track(track: &TrackRequest) -> Result<QueuedStatement> {
    let mut values = columns(&track.tenant, &track.identity, &track.id);
    values.extend(bind![
        track.placement.clone(),
        track.created_by.clone(),
        track.team.clone(),
        labels(&track.labels)?,
        track.agent.clone(),
        spelled(&track.base)?,
        ACTIVITY_STEP,
    ]);
    let asked = track.clone();
    let call = QueuedStatement::write(TRACK, values).refused(move |found| {
        let recorded = Json::stored(found).to::<Vec<String>>();
        conflict(recorded.and_then(|recorded| asked.check_placement(&recorded)))
    });
    Ok(call.reading(|answer| {
        let done: Vec<String> = answer.value()?;
        let [id, is_new] = done.as_slice() else {
            return Err(Error::internal("an index row was tracked without an id"));
        };
        Ok(WriteOutcome::tracked(id.as_str(), is_new == "true"))
    }))
}

/// Makes a row equal to another store's.
pub(super) fn mirror(row: &IndexRow) -> Result<QueuedStatement> {
    let mut values = columns(&row.tenant, &row.identity, &row.id);
    let agents: Vec<String> = row
        .touches
        .iter()
        .map(|touch| touch.agent.clone())
        .collect();
    let bases: Result<Vec<String>> = row
        .touches
        .iter()
        .map(|touch| spelled(&touch.base))
        .collect();
    let firsts: Vec<Millis> = row.touches.iter().map(|touch| touch.first_at).collect();
    let lasts: Vec<Millis> = row.touches.iter().map(|touch| touch.last_at).collect();
    values.extend(bind![
        row.placement.clone(),
        row.created_by.clone(),
        row.team.clone(),
        labels(&row.labels)?,
        signed(row.ordinal),
        row.created_at,
        row.last_activity_at,
        agents,
        bases?,
        firsts,
        lasts,
    ]);
    let sql =
        "mirror_row($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    Ok(QueuedStatement::write(sql, values).reading(|_| Ok(WriteOutcome::Done)))
}

pub(super) fn untrack(tenant: &str, id: &str) -> QueuedStatement {
    QueuedStatement::query(UNTRACK, bind![tenant.to_owned(), id.to_owned()])
        .reading(|answer| Ok(WriteOutcome::Erased(unsigned(answer.value()?))))
}

/// What names a row, in the order of the functions' first six arguments.
fn columns(tenant: &str, identity: &SessionIdentity, id: &str) -> Vec<SqlValue> {
    let fields: Vec<Option<String>> = [
        Some(identity.agent_name()),
        identity.chat_name(),
        identity.user_id(),
        identity.group(),
        identity.scope(),
    ]
    .iter()
    .map(|field| field.map(str::to_owned))
    .collect();
    bind![
        locks::space(&Space::of(tenant, identity)),
        id.to_owned(),
        tenant.to_owned(),
        identity.storage_key(),
        identity.key(),
        fields,
    ]
}

fn spelled(identity: &SessionIdentity) -> Result<String> {
    Ok(Json::of(identity)?.as_str().to_owned())
}

/// Each label as the JSON of its name and value, so that one comparison finds both and no text is forbidden.
fn labels(labels: &BTreeMap<String, String>) -> Result<Vec<String>> {
    labels
        .iter()
        .map(|label| Ok(Json::of(&label)?.as_str().to_owned()))
        .collect()
}

pub(super) async fn page(
    store: &PostgresStore,
    filter: &RowFilter,
    page: &PageRequest,
) -> Result<Vec<IndexRow>> {
    let mut query = StatementBuilder::new(SELECT, bind![ITEMS.as_bytes().to_vec()]);
    if !query.wants(filter)? {
        return Ok(Vec::new());
    }
    let order = match page.order {
        RowOrder::Oldest => "i.ordinal",
        RowOrder::Newest => "i.ordinal DESC",
        RowOrder::Recent => "i.last_activity_at DESC, i.ordinal DESC",
    };
    if let Some(after) = page.after {
        let ordinal = signed(after.ordinal);
        match page.order {
            RowOrder::Oldest => query.and("i.ordinal > ?", bind![ordinal]),
            RowOrder::Newest => query.and("i.ordinal < ?", bind![ordinal]),
            RowOrder::Recent => query.and(
                "(i.last_activity_at, i.ordinal) < (?, ?)",
                bind![after.at, ordinal],
            ),
        }
    }
    query.add(" ORDER BY ", Vec::new());
    query.add(order, Vec::new());
    query.add(" LIMIT ?", bind![signed(page.limit as u64)]);
    let rows = store.rows_by_values(&query.sql, &query.values).await?;
    rows.iter().map(tracked).collect()
}

pub(super) async fn count(store: &PostgresStore, filter: &RowFilter) -> Result<u64> {
    let mut query = StatementBuilder::new("SELECT count(*) FROM identity i", Vec::new());
    if !query.wants(filter)? {
        return Ok(0);
    }
    let rows = store.rows_by_values(&query.sql, &query.values).await?;
    Ok(unsigned(one(&rows)?.get(0)))
}

/// A statement put together from fixed pieces; `?` in a piece is the next bound value.
struct StatementBuilder {
    sql: String,
    values: Vec<SqlValue>,
    joiner: &'static str,
}

impl StatementBuilder {
    fn new(sql: &str, values: Vec<SqlValue>) -> Self {
        Self {
            sql: sql.to_owned(),
            values,
            joiner: " WHERE ",
        }
    }

    fn add(&mut self, piece: &str, values: Vec<SqlValue>) {
        let mut number = self.values.len();
        for letter in piece.chars() {
            if letter == '?' {
                number += 1;
                self.sql.push_str(&format!("${number}"));
            } else {
                self.sql.push(letter);
            }
        }
        self.values.extend(values);
    }

    fn and(&mut self, condition: &str, values: Vec<SqlValue>) {
        self.add(self.joiner, Vec::new());
        self.joiner = " AND ";
        self.add(condition, values);
    }

    /// Adds the filter's conditions; `false` where no row can match, because it asks for what no column can hold.
    fn wants(&mut self, filter: &RowFilter) -> Result<bool> {
        let viewer = filter.visible_to.clone();
        let texts = [
            ("i.tenant = ?", &filter.tenant),
            ("i.id = ?", &filter.id),
            ("i.storage_key = ?", &filter.storage_key),
            ("i.key = ?", &filter.key),
            ("i.user_id = ?", &filter.user),
            ("i.chat_name = ?", &filter.chat),
            ("starts_with(i.chat_name, ?)", &filter.chat_prefix),
            ("i.group_name = ?", &filter.group),
            ("i.scope = ?", &filter.scope),
            (
                "EXISTS (SELECT FROM touch t WHERE t.row_id = i.row_id AND t.agent = ?)",
                &filter.agent,
            ),
        ];
        for (condition, text) in texts {
            let Some(text) = text else { continue };
            if text.contains('\0') {
                return Ok(false);
            }
            self.and(condition, bind![text.clone()]);
        }
        if let (Some(tenant), Some(path)) = (filter.tenant.clone(), filter.storage_key.clone()) {
            self.and("i.space = ?", bind![locks::space(&Space { tenant, path })]);
        }
        let times = [
            ("i.last_activity_at < ?", filter.active_before),
            ("i.last_activity_at >= ?", filter.active_after),
            ("i.created_at < ?", filter.created_before),
            ("i.created_at >= ?", filter.created_after),
        ];
        for (condition, time) in times {
            if let Some(time) = time {
                self.and(condition, bind![time]);
            }
        }
        if !filter.labels.is_empty() {
            self.and("i.labels @> ?", bind![labels(&filter.labels)?]);
        }
        if let Some(viewer) = viewer {
            let person = |text: Option<String>| text.filter(|text| !text.contains('\0'));
            let user = person(viewer.user);
            self.and(
                "(i.user_id = ? OR (i.user_id IS NULL AND (i.created_by = ? OR i.team = ?)))",
                bind![user.clone(), user, person(viewer.team)],
            );
        }
        Ok(true)
    }
}

fn tracked(row: &Row) -> Result<IndexRow> {
    let id: String = row.get(0);
    let damaged = |error: Error| Error::corrupt(format!("index row {id}"), error);
    let head: Option<(u64, u64)> = row
        .get::<_, Option<i64>>(14)
        .map(|generation| (unsigned(generation), unsigned(row.get(15))));
    let (generation, items) = head.unwrap_or((0, 0));
    let labels: Vec<String> = row.get(13);
    let labels: Result<BTreeMap<String, String>> = labels
        .into_iter()
        .map(|label| Json::stored(label).to::<(String, String)>())
        .collect();
    Ok(IndexRow {
        ordinal: unsigned(row.get(1)),
        tenant: row.get(2),
        identity: identity(row).map_err(damaged)?,
        state: match head {
            Some((_, 0)) => RowState::Cleared,
            _ => RowState::Live,
        },
        generation,
        items,
        created_at: row.get(8),
        last_activity_at: row.get(9),
        placement: row.get(10),
        created_by: row.get(11),
        team: row.get(12),
        labels: labels.map_err(damaged)?,
        touches: touches(row).map_err(damaged)?,
        id,
    })
}

fn identity(row: &Row) -> Result<SessionIdentity> {
    SessionIdentity::try_from(IdentityRecord {
        agent_name: row.get(3),
        chat_name: row.get(4),
        user_id: row.get(5),
        group: row.get(6),
        scope: row.get(7),
        ..IdentityRecord::default()
    })
}

fn touches(row: &Row) -> Result<Vec<AgentTouch>> {
    let agents: Vec<String> = row.get::<_, Option<_>>(16).unwrap_or_default();
    let bases: Vec<String> = row.get::<_, Option<_>>(17).unwrap_or_default();
    let firsts: Vec<Millis> = row.get::<_, Option<_>>(18).unwrap_or_default();
    let lasts: Vec<Millis> = row.get::<_, Option<_>>(19).unwrap_or_default();
    let times = firsts.into_iter().zip(lasts);
    agents
        .into_iter()
        .zip(bases)
        .zip(times)
        .map(|((agent, base), (first_at, last_at))| {
            Ok(AgentTouch {
                agent,
                base: Json::stored(base).to()?,
                first_at,
                last_at,
            })
        })
        .collect()
}
