//! Reading values.

use super::locks;
use super::log::{signed, text, unsigned};
use super::sql_value::bind;
use super::store::PostgresStore;
use super::value::bounds;
use crate::Result;
use crate::address::{Space, ValueKey};
use crate::batch::ValueEntry;
use crate::driver::{Direction, ValuePart, ValueScan};
use crate::json::{Json, StoredValue};
use std::ops::Range;
use tokio_postgres::Row;

/// Values of a space by name, from $2 to below $3, with the items from … to … ($4, $5, negative ones from the end) of
/// a list. $6 says whether the content is wanted; without it the first byte still tells the type.
macro_rules! select {
    ($order:literal) => {
        concat!("SELECT v.name, CASE WHEN $6 THEN v.body ELSE left(v.body, 1) END, v.length, v.version, \
     v.expires_at, l.items FROM value v LEFT JOIN LATERAL (SELECT array_agg(body ORDER BY pos) AS items FROM item \
     WHERE $6 AND list_id = v.id AND v.body IS NULL \
     AND pos >= CASE WHEN $4::bigint < 0 THEN v.length + $4 ELSE $4 END \
     AND pos <= CASE WHEN $5::bigint < 0 THEN v.length + $5 ELSE $5 END) l ON true \
     WHERE v.space = $1 AND v.name >= $2 AND v.name < $3 AND (v.expires_at IS NULL OR v.expires_at > \
     floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $7) ORDER BY v.name ", $order, " LIMIT $8")
    };
}

const FORWARD: &str = select!("ASC");
const BACKWARD: &str = select!("DESC");

/// Rows of one round trip where a pattern may refuse some of them.
const STEP: usize = 256;

pub(super) async fn get(
    store: &PostgresStore,
    key: &ValueKey,
    part: ValuePart,
) -> Result<Option<ValueEntry>> {
    let names = key.name.clone().into_bytes()..behind(&key.name);
    let which = ValueRange {
        names,
        part,
        direction: Direction::Forward,
    };
    let rows = store.values(&key.space, which, 1).await?;
    Ok(rows.first().map(|row| entry(row, part)))
}

pub(super) async fn scan(
    store: &PostgresStore,
    space: &Space,
    scan: &ValueScan,
) -> Result<Vec<(String, ValueEntry)>> {
    let (from, end) = bounds(&scan.pattern);
    let mut names = from..end;
    let go_on = |names: &mut Range<Vec<u8>>, after: &str| match scan.direction {
        Direction::Forward => names.start = behind(after).max(std::mem::take(&mut names.start)),
        Direction::Backward => {
            let after = after.as_bytes().to_vec();
            names.end = after.min(std::mem::take(&mut names.end));
        }
    };
    if let Some(after) = &scan.after {
        go_on(&mut names, after);
    }
    let mut found = Vec::new();
    while found.len() < scan.limit && names.start < names.end {
        let step = STEP.min(scan.limit);
        let which = ValueRange {
            names: names.clone(),
            part: scan.part,
            direction: scan.direction,
        };
        let rows = store.values(space, which, step).await?;
        let is_last = rows.len() < step;
        for row in rows {
            let name = text(row.get(0), || format!("a value's name in {space}"))?;
            go_on(&mut names, &name);
            if found.len() < scan.limit && scan.pattern.matches(&name) {
                found.push((name, entry(&row, scan.part)));
            }
        }
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// The next name in byte order.
fn behind(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// Which values, and in which order.
struct ValueRange {
    names: Range<Vec<u8>>,
    part: ValuePart,
    direction: Direction,
}

impl PostgresStore {
    async fn values(&self, space: &Space, which: ValueRange, limit: usize) -> Result<Vec<Row>> {
        let ValueRange {
            names,
            part,
            direction,
        } = which;
        let (first, last) = match part {
            ValuePart::Items(first, last) => (first, last),
            ValuePart::Whole | ValuePart::Nothing => (0, -1),
        };
        let values = bind![
            locks::space(space),
            names.start,
            names.end,
            first,
            last,
            part != ValuePart::Nothing,
            self.options.clock.offset(),
            signed(limit as u64),
        ];
        let select = match direction {
            Direction::Forward => FORWARD,
            Direction::Backward => BACKWARD,
        };
        self.rows(select, &values).await
    }
}

fn entry(row: &Row, part: ValuePart) -> ValueEntry {
    let (body, items): (Option<String>, Option<Vec<String>>) = (row.get(1), row.get(5));
    let value = match body {
        Some(body) => StoredValue::Plain(Json::stored(body)),
        None => StoredValue::List(
            items
                .unwrap_or_default()
                .into_iter()
                .map(Json::stored)
                .collect(),
        ),
    };
    ValueEntry {
        kind: value.kind(),
        length: unsigned(row.get(2)),
        value: match part {
            ValuePart::Nothing => Json::stored("null"),
            _ => value.json(),
        },
        version: unsigned(row.get(3)),
        expires_at: row.get(4),
        stale_possible: false,
    }
}
