//! Index rows: where each is found, and walking them in steps.
//!
//! A row is a hash of body, revision and last activity under its ordinal. Each index – all rows, those of a tenant,
//! those of a tenant with one property – is two sorted sets of ordinals: by ordinal and by last activity.

use super::log::parse_head;
use super::plan::CommitPlan;
use super::server::RedisServer;
use crate::Result;
use crate::address::{self, ITEMS, Space};
use crate::batch::WriteOutcome;
use crate::directory::{
    IndexRow, PageRequest, RowFilter, RowLookup, RowOrder, RowPosition, TrackRequest,
};
use crate::driver::state;
use crate::json::Json;

const ALL: &str = "all";
/// At most so many rows are looked at in one step.
const STEP: usize = 512;

/// Reads a row stored under this ordinal, which is not always the one of the store that it was copied from.
pub fn parse(ordinal: &str, body: &str) -> Result<IndexRow> {
    let row: IndexRow = Json::stored(body).to()?;
    let ordinal = ordinal.parse().unwrap_or(row.ordinal);
    Ok(IndexRow { ordinal, ..row })
}

/// An ordinal as member of sorted sets, where byte order is the order of numbers.
fn member(ordinal: u64) -> String {
    format!("{ordinal:020}")
}

fn index_of_tenant(tenant: &str) -> String {
    address::digest(&["tenant", tenant])
}

fn index_of_lookup(tenant: &str, (name, value): &RowLookup) -> String {
    address::digest(&["lookup", tenant, name, value])
}

/// Inserts a row or adds a touch.
pub fn track(plan: &mut CommitPlan, track: &TrackRequest) -> Result<WriteOutcome> {
    let number = plan.seen.take_number();
    let space = track.space();
    let before = plan.seen.rows.get(&space).cloned().flatten();
    let ordinal = before.as_ref().map_or(number, |row| row.ordinal);
    let row = state::rows::touched(before.as_ref(), track, ordinal, plan.seen.now)?;
    let outcome = WriteOutcome::tracked(row.id.clone(), before.is_none());
    if before.as_ref() != Some(&row) {
        write(plan, &space, &row, number, before.is_none())?;
    }
    plan.seen.rows.insert(space, Some(row));
    Ok(outcome)
}

/// Makes a row equal to another store's, but for an ordinal that another row has here.
pub fn mirror(plan: &mut CommitPlan, row: &IndexRow) -> Result<()> {
    let number = plan.seen.take_number();
    let space = row.space();
    plan.push_words(&["raise", &row.ordinal.to_string()]);
    plan.push_words(&["displace", &space.digest(), &member(row.ordinal)]);
    write(plan, &space, row, number, true)?;
    plan.seen.rows.insert(space, Some(row.clone()));
    Ok(())
}

fn write(
    plan: &mut CommitPlan,
    space: &Space,
    row: &IndexRow,
    revision: u64,
    sets_activity: bool,
) -> Result<()> {
    let active = if sets_activity {
        row.last_activity_at.to_string()
    } else {
        String::new()
    };
    plan.push_words(&["row", &space.digest(), &member(row.ordinal)]);
    plan.push_words(&[&revision.to_string(), &row.tenant, &row.id, &active]);
    plan.push_words(&[Json::of(row)?.as_str()]);
    let mut indexes = vec![ALL.to_owned(), index_of_tenant(&row.tenant)];
    indexes.extend(
        row.lookups()
            .iter()
            .map(|lookup| index_of_lookup(&row.tenant, lookup)),
    );
    plan.push_words(&[&indexes.len().to_string()]);
    plan.words.extend(indexes);
    Ok(())
}

/// One page of rows, with what their spaces say about them.
pub async fn page(
    server: &RedisServer,
    filter: &RowFilter,
    page: &PageRequest,
) -> Result<Vec<IndexRow>> {
    if page.limit == 0 {
        return Ok(Vec::new());
    }
    let mut walk = IndexWalk::begin(server, filter, page.order, page.after).await?;
    let mut rows = Vec::new();
    while rows.len() < page.limit {
        let Some(found) = walk.step(page.limit - rows.len()).await? else {
            break;
        };
        rows.extend(found);
    }
    rows.truncate(page.limit);
    fill_in_heads(server, &mut rows).await?;
    Ok(rows)
}

pub async fn count(server: &RedisServer, filter: &RowFilter) -> Result<u64> {
    let whole = RowFilter {
        tenant: filter.tenant.clone(),
        ..RowFilter::default()
    };
    if *filter == whole {
        let index = filter
            .tenant
            .as_deref()
            .map_or(ALL.to_owned(), index_of_tenant);
        let key = server.key_of("made", &index);
        return server.ask(redis::cmd("ZCARD").arg(key)).await;
    }
    let mut walk = IndexWalk::begin(server, filter, RowOrder::Oldest, None).await?;
    let mut count = 0;
    while let Some(found) = walk.step(STEP).await? {
        count += found.len() as u64;
    }
    Ok(count)
}

enum CandidateSource {
    /// At most this one.
    Row(Option<String>),
    Index(String),
}

/// A walk over candidates in an order.
struct IndexWalk<'a> {
    server: &'a RedisServer,
    filter: &'a RowFilter,
    order: RowOrder,
    source: CandidateSource,
    after: Option<RowPosition>,
    step: usize,
}

impl<'a> IndexWalk<'a> {
    async fn begin(
        server: &'a RedisServer,
        filter: &'a RowFilter,
        order: RowOrder,
        after: Option<RowPosition>,
    ) -> Result<Self> {
        let source = if let (Some(tenant), Some(path)) = (&filter.tenant, &filter.storage_key) {
            let space = Space::new(tenant.clone(), path.clone());
            CandidateSource::Row(find(server, "by_space", &space.digest()).await?)
        } else if let Some(id) = &filter.id {
            CandidateSource::Row(find(server, "by_id", id).await?)
        } else {
            CandidateSource::Index(smallest(server, filter).await?)
        };
        let idle = filter.active_before.filter(|_| order == RowOrder::Recent);
        let bound = idle.map(|at| RowPosition { at, ordinal: 0 });
        let after = match (after, bound) {
            (Some(after), Some(bound)) if order.is_behind(bound, after) => Some(bound),
            (None, bound) => bound,
            (after, _) => after,
        };
        Ok(Self {
            server,
            filter,
            order,
            source,
            after,
            step: 0,
        })
    }

    /// The wanted ones among the next candidates; `None` at the end. `limit` is how many are still of use.
    async fn step(&mut self, limit: usize) -> Result<Option<Vec<IndexRow>>> {
        let after = self.after;
        let mut wanted = match &mut self.source {
            CandidateSource::Row(ordinal) => {
                let Some(ordinal) = ordinal.take() else {
                    return Ok(None);
                };
                rows_of(self.server, &[ordinal]).await?
            }
            CandidateSource::Index(_) => {
                self.step = self.step.max(limit.clamp(16, STEP));
                let Some(ordinals) = self.candidates().await? else {
                    return Ok(None);
                };
                rows_of(self.server, &ordinals).await?
            }
        };
        let is_row = matches!(self.source, CandidateSource::Row(_));
        let behind = |row: &IndexRow| {
            !is_row || after.is_none_or(|after| self.order.is_behind(row.position(), after))
        };
        wanted.retain(|row| self.filter.matches(row) && behind(row));
        Ok(Some(wanted))
    }

    /// The next ordinals of the index; `None` at the end.
    async fn candidates(&mut self) -> Result<Option<Vec<String>>> {
        let CandidateSource::Index(index) = &self.source else {
            return Ok(None);
        };
        let set = if self.order == RowOrder::Recent {
            "active"
        } else {
            "made"
        };
        let key = self.server.key_of(set, index);
        loop {
            let found: Vec<(String, f64)> = self.server.ask(&self.range(&key)).await?;
            let is_end = found.len() < self.step;
            let places = found.into_iter().map(|(member, score)| {
                let at = score as i64;
                let ordinal = member.parse().unwrap_or_default();
                (member, RowPosition { at, ordinal })
            });
            let after = self.after;
            let behind = |place| after.is_none_or(|after| self.order.is_behind(place, after));
            let places: Vec<_> = places.filter(|(_, place)| behind(*place)).collect();
            if let Some((_, last)) = places.last() {
                self.after = Some(*last);
                return Ok(Some(places.into_iter().map(|(member, _)| member).collect()));
            }
            if is_end {
                return Ok(None);
            }
            // More rows than a step holds were active in one and the same millisecond.
            self.step *= 2;
        }
    }

    fn range(&self, key: &str) -> redis::Cmd {
        let mut command = redis::Cmd::new();
        match self.order {
            RowOrder::Oldest => {
                let from = self
                    .after
                    .map_or("-inf".to_owned(), |after| format!("({}", after.ordinal));
                command.arg("ZRANGEBYSCORE").arg(key).arg(from).arg("+inf");
            }
            RowOrder::Newest => {
                let from = self
                    .after
                    .map_or("+inf".to_owned(), |after| format!("({}", after.ordinal));
                command
                    .arg("ZREVRANGEBYSCORE")
                    .arg(key)
                    .arg(from)
                    .arg("-inf");
            }
            RowOrder::Recent => {
                let from = self
                    .after
                    .map_or("+inf".to_owned(), |after| after.at.to_string());
                command
                    .arg("ZREVRANGEBYSCORE")
                    .arg(key)
                    .arg(from)
                    .arg("-inf");
            }
        }
        command.arg("WITHSCORES").arg("LIMIT").arg(0).arg(self.step);
        command
    }
}

async fn find(server: &RedisServer, kind: &str, field: &str) -> Result<Option<String>> {
    let key = server.key(kind);
    server.ask(redis::cmd("HGET").arg(key).arg(field)).await
}

/// The smallest index that holds all that the filter wants.
async fn smallest(server: &RedisServer, filter: &RowFilter) -> Result<String> {
    let Some(tenant) = &filter.tenant else {
        return Ok(ALL.to_owned());
    };
    let lookups = filter.lookups();
    let indexes: Vec<String> = lookups
        .iter()
        .map(|lookup| index_of_lookup(tenant, lookup))
        .collect();
    if indexes.is_empty() {
        return Ok(index_of_tenant(tenant));
    }
    let mut sizes = redis::pipe();
    for index in &indexes {
        sizes.zcard(server.key_of("made", index));
    }
    let sizes: Vec<u64> = server.ask_all(&sizes).await?;
    let smallest = sizes.into_iter().zip(indexes).min();
    Ok(smallest.map_or_else(|| index_of_tenant(tenant), |(_, index)| index))
}

async fn rows_of(server: &RedisServer, ordinals: &[String]) -> Result<Vec<IndexRow>> {
    let mut commands = redis::pipe();
    for ordinal in ordinals {
        commands
            .cmd("HMGET")
            .arg(server.key_of("row", ordinal))
            .arg("body")
            .arg("active");
    }
    let found: Vec<(Option<String>, Option<i64>)> = server.ask_all(&commands).await?;
    let present = ordinals
        .iter()
        .zip(found)
        .filter_map(|(ordinal, (body, active))| Some((ordinal, body?, active?)));
    let row = |(ordinal, body, last_activity_at): (&String, String, i64)| {
        Ok(IndexRow {
            last_activity_at,
            ..parse(ordinal, &body)?
        })
    };
    present.map(row).collect()
}

/// Fills in what the items of each row's space say.
async fn fill_in_heads(server: &RedisServer, rows: &mut [IndexRow]) -> Result<()> {
    for rows in rows.chunks_mut(STEP) {
        let mut commands = redis::pipe();
        for row in rows.iter() {
            let digest = row.space().digest();
            commands.hget(server.key_of("g", &digest), ITEMS);
        }
        let heads: Vec<Option<String>> = server.ask_all(&commands).await?;
        for (row, text) in rows.iter_mut().zip(heads) {
            let log = row.space().log(ITEMS);
            let head = text.map(|text| parse_head(&text, &log)).transpose()?;
            *row = state::rows::row_with_head(row, head);
        }
    }
    Ok(())
}
